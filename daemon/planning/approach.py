"""The way from where the joints are to a row of a motion: as fast as its bounds allow, never faster.

Each joint moves from rest to rest, all arriving together, and in step with the joint that it follows
(`trajectory.way`).

    ValueError
    └── ApproachError    there is no safe way from where a joint is, or none as short as configured
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed

from ..joints import joint_bounds
from ..trajectory import FROM_BEYOND, WAY_BACK, Track, WayError, far_outside, plan_way, slack_of
from .speed_limits import clock_acceleration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointBounds, JointMap
    from ..trajectory import Way


MOST_ROWS, MOST_VALUES = 500_000, 8_000_000
NO_WAY = "there is no way from there; check the actuator"


class ApproachError(ValueError):
    """There is no safe way from where a joint is, or none as short as configured.

    - `joints`: the joints that stand in the way
    - `data`: what a program may want to know besides, JSON-ready
    """

    def __init__(self, joints: Sequence[str], message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.joints = tuple(joints)
        self.data = data or {}


def plan_approach(
    start: Floats,
    target: Floats,
    driven: Booleans,
    joint_map: JointMap,
    settings: RobotSettings,
    *,
    rate_hz: float,
    from_beyond: bool = False,
    speed: float = 1.0,
) -> Track:
    """Plan the way to a row of a motion.

    Parameters
    ----------
    start, target : ndarray, shape (joints,)
        In rad or m; the target is within the limits.
    driven : ndarray of bool, shape (joints,)
        The joints to move; the others hold where they are.
    settings : RobotSettings
        With the bounds under `approach`. Where every driven joint is within `start_tolerance`, and one tick
        is enough to get there within its limits, one tick is what it takes.
    rate_hz : float
        Ticks per second.
    from_beyond : bool
        Whether joints may be far outside their limits at the start. Then the way has `FROM_BEYOND` of the
        bounds; those joints move towards their range alone, as each joint stays between its two ends.
    speed : float
        From above 0 to 1: at which share of its speed it goes.

    Returns
    -------
    Track
        Its first row is the start, so that nothing moves in the tick after a motion that has just ended; the
        last is the target, bit for bit, at rest. No rows where every joint is at the target.

    Raises
    ------
    ApproachError
        If a joint's position is unknown, or so far outside its limits that it cannot be true, or if the way
        takes longer than it may.
    """
    _refuse_unsafe(start, driven, joint_map, from_beyond=from_beyond)
    bounds = joint_bounds(joint_map, settings)
    if from_beyond:
        kinds = ("velocity", "acceleration", "jerk")
        bounds = replace(bounds, **{kind: FROM_BEYOND * getattr(bounds, kind) for kind in kinds})
    if speed < 1.0:
        velocity = speed * np.minimum(bounds.velocity, joint_map.limits.velocity)
        acceleration = speed**2 * np.minimum(bounds.acceleration, joint_map.limits.acceleration)
        bounds = replace(bounds, velocity=velocity, acceleration=acceleration, jerk=speed**3 * bounds.jerk)
    rows, velocities = _rows(start, target, driven, joint_map, bounds, rate_hz=rate_hz)
    longest_s, takes_s = settings.approach.longest_s, len(rows) / rate_hz
    if longest_s is not None and takes_s > longest_s:
        hint = f"approach.longest_s is {longest_s:g}; go nearer first, or raise it"
        raise _too_far(takes_s, hint, farthest(start, target, driven, joint_map))
    ramp, _ = clock_acceleration(rows, velocities, rate_hz, joint_map, settings.stop_duration_s)
    return Track(rows, velocities, driven, rate_hz, ramp)


def farthest(start: Floats, target: Floats, driven: Booleans, joint_map: JointMap) -> dict[str, Any]:
    """Return the driven joint that has the longest way to go, JSON-ready: its name, how far, and the unit."""
    away = np.where(driven, np.abs(target - start), 0.0)
    joint = int(away.argmax())
    return {"joint": joint_map.joints[joint], "value": float(away[joint]), "unit": joint_map.units[joint]}


def _rows(
    start: Floats,
    target: Floats,
    driven: Booleans,
    joint_map: JointMap,
    bounds: JointBounds,
    *,
    rate_hz: float,
) -> tuple[Floats, Floats]:
    """Return the positions and velocities of the way, each of shape (ticks, joints)."""
    limits = joint_map.limits
    in_a_tick = np.minimum(limits.velocity / rate_hz, limits.acceleration / rate_hz**2)
    away = np.where(driven, np.abs(target - start), 0.0)
    if not away.any():
        return np.empty((0, start.size)), np.empty((0, start.size))
    if not (away > np.minimum(bounds.start_tolerance, in_a_tick)).any():
        rows = np.where(driven, [start, target], start)
        return rows, np.zeros_like(rows)
    way = _way(start, target, driven, joint_map, bounds)
    longest_s = min(MOST_ROWS, MOST_VALUES // start.size) / rate_hz
    if not way.duration_s <= longest_s:
        hint = f"{longest_s:g} s are allowed; go nearer first, or raise the bounds under `approach`"
        raise _too_far(way.duration_s, hint, farthest(start, target, driven, joint_map))
    sampled, speeds = way.rows(rate_hz)
    positions, velocities = np.empty((len(sampled), start.size)), np.zeros((len(sampled), start.size))
    positions[:] = start
    positions[:, driven], velocities[:, driven] = sampled, speeds
    return positions, velocities


def _too_far(takes_s: float, hint: str, far: dict[str, Any]) -> ApproachError:
    reason = f"joint '{far['joint']}' is {far['value']:.4g} {far['unit']} away"
    message = f"the way to it takes {takes_s:.3f} s; {reason}; {hint}"
    return ApproachError([far["joint"]], message, {"start_distance": far})


def _refuse_unsafe(start: Floats, driven: Booleans, joint_map: JointMap, *, from_beyond: bool) -> None:
    limits = joint_map.limits
    slack = slack_of(limits.lower, limits.upper, joint_map.units)
    lost = driven & ~np.isfinite(start)
    outside = driven & ((start < limits.lower - slack) | (start > limits.upper + slack)) & (not from_beyond)
    problems = [
        f"joint '{joint_map.joints[joint]}' has no measured position; {NO_WAY}"
        for joint in np.flatnonzero(lost)
    ]
    for joint in np.flatnonzero(outside):
        unit = joint_map.units[joint]
        where = far_outside(start[joint], limits.lower[joint], limits.upper[joint], unit)
        problems.append(f"joint '{joint_map.joints[joint]}' {where}; {WAY_BACK}")
    if problems:
        names = [joint_map.joints[joint] for joint in np.flatnonzero(lost | outside)]
        raise ApproachError(names, "\n".join(f"{joint_map.robot}: {problem}" for problem in problems))


def _way(start: Floats, target: Floats, driven: Booleans, joint_map: JointMap, bounds: JointBounds) -> Way:
    """Plan the way of all driven joints."""
    limits = joint_map.limits
    velocity = np.minimum(limits.velocity, bounds.velocity)
    acceleration = np.minimum(limits.acceleration, bounds.acceleration)
    ends = start[driven], target[driven]
    leaders = np.where(driven[joint_map.leaders], joint_map.leaders, np.arange(start.size))
    among_driven = np.cumsum(driven) - 1
    try:
        return plan_way(
            *ends,
            velocity[driven],
            acceleration[driven],
            bounds.jerk[driven],
            leaders=among_driven[leaders[driven]],
        )
    except WayError as error:
        names = [name for name, moves in zip(joint_map.joints, driven, strict=True) if moves]
        hint = f"check the limits of {listed(names)}, and the bounds under `approach`"
        raise ApproachError(names, f"{joint_map.robot}: no approach can be calculated; {hint}") from error
