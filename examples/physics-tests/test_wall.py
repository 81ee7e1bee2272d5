"""Tests of what an arm touches, in a physical world."""

from pytest_motiond import MotiondRobot


def test_the_arm_reaches_out_without_touching_anything(motiond_robot: MotiondRobot) -> None:
    assert motiond_robot.play("reach").code == "SUCCESSFUL"
    assert motiond_robot.contacts() == []


def test_the_arm_taps_the_wall_gently(motiond_robot: MotiondRobot) -> None:
    assert motiond_robot.play("tap").code == "SUCCESSFUL"
    taps = motiond_robot.contacts("forearm", "scene/wall")
    assert 0.0 < max(tap.force_n for tap in taps) < 40.0
    assert motiond_robot.contacts() == taps
