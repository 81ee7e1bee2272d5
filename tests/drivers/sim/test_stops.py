"""Stops of simulated joints: nothing passes one, and what is beyond one may come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.drivers.testing.rig import Clock
from tests.drivers.sim.joints import TICK_S, Joints

if TYPE_CHECKING:
    from motiond.drivers.base import Floats

pytestmark = pytest.mark.slow

LOWER, UPPER = -0.5, 1.0


class Arm(Joints):
    """Two joints, of which the first has stops; `run` returns its positions, velocities and efforts."""

    def __init__(self, clock: Clock, *, holds: bool = True, **options: Any) -> None:
        stops: dict[str, Any] = {"lower_stop": {"elbow": LOWER}, "upper_stop": {"elbow": UPPER}}
        super().__init__(clock, holds=holds, **stops, **options)

    def run(self, duration_s: float, goal: float = np.nan, tick_s: float = TICK_S) -> Floats:
        seen = []
        for _ in range(round(duration_s / tick_s)):
            self.play(goal, tick_s, tick_s=tick_s)
            seen.append(self.state.values[:3, 0].copy())
        return np.array(seen)


DYNAMICS: list[dict[str, Any]] = [
    {},
    {"effort_limit": 4.0, "velocity_limit": 3.0},
    {"damping_ratio": 0.2},
    {"coulomb_friction": 0.05, "viscous_friction": 0.1},
    {"order": 1},
    {"calculate_dynamics": False},
    {"latency_s": 0.01},
]


@pytest.mark.parametrize(
    ("options", "tick_s"),
    [*((options, 0.1) for options in DYNAMICS), *(({}, tick_s) for tick_s in (0.001, 0.00137, 0.01))],
    ids=str,
)
def test_a_goal_beyond_a_stop_is_not_reached(options: dict[str, Any], tick_s: float) -> None:
    arm = Arm(Clock(), **options)
    for goal, stop in ((3.0, UPPER), (-2.0, LOWER)):
        position, velocity, _ = arm.run(2.0, goal, tick_s).T
        assert ((position >= LOWER) & (position <= UPPER)).all()
        assert (position[-1], velocity[-1]) == (stop, 0.0)
        assert arm.state.position[1] == pytest.approx(goal, abs=0.2)  # the wrist has no stop


@pytest.mark.parametrize("load", [3.0, -3.0])
@pytest.mark.parametrize("torque", [True, False])
def test_neither_load_nor_missing_torque_carries_a_joint_through(load: float, *, torque: bool) -> None:
    arm = Arm(Clock(), holds=torque, load={"elbow": load}, effort_limit=1.0)
    position, velocity, effort = arm.run(2.0, 0.0).T
    assert ((position >= LOWER) & (position <= UPPER)).all()
    assert (position[-1], velocity[-1]) == (UPPER if load > 0 else LOWER, 0.0)
    assert effort[-1] == pytest.approx(-np.sign(load) if torque else 0.0)


@pytest.mark.parametrize("how", ["initial", "displaced"])
def test_a_joint_that_was_put_beyond_a_stop_comes_back_and_goes_no_further_out(
    how: str, clock: Clock
) -> None:
    options: dict[str, Any] = {"initial": {"elbow": 1.6}} if how == "initial" else {}
    arm = Arm(clock, holds=False, load={"elbow": 3.0}, effort_limit=20.0, **options)
    if how == "displaced":
        arm.inject("displaced", actuator="elbow", by=1.6)
    assert arm.run(2.0).T[0].tolist() == pytest.approx([1.6] * 200)  # the load pushes outwards
    arm.driver.enable()
    arm.run(1.0, 1.3)
    assert arm.state.position[0] == pytest.approx(1.3, abs=0.05)
    assert arm.run(1.0, 3.0).T[0].max() == 1.6
    arm.run(1.0, 0.5)
    assert arm.run(1.0, 3.0).T[0].max() == UPPER


@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=5),
    st.floats(-5, 5),
    st.sampled_from([0.0005, 0.002, 0.02, 0.07]),
    st.sampled_from(DYNAMICS),
)
def test_whatever_is_commanded_no_joint_is_beyond_its_stops(
    goals: list[float], load: float, tick_s: float, options: dict[str, Any]
) -> None:
    arm = Arm(Clock(), load={"elbow": load}, **options)
    for goal in goals:
        position = arm.run(0.14, goal, tick_s).T[0]
        assert ((position >= LOWER) & (position <= UPPER)).all()
