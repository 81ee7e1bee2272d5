"""One recording: a file that is `….mcap.part` until it is finished, in chunks that are whole each second.

It is written from one thread at a time; nothing here waits for anything but the disk.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats.io import Topic, packed_string

from ..ipc.ring import COLUMN
from .about import ABOUT, END, RecordingEnd
from .channels import Channels, Message
from .description import TransformSampler
from .part import name_finished, part_of
from .ticks import NS, Ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from motiond.formats.arrays import Floats

    from .about import RecordingAbout
    from .channels import ReportSubject

MOST_HELD_BYTES = 16 << 20
"""So much of records is kept at most until it is written, however late `cut` is called."""


class RecordingWriter:
    """Writes one recording. Every method may raise `OSError`; then `abandon` is what is left to do.

    - `path`: the file once it is finished; its folder is there
    - `about`: of what it is
    - `unix_time`: reads the time, in s

    Raises `FileExistsError` if its `.part` is there already.
    """

    def __init__(self, path: Path, about: RecordingAbout, unix_time: Callable[[], float] = time.time) -> None:
        from .mcap_file import ChunkedFile  # noqa: PLC0415 - costly, and not every daemon records

        self.path = path
        self.part = part_of(path)
        self._about = about
        self._unix_time = unix_time
        self._ticks = Ticks(about.joints, about.unix_less_monotonic_s, about.bodies)
        self._sampler = None if about.description is None else TransformSampler(about.description)
        self._held: list[Floats] = []
        self._held_bytes = 0
        self._has_new = False
        self._end = RecordingEnd()
        self._has_metadata = False
        self._stream = self.part.open("xb")
        self._writer = ChunkedFile(self._stream, "ros2", f"motiond {about.version}")
        self._writer.add_metadata("foxglove", {"deviceName": about.robot})
        self._channels = Channels(self._writer)

    @property
    def ticks(self) -> int:
        """How many ticks it holds, those included that are not written yet."""
        return self._ticks.count + sum(len(records) for records in self._held)

    @property
    def gaps(self) -> int:
        """How many gaps it has, as far as ticks are written."""
        return self._ticks.gaps

    @property
    def size(self) -> int:
        """How many bytes are written."""
        return self._writer.size

    def add(self, records: Floats) -> None:
        """Add records of the ring, shape (n, width), which nobody changes afterwards.

        Where their numbers leave out ticks, that is a gap in the file.
        """
        if len(records):
            self._held.append(records)
            self._held_bytes += records.nbytes
            self._has_new = True
        if self._held_bytes > MOST_HELD_BYTES:
            self._write_ticks()

    def add_gap(self, first_tick: int, ticks: int, reason: str) -> None:
        """Add that ticks are missing between those that were added and those that follow.

        `first_tick`: the first that is missing. `ticks`: how many; 0 where nobody knows.
        """
        self._write_ticks(are_all=True)
        self._add_json(self._ticks.gap(first_tick, ticks, reason, self._now_ns()))

    def add_report(self, subject: ReportSubject, data: Mapping[str, Any], stamp_ns: int) -> None:
        """Add a report as it is published; `stamp_ns`: when, in Unix ns."""
        self._add_json(Message(f"/motiond/{subject}", stamp_ns, data))
        if subject == "result":
            self._end.add_result(data)

    def attach(self, name: str, data: bytes, media_type: str = "application/octet-stream") -> None:
        """Attach a file; nothing happens if it is there already."""
        digest = hashlib.sha256(data).hexdigest()
        if self._end.hashes.get(name) != digest:
            self._end.hashes[name] = digest
            self._writer.add_attachment(name, media_type, data, self._now_ns())

    def cut(self) -> None:
        """Write what there is, and leave it to the system: what is written so outlives this process."""
        self._write_ticks(are_all=not self._has_new)  # where no tick came, none follows soon
        self._has_new = False
        self._write_metadata()
        self._writer.cut()

    def finish(self, reason: str) -> Path:
        """End the file and give it its name. Returns that, as another file may have taken the one it had.

        `reason`: why it ends.
        """
        self._write_ticks(are_all=True)
        self._write_metadata()
        self._writer.cut()  # what is said of the end counts what stands before it
        self._end.ticks, self._end.gaps = self._ticks.count, self._ticks.gaps
        self._writer.add_metadata(END, self._end.metadata(self._unix_time(), reason))
        self._writer.finish()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self.path = name_finished(self.part)
        return self.path

    def abandon(self) -> None:
        """Close the file as it is; `repair` makes a whole one of it."""
        with suppress(OSError):  # of what it could not write
            self._stream.close()

    def _write_ticks(self, *, are_all: bool = False) -> None:
        """Write what is held but for the last record, of which it is not known yet when the next follows.

        `are_all`: the last one, too, as none follows soon.
        """
        if not self._held:
            return
        records = np.concatenate(self._held) if len(self._held) > 1 else self._held[0]
        end = len(records) - (not are_all)
        self._held = [] if are_all else [records[end:]]
        self._held_bytes = sum(held.nbytes for held in self._held)
        if end:
            self._write_batch(records[:end], None if are_all else records[end])

    def _write_batch(self, records: Floats, following: Floats | None) -> None:
        ticks = self._ticks
        stamps = ticks.stamps(records)
        if self._ticks.first is None:
            self._add_description(int(stamps[0]))
        for message in ticks.about(records, following):
            self._add_json(message)
        numbers = records[:, COLUMN["sequence"]].astype(np.int64) & 0xFFFF_FFFF
        reference, feedback = map(self._channels.number, (Topic.REFERENCE, Topic.FEEDBACK))
        self._writer.add_messages(reference, stamps, ticks.reference(records, stamps), numbers)
        self._writer.add_messages(feedback, stamps, ticks.feedback(records, stamps), numbers)
        if self._sampler is not None:
            when, transforms = self._sampler.packed(stamps, *ticks.positions(records))
            self._writer.add_messages(self._channels.number(Topic.TRANSFORMS), when, transforms)

    def _add_description(self, stamp_ns: int) -> None:
        if self._about.description is not None:
            self._add(Topic.DESCRIPTION, stamp_ns, packed_string(self._about.description.urdf))

    def _write_metadata(self) -> None:
        if not self._has_metadata:
            self._has_metadata = True
            self._writer.add_metadata(ABOUT, self._about.metadata(self._ticks.first, self._end.hashes))

    def _add_json(self, message: Message) -> None:
        self._add(message.topic, message.stamp_ns, message.packed())

    def _add(self, topic: str, stamp_ns: int, data: bytes) -> None:
        channel, row = self._channels.number(topic), np.frombuffer(data, np.uint8)[None]
        self._writer.add_messages(channel, np.array([stamp_ns]), row)

    def _now_ns(self) -> int:
        return round(self._unix_time() * NS)
