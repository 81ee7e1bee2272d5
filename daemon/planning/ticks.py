"""A motion's rows at the rate of the ticks: the file's own where the driver takes its rate, else sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.model import SAME_TIME_S, TooManyRows, interpolate, rows_between

from .curve import slopes_of
from .violations import PlanError

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats

    from .columns import MotionRows

FREE_RATE_HZ = 200.0  # of motions whose frames have times of their own


@dataclass(frozen=True, slots=True)
class Ticks:
    """Rows of setpoints at the rate of the ticks.

    - `positions`, `velocities` (ndarray, shape (ticks, joints)): in rad or m, and that per second
    - `frames_per_tick`: frames of the file from one tick to the next; the mean, where they have times of
      their own
    - `at_rest`: whether the first and the last row are at rest
    """

    rate_hz: float
    positions: Floats
    velocities: Floats
    frames_per_tick: float
    at_rest: bool

    @property
    def times(self) -> Floats:
        """When each row is due, in s, shape (ticks,)."""
        return np.arange(len(self.positions)) / self.rate_hz


def ticks_of(rows: MotionRows, speed: float, interpolation: Interpolation, max_rate_hz: float) -> Ticks:
    """Lay out a motion's rows at a share of its speed; frames with times of their own from rest to rest.

    Raises PlanError if there would be more rows than are made of such a motion.
    """
    if rows.uniform:
        rate_hz = rows.frame_rate_hz / frames_per_row(rows, max_rate_hz)
        frames_per_tick = speed * rows.frame_rate_hz / rate_hz
    else:
        rate_hz = min(FREE_RATE_HZ, max_rate_hz)
        frames_per_tick = speed * (len(rows.times) - 1) / (rows.times[-1] * rate_hz)
    at_rest, positions = not rows.uniform, rows.positions
    if not (rows.uniform and frames_per_tick == 1.0):
        # A last tick that falls on the last frame must not become two through rounding.
        frames, columns = rows.positions.shape
        try:
            count = rows_between(
                float(rows.times[-1]) / speed, rate_hz, frames=frames, columns=columns, slack=1e-6
            )
        except TooManyRows as error:
            slowed = f"slowed to {speed:.3g} of its speed, " if speed < 1.0 else ""
            raise PlanError(f"{rows.name}: {slowed}{error}") from error
        at = np.arange(count) * (speed / rate_hz)
        sampled = interpolate(at, rows.times, rows.positions, interpolation, at_rest=at_rest)
        positions = np.ascontiguousarray(sampled)
    at_rest = at_rest or interpolation == "smooth"
    slopes = slopes_of(positions, rate_hz, interpolation, at_rest=at_rest)
    return Ticks(float(rate_hz), positions, slopes, float(frames_per_tick), at_rest)


def frames_per_row(rows: MotionRows, max_rate_hz: float) -> float:
    """Return how many frames of the file go by from one row to the next that the driver can take."""
    return float(max(1.0, np.ceil(rows.frame_rate_hz / max_rate_hz)))


def frame_at(tick: int, ticks: Ticks, rows: MotionRows, speed: float) -> tuple[int, bool]:
    """Return the file's frame at a tick, or the last one before it, and whether the tick is beyond it."""
    if rows.uniform:
        return round(tick * ticks.frames_per_tick), False
    time_s = tick * speed / ticks.rate_hz
    frame = int(np.searchsorted(rows.times, time_s + SAME_TIME_S, side="right")) - 1
    frame = min(max(frame, 0), len(rows.times) - 1)
    is_beyond = time_s - rows.times[frame] > SAME_TIME_S and frame < len(rows.times) - 1
    return frame, bool(is_beyond)
