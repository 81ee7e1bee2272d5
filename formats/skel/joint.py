"""One SKEL joint: its type, its axes, and a coordinate for each degree of freedom.

The caller adds the bodies that the joint connects and its place between them. Follows DART's "SKEL file
format"; `<dof>` and a screw's `<pitch>` are as DART's parser reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, nearest, quoted

from ..arrays import Floats, frozen
from ..io.xml.values import parse_numbers, parse_vector
from ..model.structure import FREE_COORDINATES, Coordinate, Joint

if TYPE_CHECKING:
    from ..model.structure import JointType
    from .elements import Node


@dataclass(frozen=True, slots=True)
class Kind:
    """A joint type."""

    type: JointType  # its neutral name
    suffixes: tuple[str, ...]  # what is added to the joint's name to name each coordinate, as DART does
    directions: int = 0  # the number of axes whose direction the file must state
    # whether `<axis>`, `<axis2>` and `<axis3>` set limits and dynamics of the coordinates
    has_axes: bool = True


KINDS: dict[str, Kind] = {
    "weld": Kind("fixed", ()),
    "prismatic": Kind("prismatic", ("",), 1),
    "revolute": Kind("revolute", ("",), 1),
    "screw": Kind("screw", ("",), 1),
    "universal": Kind("universal", ("_1", "_2"), 2),
    "ball": Kind("ball", ("_x", "_y", "_z"), has_axes=False),
    "euler": Kind("euler", ("_x", "_y", "_z")),
    "translational": Kind("translational", ("_x", "_y", "_z")),
    "planar": Kind("planar", ("_x", "_y", "_angle")),
    "free": Kind("free", FREE_COORDINATES, has_axes=False),
}
ACTUATORS = ("torque", "force", "passive", "servo", "acceleration", "velocity", "locked")
AXES = ("axis", "axis2", "axis3")
PLANES = {"xy": (0, 1), "yz": (1, 2), "zx": (2, 0)}

# DART's own default of a screw's pitch.
DEFAULT_PITCH_M = 0.1
# How far the length of an axis may be from 1 without a warning.
UNIT_TOLERANCE = 1e-3
# Two axes of a plane whose angle has a sine below this are parallel.
FEWEST_PARALLEL_SINE = 1e-6

# Names of elements to names of fields of a coordinate, with their defaults.
_LIMITS = {
    "lower": ("lower", -np.inf),
    "upper": ("upper", np.inf),
    "effort": ("effort_limit", np.inf),
    "velocity": ("velocity_limit", np.inf),
}


def read_joint(node: Node, name: str) -> Joint | None:
    """Read a joint without what it connects; return None if its type is unknown, which has been noted."""
    type_ = node.attribute("type")
    kind = KINDS.get(type_)
    if kind is None:
        reason = f"SKEL knows {', '.join(KINDS)}"
        node.where.add(
            f"joint '{echoed(name)}' is of unknown type '{echoed(type_)}'", reason, nearest(type_, KINDS)
        )
        return None
    axes, suffixes = _axes(node, name, kind)
    names = [name + suffix for suffix in suffixes]
    return Joint(
        name=name,
        type=kind.type,
        parent="",
        child="",
        axes=frozen(axes),
        coordinates=_coordinates(node, name, kind, names),
        pitch_m=_pitch(node, name) if kind.type == "screw" else 0.0,
        actuator=_actuator(node, name),
    )


def free_joint(name: str) -> Joint:
    """Return the joint of a body that nothing carries, without what it connects."""
    suffixes = KINDS["free"].suffixes
    axes = frozen(np.tile(np.eye(3), (2, 1)))
    return Joint(name, "free", "", "", axes, tuple(Coordinate(name + suffix) for suffix in suffixes))


def _actuator(node: Node, name: str) -> str:
    actuator = node.attribute("actuator") or ACTUATORS[0]
    if actuator not in ACTUATORS:
        reason = f"known are {', '.join(ACTUATORS)}"
        node.where.add(
            f"joint '{echoed(name)}' has unknown actuator '{echoed(actuator)}'",
            reason,
            nearest(actuator, ACTUATORS),
        )
    return actuator


def _pitch(node: Node, name: str) -> float:
    axis = node.one("axis")
    if axis and "pitch" in axis.tags():
        return axis.number("pitch", DEFAULT_PITCH_M)
    node.where.warn(
        f"screw joint '{echoed(name)}' has no <pitch>",
        f"{DEFAULT_PITCH_M} m a turn is taken",
        "add it to <axis>",
    )
    return DEFAULT_PITCH_M


def _axes(node: Node, name: str, kind: Kind) -> tuple[Floats, tuple[str, ...]]:
    """Return the unit vector of each coordinate, shape (n, 3), and the suffixes of their names."""
    match kind.type:
        case "euler":
            order = _axis_order(node, name)
            return np.eye(3)[["xyz".index(letter) for letter in order]], tuple(
                f"_{letter}" for letter in order
            )
        case "planar":
            return _plane(node, name, kind)
        case "free":
            return np.tile(np.eye(3), (2, 1)), kind.suffixes
        case "ball" | "translational":
            return np.eye(3), kind.suffixes
    directions = [
        _direction(node, tag, f"{node.attribute('type')} joint '{echoed(name)}'")
        for tag in AXES[: kind.directions]
    ]
    return np.reshape(directions, (-1, 3)), kind.suffixes


def _direction(node: Node, tag: str, owner: str) -> Floats:
    """Read a unit vector, shape (3,); note a problem where there is none."""
    axis = node.one(tag)
    xyz = axis.one("xyz") if axis else None
    if axis is None or xyz is None:
        (axis or node).where.add(
            f"{owner} has no direction in <{tag}>", "it is required", f"write <{tag}><xyz>1 0 0</xyz>"
        )
        return np.array([0.0, 1.0, 0.0] if tag.endswith("2") else [1.0, 0.0, 0.0])
    vector = xyz.value(parse_vector, np.array([1.0, 0.0, 0.0]))
    length = float(np.linalg.norm(vector))
    if length == 0:
        axis.where.add(f"<{tag}> of {owner} is 0 0 0", "it points nowhere", "give it a direction")
        return vector
    if abs(length - 1) > UNIT_TOLERANCE:
        axis.where.warn(
            f"<{tag}> of {owner} has length {length:.4g}", "an axis should have length 1", "normalised"
        )
    return vector / length


def _axis_order(node: Node, name: str) -> str:
    order = node.word("axis_order") or "xyz"
    letters = order.lower()
    turning = all(first != second for first, second in pairwise(letters))
    if len(letters) != 3 or not set(letters) <= set("xyz") or not turning:
        reason = "it is three of x, y, z"
        node.where.add(
            f"axis_order of euler joint '{echoed(name)}' is '{echoed(order)}'", reason, "write xyz or zyx"
        )
        return "xyz"
    return letters


def _plane(node: Node, name: str, kind: Kind) -> tuple[Floats, tuple[str, ...]]:
    """Return the two directions in the plane and its normal, shape (3, 3), and the suffixes of names."""
    plane = node.one("plane")
    type_ = (plane.attribute("type") if plane else "") or "xy"
    if type_ in PLANES:
        first, second = PLANES[type_]
        return np.eye(3)[[first, second, 3 - first - second]], (f"_{type_[0]}", f"_{type_[1]}", "_angle")
    if plane and type_ == "arbitrary":
        return _arbitrary_plane(plane, f"planar joint '{echoed(name)}'"), ("_1", "_2", "_angle")
    if plane:
        known = (*PLANES, "arbitrary")
        plane.where.add(
            f"plane of planar joint '{echoed(name)}' is '{echoed(type_)}'",
            f"known are {', '.join(known)}",
            nearest(type_, known),
        )
    return np.eye(3), kind.suffixes


def _arbitrary_plane(plane: Node, owner: str) -> Floats:
    """Return the axes as DART has them: the second is turned in the plane to be square to the first."""
    first, second = (_direction(plane, tag, owner) for tag in ("translation_axis1", "translation_axis2"))
    normal = np.cross(first, second)
    sine = float(np.linalg.norm(normal))
    if sine < FEWEST_PARALLEL_SINE:
        plane.where.add(
            f"both translation axes of {owner} point the same way", "they span no plane", "turn one"
        )
        return np.eye(3)
    normal /= sine
    return np.array([first, np.cross(normal, first), normal])


def _coordinates(node: Node, name: str, kind: Kind, names: list[str]) -> tuple[Coordinate, ...]:
    settings: list[dict[str, Any]] = [{"name": one} for one in names]
    _read_axes(node, name, kind, settings)
    for tag, key in (("init_pos", "initial"), ("init_vel", "initial_velocity")):
        _read_initial(node, name, tag, key, settings)
    _read_dofs(node, name, settings)
    for one in settings:
        _check(node, one)
    return tuple(Coordinate(**one) for one in settings)


def _read_axes(node: Node, name: str, kind: Kind, settings: list[dict[str, Any]]) -> None:
    for index, tag in enumerate(AXES):
        axis = node.one(tag)
        if axis is None:
            continue
        if kind.has_axes and index < len(settings):
            settings[index] |= _axis_settings(axis)
        else:
            used = len(settings) if kind.has_axes else 0
            reason = f"a {node.attribute('type')} joint has {used or 'none'}"
            hint = "remove it" if kind.has_axes else "set limits in <dof>"
            axis.where.warn(f"<{tag}> of joint '{echoed(name)}' is skipped", reason, hint)


def _axis_settings(axis: Node) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if "damping" in axis.tags():
        axis.where.warn(f"<damping> in <{axis.tag}>", "an old spelling", "write it in <dynamics>")
        settings["damping"] = axis.number("damping", 0.0)
    if dynamics := axis.one("dynamics"):
        settings |= dynamics.dynamics()
    if limit := axis.one("limit"):
        for tag, (key, default) in _LIMITS.items():
            settings[key] = limit.limit(tag, default)
    return settings


def _read_initial(node: Node, name: str, tag: str, key: str, settings: list[dict[str, Any]]) -> None:
    if child := node.one(tag):
        count = len(settings)
        rule = f"joint '{echoed(name)}' has {count} coordinate{'' if count == 1 else 's'}"
        values = child.value(lambda text: parse_numbers(text, count, rule), [0.0] * count)
        for one, value in zip(settings, values, strict=True):
            one[key] = value


def _read_dofs(node: Node, name: str, settings: list[dict[str, Any]]) -> None:
    lines: dict[int, int] = {}
    for dof in node.all("dof"):
        index = _local_index(dof, name, len(settings))
        if index is None:
            continue
        if index in lines:
            dof.where.add(
                f"<dof> {index} of joint '{echoed(name)}' stands twice",
                f"first on line {lines[index]}",
                "remove one",
            )
        lines.setdefault(index, dof.where.line)
        settings[index] |= _dof_settings(dof)


def _local_index(dof: Node, name: str, count: int) -> int | None:
    index = dof.attribute("local_index") or ("0" if count == 1 else "")
    if index in map(str, range(count)):
        return int(index)
    problem = f"has local_index {quoted(index)}" if index else "has no local_index"
    reason = f"the joint has {count}, counted from 0"
    dof.where.add(f"<dof> of joint '{echoed(name)}' {problem}", reason, "correct it")
    return None


def _dof_settings(dof: Node) -> dict[str, Any]:
    settings: dict[str, Any] = dof.dynamics()
    if name := dof.attribute("name"):
        settings["name"] = name
    if position := _range(dof, "position"):
        for key, default in (("lower", -np.inf), ("upper", np.inf), ("initial", 0.0)):
            if key in position.xml.attrib:
                settings[key] = position.bound(key, default)
    if velocity := _range(dof, "velocity"):
        settings["velocity_limit"] = _bound(velocity)
        if "initial" in velocity.xml.attrib:
            settings["initial_velocity"] = velocity.bound("initial", 0.0)
    if force := _range(dof, "force"):
        settings["effort_limit"] = _bound(force)
    return settings


def _range(dof: Node, tag: str) -> Node | None:
    """Return the element of a range, whose limits are attributes; note what stands in it instead."""
    limits = dof.one(tag)
    for where, text in limits.stray_texts() if limits else ():
        where.add(text, "it would limit nothing", 'write lower="…" upper="…"')
    return limits


def _bound(limits: Node) -> float:
    """Return the one bound that holds in both directions."""
    lower, upper = limits.bound("lower", -np.inf), limits.bound("upper", np.inf)
    if lower != -upper:
        reason = "one limit holds both ways here"
        limits.where.warn(
            f"<{limits.tag}> lies between {lower:g} and {upper:g}", reason, "the smaller is taken"
        )
    return float(min(-lower, upper))


def _check(node: Node, settings: dict[str, Any]) -> None:
    one = Coordinate(**settings)
    if one.lower > one.upper:
        what = f"coordinate '{echoed(one.name)}' has lower limit {one.lower:g} and upper limit {one.upper:g}"
        node.where.add(what, "nothing lies between them", "swap them")
    elif not one.lower <= one.initial <= one.upper:
        what = f"coordinate '{echoed(one.name)}' begins at {one.initial:g}"
        node.where.warn(what, f"its limits are {one.lower:g} and {one.upper:g}", "correct one of them")
    for word, limit in (("velocity", one.velocity_limit), ("effort", one.effort_limit)):
        if limit < 0:
            what = f"coordinate '{echoed(one.name)}' has a negative {word} limit, {limit:g}"
            node.where.add(what, "it could not even rest", "write it without sign")
