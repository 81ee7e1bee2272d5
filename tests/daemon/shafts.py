"""Hands that turn the shafts of emulated servos, which give way to them."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import numpy as np

from tests.daemon.rig import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.drivers.dynamixel.emulator import servo as dynamixel
    from motiond.drivers.feetech.emulator import servo as feetech
    from tests.daemon.rig import Rig

    Servo = dynamixel.EmulatedServo | feetech.EmulatedServo

STEP_S = 0.01
RAD_PER_TICK = 2.0 * math.pi / 4096.0
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


def place(shaft: Servo) -> float:
    """Return where a servo is, in rad from its centre."""
    return (shaft.position_ticks - 2048.0) * RAD_PER_TICK


async def turn(shaft: Servo, rad: float, for_s: float = 1.5) -> None:
    """Turn a servo by hand, from rest to rest."""
    ticks, steps = rad / RAD_PER_TICK, round(for_s / STEP_S)
    for step in range(steps):
        shaft.hand_ticks_s = ticks / for_s * (1.0 - math.cos(2.0 * math.pi * (step + 0.5) / steps))
        await asyncio.sleep(STEP_S)
    shaft.hand_ticks_s = 0.0


def take_lessons(rig: Rig) -> None:
    """Let the robot of a rig save what it is taught, within limits."""
    (rig.folder / "taught").mkdir()
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.robot |= {"motions": [{"folder": "taught", "upload": True}], "on_violation": "slow"}


async def teach_by_twenty_hands(rig: Rig, registry: RobotRegistry, shafts: Sequence[Servo]) -> None:
    """Teach motions by random hands, every other of which is too fast, and play each.

    Each is within the bound of what was moved until the robot was caught, and within all limits.
    """
    random, caught = np.random.default_rng(0), 0
    for number in range(20):
        await ask(registry, "teach/start", name=f"hand {number}")
        for _ in range(2):
            goals = random.uniform(-1.0, 1.0, len(shafts)).tolist()
            for_s = random.uniform(0.6, 0.8) if number % 2 else random.uniform(1.4, 1.8)
            ways = ((shaft, goal - place(shaft)) for shaft, goal in zip(shafts, goals, strict=True))
            await asyncio.gather(*(turn(shaft, way, for_s) for shaft, way in ways))
        stopped = await ask(registry, "teach/stop")
        assert stopped["holds"]
        caught += "its limit is 3 rad/s" in stopped["ended_because"]
        saved = await ask(registry, "teach/save", name=f"hand {number}")
        assert max(saved["deviation"].values()) <= 0.005
        since = len(rig.reports)
        goal_id = (await ask(registry, "play", motion=f"hand {number}"))["goal_id"]
        result = await rig.result_of(goal_id)
        assert result["code"] == "SUCCESSFUL", result["message"]
        sent = [one.data["reference"] for one in rig.reports[since:] if one.subject == "telemetry"]
        positions, velocities = (
            np.array([one[key] for one in sent], dtype=np.float64) for key in ("position", "velocity")
        )
        assert np.ptp(positions, axis=0).max() > 0.1
        assert np.abs(positions).max() <= LIMITS["upper"]
        assert np.abs(velocities).max() <= LIMITS["velocity"] * 1.0001
    assert 2 <= caught <= 10
