"""How joints move so that a frame does, held against where it is a moment later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings
from motiond.daemon.joints import TwistError, TwistMap, build_joint_map
from motiond.formats import load_robot, urdf
from motiond.formats.io.source import Source
from tests.robots import map_of

if TYPE_CHECKING:
    from motiond.daemon.joints import JointMap
    from motiond.daemon.joints.twist import JointVelocities
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

ARM = load_robot(Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf")
BENT = np.array([0.3, 0.9, 1.4, 0.4, 0.8, -0.2])
"""Of the arm, far from singularities."""
TINY_S = 1e-6


def arm_map(**limits: Any) -> JointMap:
    wide = {"lower": -3.0, "upper": 3.0, "velocity": 2.0, "acceleration": 10.0}
    settings = {joint.name: JointSettings.model_validate({"limits": wide}) for joint in ARM.joints}
    settings = {name: settings[name] for name in settings if name in build_joint_map("arm", ARM, {}).joints}
    for name, changed in limits.items():
        settings[name] = JointSettings.model_validate({"limits": wide | changed})
    return build_joint_map("arm", ARM, settings)


def twist_map(joint_map: JointMap, model: RobotModel = ARM, frame: str = "tool", **more: Any) -> TwistMap:
    more = {"joints": joint_map.joints} | more
    limits = joint_map.limits
    acceleration = np.minimum(limits.acceleration, 10.0)
    return TwistMap(model, joint_map, frame, velocity=limits.velocity, acceleration=acceleration, **more)


def moved(joint_map: JointMap, model: RobotModel, frame: str, q: Floats, found: JointVelocities) -> Floats:
    """Return the twist (6,) of a frame along the base's axes, by where it is a moment before and after."""

    def pose(sign: float) -> Floats:
        positions = q + sign * TINY_S * found.velocities
        joint_map.follow(positions)
        return model.forward_kinematics(positions)[frame]

    change = (pose(1) - pose(-1)) / (2 * TINY_S)
    turning = change[:3, :3] @ pose(0)[:3, :3].T
    return np.array([*change[:3, 3], turning[2, 1], turning[0, 2], turning[1, 0]])


def test_a_frame_moves_along_the_axes_of_the_base() -> None:
    joint_map, twist = arm_map(), np.array([0.05, -0.02, 0.04, 0.1, 0.2, -0.1])
    found = twist_map(joint_map).velocities(BENT, twist)
    assert (found.share, found.slowed_by) == (1.0, None)
    np.testing.assert_allclose(moved(joint_map, ARM, "tool", BENT, found), twist, atol=1e-8)


def test_a_frame_moves_along_its_own_axes() -> None:
    joint_map, twist = arm_map(), np.array([0.05, -0.02, 0.04, 0.1, 0.2, -0.1])
    found = twist_map(joint_map, reference="tool").velocities(BENT, twist)
    turn = ARM.forward_kinematics(BENT)["tool"][:3, :3]
    expected = [*(turn @ twist[:3]), *(turn @ twist[3:])]
    np.testing.assert_allclose(moved(joint_map, ARM, "tool", BENT, found), expected, atol=1e-8)


def test_no_joint_is_faster_than_its_limit_and_the_direction_is_kept() -> None:
    joint_map, twist = arm_map(elbow={"velocity": 0.1}), np.array([0.4, -0.2, 0.3, 0.0, 0.0, 0.0])
    found = twist_map(joint_map).velocities(BENT, twist)
    assert found.slowed_by == "elbow"
    assert found.share < 0.5
    assert abs(found.velocities[joint_map.joints.index("elbow")]) == pytest.approx(0.1)
    np.testing.assert_allclose(moved(joint_map, ARM, "tool", BENT, found), found.share * twist, atol=1e-7)


def test_the_whole_slows_and_stands_as_a_joint_comes_to_its_limit_and_may_go_back() -> None:
    free = twist_map(arm_map()).velocities(BENT, np.array([0.1, 0, 0, 0, 0, 0]))
    elbow = ARM_JOINTS.index("elbow")
    toward = "upper" if free.velocities[elbow] > 0 else "lower"
    shares = []
    for room in (0.5, 0.02, 0.01, 0.0):
        limit = BENT[elbow] + room * np.sign(free.velocities[elbow])
        narrowed = twist_map(joint_map := arm_map(elbow={toward: limit}))
        found = narrowed.velocities(BENT, np.array([0.1, 0, 0, 0, 0, 0]))
        shares.append(found.share)
        expected = np.array([0.1 * found.share, 0, 0, 0, 0, 0])
        np.testing.assert_allclose(moved(joint_map, ARM, "tool", BENT, found), expected, atol=1e-8)
        assert found.slowed_by == ("elbow" if room < 0.5 else None)
        back = narrowed.velocities(BENT, np.array([-0.1, 0, 0, 0, 0, 0]))
        assert back.share == pytest.approx(1.0, abs=0.05)
        assert back.slowed_by is None
    assert shares[0] == pytest.approx(1.0, abs=0.05)
    assert 1.0 > shares[1] > shares[2] > shares[3] == 0.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_a_joint_at_its_limit_that_is_not_needed_holds_up_nothing(end: str, seed: int) -> None:
    joint_map = arm_map(base={end: BENT[0]})
    velocities = np.array([0.0, *np.random.default_rng(seed).uniform(-0.3, 0.3, 5)])
    _, jacobian = ARM.jacobian(BENT, "tool", joint_map.joints)
    found = twist_map(joint_map).velocities(BENT, jacobian @ velocities)
    assert found.share == pytest.approx(1.0, abs=0.05)
    assert found.slowed_by is None
    np.testing.assert_allclose(found.velocities, found.share * velocities, atol=1e-9)


ARM_JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
TWO = """<robot name="two"><link name="root"/><link name="upper"/><link name="lower"/><link name="tip"/>
  <joint name="first" type="revolute"><parent link="root"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="1"/></joint>
  <joint name="second" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
    <origin xyz="0.8 0 0"/><limit lower="-3" upper="3" velocity="2" effort="1"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0.5 0 0"/></joint>
</robot>"""
FLAT = ("vz", "wx", "wy", "wz")


def robot(text: str) -> tuple[RobotModel, JointMap]:
    (model,) = urdf.load(text.encode(), Source(Path("robot.urdf")))
    return model, build_joint_map(model.name, model, {})


def test_what_a_short_arm_cannot_do_besides_may_come_as_it_does() -> None:
    model, joint_map = robot(TWO)
    two, q = twist_map(joint_map, model, "tip", free=FLAT), np.array([0.3, 1.1])
    found = two.velocities(q, np.array([0.1, -0.2, 0, 0, 0, 0]))
    np.testing.assert_allclose(moved(joint_map, model, "tip", q, found)[:2], (0.1, -0.2), atol=1e-8)
    # By hand: what is left of an outward way is none of the second joint's doing at a right angle.
    right = two.velocities(np.array([0.0, np.pi / 2]), np.array([0.0, 0.08, 0, 0, 0, 0]))
    np.testing.assert_allclose(right.velocities, (0.1, -0.1), atol=1e-12)


def test_near_a_stretched_arm_an_outward_twist_fades_and_no_joint_runs_away() -> None:
    model, joint_map = robot(TWO)
    two = twist_map(joint_map, model, "tip", free=FLAT)
    speeds, ways = [], []
    for angle in (0.6, 0.3, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0):
        q = np.array([0.0, angle])
        found = two.velocities(q, np.array([0.1, 0, 0, 0, 0, 0]))
        speeds.append(np.abs(found.velocities).max())
        ways.append(moved(joint_map, model, "tip", q, found)[0])
    assert max(speeds) < 2.0
    assert ways[0] == pytest.approx(0.1, rel=0.1)
    assert ways[1:] == sorted(ways[1:], reverse=True)
    assert ways[4:] == pytest.approx([0.0] * 4, abs=1e-9)
    back = two.velocities(np.array([0.0, 0.02]), np.array([-0.1, 0, 0, 0, 0, 0]))
    assert moved(joint_map, model, "tip", np.array([0.0, 0.02]), back)[0] < -0.001
    across = two.velocities(np.zeros(2), np.array([0, 0.1, 0, 0, 0, 0]))
    assert abs(moved(joint_map, model, "tip", np.zeros(2), across)[1]) < 0.001  # straight on is out of reach


@pytest.mark.parametrize("seed", range(6))
def test_wherever_the_arm_is_its_joints_keep_their_speeds_and_change_them_in_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tool, twist = twist_map(arm_map()), rng.normal(size=6) * 0.3
    way = np.linspace(rng.uniform(-3, 3, 6), rng.uniform(-3, 3, 6), 1001)
    way[:, 4] *= 0.1  # along the wrist's singularity
    found = np.array([tool.next(q, twist, 0.02 * step).velocities for step, q in enumerate(way)])
    assert np.abs(found).max() <= 2.0 + 1e-12
    assert np.abs(np.diff(found, axis=0)).max() <= 10.0 * 0.02 + 1e-9


GRIPPER = """<robot name="lift"><link name="root"/><link name="rail"/><link name="arm"/><link name="hand"/>
  <joint name="lift" type="prismatic"><parent link="root"/><child link="rail"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" velocity="0.5" effort="1"/></joint>
  <joint name="stage" type="prismatic"><parent link="rail"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" velocity="0.5" effort="1"/><mimic joint="lift" multiplier="2" offset="0.1"/>
  </joint>
  <joint name="turn" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="1"/></joint>
</robot>"""


def test_a_joint_that_follows_another_moves_the_frame_with_it_and_bounds_it() -> None:
    model, joint_map = robot(GRIPPER)
    q = np.array([0.2, 0.5, 0.0])
    lift = twist_map(joint_map, model, "hand", joints=("stage", "lift", "turn"))
    slow = lift.velocities(q, np.array([0, 0, 0.3, 0, 0, 1.0]))
    np.testing.assert_allclose(slow.velocities, (0.2, 0.1, 1.0), atol=1e-12)
    fast = lift.velocities(q, np.array([0, 0, 1.5, 0, 0, 1.0]))
    np.testing.assert_allclose(fast.velocities, (0.5, 0.25, 0.5), atol=1e-12)
    assert (fast.share, fast.slowed_by) == (0.5, "stage")
    # The stage is at its upper limit first.
    near = lift.velocities(np.array([0.44, 0.98, 0.0]), np.array([0, 0, 0.3, 0, 0, 0]))
    assert near.slowed_by == "stage"
    assert near.velocities[0] == pytest.approx(0.02 / 0.25)


def test_joints_that_are_not_named_hold() -> None:
    joint_map = arm_map()
    chosen = ("base", "shoulder", "elbow")
    turning: Any = {"joints": chosen, "free": ("wx", "wy", "wz")}
    found = twist_map(joint_map, **turning).velocities(BENT, np.array([0.05, 0.02, 0.03, 0, 0, 0]))
    whole = found.velocities
    found_all = type(found)(np.array([*whole, 0.0, 0.0, 0.0]), found.share, found.slowed_by)
    np.testing.assert_allclose(
        moved(joint_map, ARM, "tool", BENT, found_all)[:3], (0.05, 0.02, 0.03), atol=1e-8
    )


def refusal(model: RobotModel | None, joint_map: JointMap, frame: str, *joints: str) -> str:
    with pytest.raises(TwistError) as refused:
        TwistMap(
            model,
            joint_map,
            frame,
            joints,
            velocity=(ones := np.ones(len(joint_map.joints))),
            acceleration=ones,
        )
    return str(refused.value)


def test_frames_that_cannot_be_moved_are_refused_by_name() -> None:
    model, two = robot(TWO)
    assert [
        refusal(model, two, "tap", "first"),
        refusal(model, two, "upper", "second"),
        refusal(model, two, "root", "first", "second"),
        refusal(None, map_of({"elbow": {}}), "tool", "elbow"),
    ] == [
        (
            "two: there is no frame 'tap'; it has first, second, end, root, upper, lower, tip; "
            "did you mean 'tip'?"
        ),
        "two: 'second' cannot move frame 'upper'; what moves it is 'first'; choose another",
        "two: 'first', 'second' cannot move frame 'root'; what moves it is no joint; choose another",
        (
            "arm: frame 'tool' cannot be moved; its joints are configured without a description, "
            "so that nobody knows where frames are; set `model`"
        ),
    ]
