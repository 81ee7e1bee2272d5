from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motiond.daemon.joints.joint_map import JointMapError
from motiond.daemon.planning.curve import peak_speeds
from motiond.daemon.planning.planner import Plan, plan, plan_pose
from motiond.daemon.planning.speed_limits import FASTEST
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion, dump_motion, load_motion
from motiond.formats.model import pchip_slopes
from tests.robots import map_of, settings_of
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

MAX_RATE_HZ = 1000.0
ELBOW: dict[str, dict[str, Any]] = {
    "elbow": {"limits": {"lower": -2.0, "upper": 2.09, "velocity": 2.5, "effort": 8.0}}
}


def motion(rows: Any, rate_hz: float = 500.0, names: tuple[str, ...] = ("elbow",)) -> Motion:
    positions = np.array(rows, dtype=float).reshape(-1, max(1, len(names)))
    return Motion("wave", names, rate_hz, np.arange(len(positions)) / rate_hz, positions)


def swing(seconds: float, amplitude: float, rate_hz: float = 100.0) -> Motion:
    """From 0 to `amplitude` and back, starting and ending at rest."""
    times = np.arange(round(seconds * rate_hz) + 1) / rate_hz
    return motion(amplitude * np.sin(np.pi * times / seconds) ** 2, rate_hz)


def planned(
    of: Motion,
    joints: dict[str, dict[str, Any]] | None = None,
    max_rate_hz: float = MAX_RATE_HZ,
    **options: Any,
) -> Plan:
    settings = settings_of(joints or ELBOW, **options)
    return plan(of, map_of(settings.model_dump()["joints"]), settings, max_rate_hz)


def refusal(of: Motion, joints: dict[str, dict[str, Any]] | None = None, **options: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        planned(of, joints, **options)
    return caught.value


def test_at_the_files_rate_setpoints_are_its_rows_bit_for_bit() -> None:
    rows = np.random.default_rng(3).normal(scale=1e-4, size=(600, 29)).cumsum(axis=0)
    names = tuple(f"j{index}" for index in range(29))
    result = planned(motion(rows, names=names), {name: {} for name in reversed(names)})
    assert result.rate_hz == 500.0
    assert result.frames_per_tick == 1.0
    assert result.duration_s == 599 / 500
    assert np.ascontiguousarray(result.positions[:, ::-1]).tobytes() == rows.tobytes()
    assert np.array_equal(result.velocities[:, ::-1], pchip_slopes(np.arange(600) / 500, rows))


def test_a_motion_may_drive_some_joints_and_the_others_hold() -> None:
    result = planned(swing(1.0, 0.2), {"base": {}, "elbow": {}})
    assert result.driven.tolist() == [False, True]
    assert not result.positions[:, 0].any()
    assert not result.velocities[:, 0].any()


def test_mimic_joints_are_filled_and_checked() -> None:
    joints: dict[str, dict[str, Any]] = {
        "elbow": {"limits": {"lower": -1, "upper": 1, "velocity": 9}},
        "tip": {
            "limits": {"lower": -1, "upper": 1, "velocity": 9},
            "mimic": {"joint": "elbow", "multiplier": -2},
        },
    }
    result = planned(swing(1.0, 0.5), joints)
    assert np.array_equal(result.positions[:, 1], -2 * result.positions[:, 0])
    assert result.driven.all()
    assert str(refusal(swing(1.0, 0.6), joints)) == (
        "wave: joint 'tip' reaches -1.2 rad at 0.500 s (frame 50, the worst of 27); "
        "its lower limit is -1 rad; raise the motion or lower `joints.tip.limits.lower`"
    )


def test_a_mimic_joints_own_column_is_left_out_with_a_warning() -> None:
    rows = np.column_stack([swing(1.0, 0.2).positions, np.ones(101)])
    both = motion(rows, 100.0, ("elbow", "tip"))
    result = planned(both, {"elbow": {}, "tip": {"mimic": {"joint": "elbow"}}})
    assert np.array_equal(result.positions[:, 1], rows[:, 0])
    assert result.warnings == ("wave: columns of 'tip' are left out; these joints follow others",)


FOLLOWED: dict[str, dict[str, Any]] = {
    "elbow": {},
    "tip": {"mimic": {"joint": "elbow", "multiplier": -2.0, "offset": 0.1}, "tolerances": {"goal": 0.05}},
}


@table("joints, problem")
def test_a_posture_in_which_a_mimic_joint_would_not_be_is_refused(
    joints: dict[str, float], problem: str
) -> None:
    settings = settings_of(FOLLOWED)
    with pytest.raises(JointMapError) as caught:
        plan_pose("park", joints, map_of(settings.model_dump()["joints"]), settings, 100.0)
    assert str(caught.value) == problem


@pytest.mark.parametrize("tip", [-0.9, -0.94])
def test_a_posture_may_name_a_mimic_joint_where_it_will_be(tip: float) -> None:
    settings = settings_of(FOLLOWED)
    joint_map = map_of(settings.model_dump()["joints"])
    result = plan_pose("park", {"tip": tip, "elbow": 0.5}, joint_map, settings, 100.0)
    assert result.positions.tolist() == [[0.5, -0.9]]


def test_a_motion_of_nothing_but_mimic_joints_is_refused() -> None:
    assert str(refusal(motion([0.1, 0.2], names=("tip",)), FOLLOWED)) == (
        "wave: there is nothing to play; its joints follow others; add columns of joints that follow none"
    )


def test_a_mimic_joints_own_column_is_played_bit_for_bit_where_it_follows_but_for_rounding() -> None:
    """As in a recording: what was put out between two rows was rounded once more."""
    leads = swing(1.0, 0.2).positions[:, 0]
    follows = np.nextafter(-0.7 * leads + 0.1, 9.0)
    joints: dict[str, dict[str, Any]] = {
        "elbow": {},
        "tip": {"mimic": {"joint": "elbow", "multiplier": -0.7, "offset": 0.1}},
    }
    both = motion(np.column_stack([leads, follows]), 100.0, ("elbow", "tip"))
    for on_violation in ("reject", "clip", "slow"):
        result = planned(both, joints, on_violation=on_violation)
        assert result.positions[:, 1].tobytes() == follows.tobytes()
        assert result.warnings == ()


@table("rows, message")
def test_a_violation_tells_joint_time_frame_value_and_limit(rows: list[float], message: str) -> None:
    errors = str(refusal(motion(rows))).splitlines()
    assert message in errors


@pytest.mark.parametrize("limits", [{"lower": -2.0, "upper": 2.09}, {"lower": 0.0, "upper": 0.02}])
def test_positions_that_rounding_carries_beyond_a_limit_are_put_on_it(limits: dict[str, float]) -> None:
    lower, upper = limits["lower"], limits["upper"]
    ends = np.array([lower - 0.9e-9, lower, upper, upper + 0.9e-9])
    rows = np.concatenate([ends, np.linspace(upper, lower, 2001), [lower - 5e-324]])
    joints: dict[str, dict[str, Any]] = {"elbow": {"limits": limits | {"velocity": 9e3}}}
    result = planned(motion(rows), joints)
    assert np.array_equal(result.positions[:, 0], np.clip(rows, lower, upper))
    for beyond in (lower - 3e-9, upper + 3e-9):
        (violation,) = refusal(motion([upper, beyond]), joints).violations
        assert (violation.value, violation.limit) == (beyond, min(max(beyond, lower), upper))


def test_acceleration_counts_from_rest_to_rest() -> None:
    limits = {"lower": -2, "upper": 2, "velocity": 99}
    jump = motion([0, 0.5, 1.0], 10.0)
    assert planned(jump, {"elbow": {"limits": limits | {"acceleration": 50.1}}}).driven.all()
    assert str(refusal(jump, {"elbow": {"limits": limits | {"acceleration": 40}}})) == (
        "wave: joint 'elbow' begins at 5 rad/s and accelerates at 50 rad/s² at 0.000 s "
        "(frame 0, the worst of 2); its acceleration limit is 40 rad/s²; let the motion begin and end "
        "at rest by `motiond edit --ease`, let `on_violation: slow` slow it to 0.799 of its speed "
        "or raise `joints.elbow.limits.acceleration`"
    )


def test_effort_is_checked_where_the_motion_tells_it() -> None:
    heavy = replace(swing(1.0, 0.1), components={"JointEffort": np.full((101, 1), -9.5)})
    assert str(refusal(heavy)) == (
        "wave: joint 'elbow' needs 9.5 N·m at 0.000 s (frame 0, the worst of 101); "
        "its effort limit is 8 N·m; lighten the motion or raise `joints.elbow.limits.effort`"
    )


def test_all_violations_come_at_once_in_the_order_of_the_joints() -> None:
    rows = np.column_stack([np.linspace(0, 3, 11), np.linspace(0, -3, 11)])
    error = refusal(motion(rows, 10.0, ("a", "b")), {"b": {}, "a": {"unit": "m"}})
    assert [(one.joint, one.kind, one.unit, one.count) for one in error.violations] == [
        ("b", "lower", "rad", 4),
        ("b", "velocity", "rad/s", 10),
        ("a", "upper", "m", 4),
        ("a", "velocity", "m/s", 10),
    ]
    assert [one.speed_factor for one in error.violations] == [None, 0.253, None, 0.253]


# At 10 Hz: no step is faster than 2.4 rad/s, but the smooth curve that leaves rest reaches 3.2 rad/s.
STEEP = [0.0, 0.0, 0.24, 0.48, 0.70, 0.70]


def test_a_curve_that_is_faster_than_its_steps_is_a_violation_between_frames() -> None:
    assert str(refusal(motion(STEEP, 10.0))) == (
        "wave: joint 'elbow' moves at 3.2 rad/s at 0.100 s (after frame 1, the worst of 2); "
        "its velocity limit is 2.5 rad/s; "
        "let `on_violation: slow` slow it to 0.78 of its speed or raise `joints.elbow.limits.velocity`"
    )
    for interpolation in ("hold", "linear"):
        assert planned(motion(STEEP, 10.0), interpolation=interpolation).slowed_to == 1.0


def test_slow_stretches_time_until_the_motion_fits() -> None:
    joints = {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 0.5, "acceleration": 4.0}}}
    result = planned(swing(1.0, 0.8), joints, on_violation="slow")
    steps = np.diff(result.positions[:, 0]) * result.rate_hz
    assert result.rate_hz == 100.0
    assert 0.45 < np.abs(steps).max() <= 0.5
    assert result.duration_s == pytest.approx(1.0 / result.frames_per_tick, abs=0.01)
    assert result.positions[-1].tobytes() == swing(1.0, 0.8).positions[-1].tobytes()
    assert result.warnings == (
        (
            "wave: slowed to 0.199 of its speed: joint 'elbow' moves at 2.51 rad/s at 0.260 s "
            "(frame 26, the worst of 88); its velocity limit is 0.5 rad/s; "
            "raise `joints.elbow.limits.velocity`"
        ),
    )


def test_clip_cuts_positions_at_their_limits_and_says_so() -> None:
    joints = {"elbow": {"limits": {"lower": -2, "upper": 0.5, "velocity": 9}}}
    result = planned(swing(1.0, 0.6), joints, on_violation="clip")
    assert result.positions.max() == 0.5
    assert result.warnings == (
        (
            "wave: clipped: joint 'elbow' reaches 0.6 rad at 0.500 s (frame 50, the worst of 27); "
            "its upper limit is 0.5 rad; lower the motion or raise `joints.elbow.limits.upper`"
        ),
    )


def test_what_a_cut_breaks_is_refused_with_the_cut_and_without_a_slowness_that_would_not_clip() -> None:
    joints = {"elbow": {"limits": {"lower": -2, "upper": 0.5, "velocity": 9, "acceleration": 20}}}
    with pytest.raises(PlanError) as caught:
        planned(swing(1.0, 0.6), joints, on_violation="clip")
    broken, cut = str(caught.value).splitlines()
    assert broken.startswith("wave: joint 'elbow' accelerates at ")
    assert broken.endswith("its acceleration limit is 20 rad/s²; raise `joints.elbow.limits.acceleration`")
    assert cut.startswith("wave: clipped: joint 'elbow' reaches 0.6 rad at 0.500 s ")


@pytest.mark.parametrize(
    ("max_rate_hz", "rate_hz", "ticks"),
    [(500, 500, 1001), (499, 250, 501), (120, 100, 201), (90, 500 / 6, 168)],
)
def test_a_slower_driver_gets_the_largest_rate_that_divides_the_files(
    max_rate_hz: float, rate_hz: float, ticks: int
) -> None:
    fast = swing(2.0, 0.5, 500.0)
    result = planned(fast, max_rate_hz=max_rate_hz)
    assert result.rate_hz == pytest.approx(rate_hz)
    assert len(result.positions) == ticks
    assert result.positions[-1].tobytes() == fast.positions[-1].tobytes()
    assert result.positions[10, 0] == pytest.approx(fast.positions[10 * round(500 / rate_hz), 0])


@table("rate_hz, max_rate_hz, warnings")
def test_rows_too_far_apart_for_a_smooth_motion_or_too_near_for_the_driver_are_warned_of(
    rate_hz: float, max_rate_hz: float, warnings: list[str]
) -> None:
    result = planned(swing(0.5, 0.01, rate_hz), max_rate_hz=max_rate_hz)
    assert list(result.warnings) == warnings


EASED = "actuators are asked for that within one tick; play"
REST = "which is eased, or let it begin and end at rest by `motiond edit --ease`"


@pytest.mark.parametrize("max_rate_hz", [1000.0, 100.0])
@pytest.mark.parametrize(
    ("ends", "options"),
    [
        (("begins", "ends"), "--first {0} --last {1}"),
        (("begins",), "--first {0}"),
        (("ends",), "--last {1}"),
    ],
)
def test_a_recording_that_is_cut_in_motion_is_named_with_what_actuators_are_asked_for(
    ends: tuple[str, ...], options: str, max_rate_hz: float
) -> None:
    rising, soft = np.arange(201) / 200.0, np.cumsum(np.linspace(0.0, 1.0, 41)) / 200.0
    before = [] if "begins" in ends else soft - soft[-1] - 1 / 200
    after = [] if "ends" in ends else rising[-1] + soft[-1] - soft[-2::-1]
    rows = np.concatenate([before, rising, after])
    result = planned(motion(rows, 200.0), max_rate_hz=max_rate_hz)
    (said,) = [one for one in result.warnings if "in motion" in one]
    changes = np.abs(np.diff(np.pad(result.positions[:, 0], 2, mode="edge"), 2)) * result.rate_hz**2
    asked = {"begins": changes[:4].max(), "ends": changes[-4:].max()}
    rests = {"begins": "from rest", "ends": "to rest"}
    what = "in motion (joint 'elbow' at 1 rad/s,"
    parts = [f"{end} {what} {asked[end]:.4g} rad/s² {rests[end]})" for end in ends]
    every = round(200 / result.rate_hz)
    played = options.format(every, len(rows) - 1 - every)
    assert said == f"wave: {' and '.join(parts)}; {EASED} `{played}`, {REST}"
    assert min(asked[end] for end in ends) >= 0.49 * result.rate_hz


@pytest.mark.parametrize("rate_hz", [20.0, 100.0, 500.0])
def test_a_recording_that_begins_and_ends_at_rest_is_not_named(rate_hz: float) -> None:
    jittering = np.zeros((300, 1))
    jittering[[0, -1]] = 0.0015
    noisy = [np.random.default_rng(seed).normal(scale=1e-3, size=(300, 1)) for seed in range(20)]
    limp, slow = np.array([[0.0], [0.1]]), np.linspace(0.0, 1e-4, 50)[:, None]
    for rows in (swing(2.0, 0.5, rate_hz).positions, jittering, limp, slow, *noisy):
        warnings = planned(
            motion(rows, rate_hz), {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 1e3}}}
        ).warnings
        assert not [one for one in warnings if "in motion" in one]


def test_a_noisy_recording_that_is_cut_in_motion_is_named() -> None:
    rows = np.arange(201) / 200.0 + np.random.default_rng(1).normal(scale=2e-4, size=201)
    assert [one for one in planned(motion(rows, 200.0)).warnings if "begins in motion" in one]


def test_of_several_joints_in_motion_the_worst_is_named() -> None:
    rows = np.outer(np.arange(50) / 100.0, [0.5, -1.0, 0.0])
    names = "base", "elbow", "wrist"
    result = planned(motion(rows, 100.0, names), {name: {} for name in names})
    assert "begins in motion (joint 'elbow', the worst of 2, at 1 rad/s, 100 rad/s² from rest)" in str(
        result.warnings
    )


def test_a_recording_is_resampled_only_if_that_is_asked_for() -> None:
    recorded = swing(2.0, 0.5, 30.0)
    coarse, fine = (
        planned(recorded, max_rate_hz=500.0, interpolation="smooth", interpolate_recordings=asked)
        for asked in (False, True)
    )
    assert (coarse.rate_hz, fine.rate_hz) == (30.0, 180.0)
    assert [coarse.duration_s, fine.duration_s] == pytest.approx([2.0, 2.0])
    np.testing.assert_allclose(fine.positions[::6], recorded.positions, atol=1e-12)
    steps = [np.abs(np.diff(one.positions, 2, axis=0)).max() * one.rate_hz**2 for one in (coarse, fine)]
    peak = 0.25 * np.pi**2
    assert steps == [pytest.approx(peak, rel=0.02), pytest.approx(peak, rel=0.02)]
    assert (
        np.abs(np.diff(fine.positions, axis=0)).max() < np.abs(np.diff(coarse.positions, axis=0)).max() / 5.9
    )
    assert fine.warnings == ()


@pytest.mark.parametrize("max_rate_hz", [50.0, 100.0, 1000.0])
@pytest.mark.parametrize("rate_hz", [7.0, 30.0, 60.0, 150.0, 500.0])
def test_what_is_resampled_keeps_to_the_drivers_rate_and_to_the_last_row(
    rate_hz: float, max_rate_hz: float
) -> None:
    recorded = swing(2.0, 0.1, rate_hz)
    result = planned(recorded, max_rate_hz=max_rate_hz, interpolate_recordings=True)
    assert result.rate_hz <= max_rate_hz * (1 + 1e-9)
    assert result.rate_hz >= min(100.0, max_rate_hz / 2)
    assert result.positions[-1] == pytest.approx(recorded.positions[-1], abs=1e-12)
    assert result.duration_s == pytest.approx(2.0, abs=1 / result.rate_hz)


def test_frames_with_times_of_their_own_are_resampled() -> None:
    times = np.array([1.0, 1.5, 1.75, 3.0])
    free = Motion("wave", ("elbow",), 100.0, times, np.array([[0.0], [0.25], [0.25], [-0.5]]))
    result = planned(free, interpolation="linear")
    assert result.rate_hz == 200.0
    assert result.duration_s == 2.0
    assert result.frames_per_tick == 3 / 400
    # Half of the first stretch, and of the last: 2/4 - 1/8 of the way, from rest and to rest.
    assert result.positions[[0, 50, 100, 275, 400], 0] == pytest.approx(
        [0.0, 0.375 * 0.25, 0.25, 0.25 - 0.625 * 0.75, -0.5]
    )
    assert result.velocities[[0, 120, 400], 0].tolist() == [0.0, 0.0, 0.0]


def test_a_motion_of_one_frame_is_a_pose() -> None:
    result = planned(motion([0.5]))
    assert result.duration_s == 0.0
    assert result.positions.tolist() == [[0.5]]
    assert result.velocities.tolist() == [[0.0]]
    assert (result.max_speed, result.limiting_joint) == (FASTEST, "")


def test_what_has_no_joints_is_refused() -> None:
    walk = Motion("walk", (), 100.0, np.arange(2.0), np.empty((2, 0)))
    message = "walk: no joint positions; there is nothing to play; choose another motion"
    assert str(refusal(walk)) == message


@table("rows, times, message")
def test_what_cannot_be_played_at_all_is_refused(
    rows: list[float | None], times: list[float], message: str
) -> None:
    assert str(refusal(replace(motion(rows), times=np.array(times)))) == message


def test_joints_that_the_robot_lacks_are_refused() -> None:
    with pytest.raises(JointMapError) as caught:
        planned(motion([0, 0], names=("toe",)))
    assert (
        str(caught.value)
        == "wave: the robot has no joint 'toe'; it has elbow; map or ignore it by `motion_map`"
    )


def test_the_fastest_speed_is_told_with_the_joint_that_sets_it() -> None:
    result = planned(swing(4.0, 0.8), {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 1.257}}})
    assert result.max_speed == pytest.approx(2.0, rel=0.01)
    assert result.limiting_joint == "elbow"


def test_the_clock_ramps_no_steeper_than_acceleration_limits_allow() -> None:
    limits = {"lower": -2, "upper": 2, "velocity": 1.0, "acceleration": 1.0}
    slow = planned(swing(8.0, 1.0), {"elbow": {"limits": limits}})
    times = np.arange(801) / 100
    speed, change = np.pi / 8 * np.sin(np.pi * times / 4), np.pi**2 / 32 * np.cos(np.pi * times / 4)
    with np.errstate(divide="ignore"):
        steepest = ((1.0 - np.abs(change)) / np.abs(speed)).min()
    assert slow.clock_acceleration == pytest.approx(min(3.75, steepest), rel=0.01)
    assert planned(swing(8.0, 0.01), {"elbow": {"limits": limits}}).clock_acceleration == 3.75


def test_a_stop_ends_even_where_acceleration_is_short() -> None:
    limits = {"lower": -2, "upper": 2, "velocity": 1.0, "acceleration": 1.25}
    result = planned(swing(4.0, 1.0), {"elbow": {"limits": limits}})
    assert result.clock_acceleration == 0.9375
    assert result.warnings == (
        (
            "wave: a soft stop may pass the acceleration limit of joint 'elbow'; "
            "it may take no longer than 2 s; raise stop_duration_s"
        ),
    )


@given(
    hnp.arrays(float, st.tuples(st.integers(2, 30), st.just(2)), elements=st.floats(-1.9, 1.9)),
    st.sampled_from(["linear", "cubic"]),
    st.sampled_from([1000.0, 40.0, 7.0]),
)
def test_a_slowed_plan_never_passes_a_limit(rows: Any, interpolation: str, max_rate_hz: float) -> None:
    joints = {
        name: {"limits": {"lower": -2, "upper": 2, "velocity": 50, "acceleration": 2000}} for name in "ab"
    }
    result = planned(
        motion(rows, 100.0, ("a", "b")), joints, max_rate_hz, on_violation="slow", interpolation=interpolation
    )
    speeds = np.diff(result.positions, axis=0) * result.rate_hz
    changes = np.diff(np.pad(speeds, ((1, 1), (0, 0))), axis=0) * result.rate_hz
    assert np.abs(result.positions).max() <= 2.0
    assert np.abs(speeds).max(initial=0.0) <= 50 * (1 + 1e-8)
    assert np.abs(changes).max() <= 2000 * (1 + 1e-8)
    if interpolation == "cubic" and len(result.positions) > 1:
        assert peak_speeds(result.positions, result.velocities, result.rate_hz).max() <= 50 * (1 + 1e-8)


@table("frames, last_s, message")
def test_a_far_time_is_refused_before_memory_is_spent_on_it(frames: int, last_s: float, message: str) -> None:
    times = np.linspace(0.0, last_s, frames)
    spread = Motion("wave", ("elbow",), 100.0, times, np.zeros((frames, 1)))
    tracemalloc.start()
    try:
        assert str(refusal(spread)) == message
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def at_the_velocity_limit(ramp: int = 20) -> Motion:
    """To 2.5 rad/s within so many of 200 rows a second, on at it, and back to rest."""
    speeds = 2.5 * np.clip(np.minimum(np.arange(81), np.arange(80, -1, -1)) / ramp, 0.0, 1.0)
    return motion(np.cumsum(speeds) / 200 - 0.5, 200.0)


def test_a_recording_at_a_velocity_limit_is_played_bit_for_bit_and_no_faster_between_its_rows() -> None:
    filed = at_the_velocity_limit()
    recorded = replace(filed, metadata={"recorded_by": "motiond"})
    for on_violation in ("reject", "slow", "clip"):
        result = planned(recorded, on_violation=on_violation)
        assert result.positions.tobytes() == filed.positions.tobytes()
        assert (result.interpolation, result.slowed_to, result.warnings) == ("linear", 1.0, ())
        assert result.max_speed == pytest.approx(1.0)
        assert np.abs(result.velocities).max() <= 2.5 * (1.0 + 1e-9)


def test_a_file_whose_curve_is_much_too_fast_between_its_rows_is_refused() -> None:
    assert "(after frame" in str(refusal(at_the_velocity_limit(ramp=2)))


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_an_export_of_a_recording_at_a_velocity_limit_is_played_again(tmp_path: Path, suffix: str) -> None:
    recorded = replace(at_the_velocity_limit(), metadata={"recorded_by": "motiond"})
    dump_motion(recorded, tmp_path / f"export{suffix}")
    result = planned(load_motion(tmp_path / f"export{suffix}"))
    assert result.positions == pytest.approx(recorded.positions, abs=1e-12)
    assert (result.interpolation, result.slowed_to, result.warnings) == ("linear", 1.0, ())


def test_a_recording_whose_rows_are_too_fast_is_refused() -> None:
    filed = at_the_velocity_limit()
    too_fast = replace(filed, positions=filed.positions * 1.01, metadata={"recorded_by": "motiond"})
    assert "its velocity limit is 2.5 rad/s" in str(refusal(too_fast))


def test_a_recording_that_keeps_the_limits_keeps_its_curve() -> None:
    recorded = replace(swing(1.0, 0.2), metadata={"recorded_by": "motiond"})
    assert planned(recorded).interpolation == "cubic"
