"""Random sequences of targets, and an oracle of what setpoints have to keep, in numpy alone.

A sequence makes a robot of two joints, with limits, a rate and a transmission of its own, lets it follow, and
sends it targets, chunks, and what is none: late, out of order, beyond limits; ticks come late, other commands
come between, and something ends it. `broken` says what of that must not be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal
from unittest.mock import patch

import numpy as np

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.ring import COLUMN, slices
from motiond.daemon.ipc.states import ACTIVE, STATES, State
from motiond.daemon.stream.engine.pursuit import FollowLimits
from motiond.daemon.trajectory.ramp import FULL_RAMP
from motiond.drivers.registry import make_driver
from tests.daemon.stream.test_loop import JOINTS, UNLIMITED, Bench, LateClock, plain_transmission, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.daemon.trajectory import OnlineLimits

    Array = np.ndarray[Any, Any]

UNIX_S = 1_764_000_000.0
MAX_LATENESS_S = 0.1
LONGEST_TICKS = 400
AT_REST_TICKS = 20
READ_TICKS = 2000
"""So often the ring is read: it holds more."""
MOST_TICKS_TO_REST = 50_000
MOVING = [STATES.index(State.FOLLOWING), STATES.index(State.STOPPING)]
ROUNDING = 1e-9
TURN = 0.2
"""Of the way back in: how far a joint may turn round when it brakes there."""
VELOCITY, ACCELERATION = 1.000_001, 1.02
"""Of limits: rounding, and what the oracle's differences may be off."""


@dataclass(frozen=True)
class Limits:
    """What both joints keep: infinite where there is nothing.

    `start` (joints,): where they begin. `away` (joints,): by how much all that is elsewhere than around 0.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    start: Array
    away: Array
    multiplier: float | None  # of the first joint's way, by which the second one goes; None where it does not


@dataclass
class Account:
    """What a sequence has made: one entry a record of the ring, and all that was reported."""

    seed: int
    limits: Limits
    period_s: float
    max_skip_s: float
    setpoints: Array = field(default_factory=lambda: np.empty((0, 2)))
    due_s: Array = field(default_factory=lambda: np.empty(0))
    states: Array = field(default_factory=lambda: np.empty(0, int))
    ended: list[messages.Ended] = field(default_factory=list)
    causes: set[str] = field(default_factory=set)
    overdue_s: float = 0.0


class Sequence(Bench):
    """One random sequence."""

    def __init__(self, seed: int, folder: Path) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.limits = _limits(rng)
        self.rate_hz = float(rng.choice([20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]))
        self.mode: Literal["position", "velocity"] = "velocity" if rng.random() < 0.3 else "position"
        self.timeout_s = float(rng.choice([0.05, 0.2, 1.0, 5.0]))
        reduction, offset = (1.0, 0.0) if rng.random() < 0.5 else (float(rng.uniform(-3.0, -0.5)), 0.3)
        clock = LateClock(100.0)
        self.max_skip_s = float(rng.choice([0.0, 0.02, 0.1]))
        initial = dict(zip(JOINTS, ((self.limits.start - offset) * reduction).tolist(), strict=True))
        driver = make_driver("sim", {"initial": initial, "calculate_dynamics": False}, JOINTS, clock.now)
        setup = setup_of(
            ways=_ways(rng, self.limits),
            transmission=plain_transmission(reduction, offset).as_lists(),
            limits=UNLIMITED,
            max_lateness_s=MAX_LATENESS_S,
            max_skip_s=self.max_skip_s,
        )
        super().__init__(folder, setup, driver, clock)
        self.account = Account(seed, self.limits, 1.0 / self.rate_hz, self.max_skip_s)
        self.sent_at = self.silent_at_s = 0.0
        self.ticks = 0

    def unix(self) -> float:
        """Return the Unix time that it is."""
        return UNIX_S + self.clock.now()

    # -- what happens ---------------------------------------------------------------------------------------

    def live(self) -> Account:
        """Let it happen, until the robot has come to rest and a little longer."""
        self.enable()
        self.reader.take()
        self.channel.send(messages.Follow(**self._follow("follow-1")), number=1)
        self.silent_at_s = self.clock.now() + max(2.0, self.timeout_s)
        ticks = int(self.rng.integers(20, LONGEST_TICKS))
        pace = self.rng.choice([0.05, 0.1, 0.5, 1.0])
        for _ in range(ticks):
            self._tick()
            if self.rng.random() < pace:
                self._send()
            if self.rng.random() < 0.01:
                self._disturb()
        self._end()
        for _ in range(MOST_TICKS_TO_REST):
            if self.state() not in ACTIVE:
                break
            self._tick()
        for _ in range(AT_REST_TICKS):
            self._tick()
        self._read()
        return self.account

    def _tick(self) -> None:
        self.step()
        for changed in self.notices_of(messages.Changed):
            self.account.ended += changed.ended
        self.notices.clear()
        if self.state() is State.FOLLOWING:
            late_s = self.clock.now() - self.silent_at_s - 2.0 / self.rate_hz
            self.account.overdue_s = max(self.account.overdue_s, late_s)
        self.ticks += 1
        if self.ticks % READ_TICKS == 0:
            self._read()

    def _read(self) -> None:
        rows, account = self.reader.take(), self.account
        due_s = rows[:, COLUMN["setpoint_s"]]
        setpoints = rows[:, slices(len(JOINTS))["reference_position"]]
        account.setpoints = np.concatenate((account.setpoints, setpoints))
        account.due_s = np.concatenate((account.due_s, due_s))
        account.states = np.concatenate((account.states, rows[:, COLUMN["state"]].astype(int)))

    def _follow(self, goal_id: str) -> dict[str, Any]:
        joints = [0] if self.limits.multiplier is not None else [0, 1]
        return {
            "goal_id": goal_id,
            "joints": joints,
            "mode": self.mode,
            "rate_hz": self.rate_hz,
            "timeout_s": self.timeout_s,
            "path_tolerance": [OFF] * 2,
            "start": self.loop.player.position.tolist(),
        }

    def _send(self) -> None:
        """Send a target, a chunk, or what is none."""
        kind = self.rng.random()
        count = 1 if self.limits.multiplier is not None else 2
        sent_at = None
        if self.rng.random() < 0.5:
            sent_at = self.unix() - float(self.rng.exponential(0.03))
        if kind < 0.08:
            bad: list[messages.Command] = [
                messages.Target("follow-1", None, None, sent_at, self.unix()),
                messages.Target("follow-1", [0.0] * 3, None, sent_at, self.unix()),
                messages.Target("follow-2", [0.0] * count, None, sent_at, self.unix()),
                messages.Chunk("follow-1", None, sent_at, self.unix()),
                messages.Chunk("follow-1", None, sent_at, self.unix(), curve=np.ones(6 * count).tobytes()),
            ]
            self.channel.send(bad[self.rng.integers(len(bad))])
            return
        is_old = sent_at is not None and sent_at < self.sent_at
        if self.mode == "velocity":
            values = self.rng.normal(size=count) * self.rng.choice([0.001, 0.3, 3.0])
            self.channel.send(messages.Target("follow-1", None, self._some(values), sent_at, self.unix()))
            ends_s = 0.0
        elif kind < 0.6:
            values = self._place(count)
            passing = None if self.rng.random() < 0.7 else self.rng.normal(size=count).tolist()
            self.channel.send(messages.Target("follow-1", self._some(values), passing, sent_at, self.unix()))
            ends_s = 0.0
        else:
            ends_s = self._send_chunk(count, sent_at)
        if not is_old:
            self.sent_at = self.sent_at if sent_at is None else sent_at
            # When the last chunk ends depends on more than what the oracle knows.
            self.silent_at_s = max(self.silent_at_s, max(self.clock.now() + 0.1, ends_s) + self.timeout_s)

    def _place(self, count: int) -> Array:
        here = self.loop.player.position[:count]
        near = self.rng.random() < 0.4
        if near:
            return here + 0.02 * self.rng.normal(size=count)
        place: Array = self.limits.away[:count] + self.rng.normal(size=count) * 1.5
        return place

    def _some(self, values: Array) -> list[float | None]:
        return [None if self.rng.random() < 0.1 else float(value) for value in values]

    def _send_chunk(self, count: int, sent_at: float | None) -> float:
        """Send a chunk: smooth, rough, or with steps; return when it ends."""
        rng = self.rng
        rows = int(rng.choice([1, 2, 3, 5, 20, 100]))
        times = np.cumsum(rng.uniform(0.5, 1.5, rows) * rng.choice([0.005, 0.02, 0.1]))
        if rng.random() < 0.5:
            times -= times[0]
        phase = rng.uniform(0.3, 8.0, count) * times[:, None] + rng.uniform(0.0, 6.0, count)
        values = rng.uniform(0.05, 1.5) * np.sin(phase) + rng.choice([0.0, 1e-3, 0.1]) * rng.normal(
            size=(rows, count)
        )
        if rng.random() < 0.2:
            values = np.round(values)
        values += self.limits.away[:count]
        if rng.random() < 0.5:
            values += self.loop.player.position[:count] - values[0]
        begins_at = None if rng.random() < 0.4 else self.unix() + float(rng.uniform(-0.4, 0.4))
        curve, clipped = self._chunk_limits(count).path(times, values)
        self.channel.send(
            messages.Chunk("follow-1", begins_at, sent_at, self.unix(), clipped, curve.as_bytes())
        )
        begins_s = self.clock.now() if begins_at is None else begins_at - UNIX_S
        return float(begins_s + times[-1])

    def _chunk_limits(self, count: int) -> OnlineLimits:
        """Return the limits by which the daemon makes curves of chunks, of joints with targets."""
        found = FollowLimits(self.loop.setup, self.driver.limits)
        offsets = self.limits.start - found.turns * self.limits.start[found.leaders]
        return found.own.of_leaders(range(count), found.leaders, found.turns, offsets)

    def _disturb(self) -> None:
        """Let a tick come late, or send what must change nothing."""
        if self.rng.random() < 0.5:
            assert isinstance(self.clock, LateClock)
            self.clock.oversleep_s = float(self.rng.exponential(0.03))
            if self.clock.oversleep_s > MAX_LATENESS_S:
                self.account.causes.add("DEADLINE_MISSED")
            return
        others: list[messages.Command] = [
            messages.Pause(),
            messages.Resume(),
            messages.Speed(2.0, 2.0),
            messages.Enable(),
            messages.Disable(),
            messages.Teach("released"),
            messages.Follow(**self._follow("follow-2")),
        ]
        command = others[self.rng.integers(len(others))]
        if self.state() not in ACTIVE:
            return
        if isinstance(command, messages.Follow):
            self.account.causes.add("follow-2")
        self.channel.send(command, number=2)

    def _end(self) -> None:
        """Let something end it."""
        ends: list[tuple[str, Callable[[], object]]] = [
            ("SUCCESSFUL", lambda: self.channel.send(messages.FollowStop("follow-1"))),
            ("CANCELED", lambda: self.channel.send(messages.Stop())),
            ("ESTOP", lambda: self.channel.send(messages.Estop())),
            ("CANCELED", lambda: None),  # it waits in vain for another target
        ]
        for cause, act in [ends[index] for index in self.rng.integers(len(ends), size=2)]:
            self.account.causes.add(cause)
            act()
            for _ in range(int(self.rng.integers(1, 10))):
                self._tick()


def _limits(rng: np.random.Generator) -> Limits:
    lower, upper = rng.uniform(-2.0, -0.2, 2), rng.uniform(0.2, 2.0, 2)
    lower[rng.random(2) < 0.15], upper[rng.random(2) < 0.15] = -np.inf, np.inf
    multiplier = float(rng.choice([-2.0, -0.5, 0.5, 1.0, 1.5])) if rng.random() < 0.3 else None
    start = rng.uniform(-0.2, 0.2, 2)
    if multiplier is None and rng.random() < 0.2:  # a little outside, as far as following may begin
        span = np.minimum(upper - lower, 1.0)
        start[0] = upper[0] + 0.02 * span[0] if np.isfinite(upper[0]) else start[0]
    velocity, acceleration = 10.0 ** rng.uniform(-0.7, 1.0, 2), 10.0 ** rng.uniform(-0.3, 1.5, 2)
    away = rng.spawn(1)[0].choice([0.0, -5.0, 3.0], 2)
    return Limits(lower + away, upper + away, velocity, acceleration, start + away, away, multiplier)


def _ways(rng: np.random.Generator, limits: Limits) -> messages.WayBounds:
    mimics = limits.multiplier is not None
    return messages.WayBounds(
        velocity=[0.5] * 2,
        acceleration=[1.0] * 2,
        jerk=[5.0] * 2,
        clock_acceleration=FULL_RAMP / float(rng.choice([0.2, 0.5, 1.0])),
        start_tolerance=[0.002] * 2,
        lower=limits.lower.tolist(),
        upper=limits.upper.tolist(),
        velocity_limit=limits.velocity.tolist(),
        acceleration_limit=limits.acceleration.tolist(),
        leaders=[0, 0] if mimics else [0, 1],
        multipliers=[1.0, limits.multiplier if limits.multiplier is not None else 1.0],
        turn=[0.0] * 2,
    )


def account_of(seed: int) -> Account:
    """Let a sequence happen."""
    with TemporaryDirectory() as folder:
        sequence = Sequence(seed, Path(folder))
        try:
            with patch.object(time, "time", sequence.unix):
                return sequence.live()
        finally:
            sequence.driver.close()
            sequence.close()


# -- what must be --------------------------------------------------------------------------------------------


def broken(account: Account) -> list[str]:
    """Return what an account has that must not be."""
    return [*_beyond(account), *_after_its_end(account), *_results(account)]


def _beyond(account: Account) -> Iterator[str]:
    limits, h = account.limits, account.period_s
    positions, due_s = account.setpoints, account.due_s
    moves = np.isin(account.states, MOVING)
    lower, upper = np.minimum(limits.lower, positions[0]), np.maximum(limits.upper, positions[0])
    out = np.maximum(lower - positions, positions - upper).max()
    if out > 0.0:
        yield f"a setpoint is {out:.3g} beyond a limit of position"
    outside = np.maximum(limits.lower - positions, positions - limits.upper).clip(0.0)
    nearest = np.minimum.accumulate(outside, axis=0)
    if (outside - nearest > TURN * outside[0] + ROUNDING).any():
        yield "a joint that was outside its limits went further out"
    steps = np.diff(positions, axis=0)
    ticks = np.round(np.diff(due_s) / h)[:, None]
    moved = np.minimum(np.maximum(ticks, 1.0), 1.0 + np.floor(account.max_skip_s / h + 1e-9))
    moving = moves[1:] & (np.diff(due_s) > 0.0)
    fast = (np.abs(steps) / (moved * h) / limits.velocity)[moving].max(initial=0.0)
    if fast > VELOCITY:
        yield f"a velocity is {fast:.6f} of its limit"
    even = (
        moving[1:] & moving[:-1] & (np.abs(ticks[1:, 0] - 1.0) < 1e-6) & (np.abs(ticks[:-1, 0] - 1.0) < 1e-6)
    )
    hard = (np.abs(np.diff(steps, axis=0)) / h**2 / limits.acceleration)[even].max(initial=0.0)
    if hard > ACCELERATION + ROUNDING / h**2:
        yield f"an acceleration is {hard:.4f} of its limit"
    if limits.multiplier is not None:
        gone = positions - limits.start
        apart = np.abs(gone[:, 1] - limits.multiplier * gone[:, 0]).max()
        if apart > ROUNDING:
            yield f"a mimic joint is {apart:.3g} from where it follows"


def _after_its_end(account: Account) -> Iterator[str]:
    rests = ~np.isin(account.states, MOVING)
    rests[: int(np.argmin(rests))] = False  # before it begins
    if not rests[-1]:
        yield "it never came to rest"
        return
    last = account.setpoints[rests]
    if (last != last[0]).any():
        yield "a setpoint moved after its end"
    if account.overdue_s > 0.0:
        yield f"it was followed {account.overdue_s:.3f} s after the time-out"


def _results(account: Account) -> Iterator[str]:
    for goal_id in {"follow-1", *(account.causes & {"follow-2"})}:
        codes = [ended.code for ended in account.ended if ended.goal_id == goal_id]
        if goal_id == "follow-2" and codes and set(codes) == {"INVALID_GOAL"}:
            continue  # once for each time that it was asked for
        if len(codes) != 1:
            yield f"{goal_id} has the results {codes}"
        elif codes[0] != "CANCELED" and codes[0] not in account.causes:
            yield f"{goal_id} ended with {codes[0]}"
