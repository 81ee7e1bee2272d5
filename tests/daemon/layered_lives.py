"""Random plays, beside each other and added, against an oracle of the limits in numpy alone.

No base is faster than its file: between its rows a cubic curve may then bend by a third more than at them,
which is known (`tests.daemon.invariants.BETWEEN_ROWS`). Nothing of motiond judges here: positions are the
trace of the simulated actuators, velocities and accelerations their differences, limits those of the
configuration.
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
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, write_seq
from tests.virtual import VirtualLoop

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 3.0, "acceleration": 20.0}
VELOCITY, ACCELERATION = 1.000, 1.02
ACTS = 16
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


def write_motions(rig: Rig, random: np.random.Generator) -> None:
    """Write motions from rest to rest: sums of sines whose slopes vanish at both ends."""
    for number in range(6):
        joints = DRIVEN[number % 3]
        at = np.linspace(0.0, 1.0, int(random.integers(100, 500)))[:, np.newaxis]
        ease = (np.sin(np.pi * at) ** 2) * np.sin(
            2 * np.pi * random.uniform(0.5, 2.5) * at + random.uniform(0, 6)
        )
        rows = random.uniform(-0.5, 0.5, len(joints)) + ease * random.uniform(0.02, 0.4, len(joints))
        write_seq(rig.folder / "motions" / f"m{number}.seq", rows, joints, RATE_HZ)
        small = ease * random.uniform(0.01, 0.06, len(joints))
        write_seq(rig.folder / "motions" / f"idle{number}.seq", small, joints, RATE_HZ)


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


def beyond(positions: np.ndarray[Any, Any], rate_hz: float) -> list[str]:
    """Return what setpoints that are one tick apart break."""
    velocities = np.diff(positions, axis=0) * rate_hz
    accelerations = np.diff(velocities, axis=0) * rate_hz
    found = {
        "position": np.abs(positions).max() / LIMITS["upper"],
        "velocity": np.abs(velocities).max() / LIMITS["velocity"] / VELOCITY,
        "acceleration": np.abs(accelerations).max() / LIMITS["acceleration"] / ACCELERATION,
    }
    return [f"{kind}: {share:.4f} of what is allowed" for kind, share in found.items() if share > 1.0 + 1e-9]


async def _lived(seed: int, folder: Path) -> Lived:
    random, goals, done = np.random.default_rng(seed), list[str](), Counter[str]()
    rig = rig_in(folder)
    write_motions(rig, random)
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(ACTS):
            done[await act(registry, random, goals)] += 1
            await asyncio.sleep(float(random.uniform(0.02, 1.2)))
        await ask(registry, "stop")
        for goal in goals:
            await rig.result_of(goal)
        await registry.members["arm"].robot.rested()
        await asyncio.sleep(1.0)
    results = Counter(data["goal_id"] for data in rig.reports_on("result"))
    trace = read_trace(folder / "trace.npy")["position"]
    problems = beyond(trace, RATE_HZ)
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
