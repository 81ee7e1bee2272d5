"""Motions of good BVH files, and the refusals of bad ones."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, ReadOptions, bvh, load_motion
from motiond.formats.bvh.reader import rate_of
from motiond.formats.io.source import Source
from motiond.formats.model.mapping import MappedJoint, MotionMap
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable

BOW = Path(__file__).parents[2] / "files" / "good" / "bow.bvh"
LENGTHS = (
    "BVH has no unit for them, and they are read as m; give them a `unit` in a motion map, or ignore them"
)
NECK = """HIERARCHY
ROOT Neck
{
  OFFSET 0 0 0
  CHANNELS 3 Zrotation Xrotation Yrotation
}
MOTION
"""


def read(text: str, options: ReadOptions = ReadOptions()) -> Motion:  # noqa: B008 - it cannot be changed
    (motion,) = bvh.load(text.encode(), Source(Path("m.bvh"), options=options))
    return motion


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(text)
    return str(caught.value)


def neck(*rows: Iterable[float], time: str = "0.01", frames: int | None = None) -> str:
    """Return a file with one joint."""
    lines = "\n".join(" ".join(map(str, row)) for row in rows)
    return f"{NECK}Frames: {len(rows) if frames is None else frames}\nFrame Time: {time}\n{lines}\n"


def test_every_channel_is_a_column_called_by_its_joint() -> None:
    assert load_motion(BOW).joint_names == (
        *(f"Hips.{axis}position" for axis in "XYZ"),
        *(f"Hips.{axis}rotation" for axis in "ZXY"),
        *(f"Left Arm.{axis}rotation" for axis in "ZXY"),
    )


def test_rotations_are_in_degrees_and_lengths_in_no_unit() -> None:
    bow = load_motion(BOW)
    column = dict(zip(bow.joint_names, bow.positions.T, strict=True))
    assert column["Hips.Xrotation"].tolist() == [np.deg2rad(-45)] * 4
    assert column["Hips.Zposition"].tolist() == [0, 0, 0.5, 1]
    assert bow.metadata["units"] == {name: "deg" for name in bow.joint_names if "rotation" in name}
    assert bow.warnings[-1] == f"{BOW}:16: 3 channels are lengths; {LENGTHS}"


def test_a_motion_map_makes_joints_of_channels() -> None:
    joints = {
        "lift": MappedJoint("Hips.Yposition", unit="cm", offset=-90),
        "elbow": MappedJoint("Left Arm.Yrotation", -1, 10),
    }
    bow = load_motion(BOW, options=ReadOptions(map=MotionMap(joints, ignores_others=True)))
    assert bow.joint_names == ("lift", "elbow")
    np.testing.assert_allclose(bow.positions[:, 0], 0.005)
    np.testing.assert_allclose(bow.positions[:, 1], np.deg2rad([10, -80, -170, -260]))


def test_angles_that_start_over_go_on_instead_with_a_warning() -> None:
    bow = load_motion(BOW)
    hips, arm = bow.positions[:, 5], bow.positions[:, 8]
    np.testing.assert_allclose(hips, np.deg2rad([170, 179, 188, 197]))
    np.testing.assert_allclose(arm, np.deg2rad([0, 90, 180, 270]))
    assert bow.warnings[0] == (
        f"{BOW}:16: 2 jumps by whole turns are taken out of Hips.Yrotation, Left Arm.Yrotation; "
        "angles start over after a turn, and a joint would race round; "
        "check that no joint turns on beyond its limits"
    )


@pytest.mark.parametrize("angles", [[0, 180, 0, -180], [-180, 0, 180], [0, 179.5, 0.25, -179], [350]])
def test_angles_that_go_half_a_turn_at_most_are_left_as_they_are(angles: list[float]) -> None:
    motion = read(neck(*([angle, 0, 0] for angle in angles)))
    assert motion.positions[:, 0].tobytes() == (np.array(angles) * (np.pi / 180)).tobytes()
    assert motion.warnings == ()


def test_angles_may_jump_by_several_turns_and_back() -> None:
    motion = read(neck([10, 0, 0], [740, 0, 0], [-330, 0, 0]))
    np.testing.assert_allclose(motion.positions[:, 0], np.deg2rad([10, 20, 30]))


@table("period, rate")
def test_the_time_of_a_frame_is_the_rate_that_it_was_rounded_from(period: str, rate: float) -> None:
    assert rate_of(Decimal(period)) == rate


def test_rows_lie_at_the_rate() -> None:
    bow = load_motion(BOW)
    assert (bow.frame_rate, bow.is_uniform) == (30, True)
    assert bow.times.tobytes() == (np.arange(4) / 30).tobytes()


def test_a_time_of_0_is_no_rate_unless_one_is_given() -> None:
    assert refusal(neck([0, 0, 0], time="0.000")) == (
        "m.bvh:9: the time of a frame is 0.000 s; a frame rate lies between 0.001 and 100000 frames/s; "
        "correct it; where it is 0, say the rate: `--file-rate HZ`"
    )
    assert read(neck([0, 0, 0], time="0.000"), ReadOptions(rate_hz=25)).frame_rate == 25
    assert read(neck([0, 0, 0], time="0.02"), ReadOptions(rate_hz=25)).frame_rate == 50


def test_a_file_with_fewer_frames_than_it_states_is_known_to_be_short() -> None:
    short = read(neck([0, 0, 0], [1, 0, 0], frames=3))
    assert short.warnings == (
        "m.bvh:7: Frames is 3 and there are 2; those that there are count; correct it if none are missing",
    )
    assert short.missing_frames() == {"JointDisplacement": (2, 3)}
    long = read(neck([0, 0, 0], [1, 0, 0], frames=1))
    assert (len(long.positions), long.missing_frames(), len(long.warnings)) == (2, {}, 1)


@table("text")
def test_layouts_of_other_programs_are_read(text: str) -> None:
    motion = read(text)
    assert (motion.joint_names, motion.frame_rate, motion.warnings) == (("Hip.Zrotation",), 100, ())
    np.testing.assert_allclose(motion.positions, np.deg2rad([[0.5], [-1.0]]))


@table("text, message")
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == f"m.bvh{message}"


@table("rows, message")
def test_bad_frames_are_refused_on_their_line(rows: str, message: str) -> None:
    assert refusal(f"{NECK}Frames: 2\nFrame Time: 0.01\n{rows}") == f"m.bvh:{message}"


def test_more_channels_than_any_skeleton_has_are_refused() -> None:
    joint = "ROOT j{}\n{{\nCHANNELS 3 Xrotation Yrotation Zrotation\n}}\n"
    text = "HIERARCHY\n" + "".join(joint.format(number) for number in range(3334))
    assert refusal(text) == "m.bvh:13336: there are too many channels; 10000 are read; split the file"


def test_a_skeleton_may_be_as_deep_as_it_likes() -> None:
    chain = "".join(f"JOINT j{number} {{\nCHANNELS 1 Xrotation\n" for number in range(5000))
    text = f"HIERARCHY\n{chain}{'}' * 5000}\nMOTION\nFrames: 1\nFrame Time: 1\n{'0 ' * 5000}\n"
    assert read(text).positions.shape == (1, 5000)
