"""Keeps a simulated robot in a file, so that it outlives the process that drives it, as a real one does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from .layout import LAYOUT, Header, Row, step_at
from .plant import Plant, numbers_needed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..base import Floats


class PlantFileError(ValueError):
    """The file holds no simulated robot, or another one."""


@dataclass(frozen=True, slots=True)
class PlantReading:
    """The state of a simulated robot at one moment.

    Attributes
    ----------
    position, velocity : ndarray, shape (actuators,)
    torque : bool
        False once the actuators were disabled or have released.
    command_age_s : float
        Time since the last command, infinite if there was none.
    """

    position: Floats
    velocity: Floats
    torque: bool
    command_age_s: float


def map_plant(path: Path, actuators: Sequence[str], delay_steps: int = 0) -> tuple[Plant, bool]:
    """Make actuators whose state is in a file.

    Returns as the file has it; a new one, for which `begin` must be called, if it had none. Returns whether
    the file held these actuators before. Raises PlantFileError if the file holds something else. Raises
    OSError if the file cannot be made or mapped.
    """
    expected = [LAYOUT, len(actuators), crc32("\0".join(actuators).encode())]
    length = numbers_needed(len(actuators))
    held = path.exists() and path.stat().st_size > 0
    if held and not _is_plant_of(path, expected, length):
        raise PlantFileError(
            f"{path}: holds something else than these actuators; remove it or name another file"
        )
    numbers = np.memmap(path, np.float64, "r+" if held else "w+", shape=(length,)).view(np.ndarray)
    numbers[: len(expected)] = expected
    return Plant(numbers, len(actuators), delay_steps), held


def _is_plant_of(path: Path, expected: list[float], length: int) -> bool:
    fits = path.stat().st_size == length * 8
    return fits and np.fromfile(path, count=len(expected)).tolist() == expected


def read_plant(path: Path, at_s: float) -> PlantReading:
    """Read the state of a simulated robot without changing it.

    Parameters
    ----------
    path : Path
        As in the `plant` option of the `sim` driver.
    at_s : float
        Monotonic time; what the actuators do by themselves until then (settle, release) is computed.

    Raises
    ------
    PlantFileError
        If the `sim` driver did not write the file.
    """
    size, odd = divmod(path.stat().st_size, 8)
    numbers = np.fromfile(path)
    count, rest = divmod(size - len(Header), len(Row))
    if odd or rest or count < 1 or numbers[Header.LAYOUT] != LAYOUT or numbers[Header.COUNT] != count:
        raise PlantFileError(
            f"{path}: holds no simulated robot; name the file of the sim driver's option `plant`"
        )
    plant = Plant(numbers, count)
    plant.advance(step_at(at_s))
    return PlantReading(plant.rows[Row.POSITION], plant.rows[Row.VELOCITY], plant.torque, plant.command_age_s)
