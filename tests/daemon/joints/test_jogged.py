"""A tool is jogged through random postures by the setpoints that joints really get, on virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import integers

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
        """Return where the tool is at each tick, shape (ticks + 1, 4, 4)."""
        rows = [self.generator.position.copy()]
        for _ in range(round(for_s / PERIOD_S)):
            if self._ticks % TICKS == 0:
                found = self.twists.next(self.generator.position, twist, self._ticks * PERIOD_S)
                self.generator.aim_at_velocity(found.velocities)
            self.generator.step()
            self._ticks += 1
            rows.append(self.generator.position.copy())
        poses: Floats = ARM.forward_kinematics(np.array(rows))["tool"]
        return poses

    def is_before_singularity(self, twist: Floats) -> bool:
        found = self.twists.velocities(self.generator.position, twist)
        return found.share < 1e-3 and found.slowed_by == "singularity"

    def is_held_up(self, twist: Floats) -> bool:
        """Whether it stands, or is slow, and says why."""
        found = self.twists.velocities(self.generator.position, twist)
        return found.share < 0.9 and found.slowed_by is not None


@dataclass(frozen=True)
class Jog:
    """Where the arm begins, which way its tool goes, and how."""

    start: Floats
    way: Floats
    speed: float
    acceleration: Floats
    free: tuple[Component, ...]
    reference: Reference

    def arm(self) -> Jogged:
        return Jogged(self.start, self.acceleration, self.free, self.reference)

    @property
    def twist(self) -> Floats:
        return np.array([*(self.speed * self.way), 0.0, 0.0, 0.0])

    def ways(self, poses: Floats) -> Floats:
        """Return which way the tool is to go at each pose, along the axes of the base; (ticks, 3)."""
        turns = poses[:, :3, :3] if self.reference == "tool" else np.eye(3)
        return np.broadcast_to(turns @ self.way, (len(poses), 3))


ALIKE, MIXED = np.full(6, 20.0), np.array([2.0, 20.0, 10.0, 20.0, 10.0, 20.0])
SINGULAR = [0.0, 1e-6, -1e-4, 1e-3, 0.02, -0.05]
"""Of the elbow and of the second wrist joint, at or near the arm's singularities."""
FAST, ASIDE_M, SLIGHT_M, ANGLE = 1.1, 0.012, 0.008, 20.0
GOES = 0.25
WINDOW = 20
"""So many ticks, 0.1 s, a direction is measured over, where the tool goes at `GOES` of the speed at least.
Less than `SLIGHT_M` aside is none."""


def jog_of(seed: int) -> Jog:
    rng = np.random.default_rng(seed)
    start, way = rng.uniform(-1.5, 1.5, 6), rng.normal(size=3)
    kind = rng.integers(5)
    if kind in {1, 2}:
        start[2 * kind] = rng.choice(SINGULAR)
    elif kind == 3:
        start[rng.random(6) < 0.5] = 0.0
    return Jog(
        start,
        way / np.linalg.norm(way),
        float(rng.uniform(0.05, 0.4)),
        ALIKE if rng.random() < 0.5 else MIXED,
        TURNING if rng.random() < 0.5 else FIXED,
        "tool" if rng.random() < 0.5 else "base",
    )


def fastest(poses: Floats) -> float:
    return float(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).max() / PERIOD_S)


def keeps_to_its_way(jog: Jog, poses: Floats) -> None:
    """Hold the places of a tool to its line, and to its direction while it goes."""
    steps, ways = np.diff(poses[:, :3, 3], axis=0), jog.ways(poses[:-1])
    along = np.sum(steps * ways, axis=1)
    across = np.cumsum(steps - along[:, None] * ways, axis=0)
    assert np.linalg.norm(across, axis=1).max() < ASIDE_M
    windows = np.lib.stride_tricks.sliding_window_view(steps, WINDOW, axis=0)
    forward = np.sum(np.lib.stride_tricks.sliding_window_view(along, WINDOW), axis=-1)
    sideways = np.sum(
        np.lib.stride_tricks.sliding_window_view(steps - along[:, None] * ways, WINDOW, axis=0), axis=-1
    )
    goes = np.linalg.norm(windows.sum(axis=-1), axis=1) > GOES * jog.speed * WINDOW * PERIOD_S
    aside = np.linalg.norm(sideways, axis=1)[goes]
    assert (aside < np.maximum(SLIGHT_M, np.tan(np.radians(ANGLE)) * forward[goes])).all()


@pytest.mark.parametrize("acceleration", [ALIKE, MIXED])
def test_a_tool_that_goes_through_a_singularity_is_not_flung(acceleration: Floats) -> None:
    start = np.array([0.2, 0.6, 1.2, 0.5, 0.4, 0.3])
    arm = Jogged(start, acceleration, TURNING, "tool")
    assert fastest(arm.move(np.array([0.0, 0.0, -0.3, 0.0, 0.0, 0.0]), 2.0)) < 0.33


@pytest.mark.hypothesis
@given(seed=integers(0, 1_000_000))
@example(seed=3705)
@example(seed=801439)
def test_wherever_it_is_jogged_a_tool_keeps_its_speed_and_its_way_and_can_go_back(seed: int) -> None:
    jog = jog_of(seed)
    arm = jog.arm()
    out = arm.move(jog.twist, 2.0)
    assert fastest(out) < FAST * jog.speed
    keeps_to_its_way(jog, out)
    turned = arm.move(-jog.twist, 1.0)
    back = arm.move(-jog.twist, 1.0)
    assert max(fastest(turned), fastest(back)) < FAST * jog.speed
    gone = np.sum(np.diff(back[:, :3, 3], axis=0) * -jog.ways(back[:-1]), axis=0).sum()
    assert gone > 0.02 or arm.is_held_up(-jog.twist)


LEADS_OUT = {
    "elbow": (np.array([0.3, 0.5, 0.0, 0.4, 0.9, 0.1]), [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]),
    "wrist": (np.array([0.3, 0.5, 1.0, 0.4, 0.0, 0.1]), [(-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1)]),
    "all at 0": (np.zeros(6), [(-1, 0, 0), (0, 0, 1), (0, 0, -1)]),
}


@pytest.mark.parametrize("where", LEADS_OUT)
def test_a_tool_leaves_a_singularity_where_its_way_leads_out_of_it(where: str) -> None:
    start, ways = LEADS_OUT[where]
    for way in ways:
        jog = Jog(start, np.array(way, float), 0.1, ALIKE, FIXED, "base")
        poses = jog.arm().move(jog.twist, 2.0)
        keeps_to_its_way(jog, poses)
        assert fastest(poses) < 0.1 * FAST
        assert (poses[-1, :3, 3] - poses[0, :3, 3]) @ jog.way > 0.08


LEADS_ON = {"elbow": [(1, 0, 0), (0, 1, 0), (0, 0, 1)], "all at 0": [(0, 1, 0), (0, -1, 0)]}


@pytest.mark.parametrize("where", LEADS_ON)
def test_a_tool_stands_in_a_singularity_where_its_way_leads_further_and_that_is_said(where: str) -> None:
    start, _ = LEADS_OUT[where]
    for way in LEADS_ON[where]:
        jog = Jog(start, np.array(way, float), 0.1, ALIKE, FIXED, "base")
        arm = jog.arm()
        assert arm.is_before_singularity(jog.twist)
        poses = arm.move(jog.twist, 2.0)
        assert np.linalg.norm(poses[-1, :3, 3] - poses[0, :3, 3]) < 1e-4
        assert arm.is_before_singularity(jog.twist)
