"""The neutral robot, which every robot reader makes; it knows no file format.

SI units; poses are 4x4 matrices. `structure` describes the links, joints and frames that it consists of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .kinematics import ForwardKinematics
from .poses import identity_pose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from ..arrays import Floats
    from .structure import Frame, Joint, Link


@dataclass(frozen=True)
class RobotModel:
    """A robot as its file describes it.

    Attributes
    ----------
    joints : tuple of Joint
        In document order; `q` is their coordinates one after the other.
    base_pose : ndarray, shape (4, 4)
        Where the file places the robot.
    describes_looks : bool
        Whether the format can say of every link what it looks like, so that one without shapes is bare on
        purpose.
    describes_limits : bool
        Whether the format can say of every joint how far it goes, so that one without limits has none on
        purpose.
    warnings : tuple of str
        `file:line: problem; reason; hint`, one for each oddity that was read all the same.
    metadata : mapping
        What the file says besides.
    """

    name: str
    format: str
    version: str
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    canonical_link: str
    base_pose: Floats = field(default_factory=identity_pose)
    describes_looks: bool = True
    describes_limits: bool = True
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def is_continuous(self, joint: Joint) -> bool:
        """Whether a joint is said to turn without end, so that a turn brings it back to where it was."""
        bounded = any(coordinate.is_bounded for coordinate in joint.coordinates)
        return self.describes_limits and joint.comes_round and not bounded

    @property
    def dof(self) -> int:
        """The number of coordinates of all joints."""
        return sum(len(joint.coordinates) for joint in self.joints)

    def forward_kinematics(self, q: ArrayLike) -> dict[str, Floats]:
        """Return where every link, joint and frame is, in the frame that the file places the robot in.

        Parameters
        ----------
        q : array_like, shape (dof,) or (n, dof)
            One posture or many: rad or m, in the order of `joints`.

        Returns
        -------
        dict of str to ndarray, shape (4, 4) or (n, 4, 4)
            By name. A joint's frame is the one it has moved. Where a link and a joint share a name, the
            entry is the link's.

        Raises
        ------
        ValueError
            If `q` has another shape or a value that is not finite, or if the robot's links hang on each other
            in a loop.
        """
        return self._kinematics.poses(q)

    def jacobian(self, q: ArrayLike, place: str, joints: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the pose of a link, joint or frame, and how it moves with some of the joints.

        Parameters
        ----------
        q : array_like, shape (dof,)
            The posture: rad or m, in the order of `joints`.
        place : str
            Its name, as `forward_kinematics` has it.
        joints : sequence of str
            The joints of the columns, each with one coordinate.

        Returns
        -------
        pose : ndarray, shape (4, 4)
            As `forward_kinematics` returns it.
        jacobian : ndarray, shape (6, joints)
            Per unit of each joint's velocity: the velocity of the place's origin in m/s, and its angular
            velocity in rad/s, along the axes of the frame that the file places the robot in. 0 in columns of
            joints that do not move the place. A mimic joint counts for itself, not with the one it follows.

        Raises
        ------
        ValueError
            As of `forward_kinematics`; if there is no such place; if one of the joints has several
            coordinates and moves the place.
        """
        return self._kinematics.jacobian(q, place, joints)

    @cached_property
    def _kinematics(self) -> ForwardKinematics:
        return ForwardKinematics(self.name, self.joints, self.links, self.frames, self.base_pose)
