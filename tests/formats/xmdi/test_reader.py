"""Motions of good XMDI files, and the refusals of bad ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, KeyFrames, load_motion, load_motions, xmdi
from motiond.formats.io.source import Source
from motiond.formats.xmdi import reader

FILES = Path(__file__).parents[2] / "files"
GESTURES = FILES / "good" / "gestures.xmdi"
PAGE = Path(__file__).parents[3] / "docs" / "formats" / "xmdi.md"


EMPTY = "check that it is the right file, and that it begins with <"
NO_MOTION = (
    "m.xmdi:1: there is no <motion>; a root holds a container, and that holds motions; "
    "write <xmdi><motions><motion …>"
)


def refusal(data: str | bytes) -> str:
    with pytest.raises(FormatError) as caught:
        xmdi.load(data if isinstance(data, bytes) else data.encode(), Source(Path("m.xmdi")))
    return str(caught.value)


def motion(inside: str, attributes: str = 'name="m"') -> str:
    return f"<xmdi><motions><motion {attributes}>{inside}</motion></motions></xmdi>"


def servo(positions: str, frames: str, name: str = "s") -> str:
    return f'<servo name="{name}"><position>{positions}</position><frames>{frames}</frames></servo>'


def test_every_motion_is_read_with_its_servos_and_further_attributes() -> None:
    wave, nod = load_motions(GESTURES)
    assert (wave.name, wave.joint_names) == ("wave", ("shoulder", "elbow"))
    assert wave.metadata["attributes"] == {"author": "J. Doe", "mood": "glad"}
    assert wave.metadata["servos"] == {"shoulder": {"side": "left"}}
    assert (nod.name, nod.joint_names, nod.metadata["attributes"]) == ("nod", ("neck",), {})
    assert wave.warnings == nod.warnings == ()


def test_a_frame_is_a_row_and_takes_32_ms() -> None:
    wave = load_motion(GESTURES, "wave")
    assert (wave.frame_rate, wave.positions.shape) == (31.25, (41, 2))
    np.testing.assert_allclose(wave.times, 0.032 * np.arange(41), rtol=1e-15)


def test_key_frames_are_kept_and_lines_drawn_between_them() -> None:
    shoulder = load_motion(GESTURES, "wave").positions[:, 0]
    assert shoulder[[0, 10, 40]].tolist() == [0, -0.7, 0.2]
    np.testing.assert_allclose(shoulder[[5, 25]], [-0.35, -0.25])


def test_before_the_first_key_and_after_the_last_a_value_holds() -> None:
    elbow = load_motion(GESTURES, "wave").positions[:, 1]
    assert elbow[:5].tolist() == [0.1] * 5
    assert elbow[9:].tolist() == [0.5] * 32
    np.testing.assert_allclose(elbow[8], 0.1 + 0.4 * 4 / 4.5)
    assert load_motion(GESTURES, "nod").positions.tolist() == [[0.3], [0.3], [0.3]]


def test_the_frame_period_and_the_interpolation_can_be_chosen() -> None:
    fast = load_motion(GESTURES, "wave", key_frames=KeyFrames(0.01, "cubic"))
    assert (fast.frame_rate, fast.times[-1]) == (100, 0.4)
    assert fast.positions[[0, 10, 40], 0].tolist() == [0, -0.7, 0.2]
    assert fast.positions[9, 0] < -0.65, "the cubic comes to rest at its extremes"
    steps = load_motion(GESTURES, "wave", key_frames=KeyFrames(interpolation="hold"))
    assert steps.positions[[9, 10, 39], 0].tolist() == [0, -0.7, -0.7]


@pytest.mark.parametrize("period_s", [0.0, -1.0, np.inf, np.nan])
def test_a_frame_period_is_a_time_above_zero(period_s: float) -> None:
    with pytest.raises(ValueError, match="frame period") as caught:
        KeyFrames(period_s)
    assert str(caught.value) == f"frame period is {period_s:g} s; it is above 0; XMDI's is 0.032 s"


def test_rows_may_lie_closer_than_frames() -> None:
    text = motion(servo("0 1", "0 1"), 'name="m" rows_per_frame="4"')
    (fine,) = xmdi.load(text.encode(), Source(Path("m.xmdi")))
    assert (fine.frame_rate, fine.positions[:, 0].tolist()) == (125, [0, 0.25, 0.5, 0.75, 1])


def test_the_root_and_the_container_may_have_any_name_and_namespace() -> None:
    text = '<w:robot xmlns:w="urn:w" xmlns="urn:m"><all>{}</all></w:robot>'
    inside = f'<motion name="m">{servo("1", "0")}</motion>'
    (found,) = xmdi.load(text.format(inside).encode(), Source(Path("m.xmdi")))
    assert found.joint_names == ("s",)


def test_what_a_container_holds_besides_motions_is_skipped_with_a_warning() -> None:
    text = f'<xmdi><motions><moton/><motion name="m">{servo("1", "0")}</motion></motions></xmdi>'
    (found,) = xmdi.load(text.encode(), Source(Path("m.xmdi")))
    assert found.warnings == (
        "m.xmdi:1: <moton> is skipped; a container holds motions; did you mean 'motion'?",
    )


@pytest.mark.parametrize("text", [GESTURES.read_text(), "<a><b><motion name='m'><servo name='s'>"])
def test_xmdi_is_known_by_its_content(text: str, tmp_path: Path) -> None:
    assert xmdi.sniff(text.encode())
    (tmp_path / "gestures.xml").write_text(GESTURES.read_text())
    assert len(load_motions(tmp_path / "gestures.xml")) == 2


def test_a_list_longer_than_libxml2_reads_by_default_is_read() -> None:
    pause = " " * 5_100_000
    text = motion(servo(f"0.5{pause}1.5{pause}2.5", "0 1 2"))
    (found,) = xmdi.load(text.encode(), Source(Path("m.xmdi")))
    assert found.positions.tolist() == [[0.5], [1.5], [2.5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"m.xmdi:1: this is no well-formed XML; Document is empty; {EMPTY}"),
        (
            "<xmdi><motions/></xmdi>",
            NO_MOTION,
        ),
        (
            motion(servo("1", "0")).replace("motion", "moton"),
            NO_MOTION,
        ),
        (motion(" "), "m.xmdi:1: motion 'm' has no <servo>; nothing would move; add one"),
        (
            motion(servo("1", "0"), 'name=" "'),
            'm.xmdi:1: <motion> has no name; it is required; write name="…"',
        ),
        (
            motion(servo("1", "0"), 'name="m" rows_per_frame="0"'),
            "m.xmdi:1: rows_per_frame is '0'; it is a number from 0.0001 to 10000; correct it",
        ),
        (
            motion(servo("0 1", "0 10 40")),
            "m.xmdi:1: servo 's' has 2 positions and 3 frames; each position has its frame; add the missing",
        ),
        (
            motion(servo("0 1", "10 10")),
            "m.xmdi:1: servo 's' has frame 10 after frame 10; frames must increase; correct their order",
        ),
        (
            motion(servo("0 1", "-0.5 10")),
            "m.xmdi:1: servo 's' begins at frame -0.5; a motion begins at frame 0; count from there",
        ),
        (
            motion(servo("nan", "0")),
            "m.xmdi:1: <position> of servo 's' holds 'nan'; it is a list of finite numbers; correct it",
        ),
        (
            motion(servo("1_0", "0")),
            "m.xmdi:1: <position> of servo 's' holds '1_0'; it is a list of finite numbers; correct it",
        ),
        (
            motion(servo("1e999", "0")),
            "m.xmdi:1: <position> of servo 's' holds '1e999'; it is a list of finite numbers; correct it",
        ),
        (
            motion(servo(" ", " ")),
            (
                "m.xmdi:1: <position> of servo 's' is empty; it is a list of finite numbers; correct it\n"
                "m.xmdi:1: <frames> of servo 's' is empty; it is a list of finite numbers; correct it"
            ),
        ),
        (
            motion(servo("1", "0") + servo("2", "0")),
            "m.xmdi:1: servo 's' stands twice; first on line 1; join them",
        ),
        (
            motion(servo("1", "0").replace("<frames>", "<frames rate='25'>")),
            "m.xmdi:1: <frames> of servo 's' has an attribute; it may have none; remove it",
        ),
        (
            motion(servo("1", "0<x/>")),
            "m.xmdi:1: <frames> of servo 's' holds an element; it holds numbers alone; remove it",
        ),
        (
            motion("fast" + servo("1", "0")),
            "m.xmdi:1: text 'fast' in <motion>; it holds elements; write it as <!-- … -->",
        ),
        (
            motion(servo("1", "0").replace("<frames>0</frames>", " ")),
            "m.xmdi:1: servo 's' holds <position>; it holds one <position>, then one <frames>; correct it",
        ),
        (
            motion("<servos/>"),
            "m.xmdi:1: <servos> in <motion>; motion 'm' holds servos; did you mean 'servo'?",
        ),
        (
            motion(servo("0 1", "0 1e9")),
            (
                "m.xmdi:1: motion 'm' would have 1000000001 rows; "
                "this file may make 1000000 positions; check its last frames"
            ),
        ),
        (
            motion(servo("0 1", "0 1e308"), 'name="m" rows_per_frame="10000"'),
            (
                "m.xmdi:1: motion 'm' would have 1000000000000001 rows; "
                "this file may make 1000000 positions; check its last frames"
            ),
        ),
        (
            motion(servo("1", "0"), f'name="{"m" * 256}"'),
            "m.xmdi:1: the motion's name has 256 characters; it has at most 255; shorten it",
        ),
        (
            f"<xmdi><motions>{'<a/>' * 30_000}</motions></xmdi>",
            "m.xmdi:1: holds 30002 elements; 30000 are read; split the file",
        ),
        (
            "<!DOCTYPE x []>" + motion(servo("1", "0")),
            "m.xmdi:1: a document type is not allowed; it could pull in other files; remove <!DOCTYPE …>",
        ),
        (
            "<xmdi>\n<motions>",
            (
                "m.xmdi:2: this is no well-formed XML; Premature end of data in tag motions line 2; "
                "close the element, or copy the file again if it was cut short"
            ),
        ),
    ],
)
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == message


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(FormatError) as caught:
        load_motions(FILES / "bad" / "many_faults.xmdi")
    told = (FILES / "bad" / "many_faults_xmdi.txt").read_text()
    assert str(caught.value).replace(f"{FILES}/bad/", "") + "\n" == told


@pytest.mark.parametrize(
    "data",
    [
        b"<xmdi>\0</xmdi>",
        b"<xmdi>\xff</xmdi>",
        b'<!DOCTYPE x [<!ENTITY a "&b;&b;"><!ENTITY b "&a;">]><xmdi a="&a;"/>',
        b'<!DOCTYPE x [<!ENTITY a "' + b"x" * 9000 + b'">]><xmdi a="' + b"&a;" * 2000 + b'"/>',
    ],
)
def test_what_libxml2_refuses_in_words_of_its_own_is_refused(data: bytes) -> None:
    assert re.fullmatch(r"m\.xmdi:1: this is no well-formed XML; \S[^\n]*\S", refusal(data))


def test_what_the_reader_overlooks_the_schema_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "POSITIONS", ("angle",))
    text = motion(servo("1", "0")).replace("position>", "angle>")
    assert refusal(text).startswith("m.xmdi:1: Element 'angle': This element is not expected.")
    assert refusal(text).endswith("; xmdi.xsd describes a motion; correct it")


def test_the_pages_example_is_read() -> None:
    example = PAGE.read_text().partition("```xml\n")[2].partition("```")[0]
    (wave,) = xmdi.load(example.encode(), Source(Path("wave.xmdi")))
    assert (wave.joint_names, wave.positions.shape, wave.frame_rate) == (("shoulder",), (41, 1), 31.25)
    assert wave.metadata["attributes"] == {"author": "J. Doe"}
