"""Poses as SDFormat writes them: 4x4 in metres and radians.

Follows `//pose` of SDFormat 1.4 to 1.12: x y z, then roll pitch yaw or a quaternion x y z w.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from motiond.text import quoted

from ..errors import BadText
from ..io.xml.poses import pose_of_angles, pose_of_quaternion
from ..io.xml.values import parse_numbers

if TYPE_CHECKING:
    from ..arrays import Floats

_EULER, _QUATERNION = "euler_rpy", "quat_xyzw"


def parse_pose(text: str, rotation_format: str = _EULER, *, degrees: bool = False) -> Floats:
    """Read a pose, shape (4, 4); an empty text is the identity.

    Roll, pitch and yaw turn about fixed axes: `R = Rz(yaw) Ry(pitch) Rx(roll)`.

    Raises `BadText` if the numbers are too few, too many or no rotation, or the format is unknown.
    """
    if rotation_format not in {_EULER, _QUATERNION}:
        raise BadText(
            f"unknown rotation_format {quoted(rotation_format)}", f"SDFormat knows {_EULER} and {_QUATERNION}"
        )
    if rotation_format == _QUATERNION:
        if degrees:
            raise BadText("'degrees' of a quaternion", "it has no angles", "remove 'degrees'")
        values = parse_numbers(text or "0 0 0 0 0 0 1", 7, "with quat_xyzw a pose is x y z qx qy qz qw")
        return pose_of_quaternion(values[:3], values[3:], text)
    values = parse_numbers(text or "0 0 0 0 0 0", 6, "a pose is six numbers, x y z roll pitch yaw")
    angles = [math.radians(angle) for angle in values[3:]] if degrees else values[3:]
    return pose_of_angles(values[:3], angles)
