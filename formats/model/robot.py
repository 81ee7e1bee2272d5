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
    from collections.abc import Mapping

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
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

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

    @cached_property
    def _kinematics(self) -> ForwardKinematics:
        return ForwardKinematics(self.name, self.joints, self.links, self.frames, self.base_pose)
