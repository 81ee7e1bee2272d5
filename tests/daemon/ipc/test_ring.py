"""Behaviour of the telemetry ring between its writer and its reader."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.ipc.ring import (
    RECORDS,
    SCALARS,
    VECTORS,
    Record,
    RingReader,
    RingWriter,
    contacts_of,
    create,
    slices,
)
from motiond.drivers import CONTACT

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats


def ends() -> tuple[RingWriter, RingReader]:
    fd = create(2)
    try:
        return RingWriter(fd, 2), RingReader(fd, 2)
    finally:
        os.close(fd)


def write(writer: RingWriter, first: int, count: int) -> None:
    record = Record(2)
    for number in range(first, first + count):
        record["position"][:] = number, -number
        writer.put(record.data)


def test_every_record_is_read_once_in_order() -> None:
    writer, reader = ends()
    write(writer, 0, 3)
    first = reader.take()
    write(writer, 3, 2)
    second = reader.take()
    assert first[:, 0].tolist() == [0, 1, 2]
    assert second[:, 0].tolist() == [3, 4]
    assert reader.take().shape == (0, first.shape[1])
    assert reader.lost == 0


def test_a_reader_that_comes_too_late_gets_the_newest_and_the_number_lost() -> None:
    """One less than there is room for, as the writer may be at it."""
    writer, reader = ends()
    write(writer, 0, RECORDS + 10)
    records = reader.take()
    assert (len(records), records[0, 0], records[-1, 0], reader.lost) == (RECORDS - 1, 11, RECORDS + 9, 11)


class Overtaken(RingReader):
    """A reader whose writer goes on while it copies."""

    def __init__(self, fd: int, writer: RingWriter) -> None:
        super().__init__(fd, 2)
        self._writer: RingWriter | None = writer

    @property
    def written(self) -> int:
        written = super().written
        if self._writer is not None:
            writer, self._writer = self._writer, None
            write(writer, written, 20)
        return written


def test_a_record_that_is_overwritten_while_it_is_copied_counts_as_lost() -> None:
    fd = create(2)
    writer = RingWriter(fd, 2)
    write(writer, 0, RECORDS)
    reader = Overtaken(fd, writer)
    os.close(fd)
    first, second = reader.take(), reader.take()
    assert (first[0, 0], first[-1, 0], reader.lost) == (21, RECORDS - 1, 21)
    assert (second[0, 0], len(second)) == (RECORDS, 20)


def test_the_parts_of_a_record_are_found_by_name() -> None:
    writer, reader = ends()
    write(writer, 7, 1)
    taken = Record(2)
    taken.data[:] = reader.take()[0]
    assert taken["position"].tolist() == [7, -7]
    assert np.isnan(taken["temperature_c"]).all()


def test_contacts_stand_behind_all_else_and_cost_nothing_where_there_are_none() -> None:
    without, record = Record(2), Record(2, 3)
    assert len(without.data) == len(SCALARS) + 2 * len(VECTORS)
    assert without.contacts.shape == (0, CONTACT)
    record["position"][:] = 1.0, 2.0
    record.contacts[1] = range(CONTACT)
    assert slices(2)["position"] == slice(*(len(SCALARS) + 2 * place for place in (3, 4)))
    taken = contacts_of(np.stack([record.data, without_contacts(record)]), 2)
    assert taken.shape == (2, 3, CONTACT)
    assert taken[0, 1].tolist() == list(range(CONTACT))
    assert np.isnan(taken[0, [0, 2]]).all()
    assert np.isnan(taken[1]).all()


def without_contacts(record: Record) -> Floats:
    data = record.data.copy()
    data[len(data) - 3 * CONTACT :] = np.nan
    return data


def test_the_reader_sees_whether_the_writer_still_writes() -> None:
    writer, reader = ends()
    assert reader.written == 0
    write(writer, 0, 4)
    assert reader.written == 4


def test_a_tick_never_waits_for_a_page_of_the_ring() -> None:
    joints = 30
    fd = create(joints)
    writer, record = RingWriter(fd, joints), Record(joints)
    os.close(fd)
    pages = RECORDS * record.data.nbytes // resource.getpagesize()
    writer.put(record.data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(RECORDS):
        writer.put(record.data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < pages / 10
    writer.close()
