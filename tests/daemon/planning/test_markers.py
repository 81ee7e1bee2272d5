from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.planning.library.markers import Marker, read_markers
from motiond.formats import FormatError, Motion
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

FIVE = Motion("wave", ("elbow",), 2.0, np.arange(5) / 2.0 + 7.0, np.zeros((5, 1)))
FREE = Motion("free", ("elbow",), 2.0, np.array([1.0, 1.1, 3.1]), np.zeros((3, 1)))
END = "is beyond the end; the last frame is 4, at 2 s; name an earlier one"


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


@table(
    "text, message",
    (
        "markers: {" + ", ".join(f"m{number}: {{frame: 0}}" for number in range(1001)) + "}",
        "1: markers has more than 1000 entries; it takes no more; remove some",
    ),
)
def test_what_is_wrong_with_a_list_of_markers_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    assert refusal(tmp_path, text) == message.splitlines()


def test_a_file_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    file = write(tmp_path, "")
    os.truncate(file, 1_000_001)
    with pytest.raises(FormatError) as caught:
        read_markers(file, FIVE)
    assert (
        str(caught.value)
        == f"{file}: has 1000001 bytes; a marker file has at most 1000000; shorten the payloads"
    )
