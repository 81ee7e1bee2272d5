"""Which format writes a motion, and which options each format has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from motiond.formats.registry import motion_writers
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path


def nod() -> Motion:
    return Motion("nod", ("neck",), 31.25, np.arange(3) / 31.25, np.array([[0.0], [0.123456789123], [0.0]]))


def test_a_format_writes_by_its_own_options_too(tmp_path: Path) -> None:
    dump_motion(nod(), tmp_path / "nod.seq", version=1, precision=3)
    dump_motion(nod(), tmp_path / "nod.xmdi", tolerance=1.0)
    written = load_motion(tmp_path / "nod.seq")
    assert written.metadata["format_version"] == 1
    assert written.positions[1, 0] == 0.123
    assert not load_motion(tmp_path / "nod.xmdi").positions.any()


@table("name, format_, message")
def test_a_format_that_does_not_write_motions_is_refused(
    tmp_path: Path, name: str, format_: str | None, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(nod(), tmp_path / name, format_)
    written = ", ".join(writer.NAME for writer in motion_writers())
    assert str(caught.value) == f"{tmp_path / name}: {message.format(written=written)}"
