"""Tests of what an arm touches, in a physical world."""

from pytest_motiond import MotiondRobot


def test_the_arm_hovers_over_the_table(motiond_robot: MotiondRobot) -> None:
    assert motiond_robot.play("hover").code == "SUCCESSFUL"
    assert motiond_robot.contacts() == []


def test_the_arm_taps_the_table_gently(motiond_robot: MotiondRobot) -> None:
    assert motiond_robot.play("tap").code == "SUCCESSFUL"
    taps = motiond_robot.contacts("forearm", "scene/table")
    assert 0.0 < max(tap.force_n for tap in taps) < 40.0
    assert motiond_robot.contacts() == taps
