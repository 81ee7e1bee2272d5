"""What a robot consists of: links, joints with their coordinates, and frames.

SI units; poses are 4x4 matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from .poses import identity_pose

if TYPE_CHECKING:
    from ..arrays import Floats
    from .shapes import Shape, ShapeRole

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "screw", "universal", "ball", "euler",
    "translational", "planar", "free", "revolute2", "gearbox",
]  # fmt: skip
FrameKind = Literal["link", "joint", "frame", "model", "output", "com", "end_effector"]

# The coordinates that slide, by their numbers in a joint of the type; all others turn.
_SLIDING: dict[JointType, frozenset[int]] = {
    "prismatic": frozenset({0}),
    "translational": frozenset({0, 1, 2}),
    "planar": frozenset({0, 1}),
    "free": frozenset({3, 4, 5}),
}

# What is added to the name of a free joint to name its coordinates.
FREE_COORDINATES = ("_rot_x", "_rot_y", "_rot_z", "_pos_x", "_pos_y", "_pos_z")

# Relative to the largest moment: the error of inertias written with six digits.
INERTIA_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: `position = multiplier * of + offset`."""

    of: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One degree of freedom of a joint; limits are infinite where the file sets none.

    Units are rad or m, rad/s or m/s, N·m or N, by the joint's type. Damping is effort per velocity, friction
    is an effort, stiffness is effort per distance from `spring_reference`.
    """

    name: str
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    initial: float = 0.0
    initial_velocity: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    spring_stiffness: float = 0.0
    spring_reference: float = 0.0

    @property
    def is_bounded(self) -> bool:
        """Whether it has a lowest or a highest position."""
        return bool(np.isfinite(self.lower) or np.isfinite(self.upper))


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
    shapes : tuple of Shape
        Those of its visuals and collisions that can be drawn, in document order.
    unseen : tuple of str
        The roles of those that nobody can draw, as a mesh that is missing.
    """

    name: str
    mass: float = 0.0
    com: Floats = field(default_factory=identity_pose)
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    attached_to: str = ""
    pose: Floats = field(default_factory=identity_pose)
    shapes: tuple[Shape, ...] = ()
    unseen: tuple[ShapeRole, ...] = ()


@dataclass(frozen=True, slots=True)
class Joint:
    """A connection between two links, with a coordinate for each degree of freedom.

    Attributes
    ----------
    axes : ndarray, shape (n, 3)
        Unit vectors in the joint's frame, one for each coordinate: what it turns about or moves along. The
        coordinates of a ball joint are the components of a rotation vector; those of a free joint are these
        and then the components of its position.
    parent_pose : ndarray, shape (4, 4)
        The joint's frame in the parent link's frame; where the parent is `world`, in the model's frame.
    child_pose : ndarray, shape (4, 4)
        The child link's frame in the joint's moved frame.
    gear_ratio : float
        The joint's displacement is its coordinate divided by this.
    pitch_m : float
        How far a screw joint moves along its axis in one full turn.
    actuator : str
        What moves the joint, in the file's words; '' where the file does not say.
    closes_loop : bool
        Whether another joint carries the child, so that this one's coordinates do not move it.
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
    pitch_m: float = 0.0
    actuator: str = ""
    closes_loop: bool = False

    @property
    def comes_round(self) -> bool:
        """Whether a whole turn brings it back to where it was."""
        return self.type in {"revolute", "continuous"}

    def unit(self, number: int) -> Literal["rad", "m"]:
        """Return the unit of a coordinate's position by its number in the joint, from 0."""
        return "m" if number in _SLIDING.get(self.type, ()) else "rad"


@dataclass(frozen=True, slots=True)
class Frame:
    """A named place: `pose` (4x4) is in the frame of the link, joint or frame `attached_to`."""

    name: str
    kind: FrameKind
    attached_to: str
    pose: Floats


def inertia_fault(inertia: Floats) -> tuple[str, str] | None:
    """Return why no body has an inertia (3, 3), and what to check; None for one that a body may have."""
    # Scaled, so that products of huge moments stay finite.
    size = float(np.abs(inertia).max())
    if size == 0:
        return None
    least, middle, largest = np.linalg.eigvalsh(inertia / size).tolist()
    if least >= -INERTIA_TOLERANCE and least + middle + INERTIA_TOLERANCE >= largest:
        return None
    return "moments are not negative, and none is more than the other two together", "check units and signs"
