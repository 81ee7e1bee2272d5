"""The telemetry ring: one record a tick, written by the stream process and read by the daemon.

A record is a vector of float64 with named parts, and contacts at its end where the driver knows any, so that
the other parts lie where they lie without. A reader takes all that it has not seen, and counts what it
has lost by coming too late; the writer never waits. Between two records, and before the first, the writer
shows by beats that it is alive. The memory has no name (`memfd`).
"""

from __future__ import annotations

import mmap
import os
import struct
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers import CONTACT

from .states import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from motiond.formats.arrays import Booleans, Floats

    from .states import State


RECORDS = 8192
_HEAD_BYTES = mmap.PAGESIZE

SCALARS = (
    "sequence",  # the record's number, from 0
    "deadline_s",  # monotonic time at which the tick was due; where several had become due, the first
    "setpoint_s",  # monotonic time that its setpoint is for: the last of these
    "lateness_s",
    "write_s",  # time spent in Driver.write
    "read_s",  # time spent in Driver.read
    "state",  # index into the list of player states
    "torque",
    "goal",  # counts goals from 1; 0 is none
    "frame",  # place on the motion, in rows of the plan
    "loop",  # pass over the motion, from 1
    "beside",  # whether goals play beside the base
    "clock_rate",
    "moved",  # ticks along the motion since its first row; NaN where that is no time, as after a pause
    "missed",  # deadlines missed since the start
    "skipped",  # rows passed over because of them
    "errors",  # driver errors since the start
    "received_s",  # monotonic time at which the oldest of the actuators' feedback was received
)
COLUMN = {name: index for index, name in enumerate(SCALARS)}
VECTORS = (
    "reference_position",
    "reference_velocity",
    "reference_effort",
    "position",
    "velocity",
    "effort",
    "temperature_c",
    "voltage_v",
)
REFERENCES = 3  # vectors of the reference; the others are feedback
_SCALARS = struct.Struct(f"={len(SCALARS)}d")


class Record:
    """One record as a vector with named parts, each as long as there are joints: `record["position"]`.

    - `data` (ndarray, shape (width,)): the whole record
    - `reference` (ndarray, shape (3, joints)): its setpoints: positions, velocities, efforts
    - `feedback` (ndarray, shape (5, joints)): positions, velocities, efforts, temperatures, voltages
    - `contacts` (ndarray, shape (slots, CONTACT)): as `ActuatorState` has them
    - `set_scalars`: sets all scalars, in the order of `SCALARS`; a call into C, as it is made in every tick
    """

    def __init__(self, joints: int, contacts: int = 0) -> None:
        self.data: Floats = np.full(width(joints, contacts), np.nan)
        self.data[: len(SCALARS)] = 0.0
        vectors = self.data[len(SCALARS) : width(joints)].reshape(len(VECTORS), joints)
        self.contacts = contacts_of(self.data, joints)
        self.reference = vectors[:REFERENCES]
        self.feedback = vectors[REFERENCES:]
        self._parts = dict(zip(VECTORS, vectors, strict=True))
        self.set_scalars = partial(_SCALARS.pack_into, self.data.data.cast("B"), 0)

    def __getitem__(self, name: str) -> Floats:
        part: Floats = self._parts[name]
        return part


def width(joints: int, contacts: int = 0) -> int:
    """Return the length of a record's vector."""
    return len(SCALARS) + len(VECTORS) * joints + CONTACT * contacts


def contacts_of(records: Floats, joints: int) -> Floats:
    """Return the contacts of records of shape (…, width), a view of shape (…, slots, CONTACT)."""
    slots: Floats = records[..., width(joints) :]
    return slots.reshape(*slots.shape[:-1], slots.shape[-1] // CONTACT, CONTACT)


def slices(joints: int) -> dict[str, slice]:
    """Return where each vector part lies in a record."""
    starts = (len(SCALARS) + k * joints for k in range(len(VECTORS)))
    return {name: slice(start, start + joints) for name, start in zip(VECTORS, starts, strict=True)}


def in_states(records: Floats, states: Iterable[State]) -> Booleans:
    """Return which of records (n, width) are of ticks in some states of the player, shape (n,)."""
    found: Booleans = np.isin(records[:, COLUMN["state"]], [STATES.index(state) for state in states])
    return found


def named_contacts(contacts: Floats, bodies: Sequence[str]) -> list[dict[str, Any]]:
    """Return contacts (n, CONTACT) as they are reported; `bodies`: the names, by number."""
    return [
        {
            "bodies": [bodies[int(contact[0])], bodies[int(contact[1])]],
            "position": contact[2:5].tolist(),
            "force": contact[5:].tolist(),
        }
        for contact in contacts
    ]


def create(joints: int, contacts: int = 0) -> int:
    """Make an empty ring and return its file descriptor, which the caller closes.

    `contacts`: how many slots for contacts a record has, as for both ends of the ring.

    Raises OSError if there are no descriptors left, or no memory.
    """
    fd = os.memfd_create("motiond-ring", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, _HEAD_BYTES + 8 * RECORDS * width(joints, contacts))
    except OSError:
        os.close(fd)
        raise
    return fd


def _views(memory: mmap.mmap, length: int) -> tuple[NDArray[np.uint64], Floats]:
    """Return the numbers of records and of beats written, shape (2,), and the records (RECORDS, width)."""
    rows = np.frombuffer(memory, np.float64, offset=_HEAD_BYTES).reshape(RECORDS, length)
    return np.frombuffer(memory, np.uint64, 2), rows


class RingWriter:
    """The stream process's end: the only one that writes."""

    def __init__(self, fd: int, joints: int, contacts: int = 0) -> None:
        # All pages now: a page that is touched for the first time in a tick costs that tick its time.
        self._memory = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self._head, self._rows = _views(self._memory, width(joints, contacts))
        self._count = self._beats = 0

    def put(self, record: Floats) -> None:
        """Append a record; its first number becomes its sequence number."""
        record[0] = self._count
        self._rows[self._count % RECORDS] = record
        self._count += 1
        self._head[0] = self._count

    def beat(self) -> None:
        """Show that the writer is alive although it has no record."""
        self._beats += 1
        self._head[1] = self._beats

    def close(self) -> None:
        """Unmap the memory; nothing can be written afterwards."""
        del self._head, self._rows
        self._memory.close()


class RingReader:
    """The daemon's end.

    `lost`: records that were overwritten before they were read. `contact_slots`: how many a record has.
    """

    def __init__(self, fd: int, joints: int, contacts: int = 0) -> None:
        self._memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        self._head, self._rows = _views(self._memory, width(joints, contacts))
        self._next = 0
        self.lost, self.contact_slots = 0, contacts

    @property
    def written(self) -> int:
        """How many records have been written."""
        return int(self._head[0])

    @property
    def pulse(self) -> int:
        """How many records and beats have been written; one that stands still means the writer hangs."""
        return int(self._head[0]) + int(self._head[1])

    def take(self) -> Floats:
        """Copy all new records, shape (records, width), oldest first.

        What the writer may have begun to overwrite meanwhile counts as lost, so that no record is torn.
        """
        head = self.written
        first = max(self._next, head - RECORDS)
        records: Floats = self._rows[np.arange(first, head) % RECORDS]
        whole = min(head, max(first, self.written - RECORDS + 1))
        self.lost += whole - self._next
        self._next = head
        return records[whole - first :]

    def close(self) -> None:
        """Unmap the memory; nothing can be read afterwards."""
        del self._head, self._rows
        self._memory.close()
