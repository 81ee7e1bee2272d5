"""The stops of simulated joints: where the limits of the joints are, seen from their actuators.

The options `lower_stop` and `upper_stop` of the `sim` driver are filled in where they are left out, also in
the parts of a composite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .joint_map import JointMap

COMPOSITE, SIMULATED = "composite", "sim"


def with_stops(kind: str, options: Mapping[str, Any], joint_map: JointMap) -> dict[str, Any]:
    """Return a driver's options, with stops where it simulates actuators. `kind`: the driver."""
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
    filled = dict(options)
    for option, stops in stops_of(joint_map).items():
        given = filled.get(option)
        if given is None or isinstance(given, dict):
            ours = {name: stops[name] for name in actuators if name in stops}
            filled[option] = {**ours, **(given or {})} or None
    return filled


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
