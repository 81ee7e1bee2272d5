from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.planning.markers import Marker, read_markers
from motiond.formats import FormatError, Motion

if TYPE_CHECKING:
    from pathlib import Path

FIVE = Motion("wave", ("elbow",), 2.0, np.arange(5) / 2.0 + 7.0, np.zeros((5, 1)))
FREE = Motion("free", ("elbow",), 2.0, np.array([1.0, 1.1, 3.1]), np.zeros((3, 1)))
END = "is beyond the end; the last frame is 4, at 2 s; name an earlier one"

DATE = "the payload is no JSON; Type is not JSON serializable: datetime.date; write it as text, in quotes"
NOT_A_NUMBER = (
    "the payload is no JSON; infinities and numbers that are none do not exist there; "
    "write them as text, in quotes"
)


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "wave.markers.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(FormatError) as caught:
        read_markers(write(tmp_path, text), FIVE)
    return str(caught.value).replace(f"{tmp_path}/wave.markers.yaml:", "").splitlines()


def test_markers_come_in_the_order_of_time(tmp_path: Path) -> None:
    text = """
        markers:
          lights: {time: 1.25, payload: {colour: red, levels: [1, 0.5, null]}}
          on: {frame: 4}
          clap: {frame: 1, payload: [1: one]}
          start: {time: 0}
    """
    assert read_markers(write(tmp_path, text), FIVE) == (
        Marker("start", 0.0, None, 0.0),
        Marker("clap", 0.5, [{"1": "one"}], 1.0),
        Marker("lights", 1.25, {"colour": "red", "levels": [1, 0.5, None]}, 2.5),
        Marker("on", 2.0, None, 4.0),
    )


def test_frames_with_times_of_their_own_are_counted_as_they_come(tmp_path: Path) -> None:
    markers = read_markers(write(tmp_path, "markers: {last: {frame: 2}, between: {time: 1.1}}"), FREE)
    assert [(marker.name, marker.time_s, marker.frame) for marker in markers] == [
        ("between", 1.1, pytest.approx(1.5)),
        ("last", pytest.approx(2.1), 2.0),
    ]


def test_every_mistake_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = """markers:
  both: {frame: 1, time: 0.5}
  neither: {payload: 1}
  late: {frame: 5}
  later:
    payload: x
    time: 2.01
  before: {frame: -1}
  half: {frame: 1.5}
  truth: {frame: true}
  never: {time: .inf}
  text: {time: "1"}
  odd: {fram: 1, frame: 1}
  twice: {frame: 1}
  twice: {frame: 2}
  '': {frame: 1}
  day: {frame: 1, payload: [2024-01-01]}
  nan: {frame: 1, payload: .nan}
  bare: 3
marker: {}
"""
    assert refusal(tmp_path, text) == [
        "2: the marker has two places; frame and time both say where; remove one",
        "3: the marker has no place; frame or time says where it is; add one of them",
        f"4: frame 5 {END}",
        f"7: 2.01 s {END}",
        "8: markers.before.frame is -1; it must be greater than or equal to 0; correct it",
        "9: markers.half.frame is 1.5; it must be a valid integer; correct it",
        "10: markers.truth.frame is True; it must be a valid integer; correct it",
        "11: markers.never.time is inf; it must be a finite number; correct it",
        "12: markers.text.time is '1'; it must be a valid number; correct it",
        "13: unknown key 'fram'; markers.odd knows frame, payload, time; did you mean 'frame'?",
        "15: key 'twice' stands twice; it stands on line 14 too; remove one",
        "16: a marker has no name; it is asked for by name; write one before the colon",
        f"17: {DATE}",
        f"18: {NOT_A_NUMBER}",
        "19: markers.bare is 3; it must be a mapping; write `key: value` under it",
        "20: unknown key 'marker'; the file knows markers; did you mean 'markers'?",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: 'markers' is missing; the file needs it; add it"),
        (
            "markers: {a: &a {frame: 1},\n b: *a}",
            "2: *a is an alias; this file takes none; write it out",
        ),
        (
            "markers: {a: {frame: 1, payload: 123456789012345678901}}",
            "1: the payload is no JSON; Integer exceeds 64-bit range; write it as text, in quotes",
        ),
        (
            f"markers: {{a: {{frame: 1{'0' * 30}}}}}",
            f"1: frame 1{'0' * 30} {END}",
        ),
        ("markers: {a: {time: 1e308}}", f"1: 1e+308 s {END}"),
        (
            f"markers: {{{'a' * 256}: {{frame: 1}}}}",
            "1: a marker's name has 256 characters; it has at most 255; shorten it",
        ),
        (
            'markers: {"a\\e[2J\\n": {frame: 1}}',
            (
                r"1: the marker's name 'a\x1b[2J\x0a' cannot be shown as it stands; "
                "it goes to logs and terminals; remove what is no letter, sign or space"
            ),
        ),
        (
            "markers: {" + ", ".join(f"m{number}: {{frame: 0}}" for number in range(1001)) + "}",
            "1: markers has more than 1000 entries; it takes no more; remove some",
        ),
    ],
)
def test_what_is_no_list_of_markers_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == [message]


def test_a_file_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    file = write(tmp_path, "")
    os.truncate(file, 1_000_001)
    with pytest.raises(FormatError) as caught:
        read_markers(file, FIVE)
    assert (
        str(caught.value)
        == f"{file}: has 1000001 bytes; a marker file has at most 1000000; shorten the payloads"
    )
