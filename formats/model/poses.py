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
