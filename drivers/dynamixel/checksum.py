"""The CRC-16 of blocks of one length, looked up for all bytes at once.

A checksum that begins at 0 is linear: that of a block is the exclusive or of what each byte adds at its
place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .protocol import crc16

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES = 256


class BlockChecksum:
    """Computes what `crc16` returns for blocks of one length, in a few array operations.

    Parameters
    ----------
    length : int
        Of the blocks, in bytes.
    """

    def __init__(self, length: int) -> None:
        self._added = _added_by_each_byte(length)
        self._first = np.arange(length) * _VALUES
        self._places = np.empty(length, np.intp)
        self._terms = np.empty(length, np.uint16)

    def of(self, block: NDArray[np.uint8]) -> int:
        """Return the CRC-16 of a block (length,)."""
        np.add(self._first, block, self._places)
        self._added.take(self._places, out=self._terms, mode="clip")
        return int(np.bitwise_xor.reduce(self._terms))


def _added_by_each_byte(length: int) -> NDArray[np.uint16]:
    """Return what each value of each byte of a block adds to its checksum: (length * 256,)."""
    added = np.empty((length, _VALUES), np.uint16)
    added[-1] = [crc16(bytes([value])) for value in range(_VALUES)]
    for place in range(length - 2, -1, -1):
        later = added[place + 1]
        added[place] = later << 8 ^ added[-1][later >> 8]
    return added.reshape(-1)
