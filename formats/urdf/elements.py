"""The elements of URDF 1.0 to 1.2: an element's values, which are attributes, and its pose.

Follows "XML Robot Description Format" of ROS, and urdfdom in what came later: `<capsule>` and `quat_xyzw`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..arrays import frozen
from ..errors import BadText
from ..io.xml.element import Element, words
from ..io.xml.poses import pose_of_angles, pose_of_quaternion
from ..io.xml.values import parse_number, parse_numbers
from ..model.poses import identity_pose

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays import Floats

    T = TypeVar("T")

MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
SOLIDS = ("box", "cylinder", "sphere", "capsule")
# Of other programs; nothing in them moves a joint.
EXTENSIONS = "gazebo ros2_control sensor mujoco"
_ROUND = words("radius length")


class Node(Element):
    """An element of a file."""

    # The content of all others, such as `<transmission>` and extensions, is not checked.
    vocabulary = {  # noqa: RUF012 - as its base has it
        "robot": words("name version", "link joint material transmission", EXTENSIONS),
        "link": words("name", "inertial visual collision", f"{EXTENSIONS} contact"),
        "inertial": words("", "origin mass inertia"),
        "origin": words("xyz rpy quat_xyzw"),
        "mass": words("value"),
        "inertia": words(" ".join(MOMENTS)),
        "visual": words("name", "origin geometry material"),
        "collision": words("name", "origin geometry", "verbose material"),
        "geometry": words("", f"{' '.join(SOLIDS)} mesh"),
        "box": words("size"),
        "cylinder": _ROUND,
        "capsule": _ROUND,
        "sphere": words("radius"),
        "mesh": words("filename scale"),
        "material": words("name", "color texture"),
        "color": words("rgba"),
        "texture": words("filename"),
        "joint": words(
            "name type",
            "origin parent child axis limit dynamics mimic calibration safety_controller",
            f"{EXTENSIONS} joint_properties",
            limits="its <limit>",
        ),
        "parent": words("link"),
        "child": words("link"),
        "axis": words("xyz"),
        # What follows the effort is of urdfdom, then of ANYmal's files.
        "limit": words(
            "lower upper velocity effort acceleration deceleration jerk command_effort current gear_velocity",
            limits="its attributes",
        ),
        "dynamics": words("damping friction"),
        "mimic": words("joint multiplier offset"),
        "calibration": words("rising falling reference_position"),
        "safety_controller": words("soft_lower_limit soft_upper_limit k_position k_velocity"),
    }

    def given(self, name: str) -> bool:
        """Whether it has an attribute, whatever its text."""
        return name in self.xml.attrib

    def scalar(self, name: str, default: float) -> float:
        """Read an attribute that is a number."""
        return self.attribute_value(name, parse_number, default)

    def needed_value(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Read an attribute; without it, note a problem and return the default."""
        if not self.given(name):
            self.where.add(f"<{self.tag}> has no {name!r}", "it is required", f'write {name}="…"')
        return self.attribute_value(name, parse, default)

    def pose(self) -> Floats:
        """Read its `<origin>`, shape (4, 4); the identity without one."""
        origin = self.one("origin")
        return origin.own_pose() if origin else identity_pose()

    def own_pose(self) -> Floats:
        """Read this element as an `<origin>`."""
        position = self.attribute_value("xyz", _numbers(3, "a position is three numbers, x y z"), [0.0] * 3)
        angles = self.attribute_value("rpy", _numbers(3, "it is three angles, roll pitch yaw"), [0.0] * 3)
        if not self.given("quat_xyzw"):
            return frozen(pose_of_angles(position, angles))
        if self.given("rpy"):
            self.where.add(
                "<origin> has both 'rpy' and 'quat_xyzw'", "each is the rotation", "keep one of them"
            )

        def turned(text: str) -> Floats:
            four = parse_numbers(text, 4, "a quaternion is four numbers, x y z w")
            return pose_of_quaternion(position, four, text)

        return frozen(self.attribute_value("quat_xyzw", turned, pose_of_angles(position, angles)))

    def oddity(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Read an attribute that moves nothing; where it cannot be read, warn and return None."""
        try:
            return parse(self.attribute(name))
        except BadText as error:
            self.where.warn(f"{name!r} of <{self.tag}>: {error.problem}", error.reason, "it is left out")
            return None


def _numbers(count: int, reason: str) -> Callable[[str], list[float]]:
    return lambda text: parse_numbers(text, count, reason)
