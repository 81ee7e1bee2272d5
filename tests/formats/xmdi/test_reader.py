"""Motions of good XMDI files, and the refusals of bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, ReadOptions, load_motion, load_motions, xmdi
from motiond.formats.io.source import Source
from tests.tables import table

FILES = Path(__file__).parents[2] / "files"
GESTURES = FILES / "good" / "gestures.xmdi"


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
    fast = load_motion(GESTURES, "wave", options=ReadOptions(0.01, "cubic"))
    assert (fast.frame_rate, fast.times[-1]) == (100, 0.4)
    assert fast.positions[[0, 10, 40], 0].tolist() == [0, -0.7, 0.2]
    assert fast.positions[9, 0] < -0.65, "the cubic comes to rest at its extremes"
    steps = load_motion(GESTURES, "wave", options=ReadOptions(interpolation="hold"))
    assert steps.positions[[9, 10, 39], 0].tolist() == [0, -0.7, -0.7]


@pytest.mark.parametrize("period_s", [0.0, -1.0, np.inf, np.nan])
def test_a_frame_period_is_a_time_above_zero(period_s: float) -> None:
    with pytest.raises(ValueError, match="frame period") as caught:
        ReadOptions(period_s)
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


def test_a_list_longer_than_libxml2_reads_by_default_is_read() -> None:
    pause = " " * 5_100_000
    text = motion(servo(f"0.5{pause}1.5{pause}2.5", "0 1 2"))
    (found,) = xmdi.load(text.encode(), Source(Path("m.xmdi")))
    assert found.positions.tolist() == [[0.5], [1.5], [2.5]]


@table(
    "text, message",
    (
        f"<xmdi><motions>{'<a/>' * 30_000}</motions></xmdi>",
        "m.xmdi:1: holds 30002 elements; 30000 are read; split the file",
    ),
)
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == message
