"""Random plays, beside each other and added, against an oracle of the limits in numpy alone.

No base is faster than its file: between its rows a cubic curve may bend by a third more than at them, which
is known (`tests.daemon.invariants.BETWEEN_ROWS`). At a rate r of its clock that is 4/3 r² of the limit at
most, as a ramp of the clock takes no more than what the rows leave of it: the more they need, the less it
takes. So it is allowed at the joints of a goal that has left its rows while its clock may be that fast, until
the goal ends, and nowhere that something is added. Half of the lives have motions of several rates. Nothing
of motiond judges here: positions are the trace of the simulated actuators, velocities and accelerations their
differences, and limits those of the configuration.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.daemon.api import RequestError
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.invariants import BETWEEN_ROWS
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, write_seq
from tests.virtual import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from motiond.daemon.robots.registry import RobotRegistry

LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 3.0, "acceleration": 20.0}
VELOCITY, ACCELERATION = 1.000, 1.02
ACTS = 16
RATES_HZ = (50.0, 125.0, 200.0, 500.0)
SLOWS = {"stop one", "pause accepted", "resume accepted", "speed accepted", "seek accepted"}
"""What may make a base leave its rows; so does what replaces it."""
OF_TICKS = 1.37
"""In place of 4/3 at a rate from 0.86 to 1: differences of setpoints less than a row apart may be that
much of the rows'; the greatest that was found among two million curves through random rows."""
DRIVEN = (("shoulder",), ("elbow",), JOINTS)


class Lived(NamedTuple):
    """What became of a life: what it broke, how many setpoints were written, and what was done how often."""

    problems: list[str]
    steps: int
    done: Counter[str]


def rig_in(folder: Path) -> Rig:
    """Return a robot with limits of everything."""
    rig = Rig(folder)
    rig.robot |= {"joints": {name: {"limits": LIMITS} for name in JOINTS}, "on_violation": "slow"}
    return rig


def rates_of(seed: int) -> Iterator[float]:
    """Yield the rate of each motion: one of all, or any."""
    random = np.random.default_rng((seed, 1))
    rates_hz = RATES_HZ if random.random() < 0.5 else (float(RATE_HZ),)
    while True:
        yield float(random.choice(rates_hz))


def write_motions(rig: Rig, random: np.random.Generator, rates_hz: Iterator[float]) -> None:
    """Write motions from rest to rest: sums of sines whose slopes vanish at both ends."""
    for number in range(6):
        joints = DRIVEN[number % 3]
        at = np.linspace(0.0, 1.0, int(random.integers(100, 500)))[:, np.newaxis]
        ease = (np.sin(np.pi * at) ** 2) * np.sin(
            2 * np.pi * random.uniform(0.5, 2.5) * at + random.uniform(0, 6)
        )
        rows = random.uniform(-0.5, 0.5, len(joints)) + ease * random.uniform(0.02, 0.4, len(joints))
        write_seq(rig.folder / "motions" / f"m{number}.seq", rows, joints, next(rates_hz))
        small = ease * random.uniform(0.01, 0.06, len(joints))
        write_seq(rig.folder / "motions" / f"idle{number}.seq", small, joints, next(rates_hz))


async def act(registry: RobotRegistry, random: np.random.Generator, goals: list[str]) -> str:
    """Do something at random; note the goals that are accepted."""
    kind = str(random.choice(["play", "play", "play", "beside", "add", "add", "stop one", "other"]))
    motion, speed = f"m{random.integers(6)}", float(random.choice([0.5, 0.8, 1.0, 1.0]))
    how: dict[str, Any] = {"motion": motion, "speed": speed}
    if kind == "play":
        how |= {
            "on_busy": str(random.choice(["reject", "queue", "replace"])),
            "loop": int(random.integers(1, 3)),
        }
        how |= {"seam": "approach"}
    elif kind == "beside":
        how |= {"on_busy": "beside"}
    elif kind == "add":
        how |= {
            "motion": f"idle{random.integers(6)}",
            "additive": True,
            "weight": float(random.uniform(0.05, 0.5)),
        }
        how |= {"ramp_s": float(random.choice([0.1, 0.3, 1.0])), "loop": "forever", "seam": "approach"}
    with suppress(RequestError):
        if kind in {"play", "beside", "add"}:
            goals.append((await ask(registry, "play", **how))["goal_id"])
            return f"{kind} accepted"
        if kind == "stop one":
            playing = (await ask(registry, "status"))["goals"]
            await ask(registry, "stop", **({"goal_id": playing[-1]["goal_id"]} if playing else {}))
        elif kind == "stop":
            await ask(registry, "stop")
        else:
            verb = str(random.choice(["pause", "resume", "speed", "seek"]))
            values = {"speed": {"speed": speed}, "seek": {"time": float(random.uniform(0.0, 0.5))}}
            named = {"goal_id": str(random.choice(goals))} if goals and random.integers(2) else {}
            await ask(registry, verb, **values.get(verb, {}), **named)
            return f"{verb} accepted"
    return kind


class Left(NamedTuple):
    """A goal that may be between its rows: since when, on which joints, and its fastest speed since then."""

    since_s: float
    joints: tuple[str, ...]
    fastest: float

    @property
    def bends(self) -> float:
        """How much more it may bend than its rows."""
        return min(max(1.0, OF_TICKS * self.fastest**2), BETWEEN_ROWS)


class Watch:
    """When something was added to which joints, and when a base may be between its rows, by what is asked."""

    def __init__(self) -> None:
        self._asked_s = 0.0
        self._bases: dict[str, dict[str, Any]] = {}
        self._left: dict[str, Left] = {}
        self._added: dict[str, tuple[float, tuple[str, ...]]] = {}
        self.added: list[tuple[float, float, NDArray[np.bool_]]] = []
        self.off_rows: list[tuple[float, float, NDArray[np.bool_], float]] = []

    def asks(self, now_s: float) -> None:
        """Note when something is about to be asked for."""
        self._asked_s = now_s

    def has_asked(self, done: str, goals: list[dict[str, Any]]) -> None:
        """Note what was asked for, and what plays then."""
        if done in SLOWS or done.startswith("play"):
            for goal_id, goal in self._bases.items():
                self._left.setdefault(goal_id, Left(self._asked_s, tuple(goal["joints"]), goal["speed"]))
        self.look(self._asked_s, goals)

    def look(self, now_s: float, goals: list[dict[str, Any]]) -> None:
        """Note what plays."""
        now = {goal["goal_id"]: tuple(goal["joints"]) for goal in goals if goal["additive"]}
        for goal_id, (since_s, joints) in self._added.items():
            if goal_id in now:
                self.added.append((since_s, now_s, np.isin(JOINTS, joints)))
        self._added = {goal_id: (now_s, joints) for goal_id, joints in now.items()}
        self._bases = {goal["goal_id"]: goal for goal in goals if not goal["additive"]}
        for goal_id, left in [*self._left.items()]:
            if goal_id in self._bases:
                fastest = max(left.fastest, self._bases[goal_id]["speed"])
                self._left[goal_id] = left._replace(fastest=fastest)
            else:
                self.off_rows.append((left.since_s, now_s, np.isin(JOINTS, left.joints), left.bends))
                del self._left[goal_id]


def beyond(trace: NDArray[Any], watch: Watch) -> list[str]:
    """Return what setpoints break, by their differences alone."""
    is_new = np.append(True, (np.diff(trace["time"]) > 0.0) | np.diff(trace["position"], axis=0).any(axis=1))
    positions, times = trace["position"][is_new], trace["time"][is_new]
    periods = np.diff(times)[:, np.newaxis]
    velocities = np.diff(positions, axis=0) / periods
    accelerations = np.diff(velocities, axis=0) / ((periods[1:] + periods[:-1]) / 2.0)
    at, allowed = times[1:-1], np.full(accelerations.shape, LIMITS["acceleration"] * ACCELERATION)
    for since_s, until_s, joints, bends in watch.off_rows:
        places = np.ix_((at >= since_s) & (at <= until_s), joints)
        allowed[places] = np.maximum(allowed[places], bends * LIMITS["acceleration"] * ACCELERATION)
    for since_s, until_s, joints in watch.added:
        allowed[np.ix_((at >= since_s) & (at <= until_s), joints)] = LIMITS["acceleration"] * ACCELERATION
    found = {
        "position": np.abs(positions).max() / LIMITS["upper"],
        "velocity": np.abs(velocities).max() / LIMITS["velocity"] / VELOCITY,
        "acceleration": (np.abs(accelerations) / allowed).max(),
    }
    return [f"{kind}: {share:.4f} of what is allowed" for kind, share in found.items() if share > 1.0 + 1e-9]


async def _lived(seed: int, folder: Path) -> Lived:
    random, goals, done = np.random.default_rng(seed), list[str](), Counter[str]()
    rig = rig_in(folder)
    write_motions(rig, random, rates_of(seed))
    watch, now = Watch(), asyncio.get_running_loop().time
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(ACTS):
            watch.asks(now())
            did = await act(registry, random, goals)
            done[did] += 1
            watch.has_asked(did, (await ask(registry, "status"))["goals"])
            await asyncio.sleep(float(random.uniform(0.02, 1.2)))
            watch.look(now(), (await ask(registry, "status"))["goals"])
        watch.asks(now())
        await ask(registry, "stop")
        watch.has_asked("stop one", (await ask(registry, "status"))["goals"])
        for goal in goals:
            await rig.result_of(goal)
        await registry.members["arm"].robot.rested()
        await asyncio.sleep(1.0)
    results = Counter(data["goal_id"] for data in rig.reports_on("result"))
    watch.look(now(), [])
    written = read_trace(folder / "trace.npy")
    trace, problems = written["position"], beyond(written, watch)
    if results != Counter(goals):
        problems.append(f"{len(goals)} goals were accepted, and their results are {[*results.values()]}")
    if (trace[-20:] != trace[-1]).any():
        problems.append("it moves after a stop has ended")
    return Lived(problems, len(trace), done)


def live(seed: int) -> Lived:
    """Live a life of motions beside each other and added, on virtual time, and judge it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=VirtualLoop) as runner,
    ):
        return runner.run(_lived(seed, Path(folder)))
