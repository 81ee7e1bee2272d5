"""What a refusal advises: one factor for the whole motion, which is enough; and how fast a cubic may get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motiond.daemon.planning.curve import peak_speeds, slopes_of
from motiond.daemon.planning.planner import Plan, plan
from motiond.daemon.planning.violations import PlanError, rounded_down
from motiond.formats import Motion
from tests.robots import map_of, settings_of

JOINTS: dict[str, dict[str, Any]] = {
    name: {"limits": {"lower": -9, "upper": 9, "velocity": 1.0, "acceleration": 15.0}} for name in "ab"
}

# A smooth curve goes far past its rows where a short step lies beside long ones, and slowness is no help.
QUICK: dict[str, dict[str, Any]] = {
    name: {"limits": {"lower": -1000, "upper": 1000, "velocity": 8.0, "acceleration": 900.0}} for name in "ab"
}


def slowed(motion: Motion, factor: float) -> Motion:
    """Divide the times of a file by a factor, as someone does who heeds the advice."""
    return replace(motion, times=motion.times / factor, frame_rate=motion.frame_rate * factor)


def plan_or_refusal(
    motion: Motion,
    max_rate_hz: float = 1000.0,
    joints: dict[str, dict[str, Any]] = JOINTS,
    **options: Any,
) -> Plan | PlanError:
    try:
        return plan(motion, map_of(joints), settings_of(joints, **options), max_rate_hz)
    except PlanError as error:
        return error


rows_of_two = hnp.arrays(float, st.tuples(st.integers(2, 12), st.just(2)), elements=st.floats(-1.9, 1.9))


@given(
    rows_of_two,
    st.none() | st.lists(st.floats(0.02, 0.4), min_size=11, max_size=11),
    st.sampled_from(["linear", "cubic", "smooth"]),
    st.sampled_from([1000.0, 70.0]),
)
@example(np.array([[0.0, 0.0], [0.4, 0.0], [0.4, 1.2], [0.4, 1.2]]), None, "cubic", 1000.0)
@example(np.array([[0.0, 0.0], [0.4, 0.0], [0.4, 1.2]]), [0.1] * 11, "linear", 1000.0)
@example(
    np.array([[-1.5, 0.0], [1.5, 0.0], [0.0, 0.0], [0.0, 0.0]]), [0.03, 0.4, *[0.25] * 9], "smooth", 1000.0
)
def test_a_refused_motion_that_heeds_the_advice_is_played(
    rows: Any, gaps: list[float] | None, interpolation: str, max_rate_hz: float
) -> None:
    times = np.arange(len(rows)) / 100 if gaps is None else np.cumsum([0.0, *gaps])[: len(rows)]
    motion = Motion("wave", ("a", "b"), 100.0, times, rows)
    refused = plan_or_refusal(motion, max_rate_hz, QUICK, interpolation=interpolation)
    if isinstance(refused, Plan):
        return
    assert {one.kind for one in refused.violations} <= {"velocity", "acceleration"}
    (factor,) = {one.speed_factor for one in refused.violations}
    assert factor is not None
    assert str(refused).count(f"; slow it to {factor:g} of its speed or raise") == len(refused.violations)
    heeded = plan_or_refusal(slowed(motion, factor), max_rate_hz, QUICK, interpolation=interpolation)
    assert isinstance(heeded, Plan), str(heeded)


def test_a_motion_that_is_refused_for_other_reasons_is_not_told_that_slowness_would_do() -> None:
    rows = np.array([[0.0, 0.0], [0.1, 9.5], [0.1, 0.0]])
    refused = plan_or_refusal(Motion("wave", ("a", "b"), 1.0, np.arange(3.0), rows))
    assert str(refused).splitlines() == [
        (
            "wave: joint 'b' reaches 9.5 rad at 1.000 s (frame 1); its upper limit is 9 rad; "
            "lower the motion or raise `joints.b.limits.upper`"
        ),
        (
            "wave: joint 'b' moves at 9.5 rad/s at 1.000 s (frame 1, the worst of 2); "
            "its velocity limit is 1 rad/s; "
            "slow it to 0.0526 of its speed or raise `joints.b.limits.velocity`"
        ),
        (
            "wave: joint 'b' accelerates at 19 rad/s² at 1.000 s (frame 1); "
            "its acceleration limit is 15 rad/s²; "
            "slow it to 0.0526 of its speed or raise `joints.b.limits.acceleration`"
        ),
    ]


def test_where_no_slowness_is_enough_none_is_advised() -> None:
    jump = Motion("wave", ("a",), 100.0, np.array([0.0, 1.0, 1.5]), np.array([[0.0], [1.0], [1.0]]))
    for on_violation in ("reject", "slow"):
        refused = plan_or_refusal(jump, interpolation="hold", on_violation=on_violation)
        assert str(refused).splitlines()[-1] == (
            "wave: joint 'a' accelerates at 4e+04 rad/s² at 1.000 s (frame 1, the worst of 2); "
            "its acceleration limit is 15 rad/s²; raise `joints.a.limits.acceleration`"
        )


def test_a_violation_between_frames_of_own_times_names_the_frame_before_it() -> None:
    times = np.array([0.0, 0.1, 3.0, 4.0])
    motion = Motion("wave", ("a",), 100.0, times, np.array([[0.0], [0.001], [0.002], [1.2]]))
    refused = plan_or_refusal(motion, interpolation="linear")
    assert isinstance(refused, PlanError)
    assert [(one.kind, one.frame, one.between) for one in refused.violations] == [("velocity", 3, False)]
    gentle = replace(motion, positions=np.array([[0.0], [0.001], [0.002], [0.9]]))
    assert str(plan_or_refusal(gentle, interpolation="linear")).splitlines()[0] == (
        "wave: joint 'a' moves at 1.2 rad/s at 3.335 s (after frame 2, the worst of 108); "
        "its velocity limit is 1 rad/s; slow it to 0.137 of its speed or raise `joints.a.limits.velocity`"
    )


@pytest.mark.parametrize(
    ("factor", "rounded"),
    [(0.78125, 0.781), (0.833, 0.833), (0.0012349, 0.00123), (0.29, 0.29), (0.9999, 0.999)],
)
def test_a_factor_is_told_with_three_digits_and_never_above_itself(factor: float, rounded: float) -> None:
    assert rounded_down(factor) == rounded


@given(hnp.arrays(float, st.tuples(st.integers(3, 30), st.just(2)), elements=st.floats(-1.9, 1.9)))
@example(np.array([[0.0], [1.0], [3.0], [5.0], [5.1]]))
@example(np.array([[0.0], [0.01], [-3.0], [-3.0]]))
def test_a_cubic_is_at_most_twice_as_fast_as_its_step_and_at_the_ends_three_times(rows: Any) -> None:
    steps = np.abs(np.diff(rows, axis=0)) * 100.0
    slack = 1e-9 * steps.max() + 1e-12
    peaks = peak_speeds(rows, slopes_of(rows, 100.0, "cubic"), 100.0)
    assert (peaks[1:-1] <= 2.0 * steps[1:-1] + slack).all()
    assert (peaks <= 3.0 * steps + slack).all()
    rested = peak_speeds(rows, slopes_of(rows, 100.0, "cubic", at_rest=True), 100.0)
    assert (rested <= 2.0 * steps + slack).all()
