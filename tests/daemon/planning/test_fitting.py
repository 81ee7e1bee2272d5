"""What a refusal advises, which is enough for the whole motion; and how fast a cubic may get."""

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
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion
from tests.robots import map_of, settings_of

JOINTS: dict[str, dict[str, Any]] = {
    name: {"limits": {"lower": -9, "upper": 9, "velocity": 1.0, "acceleration": 15.0}} for name in "ab"
}

# A smooth curve goes far past its rows where a short step lies beside long ones, and slowness is no help.
QUICK: dict[str, dict[str, Any]] = {
    name: {"limits": {"lower": -1000, "upper": 1000, "velocity": 8.0, "acceleration": 900.0}} for name in "ab"
}


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
def test_a_refused_motion_is_played_at_the_named_speed_where_the_advice_is_heeded(
    rows: Any, gaps: list[float] | None, interpolation: str, max_rate_hz: float
) -> None:
    times = np.arange(len(rows)) / 100 if gaps is None else np.cumsum([0.0, *gaps])[: len(rows)]
    motion = Motion("wave", ("a", "b"), 100.0, times, rows)
    options: dict[str, Any] = {"joints": QUICK, "interpolation": interpolation}
    refused = plan_or_refusal(motion, max_rate_hz, **options)
    if isinstance(refused, Plan):
        return
    assert {one.kind for one in refused.violations} <= {"velocity", "acceleration"}
    (factor,) = {one.speed_factor for one in refused.violations}
    heeded = plan_or_refusal(motion, max_rate_hz, **options, on_violation="slow")
    if factor is None:  # slower than a hundredth of its speed
        assert str(heeded) == str(refused)
        return
    advice = f"let `on_violation: slow` slow it to {factor:g} of its speed or raise"
    assert str(refused).count(advice) == len(refused.violations)
    assert isinstance(heeded, Plan), str(heeded)
    assert heeded.slowed_to == pytest.approx(factor, rel=5e-3)


def cut(rate_hz: float = 200.0, *, begins: bool = True, ends: bool = True) -> Motion:
    """A recording at 1 rad/s from its first to its last row, or from or to rest."""
    soft = np.cumsum(np.linspace(0.0, 1.0, 41))
    before, after = [] if begins else soft - soft[-1] - 1, [] if ends else 200 + soft[-1] - soft[-2::-1]
    rows = np.concatenate([before, np.arange(201), after])[:, None] / rate_hz
    return Motion("cut", ("a",), rate_hz, np.arange(len(rows)) / rate_hz, rows)


TWICE = {"a": {"limits": JOINTS["a"]["limits"] | {"velocity": 2.0}}}
REST, RAISE = (
    "let the motion begin and end at rest by `motiond edit --ease`",
    "raise `joints.a.limits.acceleration`",
)


@pytest.mark.parametrize(
    ("ends", "where", "factor"),
    [
        ({"ends": False}, "begins at 1 rad/s and accelerates at 200 rad/s² at 0.000 s (frame 0)", 0.0749),
        ({"begins": False}, "ends at 1 rad/s and accelerates at 200 rad/s² at 1.205 s (frame 241)", 0.137),
        (
            {},
            "begins at 1 rad/s and accelerates at 200 rad/s² at 0.000 s (frame 0, the worst of 2)",
            0.0749,
        ),
    ],
)
def test_a_refused_recording_that_is_cut_in_motion_is_told_to_begin_and_end_at_rest(
    ends: dict[str, bool], where: str, factor: float
) -> None:
    slow = f"let `on_violation: slow` slow it to {factor} of its speed"
    refused = plan_or_refusal(cut(**ends), joints=TWICE)
    message = f"cut: joint 'a' {where}; its acceleration limit is 15 rad/s²; "
    assert str(refused) == f"{message}{REST}, {slow} or {RAISE}"
    heeded = plan_or_refusal(cut(**ends), joints=TWICE, on_violation="slow")
    assert isinstance(heeded, Plan)
    (said,) = [one for one in heeded.warnings if "slowed" in one]
    assert said == f"{message.replace('cut:', f'cut: slowed to {factor} of its speed:')}{REST} or {RAISE}"
    rested = plan_or_refusal(cut(begins=False, ends=False), joints=TWICE)
    assert isinstance(rested, Plan), str(rested)


def test_what_slow_would_mend_is_not_named_where_it_is_set() -> None:
    rows = np.array([[0.0, 0.0], [0.1, 9.5], [0.1, 0.0]])
    refused = plan_or_refusal(Motion("wave", ("a", "b"), 1.0, np.arange(3.0), rows), on_violation="slow")
    assert str(refused) == (
        "wave: joint 'b' reaches 9.5 rad at 1.000 s (frame 1); its upper limit is 9 rad; "
        "lower the motion or raise `joints.b.limits.upper`"
    )


def test_a_speed_is_not_worked_out_where_it_would_take_more_memory_than_what_is_played() -> None:
    long = np.linspace(0.0, 8.0, 100_000)[:, None] * np.ones((1, 30))
    names = tuple(f"j{index}" for index in range(30))
    motion = Motion("long", names, 1000.0, np.arange(100_000) / 1000, long)
    limits = {"lower": -9, "upper": 9, "velocity": 0.02}
    refused = plan_or_refusal(motion, joints={name: {"limits": limits} for name in names})
    assert str(refused).splitlines()[0].endswith("; raise `joints.j0.limits.velocity`")


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
            "let `on_violation: slow` slow it to 0.0414 of its speed or raise `joints.b.limits.velocity`"
        ),
        (
            "wave: joint 'b' accelerates at 19 rad/s² at 1.000 s (frame 1); "
            "its acceleration limit is 15 rad/s²; "
            "let `on_violation: slow` slow it to 0.0414 of its speed or raise `joints.b.limits.acceleration`"
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
        "its velocity limit is 1 rad/s; "
        "let `on_violation: slow` slow it to 0.111 of its speed or raise `joints.a.limits.velocity`"
    )


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
