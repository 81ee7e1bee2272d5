"""Writing of XMDI files, which are read back within the tolerance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from motiond.formats import FormatError, Motion, ReadOptions, dump_motion, load_motion
from motiond.formats.xmdi.writer import key_rows
from tests.tables import table

FILES = Path(__file__).parents[2] / "files"
MOST_ROWS = 3 * 1024 + 1
ALONE = "XMDI holds joint positions alone; to lose it, name it in drop"
SCHEMA = Path(__file__).parents[3] / "formats" / "xmdi" / "xmdi.xsd"


def swing(rate_hz: float = 500.0, **changes: Any) -> Motion:
    """Return a motion of two joints for a second; one swings, the other moves in steps."""
    times = np.arange(int(rate_hz) + 1) / rate_hz
    positions = np.stack([np.sin(3 * times), np.where(times < 0.5, 0.0, 1.0)], axis=1)
    return replace(Motion("swing", ("hip", "knee"), rate_hz, times, positions), **changes)


def test_a_file_that_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    before = load_motion(FILES / "good" / "gestures.xmdi", "wave")
    dump_motion(before, tmp_path / "wave.xmdi")
    assert (tmp_path / "wave.xmdi").read_text() == (FILES / "good" / "written.xmdi").read_text()


def test_what_is_written_keeps_to_the_schema(tmp_path: Path) -> None:
    dump_motion(swing(), tmp_path / "swing.xmdi")
    (motion,) = etree.parse(tmp_path / "swing.xmdi").getroot().iter("motion")
    etree.XMLSchema(etree.parse(SCHEMA)).assertValid(motion)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_no_row_comes_back_further_off_than_the_tolerance(tolerance: float, tmp_path: Path) -> None:
    path = tmp_path / "swing.xmdi"
    dump_motion(swing(), path, tolerance=tolerance, precision=None)
    after = load_motion(path)
    assert np.abs(after.positions - swing().positions).max() <= tolerance
    assert (after.frame_rate, after.joint_names) == (500, ("hip", "knee"))
    np.testing.assert_allclose(after.times, swing().times, atol=1e-12)


def test_a_wider_tolerance_takes_fewer_key_frames(tmp_path: Path) -> None:
    sizes = []
    for tolerance in (1e-6, 1e-4, 1e-2):
        dump_motion(swing(), tmp_path / "swing.xmdi", tolerance=tolerance)
        sizes.append((tmp_path / "swing.xmdi").stat().st_size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1000


@pytest.mark.parametrize("rate_hz", [500.0, 100.0, 120.0, 60.0, 31.25, 29.97, 1024 / 0.032])
@pytest.mark.parametrize("period_s", [None, 0.01])
def test_without_tolerance_every_row_comes_back_to_the_bit(
    rate_hz: float, period_s: float | None, tmp_path: Path
) -> None:
    before = swing(rate_hz)
    before = replace(before, times=before.times[:MOST_ROWS], positions=before.positions[:MOST_ROWS])
    rows = before.times.size
    ramps = np.repeat(np.linspace(-0.7, 1.3, 5)[:, None], rows, axis=1).ravel()[:rows] + 0.1 * before.times
    signs = np.where(np.arange(rows) % 3, 0.0, -0.0)
    noise = np.random.default_rng(1).normal(size=rows).round(1)
    far = np.where(np.arange(rows) % 2, 1e308, -1e308)
    positions = np.column_stack([before.positions, ramps, signs, noise, far])
    names = ("hip", "knee", "ramps", "signs", "noise", "far")
    before = replace(before, joint_names=names, positions=positions)
    path = tmp_path / "swing.xmdi"
    dump_motion(before, path, tolerance=0, precision=None, frame_period_s=period_s)
    assert load_motion(path).positions.tobytes() == before.positions.tobytes()
    assert path.stat().st_size < 40 * positions.size


@table("values, rows")
def test_rows_on_a_line_between_others_are_left_out(values: list[float], rows: list[int]) -> None:
    assert key_rows(np.arange(len(values), dtype=float), np.array(values, float), 0.1).tolist() == rows


def test_frames_are_32_ms_unless_said_otherwise(tmp_path: Path) -> None:
    motion = swing(positions=np.linspace(0, 1, 501)[:, None], joint_names=("hip",))
    for period_s, frames in ((None, "0 31.25"), (0.1, "0 10")):
        dump_motion(motion, tmp_path / "s.xmdi", frame_period_s=period_s)
        assert f"<frames>{frames}</frames>" in (tmp_path / "s.xmdi").read_text()
    after = load_motion(tmp_path / "s.xmdi", options=ReadOptions(0.1))
    assert (after.frame_rate, after.duration_s) == (500, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"components": {"ZMP": np.zeros((501, 3))}, "metadata": {"unknown": {"by": "me"}}},
            (f"m.xmdi: ZMP would be lost; {ALONE}: 'ZMP'\nm.xmdi: unknown would be lost; {ALONE}: 'unknown'"),
        ),
        (
            {"name": "a\x01b"},
            "m.xmdi: a name or an attribute cannot stand in XML; it holds a control character; rename it",
        ),
        (
            {"times": np.arange(501) - 1.0},
            "m.xmdi: the motion begins at -1 s; XMDI begins at 0; shift its times",
        ),
    ],
)
def test_what_xmdi_cannot_hold_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(swing(**changes), tmp_path / "m.xmdi")
    assert str(caught.value).replace(f"{tmp_path}/", "") == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("period_s", "motion", "message"),
    [
        (1e-13, swing(), "a frame would have 0 rows; it has 0.0001 to 10000"),
        (1e-7, swing(), "a frame would have 5e-05 rows; it has 0.0001 to 10000"),
        (1e3, swing(), "a frame would have 500000 rows; it has 0.0001 to 10000"),
        (
            10.0,
            swing(times=np.append(np.linspace(0.0, 1e-9, 500), 1.0)),
            "two rows would have one frame; frames have 9 decimals",
        ),
    ],
    ids=["none", "too few", "too many", "one frame"],
)
def test_what_could_not_be_read_again_is_not_written(
    period_s: float, motion: Motion, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "swing.xmdi"
    path.write_text("as it was")
    with pytest.raises(FormatError) as caught:
        dump_motion(motion, path, frame_period_s=period_s)
    assert str(caught.value) == f"{path}: {message}; choose another frame period or rate"
    assert path.read_text() == "as it was"


def test_what_may_go_is_dropped(tmp_path: Path) -> None:
    motion = swing(components={"ZMP": np.zeros((501, 3))}, metadata={"unknown": {"by": "me"}})
    dump_motion(motion, tmp_path / "m.xmdi", drop=["ZMP", "unknown"])
    assert load_motion(tmp_path / "m.xmdi").joint_names == ("hip", "knee")
