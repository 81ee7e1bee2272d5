"""Whether setpoints stay within a robot's limits, and by how much they do not.

There is one `Violation` for each joint and kind of limit, with the worst value. Speeds are steps between rows
over their time; accelerations are the differences of these, from rest before the first row and to rest after
the last. A curve through rows may be faster than its steps, or go beyond them: a violation of its own.

    ValueError
    └── PlanError    a motion that cannot be played within the limits
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..joints import with_rounding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from motiond.formats.arrays import Floats

    from ..joints import JointMap, Unit


Kind = Literal["lower", "upper", "velocity", "acceleration", "effort", "continuous_effort"]

MOST_DIGITS = 6

_SAYS: dict[Kind, tuple[str, str, str]] = {
    "lower": ("reaches", "raise the motion", "lower"),
    "upper": ("reaches", "lower the motion", "raise"),
    "velocity": ("moves at", "", "raise"),
    "acceleration": ("accelerates at", "", "raise"),
    "effort": ("needs", "lighten the motion", "raise"),
    "continuous_effort": ("needs, as root mean square,", "lighten it, let it rest in between", "raise"),
}
_UNITS: dict[Kind, dict[Unit, str]] = {
    "lower": {"rad": "rad", "m": "m"},
    "upper": {"rad": "rad", "m": "m"},
    "velocity": {"rad": "rad/s", "m": "m/s"},
    "acceleration": {"rad": "rad/s²", "m": "m/s²"},
    "effort": {"rad": "N·m", "m": "N"},
    "continuous_effort": {"rad": "N·m", "m": "N"},
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One joint beyond one of its limits.

    - `time_s`, `frame`, `value`: of the worst place; the value in `unit`, without sign unless it is a
      position
    - `count`: the number of frames beyond the limit
    - `speed_factor`: at this factor of its speed the motion would fit: of a `PlanError`, the one that
      `on_violation: slow` gives it, which is enough for all its violations. None where speed does not help.
    - `slowed_by`: the option that slows it so
    - `is_still`: an effort that is beyond its limit without any motion, by weight alone
    - `limit_is_configured`: by the configuration rather than the model or an actuator
    - `between`: after that frame, where the curve between two rows goes beyond them
    - `limited_by`: where the limit of an actuator comes from; '' where it is the model's or the
      configuration's
    - `end_speed`: of a recording that begins or ends in motion where its acceleration is beyond the limit:
      how fast it is there. None elsewhere.
    """

    joint: str
    kind: Kind
    time_s: float
    frame: int
    count: int
    value: float
    limit: float
    unit: str
    speed_factor: float | None
    limit_is_configured: bool
    between: bool = False
    limited_by: str = ""
    end_speed: float | None = None
    slowed_by: str = "on_violation"
    is_still: bool = False

    def __str__(self) -> str:
        does, others, change = _SAYS[self.kind]
        value, limit = _distinct(self.value, self.limit)
        # What rounding hides is shown by itself, as all digits of a float are hard to read.
        by = f", passed by {abs(self.value - self.limit):.3g} {self.unit}" if value == limit else ""
        worst = f", the worst of {self.count}" if self.count > 1 else ""
        after = "after " if self.between else ""
        where = f"at {self.time_s:.3f} s ({after}frame {self.frame}{worst})"
        if self.kind == "continuous_effort":
            where = "over the whole motion"
        if self.is_still:
            where += ", and too much at any speed"
            others = "lighten the payload, choose another posture"
        hints = [others]
        if self.end_speed is not None:
            end = "begins" if self.frame == 0 else "ends"
            does = f"{end} at {self.end_speed:.3g} {self.unit.removesuffix('²')} and {does}"
            hints = ["let the motion begin and end at rest by `motiond edit --ease`"]
        if self.speed_factor is not None:
            hints.append(f"let `{self.slowed_by}: slow` slow it to {self.speed_factor:.3g} of its speed")
        setting = f"`joints.{self.joint}.limits.{self.kind}`"
        remedy = f"{change} " + (setting if self.limit_is_configured else "the model's limit")
        if self.limited_by:
            by += f" ({self.limited_by})"
            remedy = "change that limit"
        others = ", ".join(filter(None, hints))
        hint = f"{others} or {remedy}" if others else remedy
        return (
            f"joint '{self.joint}' {does} {value} {self.unit} {where}; "
            f"its {self.kind.replace('_', ' ')} limit is {limit} {self.unit}{by}; {hint}"
        )


class PlanError(ValueError):
    """A motion that cannot be played within the limits.

    - `violations`: one for each joint and kind of limit; empty where the motion itself is at fault
    - `physics`: what checks of the robot's body have found (`Plan.physics`)
    """

    def __init__(
        self, message: str, violations: Sequence[Violation] = (), physics: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.violations = tuple(violations)
        self.physics = physics or {}


def _distinct(value: float, limit: float) -> tuple[str, str]:
    """Return two numbers with as few digits as show that they differ, if so many do."""
    for digits in range(3, MOST_DIGITS + 1):
        texts = f"{value:.{digits}g}", f"{limit:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def find_violations(
    times: Floats,
    positions: Floats,
    joint_map: JointMap,
    driven: NDArray[np.bool_],
    effort: Floats | None = None,
) -> list[Violation]:
    """Compare every driven joint at every row with its limits, in the order of the joints.

    Of shape (rows,), (rows, joints), (joints,) and (rows, joints): times in s, increasing; positions in rad
    or m; which joints to look at; efforts in N·m or N, where the motion has them.
    """
    check = _Check(times, joint_map, driven)
    limits = joint_map.limits
    found = position_violations(times, positions, joint_map, driven)
    if len(times) > 1:
        steps, speeds = speeds_of(times, positions)
        found += check.beyond("velocity", np.abs(speeds), limits.velocity, first_frame=1)
        if np.isfinite(limits.acceleration[driven]).any():
            changes = np.abs(accelerations_of(steps, speeds))
            found += check.beyond("acceleration", changes, limits.acceleration)
    if effort is not None:
        found += check.beyond("effort", np.abs(effort), limits.effort)
    return sorted(found, key=lambda violation: joint_map.joints.index(violation.joint))


def position_violations(
    times: Floats, positions: Floats, joint_map: JointMap, driven: NDArray[np.bool_]
) -> list[Violation]:
    """Compare every joint at every row with its position limits alone; otherwise as `find_violations`."""
    check = _Check(times, joint_map, driven)
    found = [*check.beyond("upper", positions, joint_map.limits.upper)]
    return [*found, *check.beyond("lower", -positions, -joint_map.limits.lower)]


def curve_violations(
    times: Floats,
    speeds: Floats,
    joint_map: JointMap,
    driven: NDArray[np.bool_],
    *,
    lowest: Floats | None = None,
    highest: Floats | None = None,
    accelerations: Floats | None = None,
) -> list[Violation]:
    """Compare the curve between rows with the limits; otherwise as `find_violations`.

    Without sign, between each row and the next: the highest speed, and how far it goes there; around each
    row: the highest acceleration.
    """
    check, limits = _Check(times, joint_map, driven), joint_map.limits
    found = [*check.beyond("velocity", speeds, limits.velocity)]
    if highest is not None:
        found += check.beyond("upper", highest, limits.upper)
    if lowest is not None:
        found += check.beyond("lower", -lowest, -limits.lower)
    found = [replace(violation, between=True) for violation in found]
    if accelerations is not None:
        found += check.beyond("acceleration", accelerations, limits.acceleration)
    return found


def speeds_of(times: Floats, positions: Floats) -> tuple[Floats, Floats]:
    """Return the time of each step, shape (rows - 1,), and its speed, shape (rows - 1, joints)."""
    steps = np.diff(times)
    speeds: Floats = np.diff(positions, axis=0)
    speeds /= steps[:, None]
    return steps, speeds


def accelerations_of(steps: Floats, speeds: Floats) -> Floats:
    """Return the acceleration at each row, shape (rows, joints), from rest and to rest."""
    changes = np.empty((len(speeds) + 1, speeds.shape[1]))
    np.subtract(speeds[1:], speeds[:-1], out=changes[1:-1])
    changes[0], changes[-1] = speeds[0], -speeds[-1]
    spans = np.concatenate((steps[:1], (steps[:-1] + steps[1:]) / 2, steps[-1:]))
    changes /= spans[:, None]
    return changes


@dataclass(frozen=True, slots=True)
class _Check:
    times: Floats
    joint_map: JointMap
    driven: NDArray[np.bool_]

    def beyond(
        self, kind: Kind, amounts: Floats, limits: Floats, *, first_frame: int = 0
    ) -> Iterator[Violation]:
        """Yield the joints whose amounts, shape (rows, joints), pass their limits somewhere."""
        sign = -1.0 if kind == "lower" else 1.0
        allowed = with_rounding(limits)
        for joint in np.flatnonzero(self.driven & (amounts.max(axis=0) > allowed)):
            row = int(amounts[:, joint].argmax())
            value, limit = float(amounts[row, joint]), float(limits[joint])
            name = self.joint_map.joints[joint]
            yield Violation(
                joint=name,
                kind=kind,
                time_s=float(self.times[row + first_frame]),
                frame=row + first_frame,
                count=int(np.count_nonzero(amounts[:, joint] > allowed[joint])),
                value=sign * value,
                limit=sign * limit,
                unit=_UNITS[kind][self.joint_map.units[joint]],
                speed_factor=_speed_factor(kind, value, limit),
                limit_is_configured=(name, kind) in self.joint_map.configured_limits,
                limited_by=self.joint_map.limit_sources.get((name, kind), ""),
            )


def _speed_factor(kind: Kind, amount: float, limit: float) -> float | None:
    if kind == "velocity":
        return float(limit / amount)
    return float(np.sqrt(limit / amount)) if kind == "acceleration" else None
