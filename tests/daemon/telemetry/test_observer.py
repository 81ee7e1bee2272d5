"""What an observer passes on of a ring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc.ring import COLUMN, RECORDS, Record, RingReader, RingWriter, create
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.telemetry.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def ends() -> Iterator[tuple[RingWriter, RingReader]]:
    fd = create(1)
    writer, reader = RingWriter(fd, 1), RingReader(fd, 1)
    os.close(fd)
    yield writer, reader
    writer.close()
    reader.close()


def test_a_tap_gets_every_record_with_how_many_were_lost_before_it(
    ends: tuple[RingWriter, RingReader],
) -> None:
    writer, reader = ends
    batches: list[tuple[float, float, int]] = []
    observer = Observer(
        reader, 1, tap=lambda records, lost: batches.append((records[0, 0], records[-1, 0], lost))
    )
    record = Record(1)
    observer.take()
    for count in (3, RECORDS + 5, 2):
        for _ in range(count):
            writer.put(record.data)
        observer.take()
    assert batches == [(0, 2, 0), (9, RECORDS + 7, 6), (RECORDS + 8, RECORDS + 9, 0)]


def test_a_goal_is_timed_by_its_ticks_in_motion_and_a_second_by_all(
    ends: tuple[RingWriter, RingReader],
) -> None:
    writer, reader = ends
    observer = Observer(reader, 1)
    record = Record(1)
    for state, write_s, read_s in ((State.IDLE, 0.003, 0.004), (State.PLAYING, 0.001, 0.002)):
        record.data[COLUMN["state"]] = STATES.index(state)
        record.data[[COLUMN["write_s"], COLUMN["read_s"]]] = write_s, read_s
        record["reference_position"][:], record["position"][:] = write_s, 0.0
        writer.put(record.data)
    observer.take()
    timings = [timing.payload() for timing in (observer.second, observer.goal)]
    assert [timing["ticks"] for timing in timings] == [2, 1]
    assert [timing["write_s"]["max"] for timing in timings] == [0.003, 0.001]
    assert [timing["read_s"]["max"] for timing in timings] == [0.004, 0.002]
    assert observer.extremes.error.tolist() == [0.001]
