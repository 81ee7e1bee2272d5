"""What is configured by unit, joint by joint: tolerances, and the bounds of approaches.

Metres are not radians: a tenth of a radian is little for an arm, and a tenth of a metre is more than a
gripper moves. So one number stands for all joints only where they have one unit, and default tolerances are
shares of each joint's range (`SHARES`), at most those of a range of 1 rad or 0.05 m. A joint that has not
moved over a tenth of its range then cannot pass for one that has reached its goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed

from ..config.robot import JointSettings
from .joint_map import JointMapError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Floats

    from ..config.robot import RobotSettings
    from .joint_map import JointMap

    Values = tuple[float | None, ...]

SHARES: Mapping[str, float] = {"path": np.inf, "goal": 0.1, "stall_error": 0.05, "start_tolerance": 0.002}
"""Of a joint's range: how large its tolerances are at most by default; for the path there is none."""
NEVER_FAILS = 0.5
"""Of a joint's range: a joint with its setpoint in the middle is never further away than that."""
METRES_A_RADIAN = 0.05
"""What a hint puts in place of a number that was meant for radians."""


@dataclass(frozen=True, slots=True)
class JointBounds:
    """Tolerances and bounds of approaches, in each joint's unit."""

    # path, goal: how far the feedback of each joint may be from its setpoint; None where nothing is checked
    path: Values
    goal: Values
    # stall_error, start_tolerance: shape (joints,)
    stall_error: Floats
    start_tolerance: Floats
    # velocity, acceleration, jerk: shape (joints,); of the way to a motion's first row
    velocity: Floats
    acceleration: Floats
    jerk: Floats
    ranges: Floats  # shape (joints,); how far each joint can move; infinite where a limit is missing

    def payload(self, joint_map: JointMap) -> dict[str, dict[str, float | None]]:
        """Return the tolerances by joint, JSON-ready."""
        return {
            "path": dict(zip(joint_map.joints, self.path, strict=True)),
            "goal": dict(zip(joint_map.joints, self.goal, strict=True)),
        }


def joint_bounds(joint_map: JointMap, settings: RobotSettings) -> JointBounds:
    """Resolve what is configured by unit, and the joints' own tolerances.

    Raises `JointMapError` for each number without a unit where the joints of the robot have two.
    """
    found = _Resolver(joint_map, settings)
    approach, common, checks = settings.approach, settings.tolerances, settings.checks
    bounds = JointBounds(
        path=found.tolerances("path", common, "tolerances."),
        goal=found.tolerances("goal", common, "tolerances."),
        stall_error=np.array(found.tolerances("stall_error", checks, "checks."), dtype=float),
        start_tolerance=np.array(found.tolerances("start_tolerance", settings, ""), dtype=float),
        velocity=np.array(found.spread("velocity", approach, "approach."), dtype=float),
        acceleration=np.array(found.spread("acceleration", approach, "approach."), dtype=float),
        jerk=np.array(found.spread("jerk", approach, "approach."), dtype=float),
        ranges=found.ranges,
    )
    if found.problems:
        raise JointMapError(found.problems)
    return bounds


def ranges_of(joint_map: JointMap) -> Floats:
    """Return how far each joint can move, shape (joints,): by its own limits, and by those of its leader.

    A joint whose limits leave it no room is not measured by them: it cannot fail to move.
    """
    limits = joint_map.limits
    ranges = np.asarray(limits.upper - limits.lower, dtype=float)
    ranges[ranges <= 0.0] = np.inf
    for mimic in joint_map.mimics:
        follows = abs(mimic.multiplier) * ranges[mimic.leader]
        if 0.0 < follows < ranges[mimic.joint]:
            ranges[mimic.joint] = follows
    return ranges


class _Resolver:
    """Spreads settings over the joints of one robot, and collects what is wrong with them."""

    def __init__(self, joint_map: JointMap, settings: RobotSettings) -> None:
        self.joint_map = joint_map
        self.ranges = ranges_of(joint_map)
        self.problems: list[str] = []
        self._own = [settings.joints.get(joint, JointSettings()).tolerances for joint in joint_map.joints]

    def spread(self, option: str, section: Any, where: str) -> Values:
        """Return the value of each joint's unit, None for one that is switched off."""
        value, default = getattr(section, option), dict(type(section).model_fields[option].default or {})
        if not isinstance(value, Mapping):
            self._refuse_mixed(f"{where}{option}", value, default)
            return (value,) * len(self.joint_map.units)
        return tuple({**default, **value}.get(unit) for unit in self.joint_map.units)

    def tolerances(self, option: str, section: Any, where: str) -> Values:
        """Return one kind of tolerance: the joint's own, what is configured, or a share of its range."""
        configured = self.spread(option, section, where)
        value = getattr(section, option) if option in section.model_fields_set else {}
        is_chosen = [not isinstance(value, Mapping) or unit in value for unit in self.joint_map.units]
        bounded = SHARES[option] * self.ranges
        return tuple(
            own
            if (own := getattr(self._own[joint], option)) is not None
            else common
            if common is None or is_chosen[joint]
            else min(common, float(bounded[joint]))
            for joint, common in enumerate(configured)
        )

    def _refuse_mixed(self, option: str, value: float | None, default: Any) -> None:
        units = self.joint_map.units
        if value is None or len(set(units)) == 1:
            return
        joints = {
            unit: next(name for name, its in zip(self.joint_map.joints, units, strict=True) if its == unit)
            for unit in ("rad", "m")
        }
        mixed = " and ".join(f"{unit} ('{joint}')" for unit, joint in joints.items())
        metres = default.get("m", METRES_A_RADIAN * value)
        self.problems.append(
            f"{self.joint_map.robot}: {option} is {value:g}; the robot has joints in {mixed}; "
            f"write one for each: `{{rad: {value:g}, m: {metres:g}}}`"
        )


def never_fails(joint_map: JointMap, bounds: JointBounds) -> str:
    """Return a warning that names the joints with a tolerance that can hardly fail; '' if there are none."""
    parts = [
        f"{kind} of {listed(joints)}"
        for option, kind in _KINDS.items()
        if (joints := list(_too_wide(joint_map, bounds, option)))
    ]
    if not parts:
        return ""
    reason = "a joint that does not move at all would pass for one that has arrived"
    return f"{' and '.join(parts)}: half of the range or more; {reason}; lower `joints.NAME.tolerances`"


_KINDS = {
    "path": "path tolerance",
    "goal": "goal tolerance",
    "stall_error": "stall_error",
    "start_tolerance": "start_tolerance",
}


def _too_wide(joint_map: JointMap, bounds: JointBounds, option: str) -> Iterator[str]:
    """Yield the joints whose tolerance is wide beside their range, with both."""
    values = getattr(bounds, option)
    for joint, (name, unit) in enumerate(zip(joint_map.joints, joint_map.units, strict=True)):
        value, span = values[joint], float(bounds.ranges[joint])
        if value is not None and value >= NEVER_FAILS * span:
            yield f"{name} ({value:.4g} {unit} of {span:.4g} {unit})"
