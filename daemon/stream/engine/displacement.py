"""How far joints have been moved from where the robot holds them: what begins from there must not snap back.

Between setpoint and feedback there is always an error that holds the joints up against their weight. It is
no displacement: a robot that took its feedback for its setpoint would sink by it. So the error of a robot
that has come to rest is learned, and what differs from it by more than the start tolerance has been moved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

SETTLED_S = 0.5
"""After which the joints of a robot at rest have come to where they hold."""
SHARE = 0.2
"""Of a new error in the mean: noise of the feedback is no displacement."""
FINEST = 1e-6
"""In rad or m: what is less is rounding, also where no start tolerance is wanted."""
NOISE = 0.1
"""Of the stall error: what a single look may find without a joint having been moved."""


class Displacement:
    """What moves joints of one robot while it holds.

    `start_tolerance`, `stall_error`: for each joint, in rad or m: how far it may be moved without having been
    displaced, and how large an error may be that holds it. `ordinary` (joints,): setpoint less feedback,
    where the robot held at first; 0 before it is known.
    """

    def __init__(
        self, start_tolerance: Sequence[float], stall_error: Sequence[float], may_stall: Sequence[bool]
    ) -> None:
        self._tolerance, self._near = np.maximum(start_tolerance, FINEST), np.array(stall_error)
        self._at_once = np.maximum(self._tolerance, NOISE * self._near)
        self._may_move: Booleans = np.array(may_stall, dtype=bool)
        self.ordinary: Floats = np.zeros(len(self._near))
        self._error, self._mean = np.zeros_like(self.ordinary), np.zeros_like(self.ordinary)
        self._first = np.full_like(self.ordinary, np.inf)
        self._since_s = np.inf
        self.settled = self._has_mean = False

    def start(self, now_s: float) -> None:
        """Begin to learn, as the robot has come to rest."""
        self._since_s = now_s
        self.settled = self._has_mean = False
        self.ordinary.fill(0.0)
        self._first.fill(np.inf)

    def look(self, reference: Floats, measured: Floats, now_s: float, *, bounded: bool = True) -> None:
        """Learn from one more tick at rest.

        `reference`, `measured` (joints,).
        """
        error, mean = self._error, self._mean
        np.subtract(reference, measured, error)
        if math.isnan(np.add.reduce(error)):
            return
        if not self._has_mean:
            mean[:], self._has_mean = error, True
            np.abs(error, self._first)
        np.subtract(error, mean, error)
        error *= SHARE
        mean += error
        if not self.settled and now_s - self._since_s >= SETTLED_S:
            self.settled = True
            held = np.abs(mean) <= self._near if bounded else np.isfinite(mean)
            np.copyto(self.ordinary, mean, where=held)

    def begin_from(self, reference: Floats, measured: Floats) -> Floats | None:
        """Return from where to begin, shape (joints,); None where nothing has been moved.

        What was moved begins where it is, with the error that held it before; the rest begins where it holds.
        """
        error = reference - measured
        if self.settled:
            moved = np.abs(error - self.ordinary) > self._at_once
            moved |= np.abs(self._mean - self.ordinary) > self._tolerance
        else:  # a joint that has come to rest behind its setpoint may follow yet
            moved = np.abs(error) > self._near + self._first
        moved &= ~self._may_move & np.isfinite(measured)
        return np.where(moved, measured + self.ordinary, reference) if moved.any() else None
