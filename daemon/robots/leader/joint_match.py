"""Which joint of a leader moves which joint of a follower, by name or by a motion map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Motion, MotionError
from motiond.text import listed

from ...joints import JointMapError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.formats import MotionMap
    from motiond.formats.arrays import Floats

    from ...joints import JointMap

QUOTE = "'"
HINT = "map or ignore it by a motion map (`--map`)"


@dataclass(frozen=True, slots=True)
class JointMatch:
    """Each joint of the follower that is moved is `factor * leader's joint + offset`.

    Attributes
    ----------
    joints : tuple of str
        Of the follower.
    sources : tuple of str
        The leader's joint for each.
    columns : ndarray of int, shape (joints,)
        Its number among all of the leader's.
    factors, offsets : ndarray, shape (joints,)
        Offsets in rad or m.
    """

    joints: tuple[str, ...]
    sources: tuple[str, ...]
    columns: NDArray[np.intp]
    factors: Floats
    offsets: Floats

    def positions(self, leader: Floats) -> Floats:
        """Return the follower's positions (joints,) for those of all joints of the leader."""
        return self.factors * leader[self.columns] + self.offsets

    def velocities(self, leader: Floats) -> Floats:
        """Return the follower's velocities (joints,) for those of all joints of the leader."""
        return self.factors * leader[self.columns]

    def unmeasured(self, leader: Floats) -> str:
        """Return the leader's joints of which no position is known, for messages; '' where there is none."""
        lost = np.isnan(leader[self.columns])
        return listed([name for name, is_lost in zip(self.sources, lost, strict=True) if is_lost], QUOTE)


def match_joints(leader: JointMap, follower: JointMap, map_: MotionMap | None = None) -> JointMatch:
    """Find the leader's joint of each joint of the follower.

    A leader's joints count as the columns of a motion, in rad or m. A joint that follows another of the
    follower's is left out: it moves with that one.

    Raises
    ------
    JointMapError
        With each joint of the leader that the follower does not have and the map neither uses nor ignores,
        each that the map wants and the leader does not have, and each whose unit is another.
    """
    subject = f"{leader.robot}, leading {follower.robot}"
    mapped = _as_motion(subject, leader)
    if map_ is not None:
        try:
            mapped = map_.apply(mapped)
        except MotionError as error:
            raise JointMapError(str(error).split("\n")) from error
    names, count = mapped.joint_names, len(mapped.joint_names)
    places = follower.columns_of(subject, names, count, hint=HINT)
    offsets, slopes = mapped.positions[0], mapped.positions[1:] - mapped.positions[0]
    columns = np.abs(slopes).argmax(axis=0)
    units = [leader.units[column] for column in columns]
    problems = [
        f"{subject}: joint '{leader.joints[column]}' is in {unit}; joint '{name}', which it would move, "
        f"is in {follower.units[place]}; map another"
        for name, place, column, unit in zip(names, places, columns, units, strict=True)
        if place >= 0 and follower.units[place] != unit
    ]
    if problems:
        raise JointMapError(problems)
    kept = np.flatnonzero(places >= 0)
    if not kept.size:
        reason = "these follow others"
        raise JointMapError([f"{subject}: only {listed(names, QUOTE)} would move; {reason}; {HINT}"])
    return JointMatch(
        joints=tuple(names[number] for number in kept),
        sources=tuple(leader.joints[column] for column in columns[kept]),
        columns=columns[kept],
        factors=slopes[columns[kept], kept],
        offsets=offsets[kept],
    )


def _as_motion(name: str, leader: JointMap) -> Motion:
    """Return a motion with the leader's joints at 0, and then each of them at 1.

    What a map makes of it is what it makes of any positions, as a map is linear.
    """
    joints = len(leader.joints)
    rows = np.vstack([np.zeros(joints), np.eye(joints)])
    units = dict(zip(leader.joints, leader.units, strict=True))
    times = np.arange(joints + 1.0)
    return Motion(name, leader.joints, 1.0, times, rows, metadata={"units": units})
