"""What an observer passes on of a ring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc.ring import RECORDS, Record, RingReader, RingWriter, create
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
