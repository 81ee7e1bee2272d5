"""Joins motions: one after the other, with every seam checked, or one flowing into the next.

Where they stand one after the other, the first row of each motion is the instant of the last row of the one
before it, so that durations add up. A motion that begins at another position or velocity than the one before
it ends with is refused, with every joint that would jump.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import listed

from ..errors import MOST_PROBLEMS
from .editing import is_even, is_of_joints, select
from .editing.components import need_even_rows, no_such_change
from .interpolation import SAME_TIME_S
from .motion import MotionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..arrays import Floats
    from .motion import Motion


@dataclass(frozen=True, slots=True)
class JoinTolerance:
    """How far apart two motions may be where one ends and the next begins.

    Attributes
    ----------
    position : float
        In rad or m, for joints and poses alike.
    velocity : float
        In rad/s or m/s, between the last step before the seam and the first one after it.
    units : mapping
        The unit of each joint's position where it is known, for messages: `{"elbow": "rad"}`.
    """

    position: float = 1e-3
    velocity: float = 0.1
    units: Mapping[str, str] = field(default_factory=dict)


DEFAULT_TOLERANCE = JoinTolerance()

_ROWS, _VELOCITY, _ACCELERATION = "positions", "JointVelocity", "JointAcceleration"


def concatenate(motions: Iterable[Motion], tolerance: JoinTolerance = DEFAULT_TOLERANCE) -> Motion:
    """Join motions; at each seam the earlier motion's row stays, and name and metadata are the first one's.

    Parameters
    ----------
    motions : iterable of Motion
        At least one, with the same frame rate, joints (in any order) and components.
    tolerance : JoinTolerance
        How far apart they may be where they meet.

    Raises
    ------
    MotionError
        With every gap at every seam, or with what keeps the motions from fitting together.
    """
    motions = tuple(motions)
    if not motions:
        raise MotionError("there are no motions to join; give at least one")
    first = motions[0]
    fitting = [first, *(_fitted(first, motion) for motion in motions[1:])]
    gaps = [gap for before, after in pairwise(fitting) for gap in _gaps(before, after, tolerance)]
    if gaps:
        more = [f"{len(gaps) - MOST_PROBLEMS} more gaps"] if len(gaps) > MOST_PROBLEMS else []
        raise MotionError("\n".join(gaps[:MOST_PROBLEMS] + more))
    return _joined(fitting)


def blend(before: Motion, after: Motion, seconds: float) -> Motion:
    """Let the end of a motion flow into the beginning of another, which overlaps it for some time.

    In that time each joint goes from the one to the other by 6u⁵ - 15u⁴ + 10u³, so that the result is as
    smooth as both are, up to its acceleration. It lasts as long as both together, less the overlap. Its
    positions stay between those of both; where these are far apart, it is the faster the shorter the overlap
    is. Name and metadata are those of the first; its rows and those of the other stay outside of the overlap.

    Parameters
    ----------
    before, after : Motion
        With rows at one fixed rate, and the same joints (in any order) and components.
    seconds : float
        In whole rows, at least one, and no more than either motion lasts.

    Raises
    ------
    MotionError
        If they do not fit together, one is shorter than the overlap, or has a component besides the joints'
        velocities and accelerations.
    """
    for motion in (before, after):
        need_even_rows(motion, "blended")
    after = _fitted(before, after)
    shortest_s = min(before.duration_s, after.duration_s)
    steps = round(seconds * before.frame_rate) if 0 < seconds <= shortest_s + SAME_TIME_S else 0
    if not steps:
        where, reason = f"{before.name} + {after.name}", f"the shorter one lasts {shortest_s:g} s"
        rule = f"an overlap is a row, {1 / before.frame_rate:g} s, at least, and no longer than that"
        raise MotionError(f"{where}: cannot be blended over {seconds:g} s; {reason}; {rule}")
    mixed = _mixed(before, after, steps)
    positions = mixed.pop(_ROWS)
    times = before.times[0] + np.arange(len(positions)) / before.frame_rate
    series = {name: (times, values) for name, values in mixed.items()}
    blended = before.with_series(times, positions, series)
    return replace(blended, warnings=before.warnings + after.warnings)


def _mixed(before: Motion, after: Motion, steps: int) -> dict[str, Floats]:
    """Return the positions, and the components, of two motions of which so many steps overlap."""
    u = np.linspace(0.0, 1.0, steps + 1)[:, None]
    per_s = before.frame_rate / steps
    share: Floats = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    rate: Floats = 30.0 * u**2 * (1.0 - u) ** 2 * per_s
    change: Floats = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) * per_s**2
    first, second = _rows_and_rates(before), _rows_and_rates(after)
    ends = {name: values[-steps - 1 :] for name, values in first.items()}
    begins = {name: values[: steps + 1] for name, values in second.items()}
    mixed: dict[str, Floats] = {name: ends[name] * (1.0 - share) + begins[name] * share for name in first}
    gap = begins[_ROWS] - ends[_ROWS]
    mixed[_VELOCITY] += rate * gap
    mixed[_ACCELERATION] += 2.0 * rate * (begins[_VELOCITY] - ends[_VELOCITY]) + change * gap
    return {
        name: np.concatenate([first[name][: -steps - 1], mixed[name], second[name][steps + 1 :]])
        for name in (_ROWS, *before.components)
    }


def _rows_and_rates(motion: Motion) -> dict[str, Floats]:
    """Return a motion's positions, velocities and accelerations, as it has them or else as derivatives."""
    velocity, acceleration = motion.derivatives()
    found = {_ROWS: motion.positions, _VELOCITY: velocity, _ACCELERATION: acceleration}
    for name, values in motion.components.items():
        if name not in found or not is_of_joints(motion, name):
            raise no_such_change(motion, name, "blended", "how it goes over into that of another motion")
        found[name] = values
    return found


def _fitted(first: Motion, motion: Motion) -> Motion:
    """Return a motion with its joints in the order of the first one's."""
    where = f"{first.name} + {motion.name}"
    if not np.isclose(motion.frame_rate, first.frame_rate, rtol=1e-9, atol=0):
        rates = f"{first.frame_rate:g} and {motion.frame_rate:g} frames/s"
        raise MotionError(f"{where}: frame rates are {rates}; a motion has one; resample one of them")
    ours, theirs = first.joint_names, motion.joint_names
    counts = first.positions.shape[1], motion.positions.shape[1]
    if set(ours) != set(theirs) or counts[0] != counts[1]:
        odd = _listed(set(ours) ^ set(theirs))
        reason = f"only one of them has {odd}" if odd else f"they have {counts[0]} and {counts[1]}"
        raise MotionError(f"{where}: joints differ; {reason}; select or rename some")
    if odd := _listed(set(first.components) ^ set(motion.components)):
        raise MotionError(f"{where}: only one of them has the component {odd}; all have it or none; drop it")
    return motion if ours == theirs else select(motion, ours)


def _listed(names: set[str]) -> str:
    return listed(sorted(names), "'")


def _gaps(before: Motion, after: Motion, tolerance: JoinTolerance) -> Iterator[str]:
    """Return a message for each gap between two motions."""
    where = f"{before.name} + {after.name}"
    yield from _joint_gaps(where, before, after, tolerance)
    for name in filter(before.is_poses, before.components):
        ends, begins = before.series(name)[1][-1], after.series(name)[1][0]
        yield from _pose_gaps(f"{where}: {name}", ends, begins, tolerance.position)


def _joint_gaps(where: str, before: Motion, after: Motion, tolerance: JoinTolerance) -> Iterator[str]:
    kinds = (
        ("is at", "", before.positions[-1], after.positions[0], tolerance.position),
        ("moves at", "/s", _velocity(before, -2), _velocity(after, 0), tolerance.velocity),
    )
    for verb, per_time, ends, begins, allowed in kinds:
        for joint in np.flatnonzero(np.abs(begins - ends) > allowed):
            name = before.joint_names[joint] if before.joint_names else ""
            unit = f" {tolerance.units[name]}{per_time}" if name in tolerance.units else ""
            label = f"'{name}'" if name else joint
            gap = f"a gap of {abs(begins[joint] - ends[joint]):.6g}{unit}"
            yield (
                f"{where}: joint {label} {verb} {ends[joint]:.6g}{unit} at the end and "
                f"{begins[joint]:.6g}{unit} at the start, {gap}; the seam allows {allowed:g}{unit}; "
                "trim one of them or put a motion between"
            )


def _velocity(motion: Motion, row: int) -> Floats:
    """Return the velocity from a row to the next one; a motion of one row rests."""
    if motion.times.size == 1:
        return np.zeros(motion.positions.shape[1])
    step_s = motion.times[row + 1] - motion.times[row]
    velocity: Floats = (motion.positions[row + 1] - motion.positions[row]) / step_s
    return velocity


def _pose_gaps(where: str, ends: Floats, begins: Floats, tolerance: float) -> Iterator[str]:
    """Return a message for each part whose poses, (parts, 7), are too far apart in distance or angle."""
    distances = np.linalg.norm(begins[:, :3] - ends[:, :3], axis=1)
    lengths = np.linalg.norm(begins[:, 3:], axis=1) * np.linalg.norm(ends[:, 3:], axis=1)
    cosines = np.abs(np.sum(begins[:, 3:] * ends[:, 3:], axis=1)) / np.where(lengths > 0, lengths, 1.0)
    angles = 2 * np.arccos(np.clip(cosines, 0.0, 1.0))
    for gaps, unit in ((distances, "m"), (angles, "rad")):
        for part in np.flatnonzero(gaps > tolerance):
            yield (
                f"{where}: part {part} has a gap of {gaps[part]:.6g} {unit}; the seam allows "
                f"{tolerance:g} {unit}; trim one of them or drop the component"
            )


def _joined(motions: Sequence[Motion]) -> Motion:
    first = motions[0]
    starts_s = np.cumsum([first.times[0], *(motion.duration_s for motion in motions[:-1])])
    shifts_s = [start_s - motion.times[0] for start_s, motion in zip(starts_s, motions, strict=True)]
    times = _after_another([motion.times + by for motion, by in zip(motions, shifts_s, strict=True)])
    if all(map(is_even, motions)):
        times = np.arange(times.size) / first.frame_rate
    series = {name: _joined_series(name, motions, times, shifts_s) for name in first.components}
    positions = _after_another([motion.positions for motion in motions])
    warnings = tuple(warning for motion in motions for warning in motion.warnings)
    return replace(first.with_series(times, positions, series), warnings=warnings)


def _after_another(pieces: Sequence[Floats]) -> Floats:
    """Join rows, without the first of each further piece."""
    return np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])


def _joined_series(
    name: str, motions: Sequence[Motion], joined_times: Floats, shifts_s: Sequence[float]
) -> tuple[Floats, Floats]:
    pieces = [motion.series(name) for motion in motions]
    if all(own is motion.times for (own, _), motion in zip(pieces, motions, strict=True)):
        return joined_times, _after_another([values for _, values in pieces])
    times, values = pieces[0]
    for (own, more), shift_s in zip(pieces[1:], shifts_s[1:], strict=True):
        # Rows with times of their own may overlap at the seam; those of the earlier piece stay.
        later = own + shift_s > times[-1] + SAME_TIME_S
        times, values = np.concatenate([times, own[later] + shift_s]), np.concatenate([values, more[later]])
    return times, values
