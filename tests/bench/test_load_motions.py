"""The files that the benchmark of loading makes: each can be read, and says the same in each layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bench.dump_seq import walk
from bench.load_motions import CASES, JOINTS, LAYOUTS, NAMES, RATE_HZ
from motiond import formats

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 50
MOTION = replace(walk(ROWS, JOINTS, RATE_HZ), joint_names=NAMES)


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_in_each_format_can_be_read_by_both(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"walk{CASES[name].suffix}"
    CASES[name].write(MOTION, path)
    path.with_suffix(".json").write_text("[]")

    CASES[name].read(path)
    assert formats.load_motion(path).positions.shape[1] == JOINTS


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_says_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"walk{CASES[name].suffix}"
    CASES[name].write(MOTION, path)
    as_written = formats.load_motion(path).positions

    for text in LAYOUTS[name](path.read_bytes()).values():
        path.write_bytes(text)
        assert (formats.load_motion(path).positions == as_written).all()
