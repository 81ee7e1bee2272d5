"""The neutral robot: links, joints, coordinates and frames, and where each of them is for given positions.

Every robot reader makes one of these; nothing here knows a file format. SI units, 4x4 poses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "screw", "universal", "ball", "euler",
    "translational", "planar", "free", "revolute2", "gearbox",
]  # fmt: skip
FrameKind = Literal["link", "joint", "frame", "model", "output", "com", "end_effector"]


def identity_pose() -> Floats:
    """Give a new read-only 4x4 identity."""
    pose = np.eye(4)
    pose.flags.writeable = False
    return pose


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: `position = multiplier * of + offset`."""

    of: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One degree of freedom of a joint; limits are infinite where the file sets none.

    Units are rad or m, rad/s or m/s, N·m or N, by the joint's type.
    """

    name: str
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    initial: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """A rigid body.

    Attributes
    ----------
    mass : float
        In kg.
    com : ndarray, shape (4, 4)
        The centre-of-mass frame in the link's frame; the inertia is about it.
    inertia : ndarray, shape (3, 3)
        In kg·m².
    attached_to : str
        The link that this one is rigidly part of, or '' where a joint carries it or it is a root.
    pose : ndarray, shape (4, 4)
        In the frame of `attached_to`; of a root, in the model's frame.
    """

    name: str
    mass: float = 0.0
    com: Floats = field(default_factory=identity_pose)
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    attached_to: str = ""
    pose: Floats = field(default_factory=identity_pose)


@dataclass(frozen=True, slots=True)
class Joint:
    """A connection between two links, with a coordinate for each degree of freedom.

    Attributes
    ----------
    axes : ndarray, shape (n, 3)
        Unit vectors in the joint's frame.
    parent_pose : ndarray, shape (4, 4)
        The joint's frame in the parent link's frame.
    child_pose : ndarray, shape (4, 4)
        The child link's frame in the joint's moved frame.
    gear_ratio : float
        The joint's displacement is its coordinate divided by this.
    """

    name: str
    type: JointType
    parent: str
    child: str
    axes: Floats
    coordinates: tuple[Coordinate, ...]
    mimic: Mimic | None = None
    parent_pose: Floats = field(default_factory=identity_pose)
    child_pose: Floats = field(default_factory=identity_pose)
    gear_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Frame:
    """A named place: `pose` (4x4) is in the frame of the link, joint or frame `attached_to`."""

    name: str
    kind: FrameKind
    attached_to: str
    pose: Floats


@dataclass(frozen=True, slots=True)
class RobotModel:
    """A robot as its file describes it.

    Attributes
    ----------
    joints : tuple of Joint
        In document order; `q` is their coordinates one after the other.
    base_pose : ndarray, shape (4, 4)
        Where the file places the robot.
    warnings : tuple of str
        `file:line: what; why; how to mend`, one for each oddity that was read all the same.
    """

    name: str
    format: str
    version: str
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    canonical_link: str
    base_pose: Floats = field(default_factory=identity_pose)
    warnings: tuple[str, ...] = ()

    @property
    def dof(self) -> int:
        """The number of coordinates of all joints."""
        return sum(len(joint.coordinates) for joint in self.joints)
