"""Tests of an arm's motions, as a user of motiond writes them."""

import numpy as np
import pytest

from pytest_motiond import MotiondRobot, RequestRefused


def test_wave_is_played_to_its_end(motiond_robot: MotiondRobot) -> None:
    assert motiond_robot.play("wave").code == "SUCCESSFUL"
    feedback = motiond_robot.trace().feedback.of("elbow")
    assert feedback.position.max() == pytest.approx(0.5, abs=0.02)


def test_wave_stays_within_the_elbows_speed(motiond_robot: MotiondRobot) -> None:
    motiond_robot.play("wave", speed=1.5)
    elbow = motiond_robot.trace().setpoints.of("elbow")
    assert np.abs(elbow.velocity).max() < 3.0


def test_wave_can_be_paused(motiond_robot: MotiondRobot) -> None:
    goal = motiond_robot.play("wave", loop=3, wait=False)
    motiond_robot.expect_state("playing")
    motiond_robot.pause()
    motiond_robot.expect_state("paused")
    motiond_robot.resume()
    assert goal.result().code == "SUCCESSFUL"


def test_a_motion_beyond_a_limit_is_refused(motiond_robot: MotiondRobot) -> None:
    with pytest.raises(RequestRefused, match="elbow") as refused:
        motiond_robot.play("reach")
    assert refused.value.code == "INVALID_MOTION"


def test_a_stuck_elbow_stops_the_arm(motiond_robot: MotiondRobot) -> None:
    goal = motiond_robot.play("wave", loop=3, wait=False)
    motiond_robot.expect_state("playing")
    motiond_robot.inject("stuck", joint="elbow")
    result = goal.result()
    assert result.code == "PATH_TOLERANCE_VIOLATED"
    assert "elbow" in result.message
    motiond_robot.expect_state("idle")
