from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.drivers.base import DriverError
from motiond.drivers.testing.rig import Clock
from tests.drivers.sim.joints import Joints

pytestmark = pytest.mark.slow

FREQUENCY = 2 * np.pi * 30


def test_dry_friction_stops_a_joint_short_of_its_goal_and_holds_it_there(clock: Clock) -> None:
    joints = Joints(clock, coulomb_friction={"elbow": 5.0}, natural_frequency_hz=5)
    missed = 1 - joints.play(1, 3)[:, 0]
    most = 5.0 / (0.1 * (2 * np.pi * 5) ** 2)
    assert 0 < abs(missed[-1]) < 1.03 * most  # 3 % for the error of single steps
    assert missed[-1] == missed[-50]
    np.testing.assert_allclose(joints.state.position[1], 1, atol=1e-6)


def test_a_load_makes_a_joint_sag_work_and_sink_when_it_is_released(clock: Clock) -> None:
    joints = Joints(clock, load={"elbow": -8.0})
    joints.play(0, 1)
    np.testing.assert_allclose(joints.state.position, [-8 / (0.1 * FREQUENCY**2), 0], rtol=1e-6)
    np.testing.assert_allclose(joints.state.effort, [8, 0], atol=1e-9)
    warm = joints.state.temperature_c[0]
    assert warm > 25
    joints.driver.disable()
    held = joints.state.position[0]
    sunk = joints.read(0.5)
    assert sunk[0] < held - 1
    assert sunk[1] == 0


def test_effort_never_exceeds_its_limit_under_load_and_friction(clock: Clock) -> None:
    joints = Joints(clock, load=-3.0, coulomb_friction=0.5, viscous_friction=0.1, effort_limit=4.0)
    efforts = []
    for goal in (0.2, -0.1, 0.3):
        joints.play(goal, 0.1)
        efforts.append(np.abs(joints.state.effort))
    assert np.max(efforts) <= 4.0 + 1e-9
    np.testing.assert_allclose(joints.play(0, 2)[-1], 0, atol=0.01)


MISCHIEF = st.one_of(
    st.tuples(st.just("play"), st.floats(-3, 3), st.floats(0.01, 0.3)),
    st.tuples(st.just("wait"), st.just(0.0), st.floats(0.01, 1.0)),
    st.tuples(
        st.sampled_from(["enable", "disable", "halt", "m_stop", "power_cycle"]), st.just(0.0), st.just(0.05)
    ),
)


def make_mischief(joints: Joints, what: str, position: float, duration_s: float) -> None:
    try:
        if what == "play":
            joints.play(position, duration_s)
        elif what in {"m_stop", "power_cycle"}:
            joints.inject(what, actuator="elbow", for_s=duration_s)
        elif what != "wait":
            getattr(joints.driver, what)()
    except DriverError:
        pass  # it released, or a fault has switched it off
    joints.clock.now_s += duration_s


@settings(max_examples=60)
@given(resolution=st.sampled_from([0.0, 2 * np.pi / 4096, 0.01, 0.3]), before=st.lists(MISCHIEF, max_size=8))
def test_enabling_never_moves_a_joint_by_more_than_the_resolution(
    resolution: float, before: list[tuple[str, float, float]]
) -> None:
    joints = Joints(Clock(), encoder_resolution=resolution, command_lifetime_s=0.2)
    for mischief in before:
        make_mischief(joints, *mischief)
    joints.driver.disable()
    measured = joints.read(3.0)  # at rest, and every fault over
    joints.driver.enable()
    uncommanded = joints.play(duration_s=0.1)
    commanded = joints.play(measured, 0.1)  # as the loop does, which commands the measured positions
    for held in (uncommanded, commanded):
        assert np.abs(held - measured).max() <= resolution + 1e-9
