"""Motions of good .seq files of all versions."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from motiond.formats import Motion, load_motion, trim_frames
from tests.tables import table

ROOT = Path(__file__).parents[3]
GOOD = ROOT / "tests" / "files" / "good"
HEAD = "type: CompositeSeq\ncontent: BodyMotion\nformatVersion: 2\nframeRate: 10\n"
JOINTS = "  - type: MultiValueSeq\n    content: JointDisplacement\n    numParts: 2\n"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str) -> Motion:
    Path("case.seq").write_bytes(text.encode())
    return load_motion("case.seq")


def test_version_1_has_purposes_old_types_and_a_pose_format_of_its_own() -> None:
    motion = load_motion(GOOD / "old_wave.seq")
    assert motion.name == "old_wave"
    assert motion.frame_rate == 50
    assert motion.times.tolist() == [0, 0.02, 0.04]
    assert motion.positions.tolist() == [[0, 0.5], [0.1, 0.6], [0.2, 0.7]]
    assert motion.components["LinkPosition"].tolist() == [[[1, 2, 3, 0.8, 0, 0, 0.6]]] * 3
    assert motion.components["ZMP"][2].tolist() == [0, 0.03, -0.7]
    assert motion.metadata["components"]["ZMP"]["is_root_relative"] is True
    assert motion.metadata["format_version"] == 1
    assert motion.warnings == ()


def test_version_3_has_names_of_its_own_and_roll_pitch_yaw_becomes_a_quaternion() -> None:
    motion = load_motion(GOOD / "two_feet.seq")
    assert motion.positions.tolist() == [[0.25], [0.5]]
    assert motion.components["ZMP"].shape == (2, 3)
    half = np.sqrt(0.5)
    feet = motion.components["LinkPosition"]
    assert feet.shape == (2, 2, 7)
    assert feet[0, 0].tolist() == [0, 0.1, 0.05, 1, 0, 0, 0]
    np.testing.assert_allclose(feet[0, 1], [0, -0.1, 0.05, half, half, 0, 0], atol=1e-15)
    np.testing.assert_allclose(feet[1, 1], [0, -0.1, 0.05, 0, 0, 0, 1], atol=1e-15)
    # Rz(0.3) Ry(0.2) Rx(0.1), multiplied out by hand.
    np.testing.assert_allclose(feet[1, 0, 3:], [0.98334744, 0.03427080, 0.10602051, 0.14357218], atol=1e-8)
    assert motion.metadata["components"]["ZMP"]["is_root_relative"] is True


def test_time_specified_frames_keep_their_times_and_need_no_rate() -> None:
    motion = load_motion(GOOD / "logged.seq")
    assert motion.times.tolist() == [0.5, 0.6, 0.9]
    assert motion.positions.tolist() == [[0, 1], [0.1, 1.1], [0.1, 1.3]]
    assert motion.frame_rate == 100
    assert not motion.is_uniform
    assert motion.duration_s == pytest.approx(0.4)


def test_a_component_takes_from_the_top_node_what_it_lacks_and_keeps_what_it_has() -> None:
    motion = load_motion(GOOD / "logged.seq")
    assert motion.joint_names == ("hip", "knee")
    assert motion.components["JointEffort"].tolist() == [[3.5, -1], [3.25, -2]]
    about = motion.metadata["components"]
    assert about["JointEffort"]["times"].tolist() == [0.5, 0.7]
    assert about["Gravity"]["times"].tolist() == [0]
    assert about["Gravity"]["frame_rate"] == 10
    assert "times" not in about["JointDisplacement"]


def test_what_is_unknown_is_kept_as_it_stood_with_a_warning() -> None:
    motion = load_motion(GOOD / "logged.seq")
    assert motion.components["Feet"] == [["left"], ["left", "right"]]
    assert motion.metadata["components"]["Feet"] == {
        "type": "ContactSeq",
        "content": "Feet",
        "unknown": {"surface": {"friction": 0.8, "kind": "rubber"}},
    }
    assert motion.metadata["unknown"] == {"author": "someone"}
    author, feet = (line.removeprefix(str(GOOD / "logged.seq")) for line in motion.warnings)
    assert author == ":7: unknown key author; no version has it; kept in metadata"
    assert feet == ":32: unknown type ContactSeq; a newer program's; its frames are kept as they stand"


def test_rows_of_an_unknown_type_become_an_array_where_they_are_regular() -> None:
    rows = "".join(f"      - [ [ {row}, 0.5 ], [ 2, 3 ] ]\n" for row in range(50))
    text = f"{HEAD}components:\n{JOINTS}    frames: [ [ 0, 1 ] ]\n"
    motion = read(f"{text}  - type: MultiVector2Seq\n    content: Marks\n    frames:\n{rows}")
    assert motion.components["Marks"].tolist() == [[[row, 0.5], [2, 3]] for row in range(50)]


def test_a_motion_may_have_no_joints() -> None:
    motion = read(
        f"{HEAD}components:\n  - type: MultiSE3Seq\n    content: LinkPosition\n    numParts: 1\n"
        "    SE3Format: XYZQWQXQYQZ\n    frames:\n      - [ [ 1, 2, 3, 1, 0, 0, 0 ] ]\n"
    )
    assert motion.positions.shape == (1, 0)
    assert motion.joint_names == ()
    assert motion.components["LinkPosition"].tolist() == [[[1, 2, 3, 1, 0, 0, 0]]]


def test_a_time_stands_before_poses_and_vectors() -> None:
    motion = read(
        f"{HEAD}hasFrameTime: true\ncomponents:\n"
        "  - type: MultiSE3Seq\n    content: LinkPosition\n    numParts: 1\n    SE3Format: XYZQWQXQYQZ\n"
        "    frames:\n      - [ 0.0, [ 1, 2, 3, 1, 0, 0, 0 ] ]\n      - [ 0.3, [ 4, 5, 6, 1, 0, 0, 0 ] ]\n"
        "  - type: Vector3Seq\n    content: ZMP\n    frames: [ [ 0.0, 7, 8, 9 ], [ 0.3, 1, 2, 3 ] ]\n"
    )
    assert motion.times.tolist() == [0, 0.3]
    assert motion.components["LinkPosition"][1].tolist() == [[4, 5, 6, 1, 0, 0, 0]]
    assert motion.components["ZMP"].tolist() == [[7, 8, 9], [1, 2, 3]]


def test_frames_that_share_a_pose_may_name_it_by_an_alias() -> None:
    motion = read(
        f"{HEAD}components:\n{JOINTS}    frames:\n      - &rest [ 0, 1 ]\n      - [ 1, 2 ]\n      - *rest\n"
    )
    assert motion.positions.tolist() == [[0, 1], [1, 2], [0, 1]]


def test_rows_inside_a_text_are_text() -> None:
    rows = "      - [ 9, 9 ]\n" * 20
    motion = read(f"{HEAD}note: |\n{rows}components:\n{JOINTS}    frames:\n{rows}")
    assert motion.positions.tolist() == [[9, 9]] * 20
    assert motion.metadata["unknown"]["note"] == "- [ 9, 9 ]\n" * 20


@table("spelling, value")
@pytest.mark.parametrize("rows", [1, 20])
def test_numbers_are_those_of_yaml_1_2(spelling: str, value: float, rows: int) -> None:
    motion = read(f"{HEAD}components:\n{JOINTS}    frames:\n" + f"      - [ 0, {spelling} ]\n" * rows)
    assert motion.positions.tolist() == [[0, value]] * rows
    assert not np.signbit(motion.positions[:, 0]).any()


def test_a_count_that_differs_from_the_frames_is_a_warning() -> None:
    motion = read(f"{HEAD}num_frames: 3\ncomponents:\n{JOINTS}    frames:\n      - [ 0, 1 ]\n")
    (warning,) = motion.warnings
    assert warning == (
        "case.seq:5: num_frames is 3 and component 0 has 1 frames; the frames count; "
        "correct num_frames if none are missing"
    )


def test_a_name_of_another_version_is_read_with_a_warning() -> None:
    motion = read(f"{HEAD.replace('2', '3')}components:\n{JOINTS}    frames:\n      - [ 0, 1 ]\n")
    assert motion.positions.tolist() == [[0, 1]]
    (warning,) = motion.warnings
    assert warning == (
        "case.seq:7: content JointDisplacement; that is version 2's name, and this is version 3; "
        "read as JointDisplacement"
    )


def test_what_was_read_cannot_be_changed() -> None:
    motion = load_motion(GOOD / "two_feet.seq")
    for array in (motion.positions, motion.times, *motion.components.values()):
        assert not array.flags.writeable


@pytest.mark.parametrize("name", ["wave", "nod", "stretch"])
def test_the_arm_s_motions_start_and_end_at_rest_within_modest_speeds(name: str) -> None:
    motion = load_motion(ROOT / "config" / "motions" / f"{name}.seq")
    assert motion.joint_names == ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
    assert motion.warnings == ()
    assert motion.positions[0].tolist() == motion.positions[-1].tolist()
    velocity, acceleration = motion.resampled(500).derivatives()
    assert np.abs(velocity[[0, -1]]).max() < 0.01
    assert np.abs(velocity).max() <= 1.0
    assert np.abs(acceleration).max() <= 3.0


def poses(*rows: str, kind: str = "XYZQWQXQYQZ") -> str:
    lines = "".join(f"      - [ [ {row} ] ]\n" for row in rows)
    pose = f"  - type: MultiSE3Seq\n    content: LinkPosition\n    numParts: 1\n    SE3Format: {kind}\n"
    return f"{HEAD}components:\n{pose}    frames:\n{lines}"


def test_quaternions_of_another_length_are_kept_with_a_warning() -> None:
    motion = read(poses("0, 0, 0, 1, 0, 0, 0", "0, 0, 0, 2, 0, 0, 0", "0, 0, 0, 0.6, 0, 0, 0.7"))
    assert motion.components["LinkPosition"][1, 0].tolist() == [0, 0, 0, 2, 0, 0, 0]
    (warning,) = motion.warnings
    assert warning == (
        "case.seq:12: row 1 has a quaternion of length 2; that of a rotation is 1; 1 more are as wrong; "
        "it is kept as it stands; divide it by its length"
    )
    assert read(poses("0, 0, 0, 0.70711, 0.70711, 0, 0")).warnings == ()
    assert read(poses("0, 0, 0, 0, 0, 0", kind="XYZRPY")).warnings == ()


def test_the_line_of_a_quaternion_is_told_in_any_layout() -> None:
    rows = ["0, 0, 0, 1, 0, 0, 0"] * 600
    rows[555] = "0, 0, 0, 1.5, 0, 0, 0"
    text = poses(*rows)
    wrapped = text.replace(", 0, 0, 0 ] ]", ",\n          0, 0, 0 ] ] # a pose")
    blocks = re.sub(
        r"- \[ \[ (.*) \] \]", lambda row: "- - - " + row[1].replace(", ", "\n          - "), text
    )
    in_brackets = text.replace("\n      - [ [ 0", " [ [ [ 0", 1).replace("\n      - ", ",\n") + "]\n"
    for layout, line in ((text, 566), (wrapped, 1121), (blocks, 3896), (in_brackets, 565)):
        told = f"case.seq:{line}: row 555 has a quaternion of length 1.5; that of a rotation is 1; "
        assert read(layout).warnings == (f"{told}it is kept as it stands; divide it by its length",)


def test_a_vector_has_no_parts() -> None:
    vector = "  - type: Vector3Seq\n    content: ZMP\n    numParts: 1\n    frames:\n      - [ 0, 1, 2 ]\n"
    motion = read(f"{HEAD}components:\n{vector}")
    assert motion.components["ZMP"].tolist() == [[0, 1, 2]]
    reason = "a vector has 3 numbers, and no parts; remove it"
    assert motion.warnings == (f"case.seq:8: numParts stands in a Vector3Seq; {reason}",)
    above = read(f"{HEAD}numParts: 1\ncomponents:\n{vector.replace('    numParts: 1', '   ')}")
    assert above.warnings == ()


def test_missing_frames_are_told_until_the_motion_is_cut() -> None:
    text = f"{HEAD}numFrames: 5\ncomponents:\n{JOINTS}    frames:\n" + "      - [ 0, 1 ]\n" * 3
    motion = read(text)
    assert motion.missing_frames() == {"JointDisplacement": (3, 5)}
    assert trim_frames(motion, 0, 1).missing_frames() == {}
    assert read(text.replace("5", "2", 1)).missing_frames() == {}
    assert read(text.replace("numFrames: 5", "numFrames: 3")).missing_frames() == {}
