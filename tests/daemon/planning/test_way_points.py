"""Motions whose frames have times of their own: at rest at both ends, and `smooth` in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.curve import peak_accelerations, peak_positions, peak_speeds
from motiond.daemon.planning.planner import Plan, plan
from motiond.daemon.planning.playback import Playback, PlaybackError, plan_playback, whole
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion
from motiond.formats.model import curve, hermite, spline_slopes
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats

TIMES = np.array([0.0, 0.2, 0.9, 1.0, 1.6])
PLACES = np.array([0.0, 0.5, -0.3, -0.1, 0.4])
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 20.0}


def way_points(times: Any = TIMES, places: Any = PLACES, rate_hz: float = 100.0) -> Motion:
    return Motion("wave", ("elbow",), rate_hz, np.array(times), np.array(places, float).reshape(-1, 1))


def planned(motion: Motion, interpolation: str, rate_hz: float = 1000.0, **limits: float) -> Plan:
    joints: dict[str, dict[str, Any]] = {"elbow": {"limits": LIMITS | limits}}
    return plan(motion, map_of(joints), settings_of(joints, interpolation=interpolation), rate_hz)


def refusal(motion: Motion, interpolation: str, **limits: float) -> str:
    with pytest.raises(PlanError) as caught:
        planned(motion, interpolation, **limits)
    return str(caught.value)


def speeds_of(result: Plan) -> Floats:
    """Return the speed of each step of the setpoints, from rest before the first to rest after the last."""
    steps = np.diff(result.positions[:, 0]) * result.rate_hz
    return np.concatenate(([0.0], steps, [0.0]))


@pytest.mark.parametrize(("interpolation", "steepest"), [("linear", 4.0), ("cubic", 6.0), ("smooth", 12.0)])
def test_frames_with_times_of_their_own_begin_and_end_at_rest(interpolation: str, steepest: float) -> None:
    result = planned(way_points(), interpolation)
    assert result.velocities[0, 0] == result.velocities[-1, 0] == 0.0
    # No more acceleration there than the first and the last stretch need: a step in speed asks for 1,000.
    changes = np.abs(np.diff(speeds_of(result))) * result.rate_hz
    assert changes[:3].max() <= steepest * 0.5 / 0.2**2
    assert changes[-3:].max() <= steepest * 0.5 / 0.6**2


def test_two_way_points_are_one_stretch_from_rest_to_rest() -> None:
    for interpolation in ("linear", "cubic", "smooth"):
        result = planned(way_points([0.0, 2.0], [0.0, 1.0]), interpolation)
        u = np.arange(401) / 400
        np.testing.assert_allclose(result.positions[:, 0], u * u * (3 - 2 * u), atol=1e-12)


def test_resampled_frames_are_those_that_are_played() -> None:
    for interpolation in ("linear", "cubic", "smooth"):
        rows = way_points().resampled(200.0, interpolation).positions
        np.testing.assert_allclose(rows, planned(way_points(), interpolation).positions, atol=1e-12)


def test_rows_at_a_fixed_rate_keep_their_speed_at_the_ends() -> None:
    rows = np.linspace(0.0, 1.0, 51)
    moving = Motion("wave", ("elbow",), 100.0, np.arange(51) / 100, rows.reshape(-1, 1))
    result = planned(moving, "cubic")
    assert result.positions.tobytes() == moving.positions.tobytes()
    assert result.velocities[[0, -1], 0] == pytest.approx([2.0, 2.0])
    assert moving.resampled(50.0).positions[1, 0] == rows[2]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 100, 1001])
def test_a_smooth_curve_bends_evenly_through_every_row_and_rests_at_its_ends(count: int) -> None:
    chance = np.random.default_rng(count)
    times = np.cumsum(chance.uniform(0.01, 2.0, count))
    rows = chance.normal(size=(count, 3))
    slopes = spline_slopes(times, rows)
    steps, secants = np.diff(times)[:, None], np.diff(rows, axis=0) / np.diff(times)[:, None]
    begins = (6 * secants - 4 * slopes[:-1] - 2 * slopes[1:]) / steps
    ends = (2 * slopes[:-1] + 4 * slopes[1:] - 6 * secants) / steps
    np.testing.assert_allclose(begins[1:], ends[:-1], atol=1e-9 * np.abs(begins).max())
    assert not slopes[[0, -1]].any()


def test_a_smooth_plan_goes_through_its_way_points_from_rest_to_rest() -> None:
    result = planned(way_points(), "smooth")
    assert result.interpolation == result.track.interpolation == "smooth"
    assert result.positions[[0, 40, 180, 200, 320], 0] == pytest.approx(PLACES, abs=1e-12)
    rates = curve(np.arange(321) / 200, TIMES, PLACES, "smooth")[1]
    # Rows and slopes are those of the way-points' spline; only where its pieces meet, they differ a little.
    np.testing.assert_allclose(result.velocities[:, 0], rates, atol=2e-3)
    # Twice continuously differentiable: the acceleration does not jump from tick to tick.
    changes = np.diff(speeds_of(result)) * result.rate_hz
    assert np.abs(np.diff(changes[2:-2])).max() < 6.0
    assert np.abs(np.diff(np.diff(speeds_of(planned(way_points(), "cubic")))[2:-2])).max() * 200 > 20.0


def test_a_smooth_curve_that_passes_a_limit_between_way_points_is_refused_at_that_place() -> None:
    assert refusal(way_points([0.0, 1.0, 1.1, 2.0], [0.0, 0.5, 0.5, 0.0]), "smooth", upper=0.5) == (
        "wave: joint 'elbow' reaches 0.503 rad at 1.050 s (after frame 1, the worst of 19); "
        "its upper limit is 0.5 rad; lower the motion or raise `joints.elbow.limits.upper`"
    )


def test_a_smooth_curve_that_passes_a_limit_between_two_ticks_is_refused_too() -> None:
    fixed = Motion("wave", ("elbow",), 10.0, np.arange(6) / 10, np.array([[0, 0.2, 0.5, 0.5, 0.2, 0]]).T)
    assert refusal(fixed, "smooth", upper=0.51) == (
        "wave: joint 'elbow' reaches 0.548 rad at 0.200 s (after frame 2); "
        "its upper limit is 0.51 rad; lower the motion or raise `joints.elbow.limits.upper`"
    )
    assert planned(fixed, "smooth", upper=0.55).positions.tobytes() == fixed.positions.tobytes()


def test_a_smooth_curve_is_held_against_speed_and_acceleration_in_between() -> None:
    fixed = Motion("wave", ("elbow",), 10.0, np.arange(6) / 10, np.array([[0, 0.2, 0.5, 0.5, 0.2, 0]]).T)
    assert refusal(fixed, "smooth", velocity=3.1) == (
        "wave: joint 'elbow' moves at 3.39 rad/s at 0.100 s (after frame 1, the worst of 4); "
        "its velocity limit is 3.1 rad/s; "
        "let `on_violation: slow` slow it to 0.896 of its speed or raise `joints.elbow.limits.velocity`"
    )
    steps = np.diff(np.diff(fixed.positions[:, 0], prepend=0, append=0)) * 100
    assert np.abs(steps).max() < 31.0
    assert refusal(fixed, "smooth", acceleration=31.0) == (
        "wave: joint 'elbow' accelerates at 54.5 rad/s² at 0.500 s (frame 5, the worst of 4); "
        "its acceleration limit is 31 rad/s²; "
        "let `on_violation: slow` slow it to 0.753 of its speed or raise `joints.elbow.limits.acceleration`"
    )


def test_the_fastest_speed_of_a_smooth_motion_counts_its_curve() -> None:
    result = planned(way_points([0.0, 1.0], [0.0, 1.0]), "smooth", acceleration=24.0)
    assert result.max_speed == pytest.approx(2.0, rel=1e-3)  # from 6 rad/s² in its first row


def looped(result: Plan, acceleration: float | None = None, **asked: Any) -> Playback:
    joints: dict[str, dict[str, Any]] = {"elbow": {"limits": LIMITS | {"acceleration": acceleration}}}
    values: dict[str, Any] = {"first": None, "last": None, "ping_pong": False, "seam": "reject"}
    return plan_playback(
        whole(result, ()), map_of(joints), count=3, tolerance=np.array([0.002]), **(values | asked)
    )


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "smooth"])
def test_way_points_that_end_where_they_begin_rest_at_their_seam(interpolation: str) -> None:
    result = planned(way_points([0.0, 0.2, 0.5, 1.0], [0.0, 0.5, 0.4, 0.0]), interpolation)
    playback = looped(result)
    assert playback.passes.seamless
    assert playback.track is result
    assert result.velocities[0, 0] == result.velocities[-1, 0] == 0.0


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "smooth"])
def test_way_points_that_end_elsewhere_do_not_jump_to_their_beginning(interpolation: str) -> None:
    # In one tick, 0.03 rad are 6 rad/s, which the limits allow.
    result = planned(way_points([0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 0.3, 0.03]), interpolation)
    assert result.velocities[-1, 0] == 0.0
    with pytest.raises(PlaybackError) as caught:
        looped(result)
    assert str(caught.value) == (
        "wave: its last row is 0.03 rad from its first at joint 'elbow'; "
        "it rests on both; choose seam approach, or ping-pong"
    )
    playback = looped(result, seam="approach")
    assert (playback.passes.seamless, playback.returns, playback.track) == (False, True, result)


def test_the_peaks_between_rows_are_those_of_the_curve() -> None:
    rows = np.random.default_rng(8).normal(size=(60, 2))
    times = np.arange(60) / 10.0
    slopes = spline_slopes(times, rows)
    dense = np.linspace(0, 5.9, 59 * 400 + 1)
    places, rates = hermite(dense, times, rows, slopes)
    spans = [slice(400 * row, 400 * row + 401) for row in range(59)]
    lowest, highest = peak_positions(rows, slopes, 10.0)
    np.testing.assert_allclose(highest, [places[span].max(axis=0) for span in spans], atol=1e-4)
    np.testing.assert_allclose(lowest, [places[span].min(axis=0) for span in spans], atol=1e-4)
    fastest = [np.abs(rates[span]).max(axis=0) for span in spans]
    np.testing.assert_allclose(peak_speeds(rows, slopes, 10.0), fastest, rtol=1e-4, atol=1e-4)
    bends = np.abs(np.diff(rates, axis=0)) * 4000.0
    # Between knots the acceleration is a line, so its peaks are at rows.
    steepest = peak_accelerations(rows, slopes, 10.0, "smooth")
    assert steepest.max(axis=0) == pytest.approx(bends.max(axis=0), rel=5e-3)


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic", "smooth"])
@pytest.mark.parametrize("at_rest", [False, True])
def test_rates_are_the_derivatives_of_the_values(interpolation: Interpolation, at_rest: bool) -> None:  # noqa: FBT001 - a parameter
    at, step = np.linspace(-0.1, 1.7, 997), 1e-7
    at = at[np.abs(at[:, None] - TIMES).min(axis=1) > 1e-5]
    rates = curve(at, TIMES, PLACES, interpolation, at_rest=at_rest)[1]
    ahead, behind = (
        curve(at + shift, TIMES, PLACES, interpolation, at_rest=at_rest)[0] for shift in (step, -step)
    )
    np.testing.assert_allclose(rates, (ahead - behind) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("interpolation", ["cubic", "linear"])
def test_way_points_a_tick_apart_pass_their_seam_only_as_fast_as_acceleration_allows(
    interpolation: str,
) -> None:
    points = way_points([0.0, 0.005, 0.5, 0.505], [0.0, 0.0004, 0.0004, 0.0], rate_hz=200.0)

    once, at_seam = 16.0, 32.0
    tight, wide = (
        looped(planned(points, interpolation, rate_hz=200.0, acceleration=limit), limit)
        for limit in (1.1 * once, 4.0 * at_seam)
    )
    assert (tight.passes.seamless, tight.returns) == (False, True)
    assert wide.passes.seamless
    assert wide.track.max_speed == pytest.approx(2.0)
