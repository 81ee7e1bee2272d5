"""A motion's rows in the robot's columns, and at the rate of the ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats.model import SAME_TIME_S, TooManyRows, interpolate, rows_between
from motiond.text import listed

from ..joints import ROUNDING, JointMapError
from .curve import slopes_of
from .violations import PlanError, position_violations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.formats import Interpolation, Motion
    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap, Unit

FURTHEST = 1e6  # in rad or m, as in the configuration: sums and quotients of such numbers are still numbers

OF_JOINTS: dict[Unit, tuple[str, ...]] = {"rad": ("rad", "deg"), "m": ("m", "cm", "mm")}


@dataclass(frozen=True, slots=True)
class MotionRows:
    """A motion's rows in the robot's columns; undriven columns are 0."""

    name: str
    times: Floats  # in s, from the first row, shape (rows,)
    positions: Floats  # in rad or m, shape (rows, joints)
    effort: Floats | None  # in N·m or N, shape (rows, joints), where the motion has it
    driven: Booleans  # which joints the motion moves, shape (joints,)
    frame_rate_hz: float
    uniform: bool  # whether the rows are equally far apart
    rests: bool  # whether it is at rest on its first and on its last row
    filled: bool  # whether they get others between them all the same
    warnings: tuple[str, ...]


def in_columns(motion: Motion, joint_map: JointMap, settings: RobotSettings) -> MotionRows:
    """Put a motion's rows into the robot's columns.

    Raises PlanError if it has no rows that joints could follow. Raises JointMapError with every joint of the
    motion that the robot does not have, and every unit that its joints cannot have.
    """
    _refuse_unplayable(motion)
    count = motion.positions.shape[1]
    columns = joint_map.columns_of(motion.name, motion.joint_names, count, settings.motion_joints)
    _refuse_units(motion, joint_map, columns)
    kept = columns >= 0
    driven = np.zeros(len(joint_map.joints), dtype=bool)
    driven[columns[kept]] = True
    positions = np.zeros((len(motion.positions), len(joint_map.joints)))
    positions[:, columns[kept]] = motion.positions[:, kept]
    _follow(joint_map, positions, driven)
    if not driven.any():
        reason, hint = "its joints follow others", "add columns of joints that follow none"
        raise PlanError(f"{motion.name}: there is nothing to play; {reason}; {hint}")
    known = _keep_followers(motion, joint_map, positions, driven)
    uniform = motion.is_uniform
    frames = np.arange(len(positions))
    return MotionRows(
        name=motion.name,
        times=frames / motion.frame_rate if uniform else motion.times - motion.times[0],
        positions=positions,
        effort=_effort_of(motion, columns, driven.size),
        driven=driven,
        frame_rate_hz=motion.frame_rate,
        uniform=uniform,
        rests=not uniform,
        filled=settings.interpolate_recordings,
        warnings=_left_out(motion, joint_map, columns, known),
    )


def _refuse_unplayable(motion: Motion) -> None:
    if motion.positions.shape[1] == 0:
        raise PlanError(f"{motion.name}: no joint positions; there is nothing to play; choose another motion")
    bad = np.flatnonzero(~np.isfinite(motion.positions).all(axis=1))
    if bad.size:
        raise PlanError(
            f"{motion.name}: frame {bad[0]} is not finite; joints cannot go there; correct the file"
        )
    far = np.argwhere(np.abs(motion.positions) > FURTHEST)
    if far.size:
        row, column = far[0]
        joint = f"joint '{motion.joint_names[column]}'" if motion.joint_names else f"joint {column}"
        value, reason = motion.positions[row, column], f"beyond {FURTHEST:g} rad or m a number is a mistake"
        raise PlanError(f"{motion.name}: frame {row} has {value:g} for {joint}; {reason}; correct the file")
    back = np.flatnonzero(np.diff(motion.times) < SAME_TIME_S)
    if back.size:
        reason = "time must rise from frame to frame"
        raise PlanError(
            f"{motion.name}: frame {back[0] + 1} is not after the one before; {reason}; correct the file"
        )


def _refuse_units(motion: Motion, joint_map: JointMap, columns: NDArray[np.intp]) -> None:
    """Raise JointMapError with every column in a unit that its joint cannot have.

    `columns`: the joint of each column, -1 of those that are left out.
    """
    stated: dict[str, Any] = motion.metadata.get("units", {})
    problems = []
    for column, joint in enumerate(columns.tolist()):
        unit = stated.get(motion.joint_names[column] if motion.joint_names else str(column))
        own, name = joint_map.units[joint], joint_map.joints[joint]
        if joint >= 0 and unit not in {None, "SI", *OF_JOINTS[own]}:
            does = "turns" if own == "rad" else "slides"
            hint = "correct the unit that the file states, or `unit` and `units` of its motion map"
            if joint_map.model is None:
                hint += f", or `joints.{name}.unit`"
            reason = f"that joint {does}, in {listed(OF_JOINTS[own])}"
            problems.append(f"{motion.name}: joint '{name}' is in {unit}; {reason}; {hint}")
    if problems:
        raise JointMapError(problems)


def _follow(joint_map: JointMap, positions: Floats, driven: Booleans) -> None:
    """Fill the columns of mimic joints whose leaders are driven, and mark them as driven too."""
    joint_map.follow(positions)
    for mimic in joint_map.mimics:
        driven[mimic.joint] = driven[mimic.leader]
    positions[:, ~driven] = 0.0


def _effort_of(motion: Motion, columns: NDArray[np.intp], joints: int) -> Floats | None:
    """Return the efforts of a motion's joints, or None."""
    efforts = motion.components.get("JointEffort")
    if not isinstance(efforts, np.ndarray) or efforts.shape != motion.positions.shape:
        return None
    effort = np.zeros((len(efforts), joints))
    effort[:, columns[columns >= 0]] = efforts[:, columns >= 0]
    return effort


def _keep_followers(motion: Motion, joint_map: JointMap, positions: Floats, driven: Booleans) -> set[str]:
    """Take a motion's own columns of mimic joints, bit for bit, where they follow but for rounding.

    So a recording, played again, puts out what was put out: also between two rows, where what follows is
    rounded once more. Returns the joints' names.
    """
    kept = set()
    for mimic in joint_map.mimics:
        name = joint_map.joints[mimic.joint]
        if not driven[mimic.joint] or name not in motion.joint_names:
            continue
        own = motion.positions[:, motion.joint_names.index(name)]
        if np.allclose(own, positions[:, mimic.joint], rtol=ROUNDING, atol=ROUNDING):
            positions[:, mimic.joint] = own
            kept.add(name)
    return kept


def _left_out(
    motion: Motion, joint_map: JointMap, columns: NDArray[np.intp], kept: set[str]
) -> tuple[str, ...]:
    """Return a warning of columns of mimic joints that are not taken; `kept`: those that are."""
    followers = [joint_map.joints[mimic.joint] for mimic in joint_map.mimics]
    names = [name for name in motion.joint_names or followers if name in followers and name not in kept]
    if (columns >= 0).all() or not names:
        return ()
    listed_names = listed(names, "'")
    return (f"columns of {listed_names} are left out; these joints follow others",)


def clipped(rows: MotionRows, joint_map: JointMap) -> MotionRows:
    """Cut positions at the limits, mimic joints' after their leaders'."""
    found = position_violations(rows.times, rows.positions, joint_map, rows.driven)
    if not found:
        return rows
    limits = joint_map.limits
    positions = np.clip(rows.positions, limits.lower, limits.upper)
    _follow(joint_map, positions, rows.driven)
    warnings = tuple(f"clipped: {violation}" for violation in found)
    return replace(rows, positions=positions, warnings=(*rows.warnings, *warnings))


FREE_RATE_HZ = 200.0  # of motions whose frames have times of their own, and of what is resampled
WORTHWHILE = 1.5  # so much higher is a rate that makes a motion smoother


@dataclass(frozen=True, slots=True)
class Ticks:
    """Rows of setpoints at the rate of the ticks."""

    rate_hz: float
    positions: Floats  # in rad or m, shape (ticks, joints)
    velocities: Floats  # in rad/s or m/s, shape (ticks, joints)
    frames_per_tick: float  # of the file; the mean, where frames have times of their own
    at_rest: bool  # whether the first and the last row are at rest

    @property
    def times(self) -> Floats:
        """When each row is due, in s, shape (ticks,)."""
        return np.arange(len(self.positions)) / self.rate_hz


def ticks_of(rows: MotionRows, speed: float, interpolation: Interpolation, max_rate_hz: float) -> Ticks:
    """Lay out a motion's rows at a share of its speed; frames with times of their own from rest to rest.

    Raises PlanError if there would be more rows than are made of such a motion.
    """
    if rows.uniform:
        rate_hz = rows.frame_rate_hz / frames_per_row(rows, max_rate_hz)
        frames_per_tick = speed * rows.frame_rate_hz / rate_hz
    else:
        rate_hz = min(FREE_RATE_HZ, max_rate_hz)
        frames_per_tick = speed * (len(rows.times) - 1) / (rows.times[-1] * rate_hz)
    at_rest, positions = rows.rests, rows.positions
    if not (rows.uniform and frames_per_tick == 1.0):
        # A last tick that falls on the last frame must not become two through rounding.
        frames, columns = rows.positions.shape
        try:
            count = rows_between(
                float(rows.times[-1]) / speed, rate_hz, frames=frames, columns=columns, slack=1e-6
            )
        except TooManyRows as error:
            slowed = f"slowed to {speed:.3g} of its speed, " if speed < 1.0 else ""
            raise PlanError(f"{rows.name}: {slowed}{error}") from error
        at = np.arange(count) * (speed / rate_hz)
        sampled = interpolate(at, rows.times, rows.positions, interpolation, at_rest=at_rest)
        positions = np.ascontiguousarray(sampled)
    at_rest = at_rest or interpolation == "smooth"
    slopes = slopes_of(positions, rate_hz, interpolation, at_rest=at_rest)
    return Ticks(float(rate_hz), positions, slopes, float(frames_per_tick), at_rest)


def better_rate_hz(rate_hz: float, max_rate_hz: float) -> float:
    """Return a higher rate for a recording's rows that a driver takes, or its own where none is worthwhile.

    It is a multiple, which keeps the rows, if one is low enough.
    """
    most = min(FREE_RATE_HZ, max_rate_hz)
    if 2.0 * rate_hz <= most:
        return rate_hz * float(np.floor(most / rate_hz * (1.0 + ROUNDING)))
    return most if WORTHWHILE * rate_hz <= most else rate_hz


def frames_per_row(rows: MotionRows, max_rate_hz: float) -> float:
    """Return how many frames of the file go by from one row to the next that the driver can take."""
    rate_hz = rows.frame_rate_hz
    if rows.filled and (better_hz := better_rate_hz(rate_hz, max_rate_hz)) > rate_hz:
        return rate_hz / better_hz
    return float(max(1.0, np.ceil(rows.frame_rate_hz / max_rate_hz)))


def frame_at(tick: int, ticks: Ticks, rows: MotionRows, speed: float) -> tuple[int, bool]:
    """Return the file's frame at a tick, or the last one before it, and whether the tick is beyond it."""
    if rows.uniform:
        return round(tick * ticks.frames_per_tick), False
    time_s = tick * speed / ticks.rate_hz
    frame = int(np.searchsorted(rows.times, time_s + SAME_TIME_S, side="right")) - 1
    frame = min(max(frame, 0), len(rows.times) - 1)
    is_beyond = time_s - rows.times[frame] > SAME_TIME_S and frame < len(rows.times) - 1
    return frame, bool(is_beyond)
