"""The elements of SKEL 1.0 as data: what each may hold, of which type, and what newer files add.

Follows DART's "SKEL file format". `transformation` is a pose: x y z and XYZ-Euler angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

ValueType = Literal["number", "limit", "vector", "pose", "numbers", "truth", "text"]


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for an element."""

    values: Mapping[str, ValueType] = field(default_factory=dict)  # child elements that hold text
    groups: tuple[str, ...] = ()  # child elements that hold elements
    attributes: Mapping[str, ValueType] = field(default_factory=dict)
    # child elements that DART knows and that do not matter for how a robot moves
    unused: frozenset[str] = frozenset()
    # child elements that DART knows and SKEL does not, with the reason for the warning
    skipped: Mapping[str, str] = field(default_factory=dict)
    # old or wrong spellings of child elements to the right ones
    old: Mapping[str, str] = field(default_factory=dict)


DYNAMICS: dict[str, ValueType] = {
    "damping": "number",
    "friction": "number",
    "spring_rest_position": "number",
    "spring_stiffness": "number",
}
# Misprints in the specification itself.
OLD_DYNAMICS = {
    "sprint_rest_position": "spring_rest_position",
    "sprint_stiffness": "spring_stiffness",
}
MOMENTS: dict[str, ValueType] = dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), "number")
# A geometry is one of them; of several the first in this order, which is DART's. The sphere, the capsule, the
# cone, the plane and the mesh are none of SKEL 1.0.
SOLIDS = ("sphere", "box", "ellipsoid", "cylinder", "capsule", "cone")

_SHAPE = Rule({"transformation": "pose", "collidable": "truth", "color": "text"}, ("geometry",))
_AXIS = Rule(
    {"xyz": "vector", "pitch": "number", "damping": "number"},
    ("dynamics", "limit"),
)
_DIRECTION = Rule({"xyz": "vector"})
_SIZED = Rule({"size": "vector"})
_ROUND = Rule({"radius": "number", "height": "number"})
_RANGE = Rule(attributes=dict.fromkeys(("lower", "upper", "initial"), "limit"))

# By name, after that of its parent where the name means two things.
RULES: dict[str, Rule] = {
    "skel": Rule(groups=("world", "skeleton"), attributes={"version": "text"}),
    "world": Rule(groups=("physics", "skeleton"), attributes={"name": "text"}),
    "physics": Rule({"time_step": "number", "gravity": "vector"}, unused=frozenset({"collision_detector"})),
    "skeleton": Rule(
        {"immobile": "truth", "mobile": "truth", "transformation": "pose"},
        ("body", "joint"),
        {"name": "text"},
    ),
    "body": Rule(
        {"gravity": "truth", "self_collide": "truth", "transformation": "pose"},
        ("inertia", "visualization_shape", "collision_shape"),
        {"name": "text"},
        skipped=dict.fromkeys(("soft_shape", "marker"), "it is no part of a rigid body"),
    ),
    "inertia": Rule(
        {"mass": "number", "offset": "vector", "transformation": "pose"},
        ("moment_of_inertia",),
    ),
    "moment_of_inertia": Rule(MOMENTS),
    "visualization_shape": _SHAPE,
    "collision_shape": _SHAPE,
    "geometry": Rule(
        groups=(*SOLIDS, "plane", "mesh"),
        skipped={"multi_sphere": "its inertia is not computed"},
    ),
    "geometry/plane": Rule({"normal": "vector", "point": "vector", "offset": "number"}),
    "mesh": Rule({"file_name": "text", "scale": "vector"}),
    "box": _SIZED,
    "ellipsoid": _SIZED,
    "cylinder": Rule({"radius": "number", "height": "number", "length": "number"}),
    "sphere": Rule({"radius": "number"}),
    "capsule": _ROUND,
    "cone": _ROUND,
    "joint": Rule(
        {
            "parent": "text",
            "child": "text",
            "transformation": "pose",
            "init_pos": "numbers",
            "init_vel": "numbers",
            "axis_order": "text",
        },
        ("axis", "axis2", "axis3", "plane", "dof"),
        {"name": "text", "type": "text", "actuator": "text"},
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "axis3": _AXIS,
    "dynamics": Rule(DYNAMICS, old=OLD_DYNAMICS),
    "limit": Rule(dict.fromkeys(("lower", "upper", "effort", "velocity"), "limit")),
    "plane": Rule(groups=("translation_axis1", "translation_axis2"), attributes={"type": "text"}),
    "translation_axis1": _DIRECTION,
    "translation_axis2": _DIRECTION,
    "dof": Rule(
        DYNAMICS,
        ("position", "velocity", "acceleration", "force"),
        {"local_index": "number", "name": "text"},
        old=OLD_DYNAMICS,
    ),
    "position": _RANGE,
    "velocity": _RANGE,
    "acceleration": _RANGE,
    "force": _RANGE,
}
# What matters for looks alone, and so keeps no robot from being read.
LOOKS = frozenset({"color"})
# The groups of which a parent may hold several.
REPEATED = frozenset({"skeleton", "body", "joint", "visualization_shape", "collision_shape", "dof"})
