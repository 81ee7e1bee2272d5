"""Poses as SDFormat writes them: 4x4 in metres and radians.

Follows `//pose` of SDFormat 1.4 to 1.12: x y z, then roll pitch yaw or a quaternion x y z w.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.text import quoted

from ..errors import BadText
from ..io.xml.values import parse_numbers

if TYPE_CHECKING:
    from ..arrays import Floats

    _Rows: TypeAlias = tuple[tuple[float, float, float], ...]

# Quaternions are written with about six digits; one whose length is further from 1 is a mistake.
UNIT_TOLERANCE = 1e-2

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
        return _posed(values[:3], _from_quaternion(values[3:], text))
    values = parse_numbers(text or "0 0 0 0 0 0", 6, "a pose is six numbers, x y z roll pitch yaw")
    roll, pitch, yaw = map(math.radians, values[3:]) if degrees else values[3:]
    return _posed(values[:3], _from_angles(roll, pitch, yaw))


def _from_angles(roll: float, pitch: float, yaw: float) -> _Rows:
    """Return the rows of the rotation `Rz(yaw) Ry(pitch) Rx(roll)`."""
    cos_r, cos_p, cos_y = math.cos(roll), math.cos(pitch), math.cos(yaw)
    sin_r, sin_p, sin_y = math.sin(roll), math.sin(pitch), math.sin(yaw)
    return (
        (cos_y * cos_p, cos_y * sin_p * sin_r - sin_y * cos_r, cos_y * sin_p * cos_r + sin_y * sin_r),
        (sin_y * cos_p, sin_y * sin_p * sin_r + cos_y * cos_r, sin_y * sin_p * cos_r - cos_y * sin_r),
        (-sin_p, cos_p * sin_r, cos_p * cos_r),
    )


def _from_quaternion(quaternion: list[float], text: str) -> _Rows:
    length = math.hypot(*quaternion)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise BadText(
            f"the quaternion of {quoted(text)} has length {length:.6g}",
            "a rotation is a quaternion of length 1, in the order x y z w",
            "divide it by its length",
        )
    x, y, z, w = (component / length for component in quaternion)
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )


def _posed(position: list[float], rotation: _Rows) -> Floats:
    rows = [(*row, value) for row, value in zip(rotation, position, strict=True)]
    return np.array([*rows, (0.0, 0.0, 0.0, 1.0)])
