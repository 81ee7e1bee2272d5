"""Turns a motion into checked setpoints: a row of positions and velocities for each tick.

Where the driver takes the file's frame rate, the plan's rows are the file's, bit for bit.

    ValueError
    ├── PlanError        a motion that cannot be played within the limits
    └── JointMapError    its joints do not fit the robot's
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Motion
from motiond.formats.model.interpolation import TooManyRows, interpolate, rows_between

from ..trajectory.track import Track
from .columns import MotionRows, clipped, in_columns
from .speed_limits import clock_acceleration, max_speed_of, peak_speeds, slopes_of
from .violations import PlanError, Violation, curve_violations, find_violations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints.joint_map import JointMap


FREE_RATE_HZ = 200.0  # of motions whose frames have times of their own
MOST_SLOWINGS = 20
SLOWEST = 0.01  # slower than this, a motion is not what its author meant


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Checked setpoints, one row a tick.

    Attributes
    ----------
    positions, velocities : ndarray, shape (ticks, joints)
        In rad or m and rad/s or m/s, C-contiguous, read-only; 0 in columns that are not driven.
    driven : ndarray of bool, shape (joints,)
        The joints that this motion moves; the others hold.
    frames_per_tick : float
        Frames of the file from one tick to the next.
    slowed_to : float
        The share of the file's speed that its rows are laid out for; 1 unless limits asked for less.
    clock_acceleration : float
        In 1/s: the steepest ramp of the trajectory clock's rate within the acceleration limits.
    max_speed : float
        The fastest speed factor within the limits.
    limiting_joint : str
        The joint that sets `max_speed`; '' where none does.
    interpolation : str
        What lies between two rows: `hold`, `linear` or `cubic`.
    warnings : tuple of str
        What was changed or left out.
    """

    motion: str
    joints: tuple[str, ...]
    rate_hz: float
    positions: Floats
    velocities: Floats
    driven: Booleans
    frames_per_tick: float
    slowed_to: float
    clock_acceleration: float
    max_speed: float
    limiting_joint: str
    interpolation: Interpolation
    warnings: tuple[str, ...]

    @property
    def track(self) -> Track:
        """The rows as the stream process maps them."""
        return Track(
            self.positions,
            self.velocities,
            self.driven,
            self.rate_hz,
            self.clock_acceleration,
            self.interpolation,
        )

    @property
    def duration_s(self) -> float:
        """From the first row to the last."""
        return (len(self.positions) - 1) / self.rate_hz


@dataclass(frozen=True, slots=True)
class _Ticks:
    """Rows of setpoints at the rate of the ticks."""

    rate_hz: float
    positions: Floats
    velocities: Floats
    frames_per_tick: float

    @property
    def times(self) -> Floats:
        return np.arange(len(self.positions)) / self.rate_hz


def plan(motion: Motion, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float) -> Plan:
    """Check a motion against the limits and turn it into setpoints.

    Parameters
    ----------
    max_rate_hz : float
        The highest rate at which the driver takes setpoints.

    Raises
    ------
    PlanError
        With every joint that would pass a limit, or with what is wrong with the motion itself.
    JointMapError
        With every joint of the motion that the robot does not have.
    """
    rows = in_columns(motion, joint_map, settings)
    if settings.on_violation == "clip":
        rows = clipped(rows, joint_map)
    ticks, speed, warnings = _fitted(rows, joint_map, settings, max_rate_hz)
    max_speed, limiting_joint = max_speed_of(
        ticks.positions, ticks.velocities, ticks.rate_hz, joint_map, rows.driven
    )
    ramp, doubts = clock_acceleration(
        ticks.positions, ticks.velocities, ticks.rate_hz, joint_map, settings.stop_duration_s
    )
    for array in (ticks.positions, ticks.velocities, rows.driven):
        array.flags.writeable = False
    return Plan(
        motion=motion.name,
        joints=joint_map.joints,
        rate_hz=ticks.rate_hz,
        positions=ticks.positions,
        velocities=ticks.velocities,
        driven=rows.driven,
        frames_per_tick=ticks.frames_per_tick,
        slowed_to=speed,
        clock_acceleration=ramp,
        max_speed=max_speed,
        limiting_joint=limiting_joint,
        interpolation=settings.interpolation,
        warnings=tuple(
            f"{motion.name}: {warning}"
            for warning in (*rows.warnings, *_thinned(rows, max_rate_hz), *warnings, *doubts)
        ),
    )


def plan_pose(
    name: str,
    positions: Mapping[str, float],
    joint_map: JointMap,
    settings: RobotSettings,
    rate_hz: float,
) -> Plan:
    """Plan a posture to go to: a motion of one row, so that the approach is all there is to it.

    Parameters
    ----------
    positions : mapping of str to float
        By joint, in rad or m; the other joints hold.
    rate_hz : float
        Ticks per second on the way.

    Raises
    ------
    PlanError, JointMapError
        As `plan` does; a posture beyond a limit is refused, whatever `on_violation` says.
    """
    row = np.array([list(positions.values())], dtype=float)
    motion = Motion(name, tuple(positions), rate_hz, np.zeros(1), row)
    return plan(motion, joint_map, settings.model_copy(update={"on_violation": "reject"}), rate_hz)


def _fitted(
    rows: MotionRows, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float
) -> tuple[_Ticks, float, tuple[str, ...]]:
    """Return ticks that keep the limits, and at which share of the file's speed: less if that is allowed."""
    speed, slowest = 1.0, None
    for _ in range(MOST_SLOWINGS):
        ticks = _ticks_of(rows, speed, settings.interpolation, max_rate_hz)
        found = _violations(rows, speed, ticks, joint_map, settings.interpolation)
        if not found:
            return ticks, speed, (f"slowed to {speed:.3g} of its speed: {slowest}",) if slowest else ()
        if settings.on_violation != "slow" or any(one.speed_factor is None for one in found):
            break
        worst = min(found, key=lambda violation: violation.speed_factor or 0.0)
        slowest = slowest or worst
        # A hair slower than needed: what is put between stretched rows is never quite the same curve.
        speed *= 0.999 * (worst.speed_factor or 0.0)
        if speed < SLOWEST:
            break
    raise PlanError("\n".join(f"{rows.name}: {violation}" for violation in found), found)


def _violations(
    rows: MotionRows, speed: float, ticks: _Ticks, joint_map: JointMap, interpolation: Interpolation
) -> list[Violation]:
    """Compare the file's rows with the limits, then what was put between them, and the curve through it."""
    found = find_violations(rows.times / speed, rows.positions, joint_map, rows.driven, rows.effort)
    if not found and ticks.positions is not rows.positions:
        between = find_violations(ticks.times, ticks.positions, joint_map, rows.driven)
        found = [replace(one, frame=round(one.frame * ticks.frames_per_tick)) for one in between]
    if interpolation != "cubic" or len(ticks.positions) < 2:
        return found
    peaks = peak_speeds(ticks.positions, ticks.velocities, ticks.rate_hz)
    too_fast = {one.joint for one in found if one.kind == "velocity"}
    curve = curve_violations(ticks.times, peaks, joint_map, rows.driven)
    found += [
        replace(one, frame=int(one.frame * ticks.frames_per_tick))
        for one in curve
        if one.joint not in too_fast
    ]
    return sorted(found, key=lambda violation: joint_map.joints.index(violation.joint))


def _ticks_of(rows: MotionRows, speed: float, interpolation: Interpolation, max_rate_hz: float) -> _Ticks:
    if rows.uniform:
        rate_hz = rows.frame_rate_hz / _frames_per_row(rows, max_rate_hz)
        frames_per_tick = speed * rows.frame_rate_hz / rate_hz
    else:
        rate_hz = min(FREE_RATE_HZ, max_rate_hz)
        frames_per_tick = speed * (len(rows.times) - 1) / (rows.times[-1] * rate_hz)
    positions = rows.positions
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
        positions = np.ascontiguousarray(interpolate(at, rows.times, rows.positions, interpolation))
    slopes = slopes_of(positions, rate_hz, interpolation)
    return _Ticks(float(rate_hz), positions, slopes, float(frames_per_tick))


def _frames_per_row(rows: MotionRows, max_rate_hz: float) -> float:
    """Return how many frames of the file go by from one row to the next that the driver can take."""
    return float(max(1.0, np.ceil(rows.frame_rate_hz / max_rate_hz)))


def _thinned(rows: MotionRows, max_rate_hz: float) -> tuple[str, ...]:
    """Return a warning of rows that are left out because the driver is too slow for them."""
    every = _frames_per_row(rows, max_rate_hz)
    if not rows.uniform or every == 1.0 or len(rows.times) < 2:
        return ()
    rate = rows.frame_rate_hz
    played = f"it is played at {rate / every:g} Hz, one row in {every:g}"
    return (f"{rate:g} frames/s are more than the driver takes, {max_rate_hz:g} Hz; {played}",)
