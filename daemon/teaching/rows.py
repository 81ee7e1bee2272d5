"""What is taught: which joints, within which bounds, and what comes of it.

ValueError
└── TeachingError    what was taught makes no motion
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from motiond.formats import Motion
from motiond.text import listed

from ..joints import joint_bounds

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats, Indices

    from ..config.robot import RobotSettings
    from ..joints import JointMap

HAIR = 0.995
"""Of a limit: what lies between rows of a motion may be that much faster than they are."""
RISE_S = 0.1
"""In which an acceleration may come to its limit, where `approach.jerk` does not allow more."""


class TeachingError(ValueError):
    """What was taught makes no motion; `str()` is `problem; reason; hint`, a line for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A motion that was made of what a robot was taught.

    - `deviation` (ndarray, shape (columns,)): how far each of the motion's joints is from what was recorded
      at most, in rad or m
    - `notes`: what was changed or filled in
    """

    motion: Motion
    deviation: Floats
    notes: tuple[str, ...] = ()


class PoseBounds(NamedTuple):
    """What the way between poses keeps to; each of shape (columns,), in rad or m and seconds."""

    velocity: Floats
    acceleration: Floats
    jerk: Floats


def taught_columns(joint_map: JointMap, known: Booleans) -> Indices:
    """Return the joints that a motion moves: all but those that follow others.

    `known`: which have reported a position, shape (joints,).

    Raises TeachingError if one of them has not.
    """
    followers = {mimic.joint for mimic in joint_map.mimics}
    columns = np.array([one for one in range(len(joint_map.joints)) if one not in followers], dtype=np.intp)
    silent = columns[~known[columns]].tolist()
    if silent:
        names = listed([joint_map.joints[column] for column in silent], "'")
        several = "s" if len(silent) > 1 else ""
        reason = "they report no positions" if several else "its actuator reports no position"
        raise TeachingError(f"joint{several} {names} cannot be taught; {reason}; check the actuator{several}")
    return columns


def pose_bounds(joint_map: JointMap, settings: RobotSettings, columns: Indices, speed: float) -> PoseBounds:
    """Return a share of the limits of joints, those of joints that follow them included.

    Where a joint has no limit, its bound is that of approaches.
    """
    own, limits = joint_bounds(joint_map, settings), joint_map.limits
    velocity = np.where(np.isfinite(limits.velocity), HAIR * speed * limits.velocity, own.velocity)
    acceleration = np.where(
        np.isfinite(limits.acceleration), HAIR * speed * limits.acceleration, own.acceleration
    )
    for mimic in joint_map.mimics:
        if mimic.multiplier:
            for bound in (velocity, acceleration):
                follows = bound[mimic.joint] / abs(mimic.multiplier)
                bound[mimic.leader] = min(bound[mimic.leader], follows)
    jerk = np.maximum(own.jerk, acceleration / RISE_S)
    return PoseBounds(velocity[columns], acceleration[columns], jerk[columns])


def within_limits(
    rows: Floats, recorded: Floats, bound: Floats, joint_map: JointMap, columns: Indices
) -> Floats:
    """Cut rows, shape (rows, columns), at the limits of joints that passed them by no more than a bound.

    `recorded`: shape (any, columns); `bound`: shape (columns,). A joint that went further is left as it
    is, and refused as in every motion.
    """
    lower, upper = joint_map.limits.lower[columns], joint_map.limits.upper[columns]
    beyond = np.maximum(recorded - upper, lower - recorded).max(axis=0)
    return np.where(beyond <= bound, np.clip(rows, lower, upper), rows)


def as_motion(name: str, joint_map: JointMap, columns: Indices, positions: Floats, rate_hz: float) -> Motion:
    """Return rows, shape (rows, columns), as a motion at a rate."""
    names = tuple(joint_map.joints[column] for column in columns)
    units = {joint_map.joints[column]: joint_map.units[column] for column in columns}
    times = np.arange(len(positions)) / rate_hz
    return Motion(name, names, rate_hz, times, positions, metadata={"units": units})
