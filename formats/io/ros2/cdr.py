"""Little-endian CDR of messages that differ in numbers alone: copies of one, with their numbers set, or read.

CDR: OMG DDS-RTPS 2.5, 10.2, with the classic encoding of XTypes 1.3, 7.4.3: each number stands at a multiple
of its size, counted from behind the four bytes that name the encoding.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.timing import NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...arrays import Integers

_ENCODING = b"\0\1\0\0"


class Layout:
    """A message that is put together once: what is the same in all, and where what differs stands."""

    def __init__(self) -> None:
        self._bytes = bytearray(_ENCODING)
        self._fields: dict[str, tuple[Any, int]] = {}

    def number(self, value: int) -> None:
        """Append a uint32, as the length of a sequence is one."""
        self._align(4)
        self._bytes += struct.pack("<I", value)

    def text(self, text: str) -> None:
        """Append a string, which ends in a zero that its length counts."""
        data = text.encode() + b"\0"
        self.number(len(data))
        self._bytes += data

    def stamp(self, name: str) -> None:
        """Append a time, which differs: seconds and nanoseconds of a `builtin_interfaces/Time`."""
        self._align(4)
        self._leave(name, ("<u4", (2,)), 8)

    def floats(self, name: str, count: int) -> None:
        """Append float64, which differ: of a sequence, whose length goes before, or of an array."""
        if count:  # nothing is aligned where there is nothing
            self._align(8)
            self._leave(name, ("<f8", (count,)), 8 * count)

    def _leave(self, name: str, kind: tuple[str, tuple[int]], size: int) -> None:
        self._fields[name] = (kind, len(self._bytes))
        self._bytes += bytes(size)

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(_ENCODING)) % size)

    def rows(self, count: int) -> NDArray[Any]:
        """Return so many messages, shape (count,), with a field for each thing that differs; all are 0."""
        rows: NDArray[Any] = np.empty(count, self._kind())
        as_bytes(rows)[:] = np.frombuffer(self._bytes, np.uint8)
        return rows

    def read(self, messages: Sequence[bytes]) -> NDArray[Any] | None:
        """Return messages with their fields, shape (n,); None where one differs in anything else."""
        if any(len(message) != len(self._bytes) for message in messages):
            return None
        joined = b"".join(messages)
        blank = np.frombuffer(bytearray(joined), self._kind())
        for field in self._fields:
            blank[field] = 0
        is_same = (as_bytes(blank) == np.frombuffer(self._bytes, np.uint8)).all()
        return np.frombuffer(joined, self._kind()) if is_same else None

    def _kind(self) -> Any:
        kinds, offsets = zip(*self._fields.values(), strict=True) if self._fields else ((), ())
        size = len(self._bytes)
        fields = {"names": [*self._fields], "formats": kinds, "offsets": offsets, "itemsize": size}
        return np.dtype(fields)  # type: ignore[call-overload] # it takes dictionaries


def as_bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return messages as bytes, shape (n, size)."""
    return rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)


def split_stamps(stamps_ns: Integers) -> NDArray[np.uint32]:
    """Return times in ns since 1970, shape (n,), as ROS has them, shape (n, 2): seconds and nanoseconds."""
    split: NDArray[np.uint32] = np.stack(np.divmod(stamps_ns, NS), axis=-1).astype(np.uint32)
    return split
