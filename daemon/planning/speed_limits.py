"""How fast setpoints may be played, and how steeply the clock may ramp over them, within a robot's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..trajectory import FULL_RAMP
from .curve import peak_accelerations, peak_speeds

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats

    from ..joints import JointMap


FASTEST = 10.0  # the highest speed factor that a play request may ask for
LONGEST_STOP = 4.0  # in units of stop_duration_s; a stop must end, even where acceleration is short


def max_speed_of(
    positions: Floats,
    velocities: Floats,
    rate_hz: float,
    joint_map: JointMap,
    driven: Booleans,
    *,
    interpolation: Interpolation = "cubic",
) -> tuple[float, str]:
    """Return the fastest speed factor from rest to rest, at least 1, and the joint that sets it."""
    if len(positions) < 2:
        return FASTEST, ""
    peaks = peak_speeds(positions, velocities, rate_hz).max(axis=0)
    changes = np.zeros_like(peaks)
    if np.isfinite(joint_map.limits.acceleration).any():
        changes = peak_accelerations(positions, velocities, rate_hz, interpolation).max(axis=0)
    factor, joint = fastest_factor(peaks, changes, joint_map, driven)
    return max(1.0, factor), joint


def fastest_factor(
    speeds: Floats, accelerations: Floats, joint_map: JointMap, driven: Booleans
) -> tuple[float, str]:
    """Return the highest speed factor, at most `FASTEST`, by peaks at speed 1, and the joint that sets it."""
    limits = joint_map.limits
    factors = _ratio(limits.velocity, speeds)
    factors = np.minimum(factors, np.sqrt(_ratio(limits.acceleration, accelerations)))
    factors[~driven] = np.inf
    joint = int(factors.argmin())
    if factors[joint] >= FASTEST:
        return FASTEST, ""
    return float(factors[joint]), joint_map.joints[joint]


def clock_acceleration(
    positions: Floats,
    velocities: Floats,
    rate_hz: float,
    joint_map: JointMap,
    stop_duration_s: float,
    *,
    speed: float | Floats = 1.0,
    interpolation: Interpolation = "cubic",
    rests: bool = True,
) -> tuple[float, tuple[str, ...]]:
    """Return the steepest ramp of the clock's rate r that no acceleration limit forbids, and doubts about it.

    On the path q(s) the acceleration is q'' r² + q' dr/dt; with r up to `speed` it stays within the limit A
    where |dr/dt| is at most (A - |q''| speed²) / |q'|. Where that leaves next to nothing, a stop that ends
    comes first.

    - `positions`, `velocities` (ndarray, shape (ticks, joints)): setpoints at `rate_hz`
    - `speed` (float, or ndarray of shape (ticks, 1)): of all, or of each
    - `rests`: whether they begin and end at rest; otherwise what the first and the last ask for is not known

    Returns the ramp in 1/s, at most that which stops from rate 1 in `stop_duration_s` (`ramp.plan_ramp`), and
    as a warning the joint whose limit such a ramp may pass; () where there is none.
    """
    wanted = FULL_RAMP / stop_duration_s
    least = wanted / LONGEST_STOP
    limited = np.flatnonzero(np.isfinite(joint_map.limits.acceleration))
    if len(positions) < 2 or not limited.size:
        return wanted, ()
    moving = positions[:, limited], velocities[:, limited]
    own = peak_accelerations(*moving, rate_hz, interpolation) * speed**2
    if not rests:
        own[[0, -1]] = 0.0
    spare = joint_map.limits.acceleration[limited] - own
    ramps = _ratio(spare, np.abs(moving[1])).min(axis=0)
    tightest = int(ramps.argmin())
    if ramps[tightest] >= least:
        return float(min(wanted, ramps[tightest])), ()
    joint = joint_map.joints[limited[tightest]]
    reason = f"it may take no longer than {FULL_RAMP / least:g} s"
    return least, (
        f"a soft stop may pass the acceleration limit of joint '{joint}'; {reason}; raise stop_duration_s",
    )


def _ratio(limits: Floats, values: Floats) -> Floats:
    """Return by how much each value, not negative, could grow; infinitely where it is zero or next to it."""
    with np.errstate(over="ignore"):
        return np.divide(limits, values, out=np.full(values.shape, np.inf), where=values > 0)
