"""Poses: 4x4 matrices of a rotation and a translation in metres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import frozen

if TYPE_CHECKING:
    from ..arrays import Floats


def identity_pose() -> Floats:
    """Return a new read-only identity, shape (4, 4)."""
    return frozen(np.eye(4))


def inverse_pose(pose: Floats) -> Floats:
    """Return the inverse of a pose, shape (4, 4)."""
    inverse = np.eye(4)
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse
