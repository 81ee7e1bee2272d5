"""Motions: sampling between rows, derivatives, resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.formats import Motion, MotionError
from motiond.formats.model.interpolation import hermite, pchip_slopes

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats

TIMES = np.array([0.0, 0.1, 0.4, 0.5])
ROWS = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [2.0, 2.0]])


RULE = "a motion has (frames,) and (frames, joints), and at least one frame"


def motion(times: Floats = TIMES, positions: Floats = ROWS, frame_rate: float = 10.0) -> Motion:
    return Motion("wave", (), frame_rate, times, positions)


heights = st.floats(-1e3, 1e3, allow_nan=False)
curves = st.lists(st.tuples(st.floats(1e-3, 10), heights), min_size=1, max_size=12).map(
    lambda points: (np.cumsum([gap for gap, _ in points]), np.array([[height] for _, height in points]))
)


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic"])
def test_at_a_row_s_time_each_interpolation_gives_that_row(interpolation: Interpolation) -> None:
    assert motion().sample(TIMES, interpolation).tolist() == ROWS.tolist()


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic"])
def test_outside_the_rows_the_first_and_the_last_hold(interpolation: Interpolation) -> None:
    assert motion().sample([-1, 9], interpolation).tolist() == [[0, 1], [2, 2]]


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic"])
def test_a_single_frame_holds_for_ever(interpolation: Interpolation) -> None:
    pose = motion(np.zeros(1), np.array([[3.0]]))
    assert pose.sample([-1, 0, 1], interpolation).tolist() == [[3], [3], [3]]
    assert pchip_slopes(pose.times, pose.positions).tolist() == [[0]]
    assert pose.duration_s == 0


def test_hold_keeps_a_row_until_the_next_in_spite_of_rounding() -> None:
    assert motion().sample([0.0999, 0.1 - 1e-12, 0.3], "hold")[:, 0].tolist() == [0, 1, 1]


def test_linear_is_straight() -> None:
    np.testing.assert_allclose(motion().sample([0.05, 0.25], "linear"), [[0.5, 1], [2, 0.5]])


def test_cubic_has_the_slopes_of_scipy_s_pchip() -> None:
    # scipy 1.17: PchipInterpolator(TIMES, ROWS).derivative()(TIMES)
    expected = [
        [10.833333333333332, 0.0],
        [8.275862068965518, 0.0],
        [0.0, 0.0],
        [-14.166666666666668, 25.833333333333343],
    ]
    np.testing.assert_allclose(pchip_slopes(TIMES, ROWS), expected, rtol=1e-12)


@given(curves, st.lists(st.floats(-1, 130), min_size=1))
def test_cubic_never_leaves_the_two_rows_around(curve: tuple[Floats, Floats], at: list[float]) -> None:
    times, rows = curve
    sampled = motion(times, rows).sample(at)[:, 0]
    before = np.clip(np.searchsorted(times, at, side="right") - 1, 0, None)
    after = np.clip(before + (np.array(at) >= times[0]), 0, times.size - 1)
    low, high = np.minimum(rows[before], rows[after])[:, 0], np.maximum(rows[before], rows[after])[:, 0]
    slack = 1e-12 * np.abs(rows).max()
    assert (sampled >= low - slack).all()
    assert (sampled <= high + slack).all()


@given(curves)
def test_cubic_joins_its_pieces_without_a_kink(curve: tuple[Floats, Floats]) -> None:
    times, rows = curve
    if times.size > 2:
        slopes = pchip_slopes(times, rows)
        rates_after = hermite(times[1:-1], times, rows, slopes)[1]
        rates_before = hermite(np.nextafter(times[1:-1], -np.inf), times, rows, slopes)[1]
        scale = np.abs(np.diff(rows, axis=0)).max() / np.diff(times).min()
        np.testing.assert_allclose(rates_after, slopes[1:-1], atol=1e-9 * scale)
        np.testing.assert_allclose(rates_before, slopes[1:-1], atol=1e-9 * scale)


def test_the_rate_of_a_cubic_is_the_derivative_of_its_value_and_zero_outside() -> None:
    slopes = pchip_slopes(TIMES, ROWS)
    at = np.array([0.03, 0.2, 0.45])
    step = 1e-6
    ahead, behind = (hermite(at + shift, TIMES, ROWS, slopes)[0] for shift in (step, -step))
    np.testing.assert_allclose(hermite(at, TIMES, ROWS, slopes)[1], (ahead - behind) / (2 * step), atol=1e-6)
    assert not hermite(np.array([-0.1, 0.6]), TIMES, ROWS, slopes)[1].any()


def test_derivatives_of_a_parabola_are_exact_inside_also_at_uneven_times() -> None:
    velocity, acceleration = motion(TIMES, 3 * np.square(TIMES)[:, None]).derivatives()
    np.testing.assert_allclose(velocity[1:-1, 0], 6 * TIMES[1:-1])
    np.testing.assert_allclose(acceleration[:, 0], [6, 6, 6, 6])


def test_derivatives_of_one_and_two_frames_are_those_of_rest_and_of_a_straight_line() -> None:
    assert [part.tolist() for part in motion(TIMES[:1], ROWS[:1]).derivatives()] == [[[0, 0]], [[0, 0]]]
    assert [part[:, 0].tolist() for part in motion(TIMES[:2], ROWS[:2]).derivatives()] == [[10, 10], [0, 0]]


def test_resampling_reaches_the_last_row_and_gives_even_frames() -> None:
    sampled = motion().resampled(8)
    assert sampled.times.tolist() == [0, 0.125, 0.25, 0.375, 0.5]
    assert sampled.frame_rate == 8
    assert sampled.is_uniform
    assert not motion().is_uniform
    assert sampled.positions[-1].tolist() == ROWS[-1].tolist()


def test_resampling_past_the_end_holds_the_last_row() -> None:
    sampled = motion().resampled(3)
    np.testing.assert_allclose(sampled.times, [0, 1 / 3, 2 / 3])
    assert sampled.positions[-1].tolist() == ROWS[-1].tolist()


def test_resampling_takes_every_series_along() -> None:
    half = np.sqrt(0.5)
    poses = np.array([[[0, 0, 0, 1, 0, 0, 0]], [[1, 0, 0, -half, -half, 0, 0]]], dtype=float)
    zmp, logged = np.array([[0.0, 0, 0], [1, 2, 3]]), np.array([[4.0], [4.0], [6.0]])
    long = Motion(
        "wave", (), 1.0, np.array([0.0, 1.0]), np.zeros((2, 0)),
        {"LinkPosition": poses, "ZMP": zmp, "Logged": logged},
        {
            "components": {
                "LinkPosition": {"type": "MultiSE3Seq"},
                "Logged": {"type": "MultiValueSeq", "times": np.array([0, 0.25, 0.75]), "frame_rate": 100},
            }
        },
    )  # fmt: skip
    sampled = long.resampled(2, "linear")
    assert sampled.components["ZMP"].tolist() == [[0, 0, 0], [0.5, 1, 1.5], [1, 2, 3]]
    # The second quaternion has the other sign: the shorter way is an eighth of a turn about x.
    eighth = [np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0]
    np.testing.assert_allclose(sampled.components["LinkPosition"][1, 0], [0.5, 0, 0, *eighth], atol=1e-12)
    assert sampled.components["Logged"].tolist() == [[4], [5], [6]]
    assert sampled.metadata["components"]["Logged"] == {"type": "MultiValueSeq"}
    assert long.metadata["components"]["Logged"]["frame_rate"] == 100


def test_time_specified_frames_become_frames_at_a_fixed_rate() -> None:
    held = motion().resampled(10, "hold")
    assert held.is_uniform
    assert held.positions[:, 0].tolist() == [0, 1, 1, 1, 3, 2]


def test_resampling_refuses_what_cannot_go_along() -> None:
    strange = Motion("wave", (), 1.0, TIMES, ROWS, {"Faces": [{"smile": 1.0}]})
    with pytest.raises(MotionError) as caught:
        strange.resampled(2)
    assert str(caught.value) == (
        "wave: component 'Faces' cannot go along; it is no series of numbers over time that is known here; "
        "drop it first"
    )


@pytest.mark.parametrize("told", ["0", "-1", "1e+09", "100001", "100000.1", "inf", "nan"])
def test_a_rate_is_a_number_above_zero_and_no_faster_than_any_actuator(told: str) -> None:
    with pytest.raises(MotionError) as caught:
        motion().resampled(float(told))
    expected = f"wave: the rate is {told} frames/s; it is above 0 and at most 100000; correct it"
    assert str(caught.value) == expected


def test_more_rows_than_memory_holds_are_refused() -> None:
    poses = np.zeros((2, 100, 7))
    far = Motion("far", (), 10, np.array([0.0, 1.7e9]), np.zeros((2, 1)), {"LinkPosition": poses})
    with pytest.raises(MotionError) as caught:
        far.resampled(100)
    assert str(caught.value) == (
        "far: 2 frames over 1.7e+09 s would become 1.7e+11 rows; "
        "at most 11412 are made of them, 114.12 s at 100 Hz; check its times, which are in s"
    )


def test_rows_further_apart_than_the_motion_lasts_are_refused() -> None:
    lasting = motion().duration_s
    assert motion().resampled(1.0 / lasting).times.size == 2
    with pytest.raises(MotionError) as caught:
        motion().resampled(0.5 / lasting)
    problem = f"lasts {lasting:g} s; at {0.5 / lasting:g} frames/s rows are {2 * lasting:g} s apart"
    assert str(caught.value) == f"{motion().name}: {problem}; choose at least {1 / lasting:.6g}"


@pytest.mark.parametrize(
    ("time_s", "frame"),
    [(-5, 0), (0.04, 0), (0.05, 0), (0.06, 1), (0.4, 2), (0.25, 1), (0.46, 3), (5, 3)],
)
def test_the_closest_frame_is_the_nearest_in_time_and_of_two_the_earlier(time_s: float, frame: int) -> None:
    assert motion().closest_frame(time_s) == frame


@pytest.mark.parametrize(
    ("frames", "rows", "names", "message"),
    [
        (0, 0, (), f"(0,) times and (0, 2) positions; {RULE}"),
        (2, 3, (), f"(2,) times and (3, 2) positions; {RULE}"),
        (1, 1, ("hip",), "1 joint names for 2 joints"),
    ],
)
def test_what_does_not_fit_together_is_no_motion(
    frames: int, rows: int, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match="wave: ") as caught:
        Motion("wave", names, 1.0, np.zeros(frames), np.zeros((rows, 2)))
    assert str(caught.value) == f"wave: {message}"


def test_positions_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        motion().positions[0, 0] = 5
