"""Turns a motion into checked setpoints: a row of positions and velocities for each tick.

Where the driver takes the file's frame rate, the plan's rows are the file's, bit for bit.

    ValueError
    ├── PlanError        a motion that cannot be played within the limits
    └── JointMapError    its joints do not fit the robot's
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats import Motion
from motiond.formats.model import interpolate
from motiond.formats.registry import RECORDER

from ..joints import ROUNDING, JointMapError, joint_bounds
from ..trajectory import Track
from .columns import MotionRows, better_rate_hz, clipped, frames_per_row, in_columns
from .fitting import fastest_curve, fitted
from .speed_limits import clock_acceleration, max_speed_of
from .units import unit_doubts
from .violations import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap, Limits
    from .columns import Ticks


SMOOTH_HZ = 100.0
"""At lower rates an actuator that follows at 30 Hz is up to twice and more as fast as its joint should be."""
IN_MOTION = 2.0
"""A joint that is faster at an end than so many rows of its acceleration explain is not at rest there."""
SLIGHTLY = 1.01
"""Of a velocity limit: a curve that is no faster between rows that keep it gives way to straight lines."""
MOST_ROWS, MOST_VALUES = 500_000, 8_000_000
"""Of what is laid out for a request, and not once for all."""
JERKY, NEARBY = 3.0, 1000
"""What is so many times what the rows nearby ask for on average is no noise."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
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
        What lies between two rows: `hold`, `linear`, `cubic` or `smooth`.
    rests : bool
        Whether it is at rest on its first and on its last row, and not in full motion as a recording may be.
    warnings : tuple of str
        What was changed or left out.
    limits : Limits
        Those that it was checked against.
    physics : mapping
        By the name of each check of the robot's body, what it has found, JSON-ready.
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
    rests: bool
    warnings: tuple[str, ...]
    limits: Limits
    physics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def joints_driven(self) -> list[str]:
        """The names of the joints that it moves."""
        return [name for name, driven in zip(self.joints, self.driven, strict=True) if driven]

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


def plan(
    motion: Motion, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float, *, speed: float = 1.0
) -> Plan:
    """Check a motion against the limits and turn it into setpoints, at most at the driver's highest rate.

    `speed`: the share of its file's speed to play it at, or less if limits ask for it.

    Raises PlanError with every joint that would pass a limit, or with what is wrong with the motion itself;
    JointMapError with every joint of the motion that the robot does not have.
    """
    rows = in_columns(motion, joint_map, settings)
    doubts = tuple(unit_doubts(motion, rows, joint_map))
    # What has followed targets at a limit of velocity has its rows there, and PCHIP is faster between them;
    # an export of it does not say that it is one.
    is_recorded = motion.metadata.get("recorded_by") == RECORDER
    most = np.inf if is_recorded else SLIGHTLY
    if (
        settings.interpolation == "cubic"
        and (is_recorded or _is_at_velocity_limit(rows, joint_map))
        and 1.0 < fastest_curve(rows, joint_map, settings, max_rate_hz) <= most
    ):
        settings = settings.model_copy(update={"interpolation": "linear"})
    return _planned(rows, joint_map, settings, max_rate_hz, unit_warnings=doubts, speed=speed)


def _is_at_velocity_limit(rows: MotionRows, joint_map: JointMap) -> bool:
    """Whether the fastest step of some joint is within `SLIGHTLY` of its velocity limit."""
    if len(rows.times) < 2:
        return False
    speeds = np.abs(np.diff(rows.positions, axis=0) / np.diff(rows.times)[:, np.newaxis]).max(axis=0)
    return bool((speeds * SLIGHTLY >= joint_map.limits.velocity)[rows.driven].any())


def at_rate(planned: Plan, rate_hz: float, joint_map: JointMap, settings: RobotSettings) -> Plan:
    """Return a plan with rows at another rate, on its curve, to be played with what has that rate.

    It lasts a whole number of rows, and begins and ends on the same ones. Frames, `slowed_to` and warnings
    are those of the motion's file. Takes as long as to plan the motion.

    Raises PlanError where the rows would be too many, or are beyond a limit.
    """
    count, last = rows_at(planned, rate_hz), len(planned.positions) - 1
    most = min(MOST_ROWS, MOST_VALUES // len(planned.joints))
    at_that_rate = f"at the {rate_hz:g} rows/s of what plays"
    if count > most:
        raise PlanError(f"{planned.motion}: {at_that_rate} it has {count}; {most} are allowed; play it alone")
    rows = MotionRows(
        name=planned.motion,
        times=np.arange(count) / rate_hz,
        positions=sampled(planned, count),
        effort=None,
        driven=planned.driven,
        frame_rate_hz=rate_hz,
        uniform=True,
        rests=planned.rests,
        filled=False,
        warnings=(),
    )
    frames_per_row = planned.frames_per_tick * (last / (count - 1) if last else 1.0)
    try:
        made = _planned(rows, joint_map, settings, rate_hz)
    except PlanError as error:
        found = [replace(one, frame=int(one.frame * frames_per_row)) for one in error.violations]
        lines = [f"{planned.motion}: {at_that_rate}, {one}" for one in found]
        raise PlanError("\n".join(lines) or str(error), found) from error
    stretched = planned.duration_s / ((count - 1) / rate_hz) if last else 1.0
    return replace(
        made,
        frames_per_tick=made.frames_per_tick * frames_per_row,
        slowed_to=made.slowed_to * planned.slowed_to * stretched,
        warnings=planned.warnings,
    )


def rows_at(planned: Plan, rate_hz: float, speed: float = 1.0) -> int:
    """Return how many rows a plan has at another rate, and at a factor of its speed."""
    steps = planned.duration_s * rate_hz / speed
    return max(1, ceil(steps - 1e-6)) + 1 if len(planned.positions) > 1 else 1


def sampled(planned: Plan, count: int) -> Floats:
    """Return so many rows of a plan's curve, from its first to its last, shape (count, joints)."""
    if count == len(planned.positions):
        return planned.positions
    last = len(planned.positions) - 1
    at, rows = np.linspace(0.0, last, count), np.arange(last + 1.0)
    return interpolate(at, rows, planned.positions, planned.interpolation, at_rest=planned.rests)


def _planned(
    rows: MotionRows,
    joint_map: JointMap,
    settings: RobotSettings,
    max_rate_hz: float,
    *,
    unit_warnings: tuple[str, ...] = (),
    speed: float = 1.0,
) -> Plan:
    cuts: tuple[str, ...] = ()
    if settings.on_violation == "clip":
        before = len(rows.warnings)
        rows = clipped(rows, joint_map)
        cuts = rows.warnings[before:]
    try:
        ticks, speed, warnings = fitted(
            rows, joint_map, settings, max_rate_hz, is_cut=bool(cuts), speed=speed
        )
    except PlanError as error:
        lines = (str(error), *(f"{rows.name}: {warning}" for warning in (*cuts, *unit_warnings)))
        raise PlanError("\n".join(lines), error.violations) from error
    curve = ticks.positions, ticks.velocities, ticks.rate_hz
    max_speed, limiting_joint = max_speed_of(
        *curve, joint_map, rows.driven, interpolation=settings.interpolation
    )
    ramp, doubts = clock_acceleration(
        *curve, joint_map, settings.stop_duration_s, interpolation=settings.interpolation
    )
    # Rounding may have carried them beyond a limit; setpoints do not go there.
    lower = np.where(rows.driven, joint_map.limits.lower, -np.inf)
    upper = np.where(rows.driven, joint_map.limits.upper, np.inf)
    positions = np.clip(ticks.positions, lower, upper)
    for array in (positions, ticks.velocities, rows.driven):
        array.flags.writeable = False
    return Plan(
        motion=rows.name,
        joints=joint_map.joints,
        rate_hz=ticks.rate_hz,
        positions=positions,
        velocities=ticks.velocities,
        driven=rows.driven,
        frames_per_tick=ticks.frames_per_tick,
        slowed_to=speed,
        clock_acceleration=ramp,
        max_speed=max_speed,
        limiting_joint=limiting_joint,
        interpolation=settings.interpolation,
        rests=ticks.at_rest,
        warnings=tuple(
            f"{rows.name}: {warning}"
            for warning in (
                *unit_warnings,
                *rows.warnings,
                *_thinned(rows, max_rate_hz),
                *_coarse(rows, max_rate_hz),
                *_in_motion(ticks, rows, joint_map, joint_bounds(joint_map, settings).acceleration),
                *warnings,
                *doubts,
            )
        ),
        limits=joint_map.limits,
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
        As `plan` does; a posture beyond a limit is refused, whatever `on_violation` says. So is a mimic
        joint's position that does not follow from the others.
    """
    joint_map.columns_of(name, tuple(positions), len(positions), hint="")  # no map is for postures
    _refuse_followers(name, positions, joint_map, settings)
    row = np.array([list(positions.values())], dtype=float)
    motion = Motion(name, tuple(positions), rate_hz, np.zeros(1), row)
    return plan(motion, joint_map, settings.model_copy(update={"on_violation": "reject"}), rate_hz)


def _refuse_followers(
    name: str, positions: Mapping[str, float], joint_map: JointMap, settings: RobotSettings
) -> None:
    """Raise JointMapError with each mimic joint that would not be where a posture wants it."""
    goal, joints, problems = joint_bounds(joint_map, settings).goal, joint_map.joints, []
    for mimic in joint_map.mimics:
        follower, leader, unit = joints[mimic.joint], joints[mimic.leader], joint_map.units[mimic.joint]
        if follower not in positions:
            continue
        if leader not in positions:
            problem, reason = "has no position of its own", f"it follows '{leader}'"
            problems.append(f"{name}: joint '{follower}' {problem}; {reason}; name that instead")
            continue
        wanted, due = positions[follower], mimic.multiplier * positions[leader] + mimic.offset
        if abs(wanted - due) > (goal[mimic.joint] or ROUNDING):
            problem, reason = f"cannot be at {wanted:g} {unit}", f"it follows '{leader}', to {due:g} {unit}"
            problems.append(f"{name}: joint '{follower}' {problem}; {reason}; leave it out")
    if problems:
        raise JointMapError(problems)


def _thinned(rows: MotionRows, max_rate_hz: float) -> tuple[str, ...]:
    """Return a warning of rows that are left out because the driver is too slow for them."""
    every = frames_per_row(rows, max_rate_hz)
    if not rows.uniform or every <= 1.0 or len(rows.times) < 2:
        return ()
    rate = rows.frame_rate_hz
    played = f"it is played at {rate / every:g} Hz, one row in {every:g}"
    return (f"{rate:g} frames/s are more than the driver takes, {max_rate_hz:g} Hz; {played}",)


def _coarse(rows: MotionRows, max_rate_hz: float) -> tuple[str, ...]:
    """Return a warning of rows further apart than the driver's rate allows: joints move in steps."""
    rate_hz, better_hz = rows.frame_rate_hz, better_rate_hz(rows.frame_rate_hz, max_rate_hz)
    is_smooth = not rows.uniform or rows.filled or rate_hz >= SMOOTH_HZ or better_hz <= rate_hz
    if is_smooth or not np.ptp(rows.positions, axis=0).any():
        return ()
    reason = "each is a setpoint, with nothing between two, so that joints move in steps"
    hint = f"`motiond convert --rate {better_hz:g}` or `interpolate_recordings: true` puts rows between them"
    return (f"{rate_hz:g} frames/s are few; {reason}; {hint}",)


def _in_motion(ticks: Ticks, rows: MotionRows, joint_map: JointMap, gentle: Floats) -> tuple[str, ...]:
    """Return a warning of a recording that does not begin or end at rest, as the robot does.

    - `gentle` (ndarray, shape (joints,)): accelerations that need no warning
    """
    if not rows.uniform or len(rows.times) < 3 or len(ticks.positions) < 3:
        return ()
    frame, last = max(1, round(ticks.frames_per_tick)), len(rows.times) - 1
    parts, options = [], []
    for does, backwards, rest, option in (
        ("begins", 1, "from", f"--first {frame}"),
        ("ends", -1, "to", f"--last {last - frame}"),
    ):
        if asked := _asked_at(ticks, rows.positions[::backwards][:3], backwards, joint_map, gentle):
            parts.append(f"{does} in motion ({asked} {rest} rest)")
            options.append(option)
    if not parts:
        return ()
    reason = "actuators are asked for that within one tick"
    ease = f"play `{' '.join(options)}`, which is eased, or " if last > 3 else ""
    return (f"{' and '.join(parts)}; {reason}; {ease}let it begin and end at rest by `motiond edit --ease`",)


def _asked_at(ticks: Ticks, end: Floats, backwards: int, joint_map: JointMap, gentle: Floats) -> str:
    """Return the speed and the acceleration of the worst joint that is in motion at an end; '' if none is.

    - `end` (ndarray, shape (3, joints)): rows of the file, the outermost first
    """
    frames_per_s = ticks.frames_per_tick * ticks.rate_hz
    speed, change = (np.abs(np.diff(end, number, axis=0))[0] * frames_per_s for number in (1, 2))
    near = ticks.positions[::backwards][:NEARBY]
    asked = np.abs(np.diff(near[[0, 0, 1, 2]], 2, axis=0)).max(axis=0) * ticks.rate_hz**2
    usual = np.abs(np.diff(near, 2, axis=0)).mean(axis=0) * ticks.rate_hz**2
    asked[(speed <= IN_MOTION * change) | (asked <= JERKY * usual)] = 0.0
    joint, count = int((asked / gentle).argmax()), int(np.count_nonzero(asked > gentle))
    unit, others = joint_map.units[joint], f", the worst of {count}," if count > 1 else ""
    what = f"joint '{joint_map.joints[joint]}'{others} at {speed[joint]:.4g} {unit}/s"
    return f"{what}, {asked[joint]:.4g} {unit}/s²" if count else ""
