"""Which format writes a motion, and which options each format has."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, dump_motion, load_motion, seq, xmdi
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path


def nod() -> Motion:
    return Motion("nod", ("neck",), 31.25, np.arange(3) / 31.25, np.array([[0.0], [0.123456789123], [0.0]]))


def test_options_are_checked_when_they_are_made_and_stay_as_they_are() -> None:
    options = seq.WriteOptions(version=2)
    with pytest.raises(FrozenInstanceError):
        options.version = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="version is 5; versions 1 to 4 are written"):
        seq.WriteOptions(version=5)
    with pytest.raises(ValueError, match="precision is 13; it is 1 to 12 digits"):
        xmdi.WriteOptions(precision=13)


def test_a_format_writes_by_its_own_options_too(tmp_path: Path) -> None:
    seq.dump(nod(), tmp_path / "nod.seq", seq.WriteOptions(version=1, precision=3))
    xmdi.dump(nod(), tmp_path / "nod.xmdi", xmdi.WriteOptions(tolerance=1.0))
    written = load_motion(tmp_path / "nod.seq")
    assert written.metadata["format_version"] == 1
    assert written.positions[1, 0] == 0.123
    assert not load_motion(tmp_path / "nod.xmdi").positions.any()


def test_without_options_a_format_writes_as_dump_motion_does(tmp_path: Path) -> None:
    for one in (seq, xmdi):
        suffix = one.SUFFIXES[0]
        one.dump(nod(), tmp_path / f"bare{suffix}")
        dump_motion(nod(), tmp_path / f"nod{suffix}", version=None, tolerance=None, frame_period_s=None)
        assert (tmp_path / f"bare{suffix}").read_bytes() == (tmp_path / f"nod{suffix}").read_bytes()


@table("name, format_, message")
def test_a_format_that_does_not_write_motions_is_refused(
    tmp_path: Path, name: str, format_: str | None, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(nod(), tmp_path / name, format_)
    assert str(caught.value) == f"{tmp_path / name}: {message}"
