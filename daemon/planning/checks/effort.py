"""Whether actuators are strong enough for a motion, before it is played: inverse dynamics of its rows.

At a factor s of its speed, a row needs `c0 + c1 s + c2 s²` of each joint: its weight, springs and dry
friction do not change with speed, damping grows with it, inertial and centrifugal efforts with its square. So
the speeds at which a limit is reached are roots, of a parabola for each row, and for the root mean square of
all rows of a polynomial of degree four.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...joints import with_rounding
from ..violations import Violation
from .plan_check import PlanFindings, never, whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ...config.robot import EffortSettings
    from ...joints import JointMap
    from ...trajectory import Track
    from ..planner import Plan
    from .plan_check import Meanwhile

ROWS_AT_ONCE = 2048
SLOWEST = 0.01
"""Slower than this, a motion is not what its author meant."""
DIGITS = 4
DECIMALS = 9
"""What is less, in N·m or N, is what rounding leaves of nothing."""


class ByPowers(Protocol):
    """Inverse dynamics by how efforts grow with speed, as `physics.Dynamics` has them."""

    def by_powers(self, positions: Floats, velocities: Floats, accelerations: Floats) -> Floats:
        """Return c0, c1 and c2 of the loads of joints, shape (3, rows, joints)."""


@dataclass(frozen=True, slots=True)
class Loads:
    """What rows ask of each joint's actuator, arrays of shape (joints,), in N·m or N, without sign.

    - `peak`, `peak_row`: the highest effort, and where
    - `rms`: the root mean square over all rows
    - `worst`, `worst_row`: the highest at any speed up to that of the rows, and where
    - `beyond`: how many rows are beyond the limit so
    - `fits_to`, `rms_fits_to`: up to these factors of the speed, efforts and their root mean square stay
      within their limits, whatever the factor; 0 where they do not at any speed, infinite where at all
    """

    peak: Floats
    peak_row: Floats
    rms: Floats
    worst: Floats
    worst_row: Floats
    beyond: Floats
    fits_to: Floats
    rms_fits_to: Floats


def loads_of(
    dynamics: ByPowers,
    positions: Floats,
    rate_hz: float,
    limit: Floats,
    continuous: Floats,
    *,
    rests: bool = True,
    speed: float = 1.0,
    stopped: Callable[[], bool] = never,
) -> Loads:
    """Compare what rows ask for with limits.

    `positions` (rows, joints): in rad or m. `limit`, `continuous` (joints,): in N·m or N, infinite for none.
    `rests`: whether the rows begin and end at rest. `speed`: at which factor of `rate_hz` they are played.
    """
    count = positions.shape[1]
    limit, continuous = with_rounding(limit), with_rounding(continuous)
    peak, worst, beyond = np.zeros((3, count))
    peak_row, worst_row = np.zeros((2, count))
    fits_to, sums, rows = np.full(count, np.inf), np.zeros((5, count)), 0
    for first, powers in _by_powers(dynamics, positions, speed * rate_hz, rests=rests):
        efforts, amounts = np.abs(powers.sum(axis=0)), _highest(powers)
        _keep_highest(efforts, first, peak, peak_row)
        _keep_highest(amounts, first, worst, worst_row)
        beyond += np.count_nonzero(amounts > limit, axis=0)
        np.minimum(fits_to, _fits_to(powers, limit), out=fits_to)
        sums += _squares(powers)
        rows += len(efforts)
        if stopped():
            break
    squares = sums / max(1, rows)
    rms = np.sqrt(np.maximum(squares.sum(axis=0), 0.0))
    rms_fits_to = np.array([_first_root(*one) for one in zip(squares.T, continuous, strict=True)])
    return Loads(peak, peak_row, rms, worst, worst_row, beyond, fits_to, rms_fits_to)


def _by_powers(
    dynamics: ByPowers, positions: Floats, rate_hz: float, *, rests: bool
) -> Iterator[tuple[int, Floats]]:
    """Yield the number of the first of some rows, and c0, c1 and c2 of these, shape (3, rows, joints)."""
    before, after = positions[:1], positions[-1:]
    if not rests and len(positions) > 1:
        before, after = 2 * before - positions[1:2], 2 * after - positions[-2:-1]
    for first in range(0, len(positions), ROWS_AT_ONCE):
        last = min(len(positions), first + ROWS_AT_ONCE)
        rows = positions[first:last]
        earlier = positions[first - 1 : last - 1] if first else np.concatenate((before, rows[:-1]))
        later = positions[first + 1 : last + 1]
        if last == len(positions):
            later = np.concatenate((later, after))
        velocities = (later - earlier) * (rate_hz / 2.0)
        accelerations = (later - 2.0 * rows + earlier) * rate_hz**2
        yield first, dynamics.by_powers(rows, velocities, accelerations)


def _keep_highest(amounts: Floats, first: int, highest: Floats, row: Floats) -> None:
    rows = amounts.argmax(axis=0)
    found = amounts[rows, np.arange(rows.size)]
    higher = found > highest
    highest[higher], row[higher] = found[higher], first + rows[higher]


def _highest(powers: Floats) -> Floats:
    """Return the highest effort of each row at any factor from 0 to 1, shape (rows, joints)."""
    still, rubs, moves = powers
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.nan_to_num(np.clip(-rubs / (2.0 * moves), 0.0, 1.0))
    factors = (0.0, 1.0, between)
    highest: Floats = np.max([np.abs(still + factor * (rubs + factor * moves)) for factor in factors], axis=0)
    return highest


def _fits_to(powers: Floats, limit: Floats) -> Floats:
    """Return for each joint, (joints,), the lowest factor at which a row reaches its limit."""
    still, rubs, moves = powers
    lowest = np.full(limit.shape, np.inf)
    for sign in (1.0, -1.0):
        # The lowest root above 0 of a s² + b s - room = 0, without differences of near numbers.
        room, b, a = limit - sign * still, sign * rubs, sign * moves
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(b * b + 4.0 * a * room)
            falling = np.where(a > 0.0, (root - b) / (2.0 * a), np.inf)
            factors = np.where(b < 0.0, falling, 2.0 * room / (b + root))
        factors[np.isnan(factors)] = np.inf
        factors[room < 0.0] = 0.0
        np.minimum(lowest, factors.min(axis=0), out=lowest)
    return lowest


def _squares(powers: Floats) -> Floats:
    """Return the sums of squares of rows by powers of the factor from 0 to 4, shape (5, joints)."""
    c0, c1, c2 = powers
    products = (c0 * c0, 2 * c0 * c1, c1 * c1 + 2 * c0 * c2, 2 * c1 * c2, c2 * c2)
    return np.array([product.sum(axis=0) for product in products])


def _first_root(squares: Floats, continuous: float) -> float:
    """Return the lowest factor at which the root mean square of efforts is that which an actuator bears."""
    if math.isinf(continuous):
        return math.inf
    if squares[0] > continuous**2:
        return 0.0
    roots = np.roots([*squares[:0:-1], squares[0] - continuous**2])
    real = roots.real[np.abs(roots.imag) <= 1e-9 * np.maximum(1.0, np.abs(roots))]
    return float(min(real[real > 0.0], default=math.inf))


class EffortCheck:
    """Holds efforts to the limits of joints, and their root mean square to what actuators bear for long.

    - `dynamics`: of the robot and what it carries
    - `notes` (sequence of str): what is missing from its efforts
    - `warnings` (sequence of str): what of the description may not be meant
    """

    name = "effort"
    depends_on_speed = True

    def __init__(
        self,
        dynamics: ByPowers,
        settings: EffortSettings,
        notes: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        self.notes, self.warnings = notes, warnings
        self._dynamics = dynamics
        self._settings = settings
        self.slows = settings.on_violation == "slow"
        self.refuses_unseen = settings.on_violation != "warn"

    def of_plan(self, planned: Plan, joint_map: JointMap, stopped: Callable[[], bool]) -> PlanFindings:
        """Look at a motion, as `PlanCheck`."""
        rows = whole_rows(planned, joint_map)
        loads = self._loads(rows, planned.rate_hz, joint_map, rests=planned.rests, stopped=stopped)
        if len(rows) == 1:
            loads = _of_posture(loads)
        found = self._found(loads, joint_map, planned.rate_hz, planned.frames_per_tick)
        warnings = (*found.warnings, *self._lasting(rows[-1], joint_map))
        return replace(found, warnings=warnings, about=_about(loads, joint_map, planned.rate_hz))

    def of_way(self, way: Track, meanwhile: Meanwhile, joint_map: JointMap) -> PlanFindings:
        """Look at an approach or a blend, as `PlanCheck`; it is too short to be held to what lasts.

        A joint that bears more than its limit already where it begins may go on, as it may have to come down.
        """
        if not len(way.positions):
            return PlanFindings()
        loads = self._loads_of(way, meanwhile, joint_map)
        begin = np.where(way.driven, way.positions[0], meanwhile.held)[None]
        still = np.abs(self._dynamics.by_powers(begin, np.zeros_like(begin), np.zeros_like(begin))[0, 0])
        fits_to = np.where(still > joint_map.limits.effort, np.inf, loads.fits_to)
        brief = replace(loads, fits_to=fits_to, rms_fits_to=np.full_like(fits_to, np.inf))
        return self._found(brief, joint_map, way.rate_hz, is_way=True)

    def of_held(self, track: Track, meanwhile: Meanwhile, joint_map: JointMap) -> PlanFindings:
        """Look at a posture; look again at a motion that leaves joints alone.

        These may not be where the description begins.
        """
        is_posture = len(track.positions) == 1
        if track.driven.all() and not is_posture:
            return PlanFindings()
        loads = self._loads_of(track, meanwhile, joint_map)
        found = self._found(_of_posture(loads) if is_posture else loads, joint_map, track.rate_hz)
        last = np.where(track.driven, track.positions[-1], meanwhile.held)
        return replace(found, warnings=(*found.warnings, *self._lasting(last, joint_map)))

    def _lasting(self, posture: Floats, joint_map: JointMap) -> Iterator[str]:
        """Yield which joints bear more where the robot comes to rest than their actuators do for any time."""
        rows = posture[None]
        still = np.abs(self._dynamics.by_powers(rows, np.zeros_like(rows), np.zeros_like(rows))[0, 0])
        limits = joint_map.limits.effort, joint_map.limits.continuous_effort
        most, lasting = map(with_rounding, limits)
        for joint in np.flatnonzero((still > lasting) & (still <= most)):  # else it is refused
            unit = "N·m" if joint_map.units[joint] == "rad" else "N"
            name, bears = joint_map.joints[joint], f"{still[joint]:.3g} {unit}"
            problem = f"joint '{name}' bears {bears} where it comes to rest"
            reason = f"its continuous effort limit is {limits[1][joint]:.3g} {unit}"
            yield f"{problem}; {reason}; do not hold it there for long"

    def _loads_of(self, track: Track, meanwhile: Meanwhile, joint_map: JointMap) -> Loads:
        """Return the loads of rows that may begin and end in motion, as those of a blend do."""
        rows = np.where(track.driven, track.positions, meanwhile.held)
        return self._loads(
            rows, track.rate_hz, joint_map, rests=False, speed=meanwhile.speed, stopped=meanwhile.stopped
        )

    def _loads(self, positions: Floats, rate_hz: float, joint_map: JointMap, **how: Any) -> Loads:
        efforts = joint_map.limits.effort, joint_map.limits.continuous_effort
        return loads_of(self._dynamics, positions, rate_hz, *efforts, **how)

    def _found(
        self,
        loads: Loads,
        joint_map: JointMap,
        rate_hz: float,
        frames_per_row: float | None = None,
        *,
        is_way: bool = False,
    ) -> PlanFindings:
        """Return what follows from loads by the configuration.

        `frames_per_row`: of a motion that may be slowed; None of what is about to begin as it is.
        `is_way`: whether it may be slowed all the same.
        """
        factors = np.minimum(loads.fits_to, loads.rms_fits_to)
        joint = int(factors.argmin())
        factor, does = float(factors[joint]), self._settings.on_violation
        if factor >= 1.0 or does == "warn":
            free = factor if factor >= 1.0 else math.inf
            warnings = tuple(str(one) for one in _violations(loads, joint_map, rate_hz, frames_per_row, None))
            return PlanFindings(warnings=warnings, max_speed=free, limiting_joint=joint_map.joints[joint])
        may_slow = frames_per_row is not None or (is_way and self.slows)
        advised = factor if factor >= SLOWEST and may_slow else None
        violations = tuple(_violations(loads, joint_map, rate_hz, frames_per_row, advised))
        if does == "slow" and advised:
            worst = next(one for one in violations if one.joint == joint_map.joints[joint])
            return PlanFindings(slower=factor, because=str(replace(worst, speed_factor=None)))
        return PlanFindings(refusals=violations)


def _of_posture(loads: Loads) -> Loads:
    """Return the loads of a posture, of which `EffortCheck` warns where they are too much for long."""
    return replace(loads, rms_fits_to=np.full_like(loads.rms_fits_to, np.inf))


def _violations(
    loads: Loads, joint_map: JointMap, rate_hz: float, frames_per_row: float | None, factor: float | None
) -> Iterator[Violation]:
    """Yield one for each joint and kind of limit; `factor`: at which there would be none."""
    limits, sources = joint_map.limits, joint_map.limit_sources
    for joint, name in enumerate(joint_map.joints):
        unit = "N·m" if joint_map.units[joint] == "rad" else "N"
        if loads.fits_to[joint] < 1.0:
            row = loads.worst_row[joint]
            yield Violation(
                joint=name,
                kind="effort",
                time_s=float(row / rate_hz),
                frame=int(row * (frames_per_row or 1.0)),
                count=int(loads.beyond[joint]),
                value=float(loads.worst[joint]),
                limit=float(limits.effort[joint]),
                unit=unit,
                speed_factor=factor,
                limit_is_configured=(name, "effort") in joint_map.configured_limits,
                limited_by=sources.get((name, "effort"), ""),
                slowed_by="effort.on_violation",
                is_still=bool(loads.fits_to[joint] == 0.0),
            )
        if loads.rms_fits_to[joint] < 1.0:
            yield Violation(
                joint=name,
                kind="continuous_effort",
                time_s=0.0,
                frame=0,
                count=1,
                value=float(loads.rms[joint]),
                limit=float(limits.continuous_effort[joint]),
                unit=unit,
                speed_factor=factor,
                limit_is_configured=(name, "continuous_effort") in joint_map.configured_limits,
                limited_by=sources.get((name, "continuous_effort"), ""),
                slowed_by="effort.on_violation",
                is_still=bool(loads.rms_fits_to[joint] == 0.0),
            )


def _about(loads: Loads, joint_map: JointMap, rate_hz: float) -> dict[str, Any]:
    """Return peak and root mean square of each joint's load beside its limits, JSON-ready."""
    limits = joint_map.limits
    own: Booleans = np.isfinite(joint_map.transmission.effort_factor)
    return {
        "joints": [
            {
                "joint": name,
                "unit": "N·m" if joint_map.units[joint] == "rad" else "N",
                "peak": _brief(loads.peak[joint]),
                "time": round(float(loads.peak_row[joint] / rate_hz), 3),
                "limit": _brief(limits.effort[joint]),
                "rms": _brief(loads.rms[joint]),
                "continuous": _brief(limits.continuous_effort[joint]),
            }
            for joint, name in enumerate(joint_map.joints)
            if own[joint]
        ]
    }


def _brief(value: float) -> float | None:
    return float(f"{round(value, DECIMALS):.{DIGITS}g}") if math.isfinite(value) else None
