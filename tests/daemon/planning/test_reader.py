"""Small files are read in the daemon; others beside it, in tests/system."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Any

from motiond.daemon.planning.library import MotionLibrary
from motiond.daemon.planning.reader import SMALL_BYTES, MotionReader
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HEAD = """\
type: CompositeSeq
content: BodyMotion
format_version: 4
frame_rate: 100
components:
  - type: MultiValueSeq
    content: JointDisplacement
    num_parts: 1
    part_labels: [elbow]
    frames:
"""
ELBOW: dict[str, dict[str, Any]] = {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 9}}}


def write(path: Path, rows: int = 3, more: str = "") -> Path:
    path.write_text(HEAD + "".join(f"      - [{0.001 * row}]\n" for row in range(rows)) + more)
    return path


def test_a_small_file_starts_no_process(tmp_path: Path) -> None:
    assert SMALL_BYTES == 250_000
    reader = MotionReader()
    assert len(reader.load_motions(write(tmp_path / "wave.seq"))) == 1
    assert reader._process is None


def test_without_descriptors_for_a_process_what_was_held_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    reader = MotionReader(small_bytes=file.stat().st_size)
    settings = settings_of(ELBOW, motions=[file])
    library = MotionLibrary(map_of(ELBOW), settings, reader=reader)
    library.load_all()
    before = library.get("wave")
    assert before is not None
    assert before.plan is not None

    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    write(file, rows=5)
    with monkeypatch.context() as patch:
        patch.setattr(socket, "socketpair", fail)
        library.load_all()
    assert library.get("wave") is before
    reason = "cannot be read; Too many open files; see the system's limits"
    assert library.problems == (f"{file}: {reason}; what it held before stays",)
    write(file, rows=2)
    library.load_all()
    after = library.get("wave")
    assert after is not None
    assert after.frames == 2
