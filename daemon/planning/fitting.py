"""Fits a motion into the limits: finds what is beyond them, slows the motion, or says how slow it would get.

The curve that is played is compared with the limits too, wherever it may go beyond its rows: a `cubic` in
speed, a `smooth` one in everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .columns import frame_at, ticks_of
from .curve import peak_accelerations, peak_positions, peak_speeds
from .violations import PlanError, curve_violations, find_violations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config.robot import RobotSettings
    from ..joints import JointMap
    from .columns import MotionRows, Ticks
    from .violations import Violation

MOST_SLOWINGS = 20
SLOWEST = 0.01  # slower than this, a motion is not what its author meant
MOST_ADVISED_VALUES = 8_000_000


def fitted(
    rows: MotionRows,
    joint_map: JointMap,
    settings: RobotSettings,
    max_rate_hz: float,
    *,
    is_cut: bool = False,
    speed: float = 1.0,
) -> tuple[Ticks, float, tuple[str, ...]]:
    """Return ticks that keep the limits, and at which share of the file's speed: less if that is allowed.

    Raises PlanError with every joint that would pass a limit; those that `on_violation: slow` helps against
    name the speed that it gives the motion.

    `is_cut`: whether positions were clipped, which `slow` would refuse, so that it is no advice. `speed`: the
    share to begin with.
    """
    fitting = _Fitting(rows, joint_map, settings, max_rate_hz)
    ticks, found = fitting.compared(rows, speed)
    if not found:
        return ticks, speed, ()
    may_slow, factor = settings.on_violation == "slow", None
    try:
        slowest = SLOWEST if may_slow else fitting.slowest_advised
        if slower := None if is_cut else fitting.slowed(found, slowest, speed):
            ticks, speed, left = slower
            if may_slow and not left:
                return ticks, speed, _slowed(speed, found)
            known = {(one.joint, one.kind) for one in found}
            new = [one for one in left if (one.joint, one.kind) not in known]
            # What only the slower curve passes, slowness does not help against.
            factor = None if new else float(f"{speed:.3g}")
            found = [*found, *new]
    except PlanError:  # too many rows
        if may_slow and all(one.speed_factor is not None for one in found):
            raise
    if may_slow and factor:
        found = [one for one in found if one.speed_factor is None]
    violations = [one if one.speed_factor is None else replace(one, speed_factor=factor) for one in found]
    raise PlanError("\n".join(f"{rows.name}: {violation}" for violation in violations), violations)


def fastest_curve(
    rows: MotionRows, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float
) -> float:
    """Return how fast the curve between rows is, as a share of a limit, where that is all that is beyond one.

    0 where nothing is, or something else.
    """
    _, found = _Fitting(rows, joint_map, settings, max_rate_hz).compared(rows, 1.0)
    is_all = all(one.between and one.kind == "velocity" for one in found)
    return max((one.value / one.limit for one in found), default=0.0) if is_all else 0.0


def _needed(found: Sequence[Violation]) -> float:
    """Return the factor that would fix the worst of the violations that speed helps against."""
    return min((one.speed_factor for one in found if one.speed_factor is not None), default=1.0)


def _slowed(speed: float, at_full_speed: Sequence[Violation]) -> tuple[str, ...]:
    """Return the warning of a motion that was slowed, with the reason: the worst violation there was."""
    worst = min(at_full_speed, key=lambda violation: violation.speed_factor or 0.0)
    return (f"slowed to {speed:.3g} of its speed: {replace(worst, speed_factor=None)}",)


class _Fitting:
    """One motion against the limits of one robot."""

    def __init__(
        self, rows: MotionRows, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float
    ) -> None:
        self._rows, self._joint_map = rows, joint_map
        self._interpolation = settings.interpolation
        self._max_rate_hz = max_rate_hz

    @property
    def slowest_advised(self) -> float:
        """What is only advised may not cost more memory than motions do that are played."""
        return max(SLOWEST, min(0.5, self._rows.positions.size / MOST_ADVISED_VALUES))

    def slowed(
        self, found: Sequence[Violation], slowest: float, speed: float = 1.0
    ) -> tuple[Ticks, float, list[Violation]] | None:
        """Slow the motion until only what speed does not help against is left; None if it cannot be.

        - `found`: what it breaks at the `speed` to begin with
        - `slowest`: the speed below which it is not tried
        """
        for _ in range(MOST_SLOWINGS if _needed(found) < 1.0 else 0):
            # A hair slower than needed: what is put between stretched rows is never quite the same curve.
            speed *= 0.999 * _needed(found)
            if speed < slowest:
                break
            ticks, left = self.compared(self._rows, speed)
            if _needed(left) == 1.0:
                return ticks, speed, left
            found = left
        return None

    def compared(self, rows: MotionRows, speed: float) -> tuple[Ticks, list[Violation]]:
        """Compare the file's rows with the limits, then what was put between them, and the curve there."""
        ticks = ticks_of(rows, speed, self._interpolation, self._max_rate_hz)
        joint_map = self._joint_map
        found = find_violations(rows.times / speed, rows.positions, joint_map, rows.driven, rows.effort)
        is_as_filed = ticks.positions is rows.positions
        found = [self._at_end(one, rows, speed, at_once=is_as_filed and not ticks.at_rest) for one in found]
        more = []
        if not is_as_filed and _needed(found) == 1.0:
            for one in find_violations(ticks.times, ticks.positions, joint_map, rows.driven):
                frame, is_beyond = frame_at(one.frame, ticks, rows, speed)
                placed = replace(one, frame=frame, between=is_beyond)
                more.append(self._at_end(placed, rows, speed, at_once=not ticks.at_rest))
        for others in (more, self._of_curve(ticks, rows, speed)):
            known = {(one.joint, one.kind) for one in found}
            found += [one for one in others if (one.joint, one.kind) not in known]
        return ticks, sorted(found, key=lambda violation: joint_map.joints.index(violation.joint))

    def _at_end(self, one: Violation, rows: MotionRows, speed: float, *, at_once: bool) -> Violation:
        """Name the speed that a recording begins or ends with, where that is what is beyond a limit."""
        if one.kind != "acceleration" or not rows.uniform or one.frame not in {0, len(rows.times) - 1}:
            return one
        ends = rows.positions[:2] if one.frame == 0 else rows.positions[-2:]
        step = abs(float(np.diff(ends[:, self._joint_map.joints.index(one.joint)])[0]))
        # A step in speed at the first tick is made within one, which gets no longer as the motion is slowed.
        factor = one.limit / one.value if at_once and one.frame == 0 else one.speed_factor
        return replace(one, end_speed=step * rows.frame_rate_hz * speed, speed_factor=factor)

    def _of_curve(self, ticks: Ticks, rows: MotionRows, speed: float) -> list[Violation]:
        """Compare the curve between the rows with the limits."""
        if self._interpolation not in {"cubic", "smooth"} or len(ticks.positions) < 2:
            return []
        curve = ticks.positions, ticks.velocities, ticks.rate_hz
        lowest, highest, accelerations = None, None, None
        if self._interpolation == "smooth":
            lowest, highest = peak_positions(*curve)
            if np.isfinite(self._joint_map.limits.acceleration[rows.driven]).any():
                accelerations = peak_accelerations(*curve, self._interpolation)
        found = curve_violations(
            ticks.times,
            peak_speeds(*curve),
            self._joint_map,
            rows.driven,
            lowest=lowest,
            highest=highest,
            accelerations=accelerations,
        )
        frames_per_tick = ticks.frames_per_tick
        return [
            replace(
                one,
                frame=int(one.frame * frames_per_tick)
                if rows.uniform
                else frame_at(one.frame, ticks, rows, speed)[0],
            )
            for one in found
        ]
