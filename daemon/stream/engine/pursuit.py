"""One follow: targets that come as it goes, and the joints that they move.

Each setpoint is within every limit, whatever comes (`daemon/trajectory/online`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ipc.messages import FURTHEST_S, Chunk
from ...trajectory import FULL_RAMP, OnlineGenerator, OnlineLimits, Spline, Transmission, slack_of
from .execution import Tolerances

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.drivers import ActuatorLimits
    from motiond.formats.arrays import Floats

    from ...ipc.messages import Follow, Setup, Target
    from ..timing import Schedule
    from .guard import Surroundings

NEAR_S, AS_FAST = 0.02, 0.2
"""A joint has caught up with its target when, at an approach's velocity, it is no further than `NEAR_S` away,
and when their velocities differ by this share of it at most."""
NEWEST = 1000
"""Of so many targets the latency is kept."""


class FollowLimits:
    """The limits of one robot's joints while they follow targets.

    - `own` (OnlineLimits): of all joints
    - `slack` (joints,): so far outside its limits a joint may begin
    - `leaders`, `turns` (joints,): which joint each one follows, itself where none, and how far of its way
    """

    def __init__(self, setup: Setup, allowed: ActuatorLimits) -> None:
        ways = setup.ways
        found = Transmission.from_lists(setup.transmission).limits_of_joints(allowed)
        of_joints = {kind: values for kind, (values, _) in found.items()}
        known = (
            np.fmax(np.array(ways.lower, float), of_joints["lower"]),
            np.fmin(np.array(ways.upper, float), of_joints["upper"]),
            np.fmin(np.array(ways.velocity_limit, float), of_joints["velocity"]),
            np.fmin(np.array(ways.acceleration_limit, float), of_joints["acceleration"]),
        )
        self._approach = [np.array(values) for values in (ways.velocity, ways.acceleration, ways.jerk)]
        self.own = OnlineLimits.of_known(known, self._approach, FULL_RAMP / ways.clock_acceleration)
        self.slack = slack_of(*known[:2], setup.units)
        self.leaders, self.turns = np.array(ways.leaders), np.array(ways.multipliers)

    def of_approaches(self) -> FollowLimits:
        """Return those with the bounds of approaches, where these are lower."""
        slow = copy(self)
        slow.own = self.own.no_higher_than(*self._approach)
        return slow


class Pursuit:
    """One follow: where its joints go, and what has become of its targets.

    - `goal_id`, `rate_hz`: its own
    - `path` (Tolerances): how far the feedback may be from the setpoints
    - `timeout_s`: without a target for so long it is to end
    - `dropped_since`: how many targets were dropped since the last that was taken, as they are older
    """

    def __init__(
        self,
        follow: Follow,
        limits: FollowLimits,
        setup: Setup,
        position: Floats,
        schedule: Schedule,
        *,
        around: Surroundings | None = None,
    ) -> None:
        self.goal_id, self.rate_hz, self.timeout_s = follow.goal_id, follow.rate_hz, follow.timeout_s
        self.path = Tolerances(follow.path_tolerance)
        self._schedule, self._period_s = schedule, 1.0 / follow.rate_hz
        self._is_by_velocity = follow.mode == "velocity"
        self._joints, self._names, self._units = follow.joints, setup.joints, setup.units
        column = {joint: index for index, joint in enumerate(follow.joints)}
        leaders, turns = limits.leaders.tolist(), limits.turns
        self._moved = [joint for joint, leader in enumerate(leaders) if leader in column and turns[joint]]
        self._columns = [column[leaders[joint]] for joint in self._moved]
        self._turns, self._begun = limits.turns[self._moved], position[self._moved]
        self._start = position[self._joints]
        self._offsets = position - limits.turns * position[limits.leaders]
        self._guard = (
            None if around is None else around.guard(position, self._start, self._steps(), self._period_s)
        )
        self._generator = self._generator_within(limits)
        self._free: OnlineGenerator | None = None  # within the joints' own limits, from when it has caught up
        self._passing = np.zeros(len(self._joints))
        if follow.catches_up:
            slow = limits.of_approaches()
            self._slow_velocity = self._joint_limits(slow).velocity
            self._generator, self._free = self._generator_within(slow), self._generator
        self._sent_at = -math.inf
        self._unwritten: list[float] = []
        self._latencies: deque[float] = deque(maxlen=NEWEST)
        self._targets = self._clipped = self._dropped = self._refused = self.dropped_since = 0

    def _generator_within(self, limits: FollowLimits) -> OnlineGenerator:
        return OnlineGenerator(self._joint_limits(limits), self._start, self._period_s, self._guard)

    def _steps(self) -> Floats:
        """Return how far each joint goes, of the way of each that has targets, shape (joints, targets)."""
        steps = np.zeros((len(self._names), len(self._joints)))
        steps[self._moved, self._columns] = self._turns
        return steps

    def _joint_limits(self, limits: FollowLimits) -> OnlineLimits:
        """Return what joints with targets may do, so that those in step with them keep their limits, too."""
        return limits.own.of_leaders(self._joints, limits.leaders, limits.turns, self._offsets)

    # -- targets --------------------------------------------------------------------------------------------

    @property
    def ends_s(self) -> float:
        """When the last chunk ends; in the past where there is none."""
        return self._generator.ends_s

    def take(self, message: Target | Chunk) -> bool:
        """Go where a target or a chunk leads; return whether it was taken."""
        act = self._go_along(message) if isinstance(message, Chunk) else self._aim(message)
        if act is None:
            self._refused += 1
            return False
        sent_at = message.sent_at
        if sent_at is not None and sent_at < self._sent_at:
            self._dropped += 1
            self.dropped_since += 1
            return False
        self._sent_at = self._sent_at if sent_at is None else sent_at
        self._clipped += act()
        if self._free is not None:
            self._note_passing(message)
        self._targets += 1
        self.dropped_since = 0
        if len(self._unwritten) < NEWEST:
            self._unwritten.append(message.taken_at if sent_at is None else sent_at)
        return True

    def _aim(self, target: Target) -> Callable[[], bool] | None:
        """Return what takes a target; None for what is none."""
        values, others = target.positions, target.velocities
        if self._is_by_velocity:
            values, others = others, values
        wanted = np.array([] if values is None else values, dtype=float)
        passing = None if others is None else np.array(others, dtype=float)
        if not self._fits(wanted) or not (passing is None or self._fits(passing)):
            return None
        if not self._is_by_velocity:
            return partial(self._generator.aim, wanted, passing)
        return None if passing is not None else partial(self._generator.aim_at_velocity, wanted)

    def _fits(self, values: Floats) -> bool:
        return values.shape == self._start.shape and not np.isinf(values).any()

    def _go_along(self, chunk: Chunk) -> Callable[[], bool] | None:
        """Return what takes a chunk; None for what is none."""
        schedule = self._schedule
        begins_s = schedule.deadline_s  # of the setpoint that comes next
        if chunk.begins_at is not None:
            away_s = chunk.begins_at - time.time()
            if away_s > FURTHEST_S:
                return None
            begins_s = schedule.clock.now() + away_s
        try:
            path = Spline.from_bytes(chunk.curve, len(self._joints), begins_s)
        except ValueError:
            return None
        return None if self._is_by_velocity else partial(self._begin, path, clipped=chunk.clipped)

    def _begin(self, path: Spline, *, clipped: bool) -> bool:
        self._generator.go_along(path)
        return clipped

    # -- catching up ----------------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """Whether it has yet to catch up with its targets, within the bounds of approaches."""
        return self._free is not None

    @property
    def is_held(self) -> bool:
        """Whether something was too near to go on since its facts were asked for last."""
        return self._guard is not None and self._guard.holds

    def _note_passing(self, target: Target | Chunk) -> None:
        """Note how fast the targets move, beyond the bounds of approaches, too."""
        passing = None if isinstance(target, Chunk) else target.velocities
        self._passing[:] = 0.0 if passing is None else np.nan_to_num(np.array(passing, dtype=float))

    def _has_caught_up(self) -> bool:
        generator, slow = self._generator, self._slow_velocity
        is_near = np.abs(generator.target - generator.position) <= NEAR_S * slow
        is_as_fast = np.abs(self._passing - generator.velocity) <= AS_FAST * slow
        return self._targets > 0 and bool((is_near & is_as_fast).all())

    def _go_freely(self, free: OnlineGenerator) -> None:
        """Go on from here within the joints' own limits."""
        free.resume(self._generator)
        self._generator, self._free = free, None

    # -- setpoints ------------------------------------------------------------------------------------------

    def move(self, ticks: int, due: int, position: Floats, velocity: Floats, *, brakes: bool) -> bool:
        """Fill in where the joints go next, shape (joints,); return whether they have braked to rest.

        `ticks`: by so many; more than 1 where deadlines were missed and are skipped. `due`: how many have
        become due.
        """
        if self._free is not None and (brakes or self._has_caught_up()):
            self._go_freely(self._free)
        generator, rests = self._generator, False
        for tick in range(due - ticks, due):
            if brakes:
                rests = generator.brake()
            else:
                generator.step(self._schedule.deadline_s + tick * self._period_s)
        gone = (generator.position - self._start)[self._columns]
        position[self._moved] = self._begun + self._turns * gone
        position[self._joints] = generator.position
        velocity[self._moved] = self._turns * generator.velocity[self._columns]
        return rests

    # -- what is reported -----------------------------------------------------------------------------------

    def note_written(self, written_at: float) -> None:
        """Count how long targets took to the setpoint that was written then, by Unix time in s."""
        if self._unwritten:
            self._latencies.extend(written_at - since for since in self._unwritten)
            self._unwritten.clear()

    def facts(self, measured: Floats) -> dict[str, Any]:
        """Return what has become of the targets, as `Followed` has it; `measured`: shape (joints,)."""
        return {
            "is_behind": self.is_behind,
            "targets": self._targets,
            "clipped": self._clipped,
            "dropped": self._dropped,
            "refused": self._refused,
            "latency_s": self._latency_s(),
            "lag": self._lag(measured),
            "held_by": self._guard and self._guard.take_held_by(),
        }

    def _latency_s(self) -> dict[str, float] | None:
        if not self._latencies:
            return None
        p50, p99, most = np.percentile(self._latencies, [50, 99, 100], method="higher").tolist()
        return {"p50": p50, "p99": p99, "max": most}

    def _lag(self, measured: Floats) -> dict[str, Any] | None:
        lag = self._generator.target - measured[self._joints]
        if not self._targets or not np.isfinite(lag).any():
            return None
        worst = int(np.nanargmax(np.abs(lag)))
        joint = self._joints[worst]
        return {"joint": self._names[joint], "value": float(lag[worst]), "unit": self._units[joint]}
