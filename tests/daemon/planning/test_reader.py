"""Files of any kind are read beside the daemon, which is told what is in them, or why that is not known."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning import reader as reading
from motiond.daemon.planning.library import MotionLibrary
from motiond.daemon.planning.reader import MotionReader
from motiond.formats import FormatError, load_motions
from motiond.formats.cache import MotionCache
from tests.robots import map_of, settings_of
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MotionReader]:
    """A reader for which no file is small."""
    assert reading.SMALL_BYTES == 250_000
    monkeypatch.setattr(reading, "SMALL_BYTES", -1)
    made = MotionReader(MotionCache(tmp_path / "cache"))
    yield made
    made.rest()
    assert made._process is None


def write(path: Path, rows: int = 3, more: str = "") -> Path:
    path.write_text(HEAD + "".join(f"      - [{0.001 * row}]\n" for row in range(rows)) + more)
    return path


def reason(reader: MotionReader, path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        reader.load_motions(path)
    return str(caught.value)


def test_motions_are_those_that_the_readers_return(reader: MotionReader, tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", more="  - {type: Unknown, content: Cue, note: [1, 2.5, x]}\n")
    for _ in range(2):
        (read,), (expected,) = reader.load_motions(file), load_motions(file)
        np.testing.assert_array_equal(read.positions, expected.positions)
        assert read.positions.dtype == expected.positions.dtype
        assert (read.name, read.joint_names, read.frame_rate) == (
            expected.name,
            expected.joint_names,
            expected.frame_rate,
        )
        assert read.components.keys() == expected.components.keys()
        assert (read.metadata, read.warnings) == (expected.metadata, expected.warnings)


@pytest.mark.parametrize(
    "content",
    [b"\n" * 1_000_000, b"a: " + b"{a: " * 1000, b"\xff", b""],
    ids=["lines", "deep", "binary", "empty"],
)
def test_what_is_wrong_with_a_file_is_what_the_readers_find(
    reader: MotionReader, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "bad.seq"
    file.write_bytes(content)
    with pytest.raises(FormatError) as expected:
        load_motions(file)
    with pytest.raises(FormatError) as caught:
        reader.load_motions(file)
    assert caught.value.problems == expected.value.problems


def test_a_large_file_costs_the_daemon_next_to_nothing(tmp_path: Path) -> None:
    file = tmp_path / "lines.seq"
    file.write_bytes(b"\n" * 20_000_000)
    reader = MotionReader(MotionCache(tmp_path / "cache"))
    children_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    own_s = time.process_time()
    assert reason(reader, file) == f"{file}: is empty; a .seq file holds a mapping; copy the file anew"
    own_s = time.process_time() - own_s
    reader.rest()
    assert own_s < 0.2 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - children_s)


def test_a_small_file_starts_no_process(tmp_path: Path) -> None:
    reader = MotionReader(MotionCache(tmp_path / "cache"))
    assert len(reader.load_motions(write(tmp_path / "wave.seq"))) == 1
    assert reader._process is None


def test_a_file_that_was_read_before_starts_no_process(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", rows=100_000)
    time.sleep(0.15)  # a file that has just been written may change without showing it
    first = MotionReader(MotionCache(tmp_path / "cache"))
    (read,) = first.load_motions(file)
    first.rest()
    second = MotionReader(MotionCache(tmp_path / "cache"))
    (again,) = second.load_motions(file)
    assert second._process is None
    np.testing.assert_array_equal(read.positions, again.positions)


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_read(
    reader: MotionReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    with monkeypatch.context() as patch:
        patch.setattr(reading, "PATIENCE_S", 0.001)
        patch.setattr(reading, "BYTES_A_SECOND", 10**12)
        assert reason(reader, file) == (f"{file}: cannot be read; it takes longer than 0 s; split the motion")
    assert reader._process is None
    assert len(reader.load_motions(file)) == 1


def test_a_file_that_takes_too_much_memory_is_refused_and_the_next_one_read(
    reader: MotionReader, tmp_path: Path
) -> None:
    small, large = write(tmp_path / "small.seq"), tmp_path / "large.seq"
    reader.load_motions(small)
    assert reader._process is not None
    pages = int(Path(f"/proc/{reader._process.pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 20_000_000
    resource.prlimit(reader._process.pid, resource.RLIMIT_AS, (most, most))
    large.write_bytes(b"\n" * 50_000_000)
    assert reason(reader, large) == (
        f"{large}: cannot be read; there is not enough memory for it; check the path"
    )
    assert len(reader.load_motions(small)) == 1


def test_a_reader_that_is_killed_is_a_refusal_with_a_reason(reader: MotionReader, tmp_path: Path) -> None:
    file = tmp_path / "lines.seq"
    file.write_bytes(b"\n" * 100_000_000)
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(reason(reader, file)))
    thread.start()
    while reader._process is None:
        time.sleep(0.001)
    reader.kill()
    thread.join(PATIENCE_S)
    assert reasons == [
        f"{file}: cannot be read; its reader was ended (-9), as by want of memory; split the motion"
    ]
    assert len(reader.load_motions(write(tmp_path / "wave.seq"))) == 1


def test_a_reader_that_hangs_is_killed_where_it_is_to_end(
    reader: MotionReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    reader.load_motions(file)
    process = reader._process
    assert process is not None
    monkeypatch.setattr(reading, "END_WITHIN_S", 0.01)
    os.kill(process.pid, signal.SIGSTOP)
    resting = threading.Thread(target=reader.rest, daemon=True)
    resting.start()
    resting.join(PATIENCE_S)
    ended = process.poll()
    process.kill()
    assert ended == -signal.SIGKILL
    assert len(reader.load_motions(write(tmp_path / "other.seq"))) == 1


def test_what_no_descriptor_is_left_for_cannot_be_read_for_now(
    reader: MotionReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    receive = socket.recv_fds

    def without_descriptors(*asked: Any) -> tuple[bytes, list[int], int, Any]:
        kind, memories, flags, address = receive(*asked)
        for memory in memories:
            os.close(memory)
        return kind, [], flags | socket.MSG_CTRUNC, address

    with monkeypatch.context() as patch:
        patch.setattr(socket, "recv_fds", without_descriptors)
        why = "cannot be read; Too many open files; see the system's limits"
        assert reason(reader, file) == f"{file}: {why}"
    assert len(reader.load_motions(file)) == 1


def test_without_descriptors_for_a_process_what_was_held_stays(
    reader: MotionReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    settings = settings_of(ELBOW, motions=[file])
    library = MotionLibrary(map_of(ELBOW), settings, load=reader.load_motions, reader=reader)
    library.load_all()
    assert reader._process is None
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
    why = "cannot be read; Too many open files; see the system's limits"
    assert library.problems == (f"{file}: {why}; what it held before stays",)
    library.load_all()
    after = library.get("wave")
    assert after is not None
    assert after.frames == 5
