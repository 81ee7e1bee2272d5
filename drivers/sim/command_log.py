"""A log of every command that a driver received, readable even after a SIGKILL; the option `trace` names it.

The log is a `.npy` file with one structured row for each command: `time` in monotonic seconds; `position`,
`velocity` and `effort` of the actuators; `enabled`, whether torque was on. Each row is one unbuffered write;
the header gets the number of rows when the log is closed. The format is NumPy's NEP 1, whose headers leave
room for the number to grow.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.lib import format as npy_format

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from ..base import ActuatorCommand

    Rows: TypeAlias = NDArray[np.void]

npy: Any = npy_format
"""Typed only from NumPy 2 on."""


class CommandLogError(ValueError):
    """The file is no log of commands, or one of other actuators."""


def row_dtype(count: int) -> np.dtype[np.void]:
    """Return the type of a row for `count` actuators."""
    return np.dtype(
        [
            ("time", np.float64),
            ("position", np.float64, (count,)),
            ("velocity", np.float64, (count,)),
            ("effort", np.float64, (count,)),
            ("enabled", np.bool_),
        ]
    )


class CommandLog:
    """Appends commands to a file, after those of earlier runs.

    Raises CommandLogError if the file holds something else than a log of `count` actuators. Raises OSError if
    it cannot be opened.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._row = np.zeros(1, row_dtype(count))
        self._bytes = self._row.view(np.uint8).data
        self._time, self._enabled = self._row["time"], self._row["enabled"]
        self._values = self._row.view(np.uint8)[8 : 8 + 24 * count].view(np.float64).reshape(3, count)
        self._file: BinaryIO = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
        try:
            self._go_to_end()
        except BaseException:
            self._file.close()
            raise

    def _go_to_end(self) -> None:
        if self._path.stat().st_size == 0:
            self._write_header(0)
            return
        held = _read_dtype(self._file, self._path)
        if held != self._row.dtype:
            raise CommandLogError(
                f"{self._path}: holds a trace of other actuators; remove it or name another file"
            )
        start = self._file.tell()
        rows = (self._path.stat().st_size - start) // held.itemsize
        self._file.truncate(start + rows * held.itemsize)
        self._file.seek(0, os.SEEK_END)

    def _write_header(self, rows: int) -> None:
        header = {"descr": npy.dtype_to_descr(self._row.dtype), "fortran_order": False, "shape": (rows,)}
        npy.write_array_header_1_0(self._file, header)

    def append(self, time_s: float, command: ActuatorCommand, *, enabled: bool) -> None:
        """Append one command. Raises OSError if the disk is full or gone."""
        self._time[0] = time_s
        self._values[:] = command.values
        self._enabled[0] = enabled
        if os.write(self._file.fileno(), self._bytes) < len(self._bytes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def close(self) -> None:
        """Complete the header and close the file; may be called again."""
        if self._file.closed:
            return
        with self._file:
            self._file.seek(0)
            _read_dtype(self._file, self._path)
            start = self._file.tell()
            self._file.seek(0)
            self._write_header((self._path.stat().st_size - start) // self._row.itemsize)


def _read_dtype(file: BinaryIO, path: Path) -> np.dtype[np.void]:
    """Read the header, and leave the file positioned at its first row."""
    dtype: np.dtype[np.void]
    try:
        npy.read_magic(file)
        _, _, dtype = npy.read_array_header_1_0(file)
    except ValueError as error:
        raise CommandLogError(
            f"{path}: is no trace; it does not begin as a .npy file; remove it or name another file"
        ) from error
    return dtype


def read_trace(path: Path) -> Rows:
    """Read a log of commands, even one that is still being written or whose writer was killed.

    Parameters
    ----------
    path : Path
        As in the `trace` option of the `sim` driver.

    Returns
    -------
    ndarray, shape (commands,)
        With the fields `time`, `position`, `velocity`, `effort`, `enabled`; a row cut short is left out.

    Raises
    ------
    CommandLogError
        If the file is no log of commands.
    """
    with path.open("rb") as file:
        dtype = _read_dtype(file, path)
        data = file.read()
    return np.frombuffer(data, dtype, len(data) // dtype.itemsize)
