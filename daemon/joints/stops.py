"""The stops of simulated joints, where their limits are, and where they begin, seen from their actuators.

The options `lower_stop`, `upper_stop` and `initial` of the `sim` driver are filled in where they are left
out, also in the parts of a composite. Joints begin where the description says, else at 0, or as near to it as
they can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .joint_map import JointMap

COMPOSITE, SIMULATED = "composite", "sim"


def with_stops(kind: str, options: Mapping[str, Any], joint_map: JointMap) -> dict[str, Any]:
    """Return a driver's options, with stops and a beginning where it simulates. `kind`: the driver."""
    if kind == COMPOSITE:
        parts = options.get("parts")
        if not isinstance(parts, dict):
            return dict(options)
        return {**options, "parts": {name: _part(part, joint_map) for name, part in parts.items()}}
    return _with_stops(options, joint_map, joint_map.actuators) if kind == SIMULATED else dict(options)


def _part(part: Any, joint_map: JointMap) -> Any:
    if not isinstance(part, dict) or part.get("type") != SIMULATED:
        return part
    return _with_stops(part, joint_map, part.get("actuators", ()))


def _with_stops(options: Mapping[str, Any], joint_map: JointMap, actuators: Any) -> dict[str, Any]:
    stops, begin = stops_of(joint_map), _beginnings(joint_map)
    filled = dict(options)
    for option in stops:
        _fill(filled, option, {name: stops[option][name] for name in actuators if name in stops[option]})
    ends = filled["lower_stop"], filled["upper_stop"]
    within = {
        name: min(max(begin[name], _stop(ends[0], name, -np.inf)), _stop(ends[1], name, np.inf))
        for name in actuators
        if name in begin
    }
    _fill(filled, "initial", within)
    return filled


def _fill(options: dict[str, Any], option: str, ours: dict[str, float]) -> None:
    """Fill an option in for the actuators for which it is left out."""
    given = options.get(option)
    if given is None or isinstance(given, dict):
        options[option] = {**ours, **(given or {})} or None


def _stop(option: Any, name: str, none: float) -> float:
    """Return an actuator's stop, of an option that nothing has checked yet."""
    value = option.get(name) if isinstance(option, dict) else option
    return value if isinstance(value, (int, float)) else none


def _beginnings(joint_map: JointMap) -> dict[str, float]:
    """Return where each actuator begins, in its own rad or m."""
    begin = np.zeros((3, len(joint_map.joints)))
    begin[0] = np.clip(joint_map.initial, joint_map.limits.lower, joint_map.limits.upper)
    joint_map.follow(begin[0])
    at = np.empty((3, len(joint_map.actuators)))
    joint_map.transmission.to_actuators(begin, at)
    return dict(zip(joint_map.actuators, at[0].tolist(), strict=True))


def stops_of(joint_map: JointMap) -> dict[str, dict[str, float]]:
    """Return the stops of each actuator, in its own rad or m, by option; none where a joint has no limit.

    A joint that follows another one stops both, unless nothing would be left of the range.
    """
    limits, gear = joint_map.limits, joint_map.transmission
    ends = np.stack([limits.lower, limits.upper])
    with np.errstate(invalid="ignore"):  # a joint that follows by a multiplier of 0 stops nothing
        ends = np.sort((ends - gear.joint_offset) * gear.joint_reduction, axis=0)
    own = ends[:, gear.joint_of]
    lower, upper = own.copy()
    np.fmax.at(lower, gear.actuator_of, ends[0])
    np.fmin.at(upper, gear.actuator_of, ends[1])
    lower, upper = np.where(lower <= upper, [lower, upper], own)
    by_option = {"lower_stop": lower, "upper_stop": upper}
    names = joint_map.actuators
    return {
        option: {name: float(stop) for name, stop in zip(names, stops, strict=True) if np.isfinite(stop)}
        for option, stops in by_option.items()
    }
