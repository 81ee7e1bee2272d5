"""What a play put out and got back, tick by tick, as a `.npz` file that NumPy alone reads.

It has an array for each quantity; `docs/dry-run.md` describes the layout. There is nothing in it that differs
from run to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats.io import replacing

from ..ipc.ring import COLUMN, slices
from ..ipc.states import STATES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.formats.arrays import Floats


VECTORS = {
    "reference_position": "reference_position",
    "reference_velocity": "reference_velocity",
    "feedback_position": "position",
    "feedback_velocity": "velocity",
    "feedback_effort": "effort",
}
"""Arrays of the file, and the parts of a record that they come from."""


class PlayTrace:
    """Collects the records of one play.

    `frames_per_tick`: the file's frames in a row of the plan that is played.
    """

    def __init__(self, joints: int, frames_per_tick: float) -> None:
        self._frames_per_tick = frames_per_tick
        self._parts = slices(joints)
        self._scalars: list[Floats] = []
        self._vectors: dict[str, list[Floats]] = {name: [] for name in VECTORS}

    def add(self, records: Floats) -> None:
        """Add the next records, shape (ticks, width); what is needed of them is copied."""
        self._scalars.append(records[:, : len(COLUMN)].copy())
        for name, part in VECTORS.items():
            self._vectors[name].append(records[:, self._parts[part]].copy())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return one array for each quantity, with a row or value for each tick."""
        scalars = np.concatenate(self._scalars)
        return {
            "time_s": scalars[:, COLUMN["deadline_s"]].copy(),
            "state": np.array(STATES)[scalars[:, COLUMN["state"]].astype(int)],
            "frame": scalars[:, COLUMN["frame"]] * self._frames_per_tick,
            "loop": scalars[:, COLUMN["loop"]].astype(int),
            **{name: np.concatenate(parts) for name, parts in self._vectors.items()},
        }


def save_trace(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as a `.npz` file; an existing one is replaced once all is written.

    Raises `FormatError` if it cannot be written, with the system's reason.
    """
    with replacing(path) as stream:
        np.savez(stream, **arrays)
