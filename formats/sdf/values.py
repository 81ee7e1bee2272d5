"""Numbers, truth values, vectors and poses as SDFormat writes them.

The text of an element becomes a float, a bool, a (3,) vector or a 4x4 pose in metres and radians. Follows
`//pose` of SDFormat 1.4 to 1.12: x y z, then roll pitch yaw or a quaternion x y z w.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.text import quoted

from ..errors import BadText

if TYPE_CHECKING:
    from ..arrays import Floats

    _Rows: TypeAlias = tuple[tuple[float, float, float], ...]

# Far beyond any robot; sums and squares of such numbers stay finite.
FARTHEST = 1e15
# Quaternions are written with about six digits; one whose length is further from 1 is a mistake.
UNIT_TOLERANCE = 1e-2

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_EULER, _QUATERNION = "euler_rpy", "quat_xyzw"


class ValueProblem(BadText):
    """A text that is not the value that SDFormat requires."""


def parse_number(text: str, *, infinite: bool = False) -> float:
    """Read a number; `infinite` allows `inf`.

    Raises `ValueProblem` if it is none, or not finite where it must be.
    """
    if infinite and _INFINITE.fullmatch(text):
        return float(text)
    if not _NUMBER.fullmatch(text):
        raise ValueProblem(f"{quoted(text)} is no number", "a number is written as 3.24, -.5 or 32e-4")
    value = float(text)
    if not math.isfinite(value):
        raise ValueProblem(f"{quoted(text)} is too large", "it overflows a floating-point number")
    return value


def parse_truth(text: str) -> bool:
    """Read `true`, `false`, `1` or `0`, in any case. Raises `ValueProblem` if it is none of them."""
    truth = _TRUTH.get(text.lower())
    if truth is None:
        raise ValueProblem(f"{quoted(text)} is neither true nor false", "write true, false, 1 or 0")
    return truth


def parse_vector(text: str) -> Floats:
    """Read `x y z`, shape (3,). Raises `ValueProblem` if there are not three, or one is no finite number."""
    return np.array(parse_numbers(text, 3, "a vector is three numbers, x y z"))


def parse_pose(text: str, rotation_format: str = _EULER, *, degrees: bool = False) -> Floats:
    """Read a pose, shape (4, 4); an empty text is the identity.

    Roll, pitch and yaw turn about fixed axes: `R = Rz(yaw) Ry(pitch) Rx(roll)`.

    Raises `ValueProblem` if the numbers are too few, too many or no rotation, or the format is unknown.
    """
    if rotation_format not in {_EULER, _QUATERNION}:
        raise ValueProblem(
            f"unknown rotation_format {quoted(rotation_format)}", f"SDFormat knows {_EULER} and {_QUATERNION}"
        )
    if rotation_format == _QUATERNION:
        if degrees:
            raise ValueProblem("'degrees' of a quaternion", "it has no angles", "remove 'degrees'")
        values = parse_numbers(text or "0 0 0 0 0 0 1", 7, "with quat_xyzw a pose is x y z qx qy qz qw")
        return _posed(values[:3], _from_quaternion(values[3:], text))
    values = parse_numbers(text or "0 0 0 0 0 0", 6, "a pose is six numbers, x y z roll pitch yaw")
    roll, pitch, yaw = map(math.radians, values[3:]) if degrees else values[3:]
    return _posed(values[:3], _from_angles(roll, pitch, yaw))


def parse_numbers(text: str, count: int, reason: str) -> list[float]:
    """Read so many numbers; `reason` explains in messages what they are.

    Raises `ValueProblem` if there are more or fewer, or one is no finite number or too large.
    """
    words = text.split()
    if len(words) != count:
        numbers = "1 number" if len(words) == 1 else f"{len(words)} numbers"
        raise ValueProblem(f"{quoted(text)} has {numbers}", reason)
    values = [parse_number(word) for word in words]
    if max(map(abs, values)) > FARTHEST:
        raise ValueProblem(f"{quoted(text)} is too large", "no robot reaches that far")
    return values


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
        raise ValueProblem(
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
