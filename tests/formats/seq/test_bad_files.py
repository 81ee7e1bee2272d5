"""Bad .seq files: every problem is reported, with its line, and all at once."""

# ruff: noqa: E501, ISC004 - whole messages read best in one piece

from __future__ import annotations

from pathlib import Path

import pytest

from motiond.formats import FormatError, load_motion, load_motions
from tests.tables import table

BAD = Path(__file__).parents[2] / "files" / "bad"
HEAD = "type: CompositeSeq\ncontent: BodyMotion\nformatVersion: 2\nframeRate: 10\n"
JOINTS = "  - type: MultiValueSeq\n    content: JointDisplacement\n    numParts: 2\n"
POSES = "  - type: MultiSE3Seq\n    content: LinkPosition\n    numParts: 1\n"
ROW = "      - [ 0, 1 ]\n"


def doc(rows: str = ROW, head: str = HEAD, component: str = JOINTS) -> str:
    return f"{head}components:\n{component}    frames:\n{rows}"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(text: str | bytes) -> str:
    Path("case.seq").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError) as caught:
        load_motions("case.seq")
    return str(caught.value)


@table("name, message")
def test_a_bad_file_is_refused(name: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_motion(BAD / name)
    assert str(caught.value) == f"{BAD / name}{message}"


def test_a_long_list_of_bad_components_ends() -> None:
    lines = refusal(HEAD + "components:\n" + "  - { content: x }\n" * 2_000).splitlines()
    assert lines[0] == "case.seq:6: component 0 has no type; it says what the component is; add type"
    assert lines[20] == "case.seq: 1 more problems"


def test_twenty_problems_are_shown() -> None:
    lines = refusal(doc("      - [ 0 ]\n" * 60)).splitlines()
    assert lines[19] == (
        "case.seq:29: row 19 has 1 number; numParts is 2; add the missing value or correct numParts"
    )
    assert lines[20] == "case.seq: 40 more problems"


def test_quaternions_of_no_length_are_refused() -> None:
    pose = POSES + "    SE3Format: XYZQWQXQYQZ\n"
    rows = "      - [ [ 0, 0, 0, 1, 0, 0, 0 ] ]\n" + "      - [ [ 1, 0, 0, 0, 0, 0, 0 ] ]\n" * 2
    reason = "it is no rotation; write 1 for qw if none is meant"
    assert refusal(doc(rows, component=pose)).splitlines() == [
        f"case.seq:12: row 1 has a quaternion of length 0; {reason}",
        f"case.seq:13: row 2 has a quaternion of length 0; {reason}",
    ]


def test_an_empty_row_of_a_single_joint_is_refused() -> None:
    rows = "      - [ 1 ]\n" * 9 + "      - [ ]\n" + "      - [ 1 ]\n" * 9
    message = "case.seq:19: row 9 has 0 numbers; numParts is 1; add the missing value or correct numParts"
    assert refusal(doc(rows, component=JOINTS.replace("2", "1"))) == message


@table(
    "rows, message",
    (
        "      - &row [ 0, 1 ]\n" + "      - *row\n" * 33_334,
        "33344: alias *row repeats too much; aliases may stand for 100000 values in all; "
        "write the values out",
    ),
)
def test_bad_rows_are_refused(rows: str, message: str) -> None:
    assert refusal(doc(rows)) == f"case.seq:{message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("formatVersion: 2", "formatVersion: new", "3: formatVersion is 'new'; versions 1 to 4 are read; save the file in one of them"),
        ("formatVersion: 2", "format_version: 0", "3: format_version is 0; versions 1 to 4 are read; save the file in one of them"),
        ("type: CompositeSeq\n", "", "1: the top node has no type; a motion of version 2 has CompositeSeq; add type"),
        ("CompositeSeq", "PauseSeq", "1: type is 'PauseSeq'; a motion of version 2 has CompositeSeq; correct it"),
        ("BodyMotion", "Dance", "2: content is 'Dance'; a motion of version 2 has BodyMotion; correct it"),
        ("frameRate: 10\n", "", "5: component 0 has no frameRate; neither has the top node; add frameRate"),
        ("Rate: 10", "Rate: 0", "4: frameRate is 0; a frame rate lies between 0.001 and 100000 frames/s; correct it"),
        ("Rate: 10", "Rate: 1e9", "4: frameRate is 1e9; a frame rate lies between 0.001 and 100000 frames/s; correct it"),
        ("Rate: 10", "Rate: .nan", "4: frameRate is '.nan'; a frame rate lies between 0.001 and 100000 frames/s; correct it"),
        ("Rate: 10", "Rate: [ 10 ]", "4: frameRate is a sequence; a frame rate lies between 0.001 and 100000 frames/s; correct it"),
        ("Rate: 10", "Rate: 10\nframe_rate: 20", "5: frame_rate stands beside frameRate; frameRate on line 4 says it already; remove one of them"),
        ("Rate: 10", "Rate: 10\nnumFrames: many", "5: numFrames is 'many'; it is a whole number; correct it"),
        ("Rate: 10", "Rate: 10\nhasFrameTime: perhaps", "5: hasFrameTime is 'perhaps'; it is true or false; correct it"),
        ("Rate: 10", "Rate: 10\nhasFrameTime: true", "11: row 0 has 2 numbers; numParts is 2 and hasFrameTime adds the time; add the missing value or correct numParts"),
        ("    numParts: 2\n", "", "6: component 0 has no numParts; a MultiValueSeq needs it; add numParts"),
        ("numParts: 2", "numParts: 1000000000", "8: numParts is 1000000000; a MultiValueSeq has 1 to 10000 parts; correct it"),
        ("numParts: 2", "numParts: 1.5", "8: numParts is 1.5; a MultiValueSeq has 1 to 10000 parts; correct it"),
        ("numParts: 2", "numParts: 2\n    partLabels: [ hip ]", "9: partLabels has 1 label; component 0 has 2 parts; give each part one"),
        ("numParts: 2", "numParts: 2\n    partLabels: [ hip, '' ]", "9: partLabels has an empty label; a label names one part; give each part its own"),
        ("    content: JointDisplacement\n", "", "6: component 0 has no content; it says what the component is; add content"),
        ("    frames:\n      - [ 0, 1 ]\n", "", "6: component 0 has no frames; a component holds frames; add frames"),
        ("MultiValueSeq", "TorqueSeq", "1: no component is of a known type; add JointDisplacement"),
    ],
)  # fmt: skip
def test_bad_keys_are_refused(old: str, new: str, message: str) -> None:
    text = doc()
    assert old in text
    assert refusal(text.replace(old, new, 1)) == f"case.seq:{message}"


@table("text, message", ("a: " + "x" * 20_000, ":1: a value of 20000 characters; 10000 are read; shorten it"))
def test_bad_documents_are_refused(text: str | bytes, message: str) -> None:
    assert refusal(text) == f"case.seq{message}"


@table("form, rows, message")
def test_bad_poses_are_refused(form: str, rows: str, message: str) -> None:
    assert (
        refusal(doc(f"      - {rows}\n", component=f"{POSES}    SE3Format: {form}\n"))
        == f"case.seq:{message}"
    )


@table("key, message")
def test_version_1_does_not_know_what_came_later(key: str, message: str) -> None:
    component = "  - type: MultiValueSeq\n    purpose: JointPosition\n    numParts: 2\n"
    assert refusal(doc(head=f"type: BodyMotion\n{key}\n", component=component)) == f"case.seq:{message}"
