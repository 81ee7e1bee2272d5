"""Which joint of a robot is too hot to move (`checks.temperature_c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .session import Hindrance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

COOLS = "wait until it has cooled"
RELIEVE = "support the robot and disable it, or take its load away"


def too_hot(
    joints: Sequence[str], temperatures_c: Floats, limit_c: float, *, is_failing: bool, holds: bool
) -> Hindrance | None:
    """Return what the hottest joint keeps its robot from; None where none is too hot, or that is not known.

    Parameters
    ----------
    joints : sequence of str
    temperatures_c : ndarray, shape (joints,)
        Of their actuators, in °C; NaN where one is not known.
    limit_c : float
        In °C.
    is_failing : bool
        Whether a joint was beyond that, and is not known to have cooled: it has to by a margin.
    holds : bool
        Whether the robot holds, which may keep a joint hot.
    """
    known = np.nan_to_num(temperatures_c, nan=-np.inf)
    joint = int(known.argmax())
    value = float(known[joint])
    if not (value > limit_c or (is_failing and np.isfinite(value))):
        return None
    limit = f"checks.temperature_c is {limit_c:g} °C"
    reason = f"joint '{joints[joint]}' is at {value:.1f} °C; {limit}"
    if value <= limit_c:
        reason += ", and it was beyond that"
    details = {"joint": joints[joint], "value": value, "limit": limit_c, "unit": "°C"}
    return Hindrance("FAULT", reason, RELIEVE if holds else COOLS, details)
