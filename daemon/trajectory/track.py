"""Rows of setpoints in shared memory, and the setpoint at any place on them.

The daemon shares the rows of a plan or of an approach by a file descriptor, and the stream process maps it;
there each tick asks for the setpoint at the trajectory clock's position. The memory has no name (`memfd`), so
no crash can leave it behind.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats


_INTERPOLATIONS: tuple[Interpolation, ...] = ("cubic", "linear", "hold", "smooth")
_HEADER = np.dtype(
    [
        ("rows", "<u8"),
        ("joints", "<u8"),
        ("rate_hz", "<f8"),
        ("clock_acceleration", "<f8"),
        ("interpolation", "<u8"),
    ]
)


@dataclass(frozen=True, slots=True)
class Track:
    """Setpoints at equal intervals of time."""

    # positions, velocities: shape (rows, joints); in rad or m and rad/s or m/s; row k is due k / `rate_hz`
    # seconds after row 0
    positions: Floats
    velocities: Floats
    driven: Booleans  # shape (joints,); the joints that the rows move; the others keep the setpoint they have
    rate_hz: float
    # in 1/s: how fast the clock's rate, which has no unit, may change on this track
    clock_acceleration: float
    # what lies between two rows: `linear`, `hold`, or with `cubic` and `smooth` the cubic Hermite curve
    interpolation: Interpolation = "cubic"
    _drives_all: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_drives_all", bool(self.driven.all()))

    @property
    def last(self) -> int:
        """The index of the last row; -1 of an empty track."""
        return len(self.positions) - 1

    def turned_on(self, turned: Floats) -> Track:
        """Return the same rows, so much further on, shape (joints,)."""
        return replace(self, positions=self.positions + turned)

    def sample(self, place: float, position: Floats, velocity: Floats, rate: float) -> None:
        """Write the setpoint at `place` into `position` and `velocity`, for the driven joints.

        On a row the setpoint is that row, bit for bit. Between rows, where they are not held or joined by
        straight lines, it is the cubic Hermite polynomial through them with the rows' velocities as slopes
        (Fritsch and Carlson 1980).

        `place`: in rows, within 0 and `last`.
        `position`, `velocity`: shape (joints,); filled in place.
        `rate`: rows per tick of the trajectory clock; scales the velocity.
        """
        row = int(place)
        fraction = place - row
        if fraction == 0.0 and self._drives_all and rate == 1.0:
            position[:] = self.positions[row]
            velocity[:] = self.velocities[row]
        elif fraction == 0.0 or self.interpolation == "hold":
            np.copyto(position, self.positions[row], where=self.driven)
            np.multiply(self.velocities[row], rate, out=velocity, where=self.driven)
        elif self.interpolation == "linear":
            self._line(row, fraction, position, velocity, rate)
        else:
            self._cubic(row, fraction, position, velocity, rate)

    def _line(self, row: int, u: float, position: Floats, velocity: Floats, rate: float) -> None:
        start = self.positions[row]
        rise = self.positions[row + 1] - start
        np.copyto(position, start + u * rise, where=self.driven)
        np.multiply(rise, rate * self.rate_hz, out=velocity, where=self.driven)

    def _cubic(self, row: int, u: float, position: Floats, velocity: Floats, rate: float) -> None:
        start, end = self.positions[row], self.positions[row + 1]
        period_s = 1.0 / self.rate_hz
        slope_in, slope_out = self.velocities[row] * period_s, self.velocities[row + 1] * period_s
        rise = end - start
        square = 3.0 * rise - 2.0 * slope_in - slope_out
        cube = slope_in + slope_out - 2.0 * rise
        np.copyto(position, start + u * (slope_in + u * (square + u * cube)), where=self.driven)
        slope = (slope_in + u * (2.0 * square + u * 3.0 * cube)) * self.rate_hz
        np.multiply(slope, rate, out=velocity, where=self.driven)


def share(track: Track) -> int:
    """Copy a track into nameless shared memory and return its file descriptor, which the caller closes.

    Raises `OSError` if there is no memory for it.
    """
    kind = _INTERPOLATIONS.index(track.interpolation)
    values = (*track.positions.shape, track.rate_hz, track.clock_acceleration, kind)
    header = np.array(values, dtype=_HEADER).tobytes()
    fd = os.memfd_create("motiond-track", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(header)
            file.write(np.ascontiguousarray(track.positions).data)
            file.write(np.ascontiguousarray(track.velocities).data)
            file.write(np.ascontiguousarray(track.driven).data)
    except BaseException:
        os.close(fd)
        raise
    return fd


def map_shared(fd: int) -> Track:
    """Map what `share` wrote; the file descriptor may be closed afterwards.

    Raises `ValueError` if the memory is not as long as its header says.
    """
    memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    header = np.frombuffer(memory, dtype=_HEADER, count=1)[0]
    shape = int(header["rows"]), int(header["joints"])
    cells = shape[0] * shape[1]
    if len(memory) != _HEADER.itemsize + 16 * cells + shape[1]:
        raise ValueError(f"shared track: {len(memory)} bytes; its header says {shape[0]} x {shape[1]}")
    positions = np.frombuffer(memory, np.float64, cells, _HEADER.itemsize).reshape(shape)
    velocities = np.frombuffer(memory, np.float64, cells, _HEADER.itemsize + 8 * cells).reshape(shape)
    driven = np.frombuffer(memory, np.bool_, shape[1], _HEADER.itemsize + 16 * cells)
    return Track(
        positions,
        velocities,
        driven,
        float(header["rate_hz"]),
        float(header["clock_acceleration"]),
        _INTERPOLATIONS[int(header["interpolation"])],
    )
