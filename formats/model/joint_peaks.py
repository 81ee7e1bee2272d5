"""What each joint of a motion does at most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .motion import Motion

_CURVES_HZ, _MOST_OF_CURVES = 500.0, 100_000
"""How often the curve through way-points is looked at."""


class Peak(NamedTuple):
    """What a joint does at most, in rad or m and s; rates are its largest, from rest and to rest."""

    joint: str
    lowest: float
    highest: float
    velocity: float
    acceleration: float
    jerk: float


def peaks(motion: Motion) -> list[Peak]:
    """Return the peaks of each joint: of its rows, as differences over their time.

    Of way-points they are those of the curve through them, as it is played.
    """
    even = replace(motion, components={})
    if not motion.is_uniform:
        even = even.resampled(min(_CURVES_HZ, _MOST_OF_CURVES / motion.duration_s))
    rows = even.positions
    zeros, found, rates = np.zeros((1, rows.shape[1])), [rows.min(axis=0), rows.max(axis=0)], rows
    for _ in range(3):
        changes = np.diff(rates, axis=0) * even.frame_rate
        rates = np.concatenate([zeros, changes, zeros])
        found.append(np.abs(rates).max(axis=0))
    names = motion.joint_names or tuple(map(str, range(rows.shape[1])))
    return [Peak(name, *each) for name, each in zip(names, np.stack(found, axis=1).tolist(), strict=True)]
