"""Joining of motions, and the seams that are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import JoinTolerance, Motion, MotionError, blend, concatenate, trim

if TYPE_CHECKING:
    from collections.abc import Sequence

UP = np.array([[0.0, 1.0], [0.1, 1.0], [0.2, 1.0]])


def motion(name: str, rows: Any, names: tuple[str, ...] = ("elbow", "wrist"), **more: Any) -> Motion:
    return Motion(name, names, 10.0, np.arange(len(rows)) / 10, np.asarray(rows, float), **more)


def shifted(rows: Any, elbow: float, wrist: float) -> Any:
    return rows + np.array([elbow, wrist])


def rise(**more: Any) -> Motion:
    return motion("rise", UP, **more)


def further(**more: Any) -> Motion:
    return motion("further", shifted(UP, 0.2, 0.0), **more)


def test_the_seam_s_row_stands_once_and_durations_add_up() -> None:
    both = concatenate([rise(warnings=("rise.seq:1: odd",)), further(warnings=("further.seq:2: odd",))])
    assert both.name == "rise"
    assert both.positions[:, 0].tolist() == [0, 0.1, 0.2, 0.30000000000000004, 0.4]
    assert both.times.tolist() == (np.arange(5) / 10).tolist()
    assert both.duration_s == rise().duration_s + further().duration_s
    assert both.warnings == ("rise.seq:1: odd", "further.seq:2: odd")


def test_a_motion_cut_in_three_and_joined_is_itself() -> None:
    times = np.arange(200) / 100
    whole = Motion(
        "wave", ("elbow",), 100.0, times, np.sin(3 * times)[:, None], {"ZMP": np.outer(times, [1, 2, 3])}
    )
    joined = concatenate(iter([trim(whole, 0, 0.5), trim(whole, 0.5, 1.3), trim(whole, 1.3)]))
    assert joined.times.tobytes() == whole.times.tobytes()
    assert joined.positions.tobytes() == whole.positions.tobytes()
    assert joined.components["ZMP"].tobytes() == whole.components["ZMP"].tobytes()


def test_joints_in_another_order_are_joined_by_name() -> None:
    other = motion("further", shifted(UP, 0.2, 0.0)[:, ::-1], ("wrist", "elbow"))
    assert concatenate([rise(), other]).positions[-1].tolist() == [0.4, 1]


def test_frames_with_times_of_their_own_are_joined_in_time() -> None:
    first = Motion("log", (), 10.0, np.array([5.0, 5.5]), np.zeros((2, 1)))
    second = Motion("more", (), 10.0, np.array([1.0, 3.0]), np.zeros((2, 1)))
    assert concatenate([first, second]).times.tolist() == [5, 5.5, 7.5]


def test_series_on_their_own_clock_are_joined_without_overlap() -> None:
    def logged(motion: Motion) -> Motion:
        about = {"Load": {"type": "MultiValueSeq", "times": np.array([0.0, 0.15, 0.2]), "frame_rate": 7.0}}
        return replace(motion, components={"Load": np.arange(3.0)[:, None]}, metadata={"components": about})

    both = concatenate([logged(rise()), logged(further())])
    np.testing.assert_allclose(both.metadata["components"]["Load"]["times"], [0, 0.15, 0.2, 0.35, 0.4])
    assert both.components["Load"][:, 0].tolist() == [0, 1, 2, 1, 2]


def test_a_single_posture_may_follow_if_the_motion_ends_at_rest() -> None:
    assert concatenate([motion("rest", UP[[2, 2]]), motion("stay", UP[[2]])]).positions.shape == (2, 2)


def poses(x: float, angle_rad: float) -> dict[str, Any]:
    one = [x, 0, 0, np.cos(angle_rad / 2), 0, 0, np.sin(angle_rad / 2)]
    return {"LinkPosition": np.tile(one, (3, 1, 1))}


def test_a_quaternion_of_the_other_sign_is_no_gap() -> None:
    both = concatenate([rise(components=poses(1, 0.5)), further(components=poses(1, 0.5 + 2 * np.pi))])
    assert both.components["LinkPosition"].shape == (5, 1, 7)


MEND = "trim one of them or put a motion between"
REFUSED: list[tuple[Sequence[Motion], str]] = [
    ([], "there are no motions to join; give at least one"),
    (
        [rise(), motion("fall", shifted(UP[::-1], 0.1, 0))],
        ("rise + fall: joint 'elbow' is at 0.2 rad at the end and 0.3 rad at the start, a gap of 0.1 rad; "
        f"the seam allows 0.001 rad; {MEND}\n"
        "rise + fall: joint 'elbow' moves at 1 rad/s at the end and -1 rad/s at the start, a gap of 2 rad/s; "
        f"the seam allows 0.1 rad/s; {MEND}"),
    ),
    (
        [rise(), further(), motion("jump", shifted(UP, 0.4, 1))],
        ("further + jump: joint 'wrist' is at 1 at the end and 2 at the start, a gap of 1; "
        f"the seam allows 0.001; {MEND}"),
    ),
    (
        [motion("a", [[0.0]], ()), motion("b", [[1.0]], ())],
        f"a + b: joint 0 is at 0 at the end and 1 at the start, a gap of 1; the seam allows 0.001; {MEND}",
    ),
    (
        [rise(components=poses(1, 0)), further(components=poses(1.5, 0.25))],
        ("rise + further: LinkPosition: part 0 has a gap of 0.5 m; the seam allows 0.001 m; "
        "trim one of them or drop the component\n"
        "rise + further: LinkPosition: part 0 has a gap of 0.25 rad; the seam allows 0.001 rad; "
        "trim one of them or drop the component"),
    ),
    (
        [rise(), replace(further(), frame_rate=20.0)],
        "rise + further: frame rates are 10 and 20 frames/s; a motion has one; resample one of them",
    ),
    (
        [rise(), motion("other", UP, ("elbow", "knee"))],
        "rise + other: joints differ; only one of them has 'knee', 'wrist'; select or rename some",
    ),
    (
        [motion("a", [[0.0]], ()), motion("b", [[1.0, 2.0]], ())],
        "a + b: joints differ; they have 1 and 2; select or rename some",
    ),
    (
        [rise(components={"ZMP": np.zeros((3, 3))}), further()],
        "rise + further: only one of them has the component 'ZMP'; all have it or none; drop it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("motions", "message"), REFUSED)
def test_what_does_not_meet_is_refused(motions: Sequence[Motion], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        concatenate(motions, JoinTolerance(units={"elbow": "rad"}))
    assert str(caught.value) == message


def test_of_very_many_gaps_the_first_twenty_are_told() -> None:
    wide = [motion(name, np.full((1, 30), at), ()) for name, at in (("a", 0.0), ("b", 1.0))]
    with pytest.raises(MotionError) as caught:
        concatenate(wide)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "10 more gaps"


def test_a_wider_seam_lets_a_jump_pass() -> None:
    assert (
        concatenate([rise(), motion("jump", shifted(UP, 0.4, 1))], JoinTolerance(position=2.0)).times.size
        == 5
    )


def test_the_message_on_the_page_is_real() -> None:
    page = Path(__file__).parents[3] / "docs" / "motions.md"
    message = REFUSED[1][1].splitlines()[0]
    assert f"\n{message}\n" in page.read_text(encoding="utf-8")


def drift(name: str, frames: int, start: float, speed: float) -> Motion:
    times = np.arange(frames) / 100
    return Motion(name, ("elbow", "wrist"), 100.0, times, start + speed * times[:, None] * [1.0, -2.0])


drifts = st.builds(
    drift, st.just("drift"), st.integers(12, 60), st.floats(-1, 1, width=32), st.floats(-1, 1, width=32)
)


@settings(derandomize=True)
@given(drifts, drifts, st.integers(1, 11))
def test_a_blend_keeps_both_motions_outside_of_the_overlap_and_stays_between_them_inside(
    before: Motion, after: Motion, rows: int
) -> None:
    both = blend(before, after, rows / 100)
    alone = before.times.size - rows - 1
    assert both.times.tolist() == (np.arange(before.times.size + after.times.size - rows - 1) / 100).tolist()
    assert both.positions[: alone + 1].tobytes() == before.positions[: alone + 1].tobytes()
    assert both.positions[alone + rows :].tobytes() == after.positions[rows:].tobytes()
    inside = both.positions[alone : alone + rows + 1]
    ends, begins = before.positions[alone:], after.positions[: rows + 1]
    assert (inside >= np.minimum(ends, begins) - 1e-12).all()
    assert (inside <= np.maximum(ends, begins) + 1e-12).all()


def test_a_blend_of_motions_at_rest_is_smooth_up_to_its_acceleration() -> None:
    before, after = drift("low", 501, 0.0, 0.0), drift("high", 501, 1.0, 0.0)
    velocity, acceleration = blend(before, after, 2.0).derivatives()
    assert np.abs(velocity).max() == pytest.approx(1.875 / 2, rel=1e-3)
    assert np.abs(np.diff(acceleration, axis=0)).max() < 60 / 2**3 / 100 * 1.01


def sine(name: str, faster: float) -> Motion:
    """Return a motion with the exact velocities and accelerations."""
    times = np.arange(1001) / 500
    rows, slopes = (np.outer(turn(faster * times), [1.0, -2.0]) for turn in (np.sin, np.cos))
    rates = {"JointVelocity": faster * slopes, "JointAcceleration": -(faster**2) * rows}
    return Motion(name, ("elbow", "wrist"), 500.0, times, rows, rates)


def test_blended_velocities_and_accelerations_are_those_of_the_positions() -> None:
    both = blend(sine("slow", 1.0), sine("fast", 3.0), 1.0)
    velocity, acceleration = both.derivatives()
    np.testing.assert_allclose(both.components["JointVelocity"][1:-1], velocity[1:-1], atol=1e-3)
    np.testing.assert_allclose(both.components["JointAcceleration"][1:-1], acceleration[1:-1], atol=0.05)


def test_joints_of_a_blended_motion_are_found_by_name() -> None:
    after = drift("after", 20, 0.0, 1.0)
    turned = replace(after, joint_names=("wrist", "elbow"), positions=after.positions[:, ::-1])
    before = drift("before", 20, 0.5, 0.0)
    assert blend(before, turned, 0.1).positions.tolist() == blend(before, after, 0.1).positions.tolist()


SHORT = (
    "low + high: cannot be blended over {} s; the shorter one lasts 0.19 s; "
    "an overlap is a row, 0.01 s, at least, and no longer than that"
)


@pytest.mark.parametrize(
    ("before", "after", "seconds", "message"),
    [
        (drift("low", 20, 0, 0), drift("high", 30, 0, 0), 0.2, SHORT.format(0.2)),
        (drift("low", 20, 0, 0), drift("high", 30, 0, 0), 0.0, SHORT.format(0)),
        (drift("low", 20, 0, 0), drift("high", 30, 0, 0), float("nan"), SHORT.format("nan")),
        (
            drift("low", 20, 0, 0),
            replace(drift("high", 20, 0, 0), frame_rate=50.0, times=np.arange(20) / 50),
            0.1,
            "low + high: frame rates are 100 and 50 frames/s; a motion has one; resample one of them",
        ),
        (
            replace(drift("low", 20, 0, 0), components={"ZMP": np.zeros((20, 3))}),
            replace(drift("high", 20, 0, 0), components={"ZMP": np.zeros((20, 3))}),
            0.1,
            (
                "low: component 'ZMP' cannot be blended; "
                "it is not known how it goes over into that of another motion; drop it first"
            ),
        ),
        (
            drift("low", 20, 0, 0),
            replace(drift("high", 3, 0, 0), times=np.array([0.0, 1.0, 1.5])),
            0.1,
            (
                "high: its rows do not lie evenly; only rows at a fixed rate are blended; "
                "resample it first, as by `motiond edit --rate`"
            ),
        ),
    ],
)
def test_what_cannot_be_blended_is_refused(
    before: Motion, after: Motion, seconds: float, message: str
) -> None:
    with pytest.raises(MotionError) as caught:
        blend(before, after, seconds)
    assert str(caught.value) == message
