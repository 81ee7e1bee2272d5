"""A tool is jogged through random postures by the setpoints that joints really get, on virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings
from motiond.daemon.joints import TwistMap, build_joint_map
from motiond.daemon.trajectory import OnlineGenerator, OnlineLimits
from motiond.formats import load_robot

if TYPE_CHECKING:
    from motiond.daemon.joints.twist import Component, Reference
    from motiond.formats.arrays import Floats

ARM = load_robot(Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf")
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
PERIOD_S, TICKS = 0.005, 4
TURNING: tuple[Component, ...] = ("wx", "wy", "wz")
FIXED: tuple[Component, ...] = ()


class Jogged:
    """The arm, whose tool is sent 50 twists a second."""

    def __init__(
        self,
        start: Floats,
        acceleration: Floats,
        free: tuple[Component, ...],
        reference: Reference = "base",
    ) -> None:
        limits = JointSettings.model_validate({"limits": {"lower": -3.0, "upper": 3.0}})
        joint_map = build_joint_map("arm", ARM, dict.fromkeys(JOINTS, limits))
        velocity = joint_map.limits.velocity
        jerk = 16.0 * velocity / 0.5**2
        lower, upper = joint_map.limits.lower, joint_map.limits.upper
        online = OnlineLimits(lower, upper, velocity=velocity, acceleration=acceleration, jerk=jerk)
        self.twists = TwistMap(
            ARM,
            joint_map,
            "tool",
            JOINTS,
            velocity=velocity,
            acceleration=np.minimum(acceleration, 0.02 * jerk),
            free=free,
            reference=reference,
        )
        self.generator, self._ticks = OnlineGenerator(online, start, PERIOD_S), 0

    def move(self, twist: Floats, for_s: float) -> Floats:
        """Return where the tool is at each tick, shape (ticks + 1, 3)."""
        rows = [self.generator.position.copy()]
        for _ in range(round(for_s / PERIOD_S)):
            if self._ticks % TICKS == 0:
                found = self.twists.next(self.generator.position, twist, self._ticks * PERIOD_S)
                self.generator.aim_at_velocity(found.velocities)
            self.generator.step()
            self._ticks += 1
            rows.append(self.generator.position.copy())
        places: Floats = ARM.forward_kinematics(np.array(rows))["tool"][:, :3, 3]
        return places

    def is_before_singularity(self, twist: Floats) -> bool:
        found = self.twists.velocities(self.generator.position, twist)
        return (found.share, found.slowed_by) == (0.0, "singularity")


def fastest(places: Floats) -> float:
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).max() / PERIOD_S)


ALIKE, MIXED = np.full(6, 20.0), np.array([2.0, 20.0, 10.0, 20.0, 10.0, 20.0])


@pytest.mark.parametrize("acceleration", [ALIKE, MIXED])
def test_a_tool_that_goes_through_a_singularity_is_not_flung(acceleration: Floats) -> None:
    start = np.array([0.2, 0.6, 1.2, 0.5, 0.4, 0.3])
    arm = Jogged(start, acceleration, TURNING, "tool")
    assert fastest(arm.move(np.array([0.0, 0.0, -0.3, 0.0, 0.0, 0.0]), 2.0)) < 0.33


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("acceleration", [ALIKE, MIXED])
def test_wherever_it_is_jogged_a_tool_keeps_its_speed_and_line_and_comes_back(
    acceleration: Floats, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    start, way = rng.uniform(-1.5, 1.5, 6), rng.normal(size=3)
    way /= np.linalg.norm(way)
    speed = rng.uniform(0.05, 0.4)
    twist = np.array([*(speed * way), 0.0, 0.0, 0.0])
    arm = Jogged(start, acceleration, TURNING if seed % 2 else FIXED)
    out = arm.move(twist, 2.0)
    assert fastest(out) < 1.1 * speed
    assert np.linalg.norm(np.cross(out - out[0], way), axis=1).max() < 0.02
    back = arm.move(-twist, 1.0)
    assert fastest(back) < 1.1 * speed
    gone = (back[-1] - back[0]) @ -way
    if arm.is_before_singularity(-twist):  # it began nearer to one than the tool goes: on is the way out
        on = arm.move(twist, 1.0)
        gone = (on[-1] - on[0]) @ way
    assert gone > 0.004
