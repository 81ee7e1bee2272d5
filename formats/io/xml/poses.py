"""Poses as robot files write them in XML: a position in metres with angles in radians, or with a quaternion.

Roll, pitch and yaw turn about fixed axes, in SDFormat and URDF alike: `R = Rz(yaw) Ry(pitch) Rx(roll)`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.text import quoted

from ...errors import BadText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...arrays import Floats

    _Rows: TypeAlias = tuple[tuple[float, float, float], ...]

# Quaternions are written with about six digits; one whose length is further from 1 is a mistake.
UNIT_TOLERANCE = 1e-2


def pose_of_angles(position: Sequence[float], angles: Sequence[float]) -> Floats:
    """Return the pose (4, 4) of x y z in m, and roll, pitch and yaw in rad."""
    (cos_r, cos_p, cos_y), (sin_r, sin_p, sin_y) = map(math.cos, angles), map(math.sin, angles)
    rows = (
        (cos_y * cos_p, cos_y * sin_p * sin_r - sin_y * cos_r, cos_y * sin_p * cos_r + sin_y * sin_r),
        (sin_y * cos_p, sin_y * sin_p * sin_r + cos_y * cos_r, sin_y * sin_p * cos_r - cos_y * sin_r),
        (-sin_p, cos_p * sin_r, cos_p * cos_r),
    )
    return _posed(position, rows)


def pose_of_quaternion(position: Sequence[float], quaternion: Sequence[float], text: str) -> Floats:
    """Return the pose (4, 4) of x y z in m, and a quaternion x y z w.

    `text`: what it was read from, for messages.
    Raises `BadText` if it is no rotation.
    """
    length = math.hypot(*quaternion)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise BadText(
            f"the quaternion of {quoted(text)} has length {length:.6g}",
            "a rotation is a quaternion of length 1, in the order x y z w",
            "divide it by its length",
        )
    x, y, z, w = (component / length for component in quaternion)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return _posed(position, rows)


def _posed(position: Sequence[float], rotation: _Rows) -> Floats:
    rows = [(*row, value) for row, value in zip(rotation, position, strict=True)]
    return np.array([*rows, (0.0, 0.0, 0.0, 1.0)])
