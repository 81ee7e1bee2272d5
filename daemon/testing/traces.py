"""The positions, velocities and efforts that were sent to a robot's actuators and measured there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .failures import MotiondFailure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[Any]

npy: Any = np.lib.format
"""Typed only from NumPy 2 on."""


@dataclass(frozen=True, slots=True)
class Series:
    """Positions, velocities and efforts over time, in rad or m, s, N·m or N; NaN where there is none.

    Attributes
    ----------
    names : tuple of str
        The actuators or joints, one a column.
    time_s : ndarray, shape (rows,)
        Times of the robot's clock: `time.monotonic()`, or virtual time.
    position, velocity, effort : ndarray, shape (rows, columns)
    """

    names: tuple[str, ...]
    time_s: Floats
    position: Floats
    velocity: Floats
    effort: Floats

    def of(self, name: str) -> Series:
        """Return the column of one actuator or joint, with arrays of shape (rows,)."""
        if name not in self.names:
            raise MotiondFailure(f"trace: no '{name}'; it has {', '.join(self.names)}; name one of them")
        column = self.names.index(name)
        values = (self.position, self.velocity, self.effort)
        return Series((name,), self.time_s, *(value[:, column] for value in values))


@dataclass(frozen=True, slots=True)
class Trace:
    """What was sent to the actuators for one goal, and what was measured.

    It begins when `play` is sent, so it includes rest and the approach, and ends with the result.

    Attributes
    ----------
    setpoints : Series
        Every command that the driver received, bit for bit, by actuator.
    enabled : ndarray of bool, shape (rows,)
        Whether torque was on at each command.
    reference, feedback : Series
        The setpoints and measurements in telemetry, by joint, `mqtt.telemetry_hz` times a second.
    """

    setpoints: Series
    enabled: Floats
    reference: Series
    feedback: Series


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that have touched, when they did so with the largest force since the telemetry before.

    Attributes
    ----------
    time_s : float
        Of that telemetry, by the robot's clock.
    bodies : tuple of str
        Links, `floor`, bodies of the scene.
    position : tuple of float
        Where: x, y, z in m; of several points, their centre by force.
    force : tuple of float
        That of the first on the second: x, y, z in N; both in the world's frame.
    force_n : float
        How large that is, in N.
    """

    time_s: float
    bodies: tuple[str, str]
    position: tuple[float, float, float]
    force: tuple[float, float, float]
    force_n: float

    @classmethod
    def all_of(cls, samples: Sequence[dict[str, Any]]) -> list[Contact]:
        """Return those of telemetry messages."""
        return [
            cls(
                sample["stamp_s"],
                tuple(contact["bodies"]),
                tuple(contact["position"]),
                tuple(contact["force"]),
                math.hypot(*contact["force"]),
            )
            for sample in samples
            for contact in sample["contacts"]
        ]


def read_command_log(path: Path) -> Floats:
    """Read the log of a simulated driver while the driver may still be writing it.

    The file is NumPy's NEP 1, but its header states the number of rows only once it is closed.
    """
    with path.open("rb") as file:
        dtype = _read_row_type(file)
        data = file.read()
    return np.frombuffer(data, dtype, len(data) // dtype.itemsize)


def count_commands(path: Path) -> int:
    """Return how many rows a log has now."""
    with path.open("rb") as file:
        dtype = _read_row_type(file)
        return (path.stat().st_size - file.tell()) // int(dtype.itemsize)


def _read_row_type(file: BinaryIO) -> Any:
    npy.read_magic(file)
    return npy.read_array_header_1_0(file)[2]


def setpoint_series(actuators: tuple[str, ...], rows: Floats) -> Series:
    """Return rows of a command log as a series."""
    return Series(actuators, rows["time"], rows["position"], rows["velocity"], rows["effort"])


def telemetry_series(joints: tuple[str, ...], samples: Sequence[dict[str, Any]], name: str) -> Series:
    """Return `reference` or `feedback` of telemetry messages as a series; `null` becomes NaN."""
    shape = (len(samples), len(joints))
    time_s = np.array([sample["stamp_s"] for sample in samples], float)
    position, velocity, effort = (
        np.array([sample[name][kind] for sample in samples], float).reshape(shape)
        for kind in ("position", "velocity", "effort")
    )
    return Series(joints, time_s, position, velocity, effort)
