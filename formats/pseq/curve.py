"""The curve of a joint through its key poses, as Choreonoid's interpolator draws it.

It is that of `PoseSeqInterpolator.cpp`, of Choreonoid's PoseSeqPlugin: cubic Hermite segments
(`updateCubicConnectionSegment`) with slopes from `usePredeterminedVelocities`, and a joint that keeps still
until its transition begins (`insertSampleAtTransitionStartPoint`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..model.interpolation import hermite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..arrays import Floats

# A joint that moves by less from one key pose to the next has no slope there.
LEAST_STEP = 1e-3


class Key(NamedTuple):
    """A joint's part of a key pose."""

    time_s: float
    transition_s: float  # how long before it the joint begins to move, at most; 0 for at once
    position: float
    stationary: bool  # whether the joint stops here
    line: int


def sampled(keys: Sequence[Key], at: Floats) -> Floats:
    """Return a joint's positions at any times; it rests before its first key pose and after its last.

    `keys`: with increasing times.
    """
    times, values, stops = _with_waits(keys)
    if times.size == 1:
        return np.full_like(at, values[0])
    return hermite(at, times, values, _slopes(times, values, stops))[0]


def _with_waits(keys: Sequence[Key]) -> tuple[Floats, Floats, Floats]:
    """Return times, positions and where the joint stops, with a key pose more at the end of each wait."""
    samples: list[tuple[float, float, bool]] = []
    for key in keys:
        if samples and 0 < key.transition_s < key.time_s - samples[-1][0]:
            last = samples.pop()[:2]
            samples += [(*last, True), (key.time_s - key.transition_s, last[1], True)]
        samples.append((key.time_s, key.position, key.stationary))
    times, values, stops = np.array(samples, np.float64).T
    return times, values, stops


def _slopes(times: Floats, values: Floats, stops: Floats) -> Floats:
    """Return the mean of the secants on both sides, or 0 where the joint stops, turns or hardly moves."""
    steps = np.diff(values)
    secants = steps / np.diff(times)
    before, after = steps[:-1], steps[1:]
    moves = (
        (np.minimum(np.abs(before), np.abs(after)) >= LEAST_STEP) & (before * after > 0) & (stops[1:-1] == 0)
    )
    slopes = np.zeros_like(values)
    slopes[1:-1] = np.where(moves, (secants[:-1] + secants[1:]) / 2, 0.0)
    return slopes
