"""Motions in one file of a cache: a checked header, and arrays that are mapped into memory, not read.

A file is

    8 bytes    MAGIC
    8 bytes    the header's length, little-endian
    32 bytes   BLAKE2b of the header
    header     JSON: the motions, with each array as where it stands and what it holds
    arrays     each at a multiple of 64 bytes

Every reading finds a damaged header and a file of the wrong length. The arrays have a checksum as well, which
`verify` checks; reading does not, as that would take time in proportion to the arrays' length.

    Exception
    └── DamagedEntry     a file that is not as it was written
"""

from __future__ import annotations

import hashlib
import math
import mmap
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import orjson

from ..io.regular_file import open_regular
from ..model.motion import Motion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ..arrays import AnyArray

MAGIC = b"motiond1"
LENGTH_BYTES, DIGEST_BYTES = 8, 32
BEFORE_HEADER = len(MAGIC) + LENGTH_BYTES + DIGEST_BYTES
ALIGNMENT = 64
MOST_HEADER_BYTES = 8_000_000
"""To parse that much keeps the interpreter for some hundredths of a second."""


class DamagedEntry(Exception):
    """A file that is not as it was written; `str()` says what is wrong."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Motions ready to be written.

    Attributes
    ----------
    preamble : bytes
        Everything before the arrays.
    arrays : tuple of ndarray
        Contiguous, in the order of the file.
    """

    preamble: bytes
    arrays: tuple[AnyArray, ...]

    @property
    def size(self) -> int:
        """The number of bytes that will be written."""
        return len(self.preamble) + sum(map(_padded_size, self.arrays))

    def write(self, out: IO[bytes]) -> None:
        """Write everything."""
        out.write(self.preamble)
        for array in self.arrays:
            out.write(_bytes_of(array))
            out.write(bytes(_padded_size(array) - array.nbytes))


def pack(motions: Sequence[Motion], source_name: str) -> Packed:
    """Make motions ready to be written.

    Parameters
    ----------
    source_name : str
        The file that the motions were read from, as warnings name it.

    Raises
    ------
    TypeError
        If something in a motion is neither an array of numbers nor plain data, or there is too much of that.
    """
    encoder = _Encoder()
    told = [
        {one.name: encoder.value(getattr(motion, one.name)) for one in fields(Motion)} for motion in motions
    ]
    header = orjson.dumps(
        {
            "source": source_name,
            "motions": told,
            "bytes": encoder.size,
            "crc32": _checksum(encoder.arrays),
        }
    )
    if len(header) > MOST_HEADER_BYTES:
        raise TypeError(f"what it holds besides arrays takes {len(header)} bytes")
    length = len(header).to_bytes(LENGTH_BYTES, "little")
    preamble = MAGIC + length + _digest(header) + header
    return Packed(preamble + bytes(-len(preamble) % ALIGNMENT), tuple(encoder.arrays))


def read(path: Path) -> tuple[str, list[Motion]]:
    """Read motions whose arrays are mapped read-only, and stay valid when the file is removed.

    Returns
    -------
    source_name : str
    motions : list of Motion

    Raises
    ------
    DamagedEntry
        If the header is not as it was written, or the file has another length.
    OSError
        If the file cannot be opened, or is no file.
    """
    with _as_damage():
        header, decoder = _open(path)
        return header["source"], [
            Motion(**{name: decoder.value(value) for name, value in told.items()})
            for told in header["motions"]
        ]


def verify(path: Path) -> None:
    """Check a file by all its checksums; raises what `read` raises."""
    with _as_damage():
        header, decoder = _open(path)
        decoder.value(["list", *(value for told in header["motions"] for value in told.values())])
        if _checksum(decoder.arrays) != header["crc32"]:
            raise DamagedEntry("its numbers are not those that were written")


@contextmanager
def _as_damage() -> Iterator[None]:
    """Take a header for damaged that is whole, but makes no motions."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedEntry(f"its header makes no motions ({error!r})") from error


def _open(path: Path) -> tuple[dict[str, Any], _Decoder]:
    with open_regular(path) as file:
        preamble = file.read(BEFORE_HEADER)
        if len(preamble) < BEFORE_HEADER or not preamble.startswith(MAGIC):
            raise DamagedEntry("it does not begin as one")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(preamble[len(MAGIC) :][:LENGTH_BYTES], "little")
    if length > MOST_HEADER_BYTES:
        raise DamagedEntry("its header would be longer than any")
    end = BEFORE_HEADER + length
    text = mapped[BEFORE_HEADER:end]
    if _digest(text) != preamble[-DIGEST_BYTES:]:
        raise DamagedEntry("its header is not what was written")
    header: dict[str, Any] = orjson.loads(text)
    start = end + -end % ALIGNMENT
    if len(mapped) != start + header["bytes"]:
        raise DamagedEntry(f"it has {len(mapped)} bytes, not {start + header['bytes']}")
    return header, _Decoder(mapped, start)


@dataclass(slots=True)
class _Encoder:
    """Turns plain data into JSON, in which every list begins with the name of what it stands for."""

    arrays: list[AnyArray] = field(default_factory=list)
    size: int = 0

    def value(self, value: Any) -> Any:
        match value:
            case np.ndarray():
                return self._array(value)
            case list() | tuple():
                return [type(value).__name__, *map(self.value, value)]
            case dict():
                return {key: self.value(one) for key, one in value.items()}
            case float() if not math.isfinite(value):
                return ["float", str(value)]
            case float():
                return float(value)
            case str() | int() | None:
                return value
        raise TypeError(f"{type(value).__name__} cannot be kept")

    def _array(self, array: AnyArray) -> list[Any]:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"array of {array.dtype} cannot be kept")
        place = ["array", array.dtype.str, list(array.shape), self.size]
        self.arrays.append(np.ascontiguousarray(array))
        self.size += _padded_size(array)
        return place


@dataclass(slots=True)
class _Decoder:
    """Turns such JSON back into plain data; arrays begin at byte `start` of the file."""

    mapped: mmap.mmap
    start: int
    arrays: list[AnyArray] = field(default_factory=list)

    def value(self, value: Any) -> Any:
        match value:
            case ["array", dtype, shape, offset]:
                array: AnyArray = np.ndarray(shape, dtype, self.mapped, self.start + offset)
                self.arrays.append(array)
                return array
            case ["list", *items]:
                return [self.value(item) for item in items]
            case ["tuple", *items]:
                return tuple(self.value(item) for item in items)
            case ["float", text]:
                return float(text)
            case dict():
                return {key: self.value(one) for key, one in value.items()}
        return value


def _digest(header: bytes) -> bytes:
    return hashlib.blake2b(header, digest_size=DIGEST_BYTES).digest()


def _padded_size(array: AnyArray) -> int:
    return array.nbytes + -array.nbytes % ALIGNMENT


def _bytes_of(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(arrays: Iterable[AnyArray]) -> int:
    total = 0
    for array in arrays:
        total = zlib.crc32(_bytes_of(array), total)
    return total
