"""Bad .seq files: every problem is reported, with its line, and all at once."""

# ruff: noqa: ISC004 - whole messages read best in one piece

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


@table("old, new, message")
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
