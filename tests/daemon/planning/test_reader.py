"""Small files are read in the daemon; others beside it, in tests/system."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.planning.library.reader import SMALL_BYTES, MotionReader
from motiond.formats import FormatError
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, rows: int = 3, more: str = "") -> Path:
    write_seq(path, 0.001 * np.arange(rows).reshape(-1, 1), ("elbow",), 100)
    path.write_text(path.read_text() + more)
    return path


def test_a_small_file_starts_no_process(tmp_path: Path) -> None:
    assert SMALL_BYTES == 250_000
    reader = MotionReader()
    assert len(reader.load_motions(write(tmp_path / "wave.seq"))) == 1
    assert reader._process is None


def test_without_descriptors_for_a_process_a_file_cannot_be_read_for_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    reader = MotionReader(small_bytes=0)

    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socketpair", fail)
    with pytest.raises(FormatError) as caught:
        reader.load_motions(file)
    assert str(caught.value) == f"{file}: cannot be read; Too many open files; see the system's limits"
    cause = caught.value.__cause__
    assert isinstance(cause, OSError)
    assert cause.errno == errno.EMFILE
