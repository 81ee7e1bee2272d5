"""What setpoints reach at most, and what is added to others.

What is added has a clock of its own, so that any of its rows may come with any row of the others: their
extremes are added up, joint by joint. A weight w that comes and goes in a time T adds to an offset d with the
velocity v and the acceleration a at most

    w |d| in position, w (|v| + 1.875 |d| / T) in velocity, w (|a| + 3.75 |v| / T + 12.32 |d| / T²)

in acceleration (`trajectory.fade`). Between its rows a cubic curve may bend by 4/3 more than at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...trajectory import FASTEST, FULL_RAMP, SHARPEST
from ..curve import peak_accelerations, peak_positions, peak_speeds

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats

    from ...trajectory import Track
    from ..playback import Playback

BETWEEN_ROWS = 4 / 3
"""How much more a cubic curve with monotone slopes bends between its rows than at them."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What setpoints reach at most, each of shape (joints,), in rad or m, per s and per s²."""

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats

    @classmethod
    def held(cls, position: Floats) -> Extent:
        """Return that of joints that stay where they are."""
        return cls(position, position, np.zeros_like(position), np.zeros_like(position))

    def joined(self, other: Extent) -> Extent:
        """Return what either of both reaches."""
        return Extent(
            np.minimum(self.lower, other.lower),
            np.maximum(self.upper, other.upper),
            np.maximum(self.velocity, other.velocity),
            np.maximum(self.acceleration, other.acceleration),
        )

    def scaled(self, share: float) -> Extent:
        """Return that of what is added with a share of its weight."""
        return Extent(
            share * self.lower, share * self.upper, share * self.velocity, share * self.acceleration
        )


def extent_of(track: Track, driven_from: Floats, *, speed: float = 1.0, ramp: float | None = None) -> Extent:
    """Return what is reached along a track, by joints that it does not drive as well.

    - `driven_from` (ndarray, shape (joints,)): where the others hold
    - `speed`: at most so many times that of its rows
    - `ramp`: in 1/s: how fast the clock's rate may change on it; by default as the track says
    """
    held = Extent.held(driven_from)
    if track.last < 1:
        return held
    rows, slopes, rate_hz = track.positions, track.velocities, track.rate_hz
    ramp = track.clock_acceleration if ramp is None else ramp
    lower, upper = peak_positions(rows, slopes, rate_hz)
    bends = _bends(rows, slopes, rate_hz, track.interpolation) * speed**2 + np.abs(slopes) * ramp
    reached = (
        lower.min(axis=0),
        upper.max(axis=0),
        speed * peak_speeds(rows, slopes, rate_hz).max(axis=0),
        bends.max(axis=0),
    )
    still = held.lower, held.upper, held.velocity, held.acceleration
    return Extent(*(np.where(track.driven, one, rest) for one, rest in zip(reached, still, strict=True)))


def _bends(rows: Floats, slopes: Floats, rate_hz: float, interpolation: Interpolation) -> Floats:
    factor = BETWEEN_ROWS if interpolation == "cubic" else 1.0
    return factor * peak_accelerations(rows, slopes, rate_hz, interpolation)


def clock_acceleration_of(ramp_s: float) -> float:
    """Return how fast the clock of what is added may change its rate, in 1/s: it stops as its weight goes."""
    return FULL_RAMP / ramp_s


def extent_added(playback: Playback, back: Track, *, speed: float, ramp_s: float) -> Extent:
    """Return what a playback adds with the weight 1, in its rows and on its way back to the first of them.

    - `back`: that way; its rows may be none
    - `ramp_s`: how long its weight takes to come and to go
    """
    first, ramp = playback.begins_at, clock_acceleration_of(ramp_s)
    own = playback.track.track
    extent = extent_of(own, first, speed=speed, ramp=ramp)
    if back.last > 0:
        extent = extent.joined(extent_of(back, first, ramp=max(ramp, back.clock_acceleration)))
    lower = np.where(own.driven, np.minimum(extent.lower - first, 0.0), 0.0)
    upper = np.where(own.driven, np.maximum(extent.upper - first, 0.0), 0.0)
    offset = np.maximum(-lower, upper)
    return Extent(
        lower,
        upper,
        extent.velocity + FASTEST / ramp_s * offset,
        extent.acceleration + 2.0 * FASTEST / ramp_s * extent.velocity + SHARPEST / ramp_s**2 * offset,
    )
