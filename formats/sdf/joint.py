"""`<joint>` to a checked element: type, what it joins, axes with their limits, and its mechanics.

Values are in SI units. Follows `//joint` of SDFormat 1.4 to 1.12: `use_parent_model_frame` before 1.7,
`thread_pitch` and `screw_thread_pitch`, `mimic` since 1.11.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed, nearest, quoted

from ..io.xml.values import parse_vector
from ..model.structure import Coordinate, Mimic
from .elements import AXES, MODEL, WORLD, AxisElement, JointElement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays import Floats
    from .elements import JointType
    from .node import Node

# SDFormat's own "no limit" is 1e16; a bound of this or more is none.
NO_LIMIT = 1e15
SHORTEST_AXIS = 1e-6
DEFAULT_PITCH_M = 1.0
SMALLEST_PITCH = 1e-9
# The last version in which an axis could be in the model's frame, and the last in which it was by default.
LAST_PARENT_MODEL_FRAME, ALWAYS_PARENT_MODEL_FRAME = 6, 4


def read_joint(node: Node) -> JointElement | None:
    """Read a `<joint>`; return None if it is none, which has been noted."""
    name = node.name()
    type_ = _type(node)
    parent, child = _end(node, "parent"), _end(node, "child")
    if child == WORLD:
        node.where.add(
            f"joint '{echoed(name)}' has the world as its child", "the world is fixed", "swap the two"
        )
    mounted = tuple(one for _, one in node.mounted("sensor") if one.pose.relative_to)
    if not (name and type_ and parent and child):
        return None
    return JointElement(
        name=name,
        where=node.where,
        type=type_,
        parent=parent,
        child=child,
        pose=node.pose(),
        axes=tuple(_axes(node, name, type_)),
        pitch_m=_pitch_m(node, name) if type_ == "screw" else 0.0,
        gearbox_ratio=node.number("gearbox_ratio", 1.0),
        mounted=mounted,
    )


def _type(node: Node) -> JointType | None:
    text = node.required("type")
    for type_ in AXES:
        if text.lower() == type_:
            return type_
    if text:
        node.where.add(
            f"unknown joint type {quoted(text)}", f"SDFormat knows {', '.join(AXES)}", nearest(text, AXES)
        )
    return None


def _end(node: Node, tag: str) -> str:
    name = node.word(tag)
    if not name:
        what = f"joint '{echoed(node.attribute('name'))}' has no <{tag}>"
        node.where.add(what, "a joint joins two links", f"write <{tag}>…</{tag}>")
    return name


def _axes(node: Node, name: str, type_: JointType) -> Iterator[AxisElement]:
    if type_ == "ball":
        yield from (AxisElement(node.where, Coordinate(f"{name}_{letter}")) for letter in "xyz")
    count = AXES[type_]
    for number, tag in enumerate(("axis", "axis2")[:count], start=1):
        axis = node.one(tag)
        coordinate = name if count == 1 else f"{name}_{number}"
        if axis is not None:
            read = _axis(axis, coordinate)
            yield _without_end(read, name) if type_ == "continuous" else read
            continue
        node.where.warn(
            f"{type_} joint '{echoed(name)}' has no <{tag}>", "it is taken to be 0 0 1 in the joint's frame"
        )
        yield AxisElement(node.where, Coordinate(coordinate))
    if count == 1 and "axis2" in node.tags():
        node.where.warn(f"{type_} joint '{echoed(name)}' has an <axis2>", "it has one axis", "it is not read")


def _axis(node: Node, name: str) -> AxisElement:
    xyz, expressed_in = np.array([0.0, 0.0, 1.0]), ""
    vector = node.one("xyz")
    if vector is not None:
        xyz, expressed_in = _direction(vector, xyz), vector.attribute("expressed_in")
    if node.minor <= LAST_PARENT_MODEL_FRAME and node.truth(
        "use_parent_model_frame", default=node.minor <= ALWAYS_PARENT_MODEL_FRAME
    ):
        expressed_in = MODEL
    elif node.minor > LAST_PARENT_MODEL_FRAME and "use_parent_model_frame" in node.tags():
        node.where.warn(
            "<use_parent_model_frame> is not read", "SDFormat 1.7 removed it", 'write <xyz expressed_in="…">'
        )
    return AxisElement(node.where, _coordinate(node, name), xyz, expressed_in, _mimic(node))


def _without_end(axis: AxisElement, name: str) -> AxisElement:
    """Return the axis of a continuous joint, for which some tools write limits of 0 and 0."""
    if axis.coordinate.lower or axis.coordinate.upper:
        return axis
    axis.where.warn(
        f"the limits 0 and 0 of continuous joint '{echoed(name)}' are not read",
        "such a joint turns without end",
        'remove them, or write type="revolute" if it is to hold still',
    )
    return replace(axis, coordinate=replace(axis.coordinate, lower=-math.inf, upper=math.inf))


def _direction(node: Node, default: Floats) -> Floats:
    xyz = node.value(parse_vector, default)
    length = float(np.linalg.norm(xyz))
    if length < SHORTEST_AXIS:
        node.where.add("<xyz> has no length", "an axis is a direction", "write a vector such as 0 0 1")
        return default
    return xyz / length


def _coordinate(node: Node, name: str) -> Coordinate:
    limit, dynamics = node.one("limit"), node.one("dynamics")
    limits = {}
    if limit is not None:
        lower = _bound(limit, "lower", -math.inf)
        upper = _bound(limit, "upper", math.inf)
        if lower > upper:
            limit.where.warn(f"<lower> {lower:g} is above <upper> {upper:g}", "nothing lies between them")
        limits = {
            "lower": lower,
            "upper": upper,
            "velocity_limit": _largest(limit, "velocity"),
            "effort_limit": _largest(limit, "effort"),
        }
    mechanics = {}
    if dynamics is not None:
        for tag in ("damping", "friction", "spring_stiffness", "spring_reference"):
            mechanics[tag] = dynamics.number(tag, 0.0)
    return Coordinate(name, initial=node.number("initial_position", 0.0), **limits, **mechanics)


def _bound(node: Node, tag: str, default: float) -> float:
    value = node.limit(tag, default)
    return value if abs(value) < NO_LIMIT else math.copysign(math.inf, value)


def _largest(node: Node, tag: str) -> float:
    """Read a limit of a magnitude; a negative one, as SDFormat's default is, is none."""
    value = _bound(node, tag, math.inf)
    return value if value >= 0 else math.inf


def _mimic(node: Node) -> Mimic | None:
    mimic = node.one("mimic")
    if mimic is None or not (of := mimic.required("joint")):
        return None
    if mimic.attribute("axis") not in {"", "axis"}:
        mimic.where.add(
            f"<mimic> follows axis {quoted(mimic.attribute('axis'))}",
            "motiond follows a joint's first axis",
            'write axis="axis"',
        )
    multiplier = mimic.number("multiplier", 1.0)
    offset = mimic.number("offset", 0.0) - multiplier * mimic.number("reference", 0.0)
    return Mimic(of, multiplier, offset)


def _pitch_m(node: Node, name: str) -> float:
    """Return metres per turn; `thread_pitch` is radians per metre, positive for a left-handed thread."""
    if "screw_thread_pitch" in node.tags():
        return node.number("screw_thread_pitch", DEFAULT_PITCH_M)
    if "thread_pitch" not in node.tags():
        node.where.warn(
            f"screw joint '{echoed(name)}' has no <screw_thread_pitch>",
            f"it is taken to move {DEFAULT_PITCH_M:g} m in one turn",
        )
        return DEFAULT_PITCH_M
    radians = node.number("thread_pitch", 1.0)
    if abs(radians) < SMALLEST_PITCH:
        node.where.add(f"<thread_pitch> is {radians:g}", "the screw would move infinitely far in one turn")
        return DEFAULT_PITCH_M
    return -2 * math.pi / radians
