"""The way on which a motion takes over from what moves, planned ahead of the moment at which it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..joints import joint_bounds
from ..trajectory import FULL_RAMP, Bounds, Motion, OnlineLimits, Track, hand_over

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap


def bounds_of_ways(joint_map: JointMap, settings: RobotSettings) -> Bounds:
    """Return the bounds of ways that lead on from anywhere; half of an acceleration is left for the clock."""
    bounds, limits = joint_bounds(joint_map, settings), joint_map.limits
    acceleration = np.minimum(bounds.acceleration, limits.acceleration / 2.0)
    spare = (limits.acceleration - acceleration) / (FULL_RAMP / settings.stop_duration_s)
    velocity = np.minimum(np.minimum(bounds.velocity, limits.velocity), spare)
    reach = limits.lower, limits.upper
    return Bounds(velocity, acceleration, bounds.jerk, *reach, joint_map.leaders, joint_map.multipliers)


def plan_taking_over(
    setpoints: Floats,
    begins_at: Floats,
    driven: Booleans,
    joint_map: JointMap,
    settings: RobotSettings,
    *,
    period_s: float,
    rate_hz: float,
    speed: float = 1.0,
) -> tuple[Track, Floats]:
    """Plan the way from how a robot moves to the first row of a motion, as the stream process would.

    Parameters
    ----------
    setpoints : ndarray, shape (3, joints)
        The last ones before the way, in rad or m.
    begins_at : ndarray, shape (joints,)
        The first row of the motion.
    driven : ndarray of bool, shape (joints,)
        The joints that it moves; the others come to rest.
    period_s : float
        Between setpoints, and to the first row of the way.
    rate_hz : float
        Of the rows of both.
    speed : float
        From above 0 to 1: at which share of its speed it goes.

    Returns
    -------
    way : Track
    turned : ndarray, shape (joints,)
        By how much the rows of the motion are turned on, in rad.

    Raises
    ------
    WayError
        If there is none within the limits.
    """
    bounds, limits = bounds_of_ways(joint_map, settings), joint_map.limits
    known = limits.lower, limits.upper, limits.velocity, limits.acceleration
    gentle = bounds.velocity, bounds.acceleration, bounds.jerk
    moves = Motion.seen(setpoints, period_s)
    turned = joint_map.nearest(bounds.rests_at(moves), begins_at, driven)
    way = hand_over(
        moves,
        np.where(driven, begins_at + turned, moves.position),
        driven,
        bounds,
        OnlineLimits.of_known(known, gentle, settings.stop_duration_s),
        clock_acceleration=FULL_RAMP / settings.stop_duration_s,
        first_s=period_s,
        rate_hz=rate_hz,
        speed=speed,
    )
    return way, turned
