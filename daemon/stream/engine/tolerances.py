"""How far feedback may be from the reference, and which joint is too far."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...ipc.messages import OFF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats


class Excess(NamedTuple):
    """A joint that is too far from its reference; the values are in rad or m."""

    joint: int
    error: float
    tolerance: float

    def far(self, unit: str) -> str:
        """Return how far off it is, for messages."""
        return "without feedback" if math.isnan(self.error) else f"{self.error:.4g} {unit} off"

    def details(self, joint: str, unit: str) -> dict[str, Any]:
        """Return what a result tells of it, JSON-ready."""
        error = None if math.isnan(self.error) else self.error
        return {"joint": joint, "error": error, "tolerance": self.tolerance, "unit": unit}


class Tolerances:
    """Tolerances of some joints.

    `values`: for each joint, in rad or m; `OFF` where there is none.
    """

    def __init__(self, values: Sequence[float]) -> None:
        tolerances = np.array(values, dtype=float)
        self._joints = np.flatnonzero(tolerances != OFF)
        self._tolerances: Floats = tolerances[self._joints]
        self.any = bool(self._joints.size)

    def worst(self, reference: Floats, measured: Floats, forgiven: Booleans | None = None) -> Excess | None:
        """Return the joint that passes its tolerance by the greatest factor; None where all keep theirs.

        `reference`, `measured` (joints,): a joint without feedback (NaN) breaks its tolerance. `forgiven`
        (joints,): joints that may be anywhere.
        """
        errors = np.abs(reference[self._joints] - measured[self._joints])
        kept = errors <= self._tolerances
        if forgiven is not None:
            kept |= forgiven[self._joints]
        if kept.all():
            return None
        share = np.where(kept, 0.0, np.where(np.isnan(errors), np.inf, errors / self._tolerances))
        worst = int(share.argmax())
        return Excess(int(self._joints[worst]), float(errors[worst]), float(self._tolerances[worst]))
