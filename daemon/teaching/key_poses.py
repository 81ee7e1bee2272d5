"""Poses that were kept become a motion: to rest at each, or through them without rest.

To rest, each way is that of `trajectory.way`: limited in jerk, all joints arriving together. Through them,
the curve is PCHIP (`formats.model.interpolation`): its speed never jumps, it is at rest at both ends, and
between two poses each joint stays between its two positions, so that it leaves no limit that the poses keep.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from motiond.formats.model import hermite, pchip_slopes

from ..trajectory import WayError, plan_way
from .rows import TeachingError

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from .rows import PoseBounds

AtPoses = Literal["rest", "through"]
SAME = 1e-6
"""Poses that are so near to each other, in rad or m, are one."""
MOST_STRETCHES = 100
MOST_ROWS = 1_000_000


def to_rest_at_each(poses: Floats, bounds: PoseBounds, rate_hz: float) -> Floats:
    """Return rows, shape (rows, columns), in which each of the poses is one, bit for bit, and at rest.

    `poses`: shape (poses, columns).

    Raises TeachingError if there are fewer than two, or no way between two.
    """
    poses = _distinct(poses)
    rows = [poses[:1]]
    for start, target in pairwise(poses):
        try:
            way = plan_way(start, target, *bounds)
        except WayError as error:
            hint = "check the limits of the joints, and the bounds under `approach`"
            raise TeachingError(f"no way from pose to pose can be calculated; {error}; {hint}") from error
        _refuse_long(way.duration_s, rate_hz)
        positions, _ = way.rows(rate_hz)
        rows.append(positions[1:])
    return np.concatenate(rows)


def through(poses: Floats, bounds: PoseBounds, rate_hz: float) -> Floats:
    """Return rows, shape (rows, columns), in which each of the poses is one, bit for bit, from rest to rest.

    Each leg takes as many ticks as it needs for the bounds of velocity and acceleration.

    `poses`: shape (poses, columns).

    Raises TeachingError if there are fewer than two.
    """
    poses = _distinct(poses)
    way = np.abs(np.diff(poses, axis=0))
    least_s = np.maximum(way / bounds.velocity, np.sqrt(way / bounds.acceleration)).max(axis=1)
    ticks = np.maximum(1.0, np.ceil(least_s * rate_hz))
    for turn in range(MOST_STRETCHES):
        _refuse_long(float(ticks.sum()) / rate_hz, rate_hz)
        times = np.concatenate(([0.0], np.cumsum(ticks))) / rate_hz
        slopes = pchip_slopes(times, poses, at_rest=True)
        factor = _excess(times, poses, slopes, bounds)
        if (factor <= 1.0).all():
            break
        # One leg's slopes are its neighbours' as well; what has not settled by then is stretched as a whole.
        if turn >= MOST_STRETCHES // 2:
            factor = np.full_like(factor, factor.max())
        ticks = np.where(factor > 1.0, np.maximum(np.ceil(ticks * factor), ticks + 1.0), ticks)
    rows, _ = hermite(np.arange(int(ticks.sum()) + 1) / rate_hz, times, poses, slopes)
    leg = np.clip(np.searchsorted(np.cumsum(ticks), np.arange(len(rows)), side="right"), 0, len(ticks) - 1)
    ends = np.minimum(poses[leg], poses[leg + 1]), np.maximum(poses[leg], poses[leg + 1])
    np.clip(rows, *ends, out=rows)  # rounding must not carry a joint beyond a pose, maybe on a limit
    rows[np.concatenate(([0], np.cumsum(ticks))).astype(int)] = poses
    return rows


def _distinct(poses: Floats) -> Floats:
    """Return the poses without those that repeat the one before."""
    moves = np.ones(len(poses), dtype=bool)
    moves[1:] = (np.abs(np.diff(poses, axis=0)) > SAME).any(axis=1)
    if moves.sum() < 2:
        kept = "one pose was kept" if len(poses) == 1 else f"{len(poses)} poses were kept"
        kept += ", all of them the same" if len(poses) > 1 else ""
        raise TeachingError(f"no motion can be made of the poses; {kept}; keep two that differ, or more")
    distinct: Floats = poses[moves]
    return distinct


def _excess(times: Floats, poses: Floats, slopes: Floats, bounds: PoseBounds) -> Floats:
    """Return by which factor each leg, shape (legs,), would have to take longer to keep the bounds.

    Of a cubic with the slopes a and b at its ends and the rise r a time h, the speed at the share s is
    a + 2 (3r - 2a - b) s + 3 (a + b - 2r) s², and the acceleration is highest at an end.
    """
    span = np.diff(times)[:, None]
    rise, a, b = np.diff(poses, axis=0) / span, slopes[:-1], slopes[1:]
    linear, square = 6.0 * rise - 4.0 * a - 2.0 * b, 3.0 * (a + b - 2.0 * rise)
    turn = np.divide(-linear, 2.0 * square, out=np.zeros_like(rise), where=square != 0.0)
    turn = np.clip(turn, 0.0, 1.0)
    speeds = np.abs([a, b, a + linear * turn + square * turn**2]).max(axis=0)
    accelerations = np.abs([linear, linear + 2.0 * square]).max(axis=0) / span
    factors = np.maximum(speeds / bounds.velocity, np.sqrt(accelerations / bounds.acceleration))
    return np.asarray(factors.max(axis=1))


def _refuse_long(duration_s: float, rate_hz: float) -> None:
    if not duration_s * rate_hz <= MOST_ROWS:
        reason = f"{MOST_ROWS / rate_hz:g} s are allowed at {rate_hz:g} Hz"
        raise TeachingError(f"the way from pose to pose takes {duration_s:g} s; {reason}; raise `speed`")
