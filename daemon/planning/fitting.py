"""Fits a motion into the limits: finds what is beyond them, slows the motion, or advises by how much to.

The curve that is played is compared with the limits too, wherever it may go beyond its rows: a `cubic` in
speed, a `smooth` one in everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .columns import frame_at, ticks_of
from .curve import peak_accelerations, peak_positions, peak_speeds
from .violations import PlanError, curve_violations, find_violations, rounded_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config.robot import RobotSettings
    from ..joints import JointMap
    from .columns import MotionRows, Ticks
    from .violations import Violation

MOST_SLOWINGS = 20
SLOWEST = 0.01  # slower than this, a motion is not what its author meant


def fitted(
    rows: MotionRows, joint_map: JointMap, settings: RobotSettings, max_rate_hz: float
) -> tuple[Ticks, float, tuple[str, ...]]:
    """Return ticks that keep the limits, and at which share of the file's speed: less if that is allowed.

    Raises PlanError with every joint that would pass a limit; those that speed helps against name one factor
    for all.
    """
    fitting = _Fitting(rows, joint_map, settings, max_rate_hz)
    speed = 1.0
    found: list[Violation] = []
    at_full_speed: list[Violation] = []
    for _ in range(MOST_SLOWINGS):
        ticks, found = fitting.compared(rows, speed)
        at_full_speed = at_full_speed or found
        if not found:
            return ticks, speed, _slowed(speed, at_full_speed)
        if settings.on_violation != "slow" or any(one.speed_factor is None for one in found):
            break
        # A hair slower than needed: what is put between stretched rows is never quite the same curve.
        speed *= 0.999 * _needed(found)
        if speed < SLOWEST:
            break
    violations = at_full_speed
    if not any(one.speed_factor is None for one in violations):
        violations = [*violations, *(one for one in found if one.speed_factor is None)]
    violations = fitting.advised(violations)
    raise PlanError("\n".join(f"{rows.name}: {violation}" for violation in violations), violations)


def _needed(found: Sequence[Violation]) -> float:
    """Return the factor that would fix the worst of the violations that speed helps against."""
    return min((one.speed_factor for one in found if one.speed_factor is not None), default=1.0)


def _slowed(speed: float, at_full_speed: Sequence[Violation]) -> tuple[str, ...]:
    """Return the warning of a motion that was slowed, with the reason: the worst violation there was."""
    if not at_full_speed:
        return ()
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

    def advised(self, found: Sequence[Violation]) -> list[Violation]:
        """Name one factor in all violations that speed helps against: it is enough for the motion as a whole.

        The motion keeps its limits where the times of its file are divided by that factor. None where no
        factor is enough, as for steps between rows that are held.
        """
        if all(one.speed_factor is None for one in found):
            return list(found)
        factor = self._factor_from(_needed(found))
        return [one if one.speed_factor is None else replace(one, speed_factor=factor) for one in found]

    def _factor_from(self, factor: float) -> float | None:
        """Look for a factor that is enough: what is sampled of a slower curve may need a little more."""
        rows = replace(self._rows, effort=None)
        for attempt in range(MOST_SLOWINGS):
            factor = rounded_down(factor)
            slower = replace(rows, times=rows.times / factor, frame_rate_hz=rows.frame_rate_hz * factor)
            try:
                _, found = self.compared(slower, 1.0)
            except PlanError:  # too many rows
                return None
            needed = _needed(found)
            if needed == 1.0:
                return factor
            factor *= needed * 0.998**attempt
        return None

    def compared(self, rows: MotionRows, speed: float) -> tuple[Ticks, list[Violation]]:
        """Compare the file's rows with the limits, then what was put between them, and the curve there."""
        ticks = ticks_of(rows, speed, self._interpolation, self._max_rate_hz)
        joint_map = self._joint_map
        found = find_violations(rows.times / speed, rows.positions, joint_map, rows.driven, rows.effort)
        if not found and ticks.positions is not rows.positions:
            for one in find_violations(ticks.times, ticks.positions, joint_map, rows.driven):
                frame, is_beyond = frame_at(one.frame, ticks, rows, speed)
                found.append(replace(one, frame=frame, between=is_beyond))
        known = {(one.joint, one.kind) for one in found}
        found += [one for one in self._of_curve(ticks, rows, speed) if (one.joint, one.kind) not in known]
        return ticks, sorted(found, key=lambda violation: joint_map.joints.index(violation.joint))

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
