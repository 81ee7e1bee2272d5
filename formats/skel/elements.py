"""The elements of SKEL 1.0, with what newer files add: an element's name, pose and values.

Follows DART's "SKEL file format". A `<transformation>` is a pose: x y z and XYZ-Euler angles in rad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..io.xml.element import Element, words
from ..io.xml.values import parse_bound, parse_numbers

if TYPE_CHECKING:
    from ..arrays import Floats

# A geometry is one of them; of several the first in this order, which is DART's. The sphere, the capsule, the
# cone, the plane and the mesh are none of SKEL 1.0.
SOLIDS = ("sphere", "box", "ellipsoid", "cylinder", "capsule", "cone")
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
# Names of elements to names of fields of a coordinate. Two are misprints in the specification itself.
DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "sprint_rest_position": "spring_reference",
    "spring_rest_position": "spring_reference",
    "sprint_stiffness": "spring_stiffness",
    "spring_stiffness": "spring_stiffness",
}

_DYNAMICS = " ".join(DYNAMICS)
_SHAPE = words("", "transformation collidable color geometry")
_AXIS = words("", "xyz pitch damping dynamics limit", limits="<limit>")
_DIRECTION = words("", "xyz")
_RANGE = words("lower upper initial", limits="its attributes")


class Node(Element):
    """An element of a file."""

    vocabulary = {  # noqa: RUF012 - as its base has it
        "skel": words("version", "world skeleton"),
        "world": words("name", "physics skeleton"),
        "physics": words("", "time_step gravity", "collision_detector"),
        "skeleton": words("name", "immobile mobile transformation body joint"),
        "body": words(
            "name", "gravity self_collide transformation inertia visualization_shape collision_shape"
        ),
        "inertia": words("", "mass offset transformation moment_of_inertia"),
        "moment_of_inertia": words("", " ".join(MOMENTS)),
        "visualization_shape": _SHAPE,
        "collision_shape": _SHAPE,
        "geometry": words("", f"{' '.join(SOLIDS)} plane mesh"),
        "mesh": words("", "file_name scale"),
        "box": words("", "size"),
        "ellipsoid": words("", "size"),
        "cylinder": words("", "radius height length"),
        "sphere": words("", "radius"),
        "capsule": words("", "radius height"),
        "cone": words("", "radius height"),
        "joint": words(
            "name type actuator",
            "parent child transformation init_pos init_vel axis_order axis axis2 axis3 plane dof",
            limits="the <limit> of its <axis>",
        ),
        "axis": _AXIS,
        "axis2": _AXIS,
        "axis3": _AXIS,
        "dynamics": words("", _DYNAMICS),
        "limit": words("", "lower upper effort velocity", limits="<limit>"),
        # Of a joint, and of a geometry.
        "plane": words("type", "translation_axis1 translation_axis2 normal point offset"),
        "translation_axis1": _DIRECTION,
        "translation_axis2": _DIRECTION,
        "dof": words(
            "local_index name",
            f"{_DYNAMICS} position velocity acceleration force",
            limits="<position>, <velocity> or <force>",
        ),
        "position": _RANGE,
        "velocity": _RANGE,
        "acceleration": _RANGE,
        "force": _RANGE,
    }

    def name(self) -> str:
        """Return its name, or the one that DART gives it."""
        return self.attribute("name") or f"Unknown {self.tag}"

    def pose(self) -> Floats:
        """Return its `<transformation>` as a new array, shape (4, 4); the identity without one."""
        node = self.one("transformation")
        rule = "a pose is six numbers, x y z and three angles"
        return (
            np.eye(4)
            if node is None
            else _matrix(node.value(lambda text: parse_numbers(text, 6, rule), [0.0] * 6))
        )

    def bound(self, name: str, default: float) -> float:
        """Read an attribute that is a number or an infinity."""
        return self.attribute_value(name, parse_bound, default)

    def dynamics(self) -> dict[str, float]:
        """Read what it holds of damping, friction and springs, by the fields of a coordinate."""
        given = self.tags()
        for tag in given & {"sprint_rest_position", "sprint_stiffness"}:
            right = tag.replace("sprint", "spring")
            self.where.warn(f"<{tag}> in <{self.tag}>", "an old spelling", f"write <{right}>")
        return {field: self.number(tag, 0.0) for tag, field in DYNAMICS.items() if tag in given}


def _matrix(six: list[float]) -> Floats:
    """Return the pose (4, 4) of x y z a b c in m and rad: R = Rx(a) Ry(b) Rz(c)."""
    x, y, z = six[:3]
    (sa, sb, sc), (ca, cb, cc) = np.sin(six[3:]), np.cos(six[3:])
    return np.array(
        [
            [cb * cc, -cb * sc, sb, x],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb, y],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
