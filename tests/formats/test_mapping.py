"""A motion map's file, and how it meets motion files."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import FormatError, MappedJoint, MotionMap, ReadOptions, load_map, load_motion
from motiond.formats.mapping import SIZE
from tests.daemon.rig import write_seq
from tests.tables import table

ARM = """\
# how the recorder's columns move the arm
rate: 30
units: deg
topic: /joint_states
joints:
  shoulder: J1
  elbow: {from: J2, sign: -1, offset: 90, unit: deg}
  wrist: {from: 3}
  grip: 0
ignore: [led, "4", 5]
"""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str) -> Path:
    path = Path("arm.map.yaml")
    path.write_text(text)
    return path


def test_a_map_is_read_as_it_stands() -> None:
    assert load_map(written(ARM)) == MotionMap(
        {
            "shoulder": MappedJoint("J1", place="arm.map.yaml:6"),
            "elbow": MappedJoint("J2", -1.0, 90.0, "deg", "arm.map.yaml:7"),
            "wrist": MappedJoint(3, place="arm.map.yaml:8"),
            "grip": MappedJoint(0, place="arm.map.yaml:9"),
        },
        frozenset({"led", "4", 5}),
        ignores_others=False,
        units="deg",
        rate_hz=30.0,
        topic="/joint_states",
    )
    assert load_map(written("joints: {a: b}\nignore: others\n")).ignores_others


@table("text, message")
def test_what_is_wrong_with_a_map_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_map(written(text))
    assert str(caught.value) == message


def test_a_map_is_bounded() -> None:
    with pytest.raises(FormatError) as caught:
        load_map(written("joints: {a: b}\n" + "#" * SIZE.most_bytes))
    assert str(caught.value) == (
        "arm.map.yaml: has 1000015 bytes; a motion map has at most 1000000; check that it is the right file"
    )


def test_rate_and_topic_of_a_map_are_those_of_the_file_unless_others_are_given() -> None:
    map_ = load_map(written(ARM))
    assert (ReadOptions(map=map_).rate_hz, ReadOptions(map=map_).topic) == (30.0, "/joint_states")
    given = ReadOptions(rate_hz=50.0, topic="/other", map=map_)
    assert (given.rate_hz, given.topic) == (50.0, "/other")


def test_a_map_is_applied_to_what_a_reader_returns() -> None:
    write_seq(Path("wave.seq"), np.array([[0.0, 10.0], [1.0, 20.0]]), ("J1", "J2"), 10)
    map_ = load_map(written("joints:\n  elbow: {from: J2, sign: -1, unit: deg}\n  wrist: J1\n"))
    motion = load_motion("wave.seq", options=ReadOptions(map=map_))
    assert motion.joint_names == ("elbow", "wrist")
    assert motion.positions[1].tolist() == [pytest.approx(-20 * math.pi / 180), 1.0]


def test_what_does_not_fit_is_a_problem_of_the_file() -> None:
    write_seq(Path("wave.seq"), np.array([[0.0], [1.0]]), ("J1",), 10)
    map_ = load_map(written("joints:\n  elbow: J2\n  wrist: J3\n"))
    with pytest.raises(FormatError) as caught:
        load_motion("wave.seq", options=ReadOptions(map=map_))
    assert str(caught.value) == (
        "wave.seq: wave: there is no column 'J2' for joint 'elbow' (arm.map.yaml:2); "
        "it has J1; did you mean 'J1'?\n"
        "wave.seq: wave: there is no column 'J3' for joint 'wrist' (arm.map.yaml:3); "
        "it has J1; did you mean 'J1'?"
    )


def test_units_of_columns_without_do_not_apply_to_a_format_that_has_its_own() -> None:
    """A robot's map is for all its motions: degrees of its tables must not shrink its .seq files."""
    write_seq(Path("wave.seq"), np.array([[0.0], [1.0]]), ("J1",), 10)
    robots = MotionMap({"elbow": MappedJoint("J1")}, units="deg", must_fit=False)
    assert load_motion("wave.seq", options=ReadOptions(map=robots)).positions[1].tolist() == [1.0]
    with pytest.raises(FormatError) as caught:
        load_motion("wave.seq", options=ReadOptions(map=MotionMap(units="deg")))
    assert str(caught.value) == (
        "wave.seq: wave: units cannot be deg; numbers in seq are in rad and m, or in what the file states; "
        "leave them out, or give joints of a motion map their `unit`"
    )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_is_in_a_map_nothing_but_a_format_error_comes_out(data: st.DataObject) -> None:
    """Pieces of a map in any order, cut and joined anywhere, with any bytes between."""
    pieces = st.sampled_from([line.encode() + b"\n" for line in ARM.splitlines()])
    parts = data.draw(st.lists(pieces | st.binary(max_size=5), max_size=12))
    content = b"".join(parts)[data.draw(st.integers(0, 9)) :]
    path = Path("any.map.yaml")
    path.write_bytes(content)
    with suppress(FormatError):
        assert load_map(path)
