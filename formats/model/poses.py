"""Poses: 4x4 matrices of a rotation and a translation in metres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import frozen

if TYPE_CHECKING:
    from ..arrays import Floats


_IDENTITY = frozen(np.eye(4))


def identity_pose() -> Floats:
    """Return the identity, shape (4, 4), read-only."""
    return _IDENTITY


def inverse_pose(pose: Floats) -> Floats:
    """Return the inverse of a pose, shape (4, 4)."""
    inverse = _IDENTITY.copy()
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse


def turned_to(direction: Floats) -> Floats:
    """Return the pose (4, 4) whose z axis points along a direction (3,); the identity for one of length 0."""
    pose = np.eye(4)
    length = np.linalg.norm(direction)
    if length == 0:
        return pose
    z = direction / length
    if z[2] == 1:
        return pose
    # Any axis will do that is not nearly parallel to it.
    across = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x = across / np.linalg.norm(across)
    pose[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return pose


def quaternion_of(pose: Floats) -> tuple[float, float, float, float]:
    """Return the rotation w, x, y, z of a pose (4, 4), by its largest component, which nothing cancels."""
    matrix = pose[:3, :3]
    trace = float(np.trace(matrix))
    squares = [trace, *np.diag(matrix)]
    largest = int(np.argmax(squares))
    if largest == 0:
        values = np.array([1 + trace, *(_off(matrix, one) for one in range(3))])
    else:
        first = largest - 1
        values = np.empty(4)
        values[0] = _off(matrix, first)
        values[1:] = matrix[first] + matrix[:, first]
        values[largest] = 1 + 2 * matrix[first, first] - trace
    w, x, y, z = (values / np.linalg.norm(values)).tolist()
    return w, x, y, z


def _off(matrix: Floats, axis: int) -> float:
    second, third = (axis + 1) % 3, (axis + 2) % 3
    return float(matrix[third, second] - matrix[second, third])
