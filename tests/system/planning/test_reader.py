"""Larger files are read by a process beside the daemon, which learns what is in them, or why not."""

from __future__ import annotations

import os
import resource
import signal
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.library.reader import MotionReader
from motiond.formats import FormatError, load_motions, load_run
from tests.daemon.planning.test_reader import write
from tests.daemon.recording.recordings import APPROACH, PLAYED, ticks
from tests.daemon.recording.recordings import write as write_recording
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT_S = 0.001
BAD = {"lines": b"\n" * 300_000, "deep": b"a: " + b"{a: " * 1000, "binary": b"\xff", "empty": b""}


@pytest.fixture
def reader() -> Iterator[MotionReader]:
    """A reader for which no file is small."""
    made = MotionReader(small_bytes=-1, end_within_s=10.0)
    yield made
    made.rest()
    assert made._process is None


def reason(reader: MotionReader, path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        reader.load_motions(path)
    return str(caught.value)


def assert_reads(reader: MotionReader, folder: Path) -> None:
    """Assert that the reader goes on: with a file that nothing is wrong with."""
    assert len(reader.load_motions(write(folder / "next.seq"))) == 1


def test_it_reads_what_recordings_hold_too(reader: MotionReader, tmp_path: Path) -> None:
    file = write_recording(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))
    (motion,) = reader.load_motions(file)
    run = reader.load_run(file, 4_000)
    assert run.about == load_run(file).about
    assert run.reference[7:18].tobytes() == motion.positions.tobytes()


def test_one_process_reads_what_the_readers_return_and_finds_what_they_find(
    reader: MotionReader, tmp_path: Path
) -> None:
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
    process = reader._process
    assert process is not None
    assert process.pid != os.getpid()
    for name, content in BAD.items():
        bad = tmp_path / f"{name}.seq"
        bad.write_bytes(content)
        with pytest.raises(FormatError) as expected_error:
            load_motions(bad)
        with pytest.raises(FormatError) as caught:
            reader.load_motions(bad)
        assert caught.value.problems == expected_error.value.problems
    assert reader._process is process


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq")
    hasty = MotionReader(small_bytes=-1, patience_s=SHORT_S)
    assert reason(hasty, file) == f"{file}: cannot be read; it takes longer than 0 s; split the motion"
    assert hasty._process is None
    hasty._patience_s = PATIENCE_S
    assert_reads(hasty, tmp_path)
    hasty.rest()


def test_a_file_that_takes_too_much_memory_is_refused_and_the_next_one_read(
    reader: MotionReader, tmp_path: Path
) -> None:
    assert_reads(reader, tmp_path)
    assert reader._process is not None
    pages = int(Path(f"/proc/{reader._process.pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 20_000_000
    resource.prlimit(reader._process.pid, resource.RLIMIT_AS, (most, most))
    large = tmp_path / "large.seq"
    large.write_bytes(b"\n" * 50_000_000)
    assert reason(reader, large) == (
        f"{large}: cannot be read; there is not enough memory for it; check the path"
    )
    assert_reads(reader, tmp_path)


def test_a_reader_that_is_killed_is_a_refusal_with_a_reason(
    reader: MotionReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "wave.seq")
    reader.load_motions(file)
    assert reader._process is not None
    os.kill(reader._process.pid, signal.SIGSTOP)  # it is asked, and does not answer
    asked, receive = threading.Event(), socket.recv_fds

    def receive_after_all_is_sent(*arguments: Any) -> tuple[bytes, list[int], int, Any]:
        asked.set()
        return receive(*arguments)

    monkeypatch.setattr(socket, "recv_fds", receive_after_all_is_sent)
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(reason(reader, file)))
    thread.start()
    assert asked.wait(PATIENCE_S)
    reader.kill()
    thread.join(PATIENCE_S)
    assert reasons == [
        f"{file}: cannot be read; its reader was ended (-9), as by want of memory; split the motion"
    ]
    assert_reads(reader, tmp_path)


def test_a_reader_that_hangs_is_killed_where_it_is_to_end(tmp_path: Path) -> None:
    reader = MotionReader(small_bytes=-1, end_within_s=SHORT_S)
    assert_reads(reader, tmp_path)
    process = reader._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    reader.rest()
    assert process.poll() == -signal.SIGKILL
    assert reader._process is None


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
        problem = "cannot be read; Too many open files; see the system's limits"
        assert reason(reader, file) == f"{file}: {problem}"
    assert_reads(reader, tmp_path)
