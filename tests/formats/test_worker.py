"""What the process that reads motions passes on: motions with mapped arrays, or why there are none."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.formats import MappedJoint, MotionMap, ReadOptions, load_motions, load_run, worker
from tests.daemon.recording.recordings import APPROACH, PLAYED, ticks, write

GOOD = Path(__file__).parents[1] / "files" / "good"


def passed_on(answer: tuple[bytes, int]) -> tuple[bytes, Any]:
    kind, memory = answer
    try:
        return kind, worker.taken(memory)
    finally:
        os.close(memory)


@pytest.mark.parametrize("file", [GOOD / "two_feet.seq", GOOD / "gestures.xmdi"], ids=lambda file: file.name)
def test_motions_arrive_as_they_were_read_with_arrays_that_nobody_copied(file: Path) -> None:
    kind, motions = passed_on(worker._read(file, ReadOptions()))
    assert kind == worker.FOUND
    for motion, read in zip(motions, load_motions(file), strict=True):
        assert (motion.name, motion.joint_names, motion.warnings) == (
            read.name,
            read.joint_names,
            read.warnings,
        )
        assert motion.positions.tobytes() == read.positions.tobytes()
        assert motion.times.tobytes() == read.times.tobytes()
        assert not motion.positions.flags.owndata
        assert not motion.positions.flags.writeable
        assert motion.components.keys() == read.components.keys()
        for name, values in read.components.items():
            np.testing.assert_array_equal(motion.components[name], values)


def test_what_a_recording_holds_arrives_where_points_are_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))
    kind, run = passed_on(worker._read(file, 4_000))
    read = load_run(file)
    assert (kind, run.about) == (worker.FOUND, read.about)
    for name in ("times", "reference", "feedback", "error"):
        np.testing.assert_array_equal(getattr(run, name), getattr(read, name))


def test_a_file_that_cannot_be_opened_is_refused_with_the_number_of_the_error(tmp_path: Path) -> None:
    kind, (problems, number) = passed_on(worker._read(tmp_path / "gone.seq", ReadOptions()))
    assert (kind, number) == (worker.REFUSED, 2)
    assert [*map(str, problems)] == [f"{tmp_path}/gone.seq: cannot be read; no such file; check the path"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "there is not enough memory for it; split the motion"),
        (ZeroDivisionError("one"), "its reader failed; ZeroDivisionError('one'); report it"),
    ],
)
def test_what_a_reader_fails_over_is_refused(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path, **__: ReadOptions) -> None:
        raise error

    monkeypatch.setattr(worker, "load_motions", fail)
    kind, (problems, number) = passed_on(worker._read(Path("wave.seq"), ReadOptions()))
    assert (kind, number) == (worker.REFUSED, None)
    assert [*map(str, problems)] == [f"wave.seq: cannot be read; {reason}"]


def test_more_than_rows_that_would_take_the_daemon_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "load_motions", lambda _, **__: ["x" * 9_000_000])
    _, (problems, _) = passed_on(worker._read(Path("wave.seq"), ReadOptions()))
    (line,) = map(str, problems)
    assert line.startswith("wave.seq: cannot be read; what it holds besides arrays takes 90000")
    assert line.endswith(" bytes; shorten all but its rows")


def test_each_request_carries_its_options_until_the_other_end_is_closed() -> None:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    joints = {f"joint {number}": MappedJoint("J" * 99) for number in range(2_000)}
    fitting = MotionMap({"ankle": MappedJoint(0, sign=-1)}, ignores_others=True)
    with ours, its:
        for map_ in (MotionMap(joints), fitting):
            request = worker.put((GOOD / "two_feet.seq", ReadOptions(map=map_)))
            socket.send_fds(ours, [worker.READ], [request])
            os.close(request)
        ours.shutdown(socket.SHUT_WR)
        worker.serve(its)
        answers = [socket.recv_fds(ours, 1, 1)[:2] for _ in range(2)]
    (refused, (problems, _)), (kind, (motion,)) = (passed_on((kind, fds[0])) for kind, fds in answers)
    assert refused == worker.REFUSED
    assert "for joint 'joint 0'; its columns have no names" in str(problems[0])
    assert (kind, motion.joint_names) == (worker.FOUND, ("ankle",))
