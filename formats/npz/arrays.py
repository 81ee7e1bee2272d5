"""The arrays of a `.npz` file, or the one of a `.npy` file: numbers and texts, never pickles.

The layout is that of NumPy's `numpy.lib.format`, versions 1 to 3. What a header states is checked before
memory is spent on it.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from motiond.text import quoted

from ..errors import BadText
from ..io.beginning import first_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..arrays import AnyArray, Floats
    from ..errors import FormatError, Problems

MAGIC, SUFFIX = b"\x93NUMPY", ".npy"
_ZIP_ENTRY = b"PK\x01\x02"
MOST_ARRAYS = 1_000
MOST_TEXTS = 10_000
MOST_HEADER_BYTES, MOST_DIMENSIONS = 10_000, 8
# The memory that numbers may take, which are smaller packed: few bytes, or that many times the file.
FEW_BYTES, MOST_TIMES = 32_000_000, 20
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    struct.error,
    ValueError,
    RuntimeError,
    KeyError,
)
_COPY = "copy the file again"
_DESCRIPTION = re.compile(r"""["']descr["']\s*:\s*["']([<>|=]?)([a-zA-Z?])(\d{0,9})["']""")
_ORDER = re.compile(r"""["']fortran_order["']\s*:\s*(True|False)\b""")
_SHAPE = re.compile(r"""["']shape["']\s*:\s*\(([\d\s,L]*)\)""")


ANY_NUMBERS, FLOATS, TEXTS = "fiu", "f", "US"
_WANTED = {
    ANY_NUMBERS: ("it holds integers or floats", "save it as an array of floats"),
    FLOATS: ("times are floats in s, as whole numbers mostly count ms or ns", "save it in s, as floats"),
    TEXTS: ("it holds text", "save it as np.array([...], dtype=str)"),
}


class _Header(NamedTuple):
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    fortran_order: bool


@dataclass(slots=True)
class Arrays:
    """The arrays of a file by name; each is read when it is asked for.

    Attributes
    ----------
    members : mapping
        How many bytes each array's file has, and what opens it.
    left : int
        How many bytes of memory may still be taken.
    """

    problems: Problems
    members: Mapping[str, tuple[int, Callable[[], IO[bytes]]]]
    left: int

    def numbers(self, name: str, kinds: str = ANY_NUMBERS) -> Floats | None:
        """Return an array of numbers in double precision; None, with a problem noted, if it is none."""
        array = self._array(name, kinds)
        with np.errstate(over="ignore"):
            return None if array is None else np.ascontiguousarray(array, np.float64)

    def texts(self, name: str) -> list[str] | None:
        """Return an array of texts as a list; None, with a problem noted, if it is none."""
        array = self._array(name, TEXTS)
        try:
            texts = [] if array is None else array.ravel().tolist()
            found = [text.decode() if isinstance(text, bytes) else text for text in texts]
        except ValueError:
            self.problems.add(0, f"array '{name}' holds what is no text", "it is Unicode", _COPY)
            return None
        return None if array is None else found

    def _array(self, name: str, kinds: str) -> AnyArray | None:
        size, open_ = self.members[name]
        label = f"array {quoted(name)}" if name else "the array"
        try:
            with open_() as stream:
                return self._read(stream, size, kinds)
        except BadText as bad:
            self.problems.add(0, f"{label} {bad.problem}", bad.reason, bad.hint)
        except _DAMAGED as error:
            self.problems.add(0, f"{label} cannot be read", str(error) or "it ends early", _COPY)
        return None

    def _read(self, stream: IO[bytes], size: int, kinds: str) -> AnyArray:
        dtype, shape, fortran_order = _header(stream)
        if dtype.kind not in kinds:
            raise BadText(f"holds {dtype.name}", *_WANTED[kinds])
        count = math.prod(shape)
        stated, there = count * dtype.itemsize, size - stream.tell()
        if kinds == TEXTS and count > MOST_TEXTS:
            raise BadText(f"holds {count} texts", f"{MOST_TEXTS} are read", "save those of the joints alone")
        if stated > there:
            raise BadText(f"states {stated} bytes, and {max(there, 0)} follow", "it ends early", _COPY)
        # Numbers are read in double precision.
        memory = count * max(dtype.itemsize, 8)
        if memory > self.left:
            reason = f"this file may take {self.left} more"
            raise BadText(f"takes {memory} bytes of memory", reason, "save it uncompressed, by np.savez")
        self.left -= memory
        # One byte more, so that a ZIP's checksum is compared where the array is all there is.
        data = stream.read(stated + 1)
        if len(data) < stated:
            raise BadText(f"has {len(data)} bytes of {stated}", "it ends early", _COPY)
        values = np.frombuffer(data, dtype, count)
        return values.reshape(shape, order="F" if fortran_order else "C")


def _header(stream: IO[bytes]) -> _Header:
    begin = stream.read(8)
    if len(begin) < 8 or begin[:6] != MAGIC or begin[6] not in {1, 2, 3}:
        raise BadText("is no array of NumPy", "versions 1 to 3 of .npy are read", _COPY)
    wide = begin[6] > 1
    (length,) = struct.unpack("<I" if wide else "<H", stream.read(4 if wide else 2))
    if length > MOST_HEADER_BYTES:
        raise BadText(f"has a header of {length} bytes", f"it has at most {MOST_HEADER_BYTES}", _COPY)
    text = stream.read(length).decode("utf-8" if begin[6] > 2 else "latin-1")
    description, order, shape = (one.search(text) for one in (_DESCRIPTION, _ORDER, _SHAPE))
    if description is None and re.search(r"""["']descr["']\s*:\s*\[""", text):
        raise BadText("has named fields", "arrays of plain numbers are read", "save each field by its name")
    if not (description and order and shape):
        raise BadText("has a header that is none", f"it says {quoted(text.strip())}", _COPY)
    byte_order, kind, item_size = description.groups()
    if kind == "O":
        reason = "these are pickled, and a pickle can run any program"
        raise BadText(
            "holds Python objects", reason, "save it as np.array(…, dtype=float), names as dtype=str"
        )
    lengths = [int(length) for length in shape[1].replace("L", "").replace(",", " ").split()]
    if len(lengths) > MOST_DIMENSIONS:
        raise BadText(
            f"has {len(lengths)} dimensions", f"at most {MOST_DIMENSIONS} are read", "save it with fewer"
        )
    try:
        dtype = np.dtype(f"{byte_order}{kind}{item_size}")
    except TypeError as error:
        raise BadText(f"holds {quoted(kind + item_size)}", "NumPy has no such type", _COPY) from error
    return _Header(dtype, tuple(lengths), order[1] == "True")


def arrays_of(data: bytes, problems: Problems) -> Arrays:
    """Return the arrays of a file, none of them read; of a `.npy` file it is called ''.

    Raises `FormatError` if it is no such file.
    """
    if data.startswith(MAGIC):
        return Arrays(problems, {"": (len(data), lambda: BytesIO(data))}, _most_memory(data))
    if data.count(_ZIP_ENTRY) > MOST_ARRAYS:
        raise problems.fail(0, "holds too many arrays", f"{MOST_ARRAYS} are read", "leave some out")
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except (*_DAMAGED, NotImplementedError) as error:
        raise _no_archive(data, problems, str(error)) from error
    members = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(SUFFIX)
        if name in members:
            raise problems.fail(0, f"array {quoted(name)} stands twice", "each has its name", "remove one")
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or member.flag_bits & 1:
            reason = "arrays are stored or deflated, and not encrypted"
            raise problems.fail(0, f"array {quoted(name)} is packed in another way", reason, "use np.savez")
        members[name] = (member.file_size, lambda member=member: archive.open(member))
    return Arrays(problems, members, _most_memory(data))


def _most_memory(data: bytes) -> int:
    return max(FEW_BYTES, MOST_TIMES * len(data))


def _no_archive(data: bytes, problems: Problems, reason: str) -> FormatError:
    if not data:
        return problems.fail(0, "is empty", "it holds arrays", _COPY)
    if first_member(data):
        return problems.fail(0, "is damaged", reason, _COPY)
    return problems.fail(0, "is no .npz nor .npy file", "it begins like neither", "check what wrote it")
