"""Motions of good .motion files, and the refusals of bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, load_motion, webots_motion
from motiond.formats.io.source import Source
from tests.tables import table

NOD = Path(__file__).parents[2] / "files" / "good" / "nod.motion"
HEADER = "#WEBOTS_MOTION,V1.0,hip,knee\n"


def read(text: str) -> Motion:
    (motion,) = webots_motion.load(text.encode(), Source(Path("m.motion")))
    return motion


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(text)
    return str(caught.value)


def test_key_poses_are_rows_at_their_times() -> None:
    nod = load_motion(NOD)
    assert (nod.name, nod.joint_names) == ("nod", ("neck", "shoulder"))
    assert nod.times.tolist() == [0.0, 0.5, 0.9, 1.4]
    assert nod.positions[:, 0].tolist() == [0, 0.25, -0.125, 0]
    assert (nod.is_uniform, nod.metadata) == (False, {"format": "webots_motion"})


def test_a_motor_keeps_its_position_where_a_star_stands_and_then_moves_on() -> None:
    nod = load_motion(NOD)
    assert nod.positions[:, 1].tolist() == [0.5, 0.5, 0.5, -0.5]
    left_out, resumed = (warning.removeprefix(f"{NOD}:") for warning in nod.warnings)
    assert left_out == (
        "1: motor 'waist' has no position in any pose; every pose has *; it is no joint of the motion"
    )
    assert resumed == (
        "5: motor 'shoulder' moves on after *; Webots keeps it still until this pose, and then steps; "
        "it moves here from the pose before"
    )


def test_a_motor_that_moves_on_to_where_it_is_needs_no_warning() -> None:
    kept = read(f"{HEADER}0,a,0,1\n40,b,*,2\n80,c,0,3\n")
    assert (kept.positions.tolist(), kept.warnings) == ([[0, 1], [0, 2], [0, 3]], ())


@pytest.mark.parametrize(("step_ms", "are_rows"), [(10, True), (40, False)])
def test_poses_that_lie_evenly_are_rows_only_where_they_lie_densely(step_ms: int, are_rows: bool) -> None:  # noqa: FBT001
    even = read(HEADER + "".join(f"00:00:{step_ms * pose:03},p,{pose},0\n" for pose in range(20)))
    assert (even.frame_rate, even.is_uniform) == (100, are_rows)
    assert even.times.tobytes() == (np.arange(20) * step_ms / 1000).tobytes()


def test_a_single_pose_is_a_motion() -> None:
    assert read(f"{HEADER}00:00:000,p,1,2\n").positions.tolist() == [[1, 2]]


@table("time, seconds")
def test_a_time_has_minutes_seconds_and_milliseconds(time: str, seconds: float) -> None:
    assert read(f"{HEADER}{time},p,1,2\n").times.tolist() == [seconds]


@table("text")
def test_what_other_programs_write_is_read_too(text: str) -> None:
    motion = read(text)
    assert (motion.joint_names, motion.positions.tolist()) == (("hip", "knee"), [[0.5, -1], [0, 1]])
    assert motion.warnings == ()


def test_poses_behind_an_empty_line_are_read_with_a_warning() -> None:
    motion = read(f"{HEADER}0,p,0,0\n\n\n40,p,1,1\n\n")
    assert len(motion.positions) == 2
    (warning,) = motion.warnings
    assert warning == (
        "m.motion:5: poses follow an empty line; Webots reads no further than that; "
        "they are read; remove the empty line"
    )


@table("text, message")
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == f"m.motion{message}"
