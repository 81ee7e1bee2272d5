"""The curve through setpoints: its slopes at the rows, and how far and how fast it goes in between.

Other speeds than 1 play places between the rows. There `cubic` and `smooth` are a cubic in the share s of a
row that has passed. With the slopes a and b at the rows, times the row's period, and the rise r, it is

    start + a s + (3r - 2a - b) s² + (a + b - 2r) s³
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.model import pchip_slopes, spline_slopes

from .violations import accelerations_of, speeds_of

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats


def slopes_of(
    positions: Floats, rate_hz: float, interpolation: Interpolation, *, at_rest: bool = False
) -> Floats:
    """Return the velocity of the curve through setpoints at each of them, shape (ticks, joints)."""
    if interpolation in {"cubic", "smooth"}:
        slopes = pchip_slopes if interpolation == "cubic" else spline_slopes
        return slopes(np.arange(len(positions)) / rate_hz, positions, at_rest=at_rest)
    velocities = np.zeros_like(positions)
    if interpolation == "linear":
        velocities[:-1] = np.diff(positions, axis=0) * rate_hz
        if at_rest:
            velocities[0] = 0.0
    return velocities


def peak_speeds(positions: Floats, velocities: Floats, rate_hz: float) -> Floats:
    """Return the highest speed, without sign, of the curve from row to row, shape (rows - 1, joints)."""
    before, after = velocities[:-1], velocities[1:]
    secants = np.diff(positions, axis=0) * rate_hz
    linear = 6.0 * secants - 4.0 * before - 2.0 * after
    square = 3.0 * (before + after) - 6.0 * secants
    turns = linear * (linear + 2.0 * square) < 0.0  # the slope of the parabola changes its sign in between
    peaks = np.divide(-(linear**2), 4.0 * square, out=np.zeros_like(secants), where=turns)
    peaks += before
    np.abs(peaks, out=peaks)
    np.maximum(peaks, np.abs(after), out=peaks)
    return np.maximum(peaks, np.abs(before), out=peaks)


def peak_positions(positions: Floats, velocities: Floats, rate_hz: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest place of the cubic curve from row to row, as `peak_speeds`."""
    start, end = positions[:-1], positions[1:]
    before, after, rise = velocities[:-1] / rate_hz, velocities[1:] / rate_hz, end - start
    square, cube = 3.0 * rise - 2.0 * before - after, before + after - 2.0 * rise
    lowest, highest = np.minimum(start, end), np.maximum(start, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The places where it turns, as roots of a parabola without cancellation.
        root = np.sqrt(square**2 - 3.0 * before * cube)
        sum_of = -(square + np.copysign(root, square))
        for turn in (sum_of / (3.0 * cube), before / sum_of):
            within = np.where((turn > 0.0) & (turn < 1.0), turn, 0.0)
            at_turn = start + within * (before + within * (square + within * cube))
            np.minimum(lowest, at_turn, out=lowest)
            np.maximum(highest, at_turn, out=highest)
    return lowest, highest


def peak_accelerations(
    positions: Floats, velocities: Floats, rate_hz: float, interpolation: Interpolation
) -> Floats:
    """Return the acceleration at each of two or more rows, without sign, from rest and to rest.

    It is the change of speed from step to step; of a smooth curve also its own, which is highest at rows.
    """
    steps, speeds = speeds_of(np.arange(len(positions)) / rate_hz, positions)
    peaks = np.abs(accelerations_of(steps, speeds))
    if interpolation == "smooth":
        before, after = velocities[:-1], velocities[1:]
        begins = np.abs(6.0 * speeds - 4.0 * before - 2.0 * after) * rate_hz
        ends = np.abs(2.0 * before + 4.0 * after - 6.0 * speeds) * rate_hz
        np.maximum(peaks[:-1], begins, out=peaks[:-1])
        np.maximum(peaks[1:], ends, out=peaks[1:])
    return peaks
