"""What a robot's joints did while it was taught, tick by tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

LONGEST_S = 1800.0
MOST_BYTES = 256_000_000


class Trail:
    """The measured positions of all joints, up to half an hour or 256 MB.

    - `known`: which joints have reported a position at least once, shape (joints,)
    """

    def __init__(self, joints: int, longest_s: float = LONGEST_S, most_bytes: int = MOST_BYTES) -> None:
        self._longest_s = longest_s
        self._most_rows = most_bytes // (8 * (joints + 1))
        self._times: list[Floats] = []
        self._positions: list[Floats] = [np.empty((0, joints))]
        self._rows = 0
        self.known: Booleans = np.zeros(joints, dtype=bool)

    def __len__(self) -> int:
        return self._rows

    @property
    def duration_s(self) -> float:
        """From the first row to the last."""
        return float(self._times[-1][-1] - self._times[0][0]) if self._times else 0.0

    @property
    def full(self) -> str:
        """Why nothing more fits in; '' where something does."""
        if self.duration_s >= self._longest_s:
            return f"a movement lasts {self._longest_s / 60:g} minutes at most"
        return f"a movement has {self._most_rows:,} rows at most" if self._rows >= self._most_rows else ""

    def add(self, times: Floats, positions: Floats) -> None:
        """Append ticks, as far as they fit in.

        - `times`: in s, increasing, after those that are there, shape (rows,)
        - `positions`: in rad or m, NaN where a joint reported nothing, shape (rows, joints)
        """
        room = self._most_rows - self._rows
        begin_s = self._times[0][0] if self._times else times[0] if len(times) else 0.0
        within = np.searchsorted(times, begin_s + self._longest_s, side="right")
        count = int(min(room, within))
        if count > 0:
            self._times.append(times[:count].copy())
            self._positions.append(positions[:count].copy())
            self._rows += count
            self.known |= np.isfinite(positions[:count]).any(axis=0)

    @property
    def newest(self) -> Floats:
        """The last row, shape (joints,); NaN before the first."""
        positions = self._positions[-1]
        return positions[-1].copy() if len(positions) else np.full(positions.shape[1], np.nan)

    def rows(self) -> tuple[Floats, Floats]:
        """Return the times from the first row on, shape (rows,), and the positions, shape (rows, joints)."""
        times = np.concatenate(self._times) if self._times else np.empty(0)
        return times - times[:1], np.concatenate(self._positions)
