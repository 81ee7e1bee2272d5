"""Turns a motion into checked setpoints: a row of positions and velocities for each tick.

In come a motion, the joint map with the limits, and how the robot is configured; out comes a `Plan`, ready to
be mapped into the stream process, or an error with everything that stands against it. Where the driver takes
the file's frame rate, the plan's rows are the file's, bit for bit.

    ValueError
    ├── PlanError        a motion that cannot be played within the limits
    └── JointMapError    its joints do not fit the robot's
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.formats.model.motion import Motion, interpolate, pchip_slopes

from ..trajectory.ramp import FULL_RAMP
from ..trajectory.track import Track
from .violations import (
    Violation,
    accelerations_of,
    curve_violations,
    find_violations,
    position_violations,
    speeds_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from motiond.formats.model.motion import Interpolation

    from ..config.settings import RobotSettings
    from ..joints.joint_map import JointMap

    Floats: TypeAlias = NDArray[np.float64]
    Booleans: TypeAlias = NDArray[np.bool_]

FREE_RATE_HZ = 200.0  # of motions whose frames have times of their own
FASTEST = 10.0  # the highest speed factor that a play request may ask for
LONGEST_STOP = 4.0  # in units of stop_duration_s; a stop must end, even where acceleration is short
MOST_SLOWINGS = 20
SLOWEST = 0.01  # slower than this, a motion is not what its author meant


class PlanError(ValueError):
    """A motion that cannot be played within the limits.

    Attributes
    ----------
    violations : tuple of Violation
        One for each joint and kind of limit; empty where the motion itself is at fault.
    """

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


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
class _Rows:
    """A motion's rows in the robot's columns; undriven columns are 0."""

    name: str
    times: Floats
    positions: Floats
    effort: Floats | None
    driven: Booleans
    frame_rate_hz: float
    uniform: bool
    warnings: tuple[str, ...]


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
    rows = _in_columns(motion, joint_map, settings)
    if settings.on_violation == "clip":
        rows = _clipped(rows, joint_map)
    ticks, speed, warnings = _fitted(rows, joint_map, settings, max_rate_hz)
    max_speed, limiting_joint = _max_speed(ticks, joint_map, rows.driven)
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


def _in_columns(motion: Motion, joint_map: JointMap, settings: RobotSettings) -> _Rows:
    _refuse_unplayable(motion)
    count = motion.positions.shape[1]
    columns = joint_map.columns_of(motion.name, motion.joint_names, count, settings.motion_joints)
    kept = columns >= 0
    driven = np.zeros(len(joint_map.joints), dtype=bool)
    driven[columns[kept]] = True
    positions = np.zeros((len(motion.positions), len(joint_map.joints)))
    positions[:, columns[kept]] = motion.positions[:, kept]
    _follow(joint_map, positions, driven)
    uniform = motion.is_uniform
    frames = np.arange(len(positions))
    return _Rows(
        name=motion.name,
        times=frames / motion.frame_rate if uniform else motion.times - motion.times[0],
        positions=positions,
        effort=_effort_of(motion, columns, driven.size),
        driven=driven,
        frame_rate_hz=motion.frame_rate,
        uniform=uniform,
        warnings=_left_out(motion, joint_map, columns),
    )


def _refuse_unplayable(motion: Motion) -> None:
    if motion.positions.shape[1] == 0:
        raise PlanError(f"{motion.name}: no joint positions; there is nothing to play; choose another motion")
    bad = np.flatnonzero(~np.isfinite(motion.positions).all(axis=1))
    if bad.size:
        raise PlanError(
            f"{motion.name}: frame {bad[0]} is not finite; joints cannot go there; correct the file"
        )
    back = np.flatnonzero(np.diff(motion.times) <= 0)
    if back.size:
        why = "time must rise from frame to frame"
        raise PlanError(
            f"{motion.name}: frame {back[0] + 1} is not after the one before; {why}; correct the file"
        )


def _follow(joint_map: JointMap, positions: Floats, driven: Booleans) -> None:
    """Fill the columns of mimic joints whose leaders are driven, and mark them as driven too."""
    joint_map.follow(positions)
    for mimic in joint_map.mimics:
        driven[mimic.joint] = driven[mimic.leader]
    positions[:, ~driven] = 0.0


def _effort_of(motion: Motion, columns: NDArray[np.intp], joints: int) -> Floats | None:
    """Give the efforts that a motion tells for its joints, or None."""
    told = motion.components.get("JointEffort")
    if not isinstance(told, np.ndarray) or told.shape != motion.positions.shape:
        return None
    effort = np.zeros((len(told), joints))
    effort[:, columns[columns >= 0]] = told[:, columns >= 0]
    return effort


def _left_out(motion: Motion, joint_map: JointMap, columns: NDArray[np.intp]) -> tuple[str, ...]:
    if (columns >= 0).all():
        return ()
    names = [joint_map.joints[mimic.joint] for mimic in joint_map.mimics]
    listed = ", ".join(f"'{name}'" for name in motion.joint_names or names if name in names)
    return (f"columns of {listed} are left out; these joints follow others",)


def _clipped(rows: _Rows, joint_map: JointMap) -> _Rows:
    """Cut positions at the limits, mimic joints' after their leaders'."""
    limits = joint_map.limits
    positions = np.clip(rows.positions, limits.lower, limits.upper)
    _follow(joint_map, positions, rows.driven)
    found = position_violations(rows.times, rows.positions, joint_map, rows.driven)
    warnings = tuple(f"clipped: {violation}" for violation in found)
    return replace(rows, positions=positions, warnings=(*rows.warnings, *warnings))


def _fitted(
    rows: _Rows, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float
) -> tuple[_Ticks, float, tuple[str, ...]]:
    """Give ticks that keep the limits, and at which share of the file's speed: less if that is allowed."""
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
    rows: _Rows, speed: float, ticks: _Ticks, joint_map: JointMap, interpolation: Interpolation
) -> list[Violation]:
    """Hold the file's rows against the limits, then what was put between them, and the curve through it."""
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


def _ticks_of(rows: _Rows, speed: float, interpolation: Interpolation, max_rate_hz: float) -> _Ticks:
    if rows.uniform:
        rate_hz = rows.frame_rate_hz / _frames_per_row(rows, max_rate_hz)
        frames_per_tick = speed * rows.frame_rate_hz / rate_hz
    else:
        rate_hz = min(FREE_RATE_HZ, max_rate_hz)
        frames_per_tick = speed * (len(rows.times) - 1) / (rows.times[-1] * rate_hz)
    positions = rows.positions
    if not (rows.uniform and frames_per_tick == 1.0):
        # A last tick that falls on the last frame must not become two through rounding.
        count = int(np.ceil(rows.times[-1] / speed * rate_hz - 1e-6)) + 1
        at = np.arange(count) * (speed / rate_hz)
        positions = np.ascontiguousarray(interpolate(at, rows.times, rows.positions, interpolation))
    slopes = slopes_of(positions, rate_hz, interpolation)
    return _Ticks(float(rate_hz), positions, slopes, float(frames_per_tick))


def _frames_per_row(rows: _Rows, max_rate_hz: float) -> float:
    """Give how many frames of the file go by from one row to the next that the driver can take."""
    return float(max(1.0, np.ceil(rows.frame_rate_hz / max_rate_hz)))


def _thinned(rows: _Rows, max_rate_hz: float) -> tuple[str, ...]:
    """Tell of rows that are left out because the driver is too slow for them."""
    every = _frames_per_row(rows, max_rate_hz)
    if not rows.uniform or every == 1.0 or len(rows.times) < 2:
        return ()
    rate = rows.frame_rate_hz
    played = f"it is played at {rate / every:g} Hz, one row in {every:g}"
    return (f"{rate:g} frames/s are more than the driver takes, {max_rate_hz:g} Hz; {played}",)


def slopes_of(positions: Floats, rate_hz: float, interpolation: Interpolation) -> Floats:
    """Give the velocity of the curve through setpoints at each of them, shape (ticks, joints)."""
    if interpolation == "cubic":
        return pchip_slopes(np.arange(len(positions)) / rate_hz, positions)
    slopes = np.zeros_like(positions)
    if interpolation == "linear":
        slopes[:-1] = np.diff(positions, axis=0) * rate_hz
    return slopes


def _max_speed(ticks: _Ticks, joint_map: JointMap, driven: Booleans) -> tuple[float, str]:
    """Give the fastest speed factor, at least 1, and the joint that sets it."""
    if len(ticks.positions) < 2:
        return FASTEST, ""
    peaks = peak_speeds(ticks.positions, ticks.velocities, ticks.rate_hz).max(axis=0)
    changes = np.zeros_like(peaks)
    if np.isfinite(joint_map.limits.acceleration).any():
        changes = np.abs(accelerations_of(*speeds_of(ticks.times, ticks.positions))).max(axis=0)
    factor, joint = fastest_factor(peaks, changes, joint_map, driven)
    return max(1.0, factor), joint


def peak_speeds(positions: Floats, velocities: Floats, rate_hz: float) -> Floats:
    """Give the highest speed, without sign, of the cubic curve between each two rows.

    Other speeds than 1 play places between the rows. There the slope of the curve is a parabola: with the
    slopes a and b at the rows and the secant c, a + (6c - 4a - 2b) s + (3a + 3b - 6c) s² for s from 0 to 1.

    Parameters
    ----------
    positions, velocities : ndarray, shape (rows, joints)

    Returns
    -------
    ndarray, shape (rows - 1, joints)
    """
    before, after = velocities[:-1], velocities[1:]
    secants = np.diff(positions, axis=0) * rate_hz
    linear = 6.0 * secants - 4.0 * before - 2.0 * after
    square = 3.0 * (before + after) - 6.0 * secants
    turns = linear * (linear + 2.0 * square) < 0.0  # the slope of the parabola changes its sign in between
    peaks = np.divide(-(linear**2), 4.0 * square, out=np.zeros_like(secants), where=turns)
    peaks += before
    np.abs(peaks, out=peaks)
    np.maximum(peaks, np.abs(after), out=peaks)
    return np.maximum(peaks, np.abs(before), out=peaks)


def fastest_factor(
    speeds: Floats, accelerations: Floats, joint_map: JointMap, driven: Booleans
) -> tuple[float, str]:
    """Give the highest speed factor, at most `FASTEST`, within the limits, and the joint that sets it.

    Parameters
    ----------
    speeds, accelerations : ndarray, shape (joints,)
        The highest at speed 1, without sign.
    """
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
    speed: float = 1.0,
) -> tuple[float, tuple[str, ...]]:
    """Give the steepest ramp of the clock's rate r that no acceleration limit forbids, and doubts about it.

    On the path q(s) the acceleration is q'' r² + q' dr/dt; with r up to `speed` it stays within the limit A
    where |dr/dt| is at most (A - |q''| speed²) / |q'|. Where that leaves next to nothing, a stop that ends
    comes first.

    Parameters
    ----------
    positions, velocities : ndarray, shape (ticks, joints)
        Setpoints at `rate_hz`.

    Returns
    -------
    ramp : float
        In 1/s; at most that which stops from rate 1 in `stop_duration_s` (`ramp.plan_ramp`).
    """
    wanted = FULL_RAMP / stop_duration_s
    least = wanted / LONGEST_STOP
    limited = np.flatnonzero(np.isfinite(joint_map.limits.acceleration))
    if len(positions) < 2 or not limited.size:
        return wanted, ()
    steps, speeds = speeds_of(np.arange(len(positions)) / rate_hz, positions[:, limited])
    own = np.abs(accelerations_of(steps, speeds)) * speed**2
    spare = joint_map.limits.acceleration[limited] - own
    ramps = _ratio(spare, np.abs(velocities[:, limited])).min(axis=0)
    tightest = int(ramps.argmin())
    if ramps[tightest] >= least:
        return float(min(wanted, ramps[tightest])), ()
    joint = joint_map.joints[limited[tightest]]
    why = f"it may take no longer than {FULL_RAMP / least:g} s"
    return least, (
        f"a soft stop may pass the acceleration limit of joint '{joint}'; {why}; raise stop_duration_s",
    )


def _ratio(limits: Floats, values: Floats) -> Floats:
    """Give by how much each value, not negative, could grow; infinitely where it is zero or next to it."""
    with np.errstate(over="ignore"):
        return np.divide(limits, values, out=np.full(values.shape, np.inf), where=values > 0)
