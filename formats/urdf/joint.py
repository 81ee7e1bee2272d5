"""One URDF joint: its type, its axis, and a coordinate for each degree of freedom, in SI units.

A joint's frame is its child's. A planar joint moves along two directions square to its axis, then turns about
it; those directions follow the axis in the order x, y, z, x, as SKEL has its planes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, nearest, quoted

from ..arrays import Floats, frozen
from ..io.xml.values import parse_bound, parse_number, parse_vector
from ..model.structure import FREE_COORDINATES, Coordinate, Joint, Mimic

if TYPE_CHECKING:
    from ..model.structure import JointType
    from .elements import Node

TYPES: dict[str, JointType] = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
LIMITED = frozenset({"revolute", "prismatic"})
# A bound of this or more is none.
NO_LIMIT = 1e15
SHORTEST_AXIS = 1e-6
# How far the length of an axis may be from 1 without a warning.
UNIT_TOLERANCE = 1e-3
# The names of the coordinates in a plane, by the axis that is square to it.
PLANES = {(1.0, 0.0, 0.0): ("_y", "_z"), (0.0, 1.0, 0.0): ("_z", "_x"), (0.0, 0.0, 1.0): ("_x", "_y")}


def read_joint(node: Node, name: str, parent: str, child: str) -> Joint | None:
    """Read a joint between two links; return None if its type is unknown, which has been noted."""
    text = node.required("type")
    type_ = TYPES.get(text)
    if type_ is None:
        if text:
            what = f"joint '{echoed(name)}' is of unknown type {quoted(text)}"
            node.where.add(what, f"URDF knows {', '.join(TYPES)}", nearest(text, TYPES))
        return None
    axes, suffixes = _axes(node, name, type_)
    coordinates = tuple(Coordinate(name + suffix) for suffix in suffixes)
    if len(coordinates) == 1:
        coordinates = (Coordinate(name, **_limits(node, name, type_), **_dynamics(node)),)
    elif coordinates and "limit" in node.tags():
        node.where.warn(
            f"the <limit> of {text} joint '{echoed(name)}' is not read",
            "URDF limits what turns about one axis or slides along one",
        )
    return Joint(
        name=name,
        type=type_,
        parent=parent,
        child=child,
        axes=frozen(axes),
        coordinates=coordinates,
        mimic=_mimic(node, name, len(coordinates)),
        parent_pose=node.pose(),
    )


def _axes(node: Node, name: str, type_: JointType) -> tuple[Floats, tuple[str, ...]]:
    """Return the unit vector of each coordinate, shape (n, 3), and the suffixes of their names."""
    if type_ == "fixed":
        return np.zeros((0, 3)), ()
    if type_ == "free":
        return np.tile(np.eye(3), (2, 1)), FREE_COORDINATES
    axis = _axis(node, name)
    if type_ != "planar":
        return axis[np.newaxis], ("",)
    largest = int(np.argmax(np.abs(axis)))
    first = np.eye(3)[(largest + 1) % 3]
    first -= first @ axis * axis
    first /= np.linalg.norm(first)
    suffixes = PLANES.get(tuple(axis.tolist()), ("_1", "_2"))
    return np.array([first, np.cross(axis, first), axis]), (*suffixes, "_angle")


def _axis(node: Node, name: str) -> Floats:
    """Read a unit vector, shape (3,); that of x where the file names none."""
    default = np.array([1.0, 0.0, 0.0])
    axis = node.one("axis")
    if axis is None:
        return default
    vector = axis.attribute_value("xyz", parse_vector, default)
    length = float(np.linalg.norm(vector))
    if length < SHORTEST_AXIS:
        axis.where.add(
            f"the <axis> of joint '{echoed(name)}' has no length", "it points nowhere", "give it a direction"
        )
        return default
    if abs(length - 1) > UNIT_TOLERANCE:
        axis.where.warn(
            f"the <axis> of joint '{echoed(name)}' has length {length:.4g}",
            "an axis should have length 1",
            "normalised",
        )
    return vector / length


def _limits(node: Node, name: str, type_: JointType) -> dict[str, float]:
    limit = node.one("limit")
    if limit is None:
        if type_ in LIMITED:
            node.where.add(
                f"{type_} joint '{echoed(name)}' has no <limit>",
                "it is required",
                'write <limit lower="…" upper="…" velocity="…" effort="…"/>',
            )
        return {}
    _check_limit(limit, name)
    of = f"joint '{echoed(name)}'"
    return {
        **_range(limit, of, type_),
        "velocity_limit": _largest(limit, of, "velocity"),
        "effort_limit": _largest(limit, of, "effort"),
    }


def _check_limit(limit: Node, name: str) -> None:
    for where, text in limit.stray_texts():
        where.add(text, "it would limit nothing", 'write lower="…" upper="…"')
    for kind in ("acceleration", "deceleration", "jerk"):
        if limit.given(kind):
            hint = f"set joints.{echoed(name)}.limits.acceleration" if kind == "acceleration" else ""
            limit.where.warn(f"{kind!r} of the <limit> of joint '{echoed(name)}' is not read", "", hint)


def _range(limit: Node, of: str, type_: JointType) -> dict[str, float]:
    """Return the lowest and the highest position; without end where a continuous joint has 0 and 0."""
    lower, upper = (_bound(limit, kind, 0.0) for kind in ("lower", "upper"))
    are_given = limit.given("lower") or limit.given("upper")
    if type_ == "continuous" and not lower and not upper:
        if are_given:
            limit.where.warn(
                f"the limits 0 and 0 of continuous {of} are not read",
                "such a joint turns without end",
                'remove them, or write type="revolute" if it is to hold still',
            )
        return {}
    if type_ == "continuous":
        limit.where.warn(
            f"continuous {of} has limits of position", "such a joint turns without end", "they hold"
        )
    if lower > upper:
        what = f"{of} has lower limit {lower:g} and upper limit {upper:g}"
        limit.where.add(what, "nothing lies between them", "swap them")
    elif lower == upper:
        what = f"{of} cannot move: its limits are {lower:g} and {upper:g}"
        reason = "" if are_given else "0 is what a missing one is"
        limit.where.warn(what, reason, "write lower and upper")
    return {"lower": lower, "upper": upper}


def _bound(limit: Node, kind: str, default: float) -> float:
    value = limit.attribute_value(kind, parse_bound, default)
    return value if abs(value) < NO_LIMIT else math.copysign(math.inf, value)


def _largest(limit: Node, of: str, kind: str) -> float:
    """Read a limit of a magnitude, which is required."""
    if not limit.given(kind):
        limit.where.add(f"the <limit> of {of} has no {kind!r}", "it is required", f'write {kind}="…"')
    value = _bound(limit, kind, math.inf)
    if value < 0:
        what = f"{of} has a negative {kind} limit, {value:g}"
        limit.where.add(what, "it could not even rest", "write it without sign")
    elif value == 0:
        limit.where.warn(f"the {kind} limit of {of} is 0", "it could not move", "write its real one")
    return value


def _dynamics(node: Node) -> dict[str, float]:
    dynamics = node.one("dynamics")
    return {kind: dynamics.scalar(kind, 0.0) for kind in ("damping", "friction")} if dynamics else {}


def _mimic(node: Node, name: str, coordinates: int) -> Mimic | None:
    mimic = node.one("mimic")
    if mimic is None:
        return None
    if coordinates != 1:
        what = f"joint '{echoed(name)}' mimics another"
        mimic.where.warn(what, f"it has {coordinates or 'no'} coordinates", "it is not read")
        return None
    of = mimic.required("joint")
    return Mimic(of, mimic.scalar("multiplier", 1.0), mimic.scalar("offset", 0.0)) if of else None


def soft_limits(node: Node, joint: Joint) -> tuple[float, float] | None:
    """Return the limits of a `<safety_controller>`, which are kept and not applied; None without any."""
    controller = node.one("safety_controller")
    if controller is None or len(joint.coordinates) != 1:
        return None
    lower = controller.attribute_value("soft_lower_limit", parse_number, 0.0)
    upper = controller.attribute_value("soft_upper_limit", parse_number, 0.0)
    if lower == upper == 0:  # what missing ones are
        return None
    only = joint.coordinates[0]
    if lower > only.lower or upper < only.upper:
        controller.where.warn(
            f"the soft limits {lower:g} and {upper:g} of joint '{echoed(joint.name)}' are not applied",
            f"its limits are {only.lower:g} and {only.upper:g}",
            f"set joints.{echoed(joint.name)}.limits",
        )
    return lower, upper


def calibration(node: Node) -> dict[str, Any]:
    """Return what a `<calibration>` says of where the joint's reference is, in rad or m."""
    found = node.one("calibration")
    kinds = ("rising", "falling", "reference_position")
    return {kind: found.scalar(kind, 0.0) for kind in kinds if found.given(kind)} if found else {}
