"""What a robot may look like, worked out of its kinematics where its file says nothing.

A link is a strut from where it is carried to each place where something hangs on it, and a housing lies along
each axis that a joint turns about. A part of known mass and length is as thick as a rod of 2 kg/l, which is
near the density of actuators and of tubes with their ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import frozen
from .poses import inverse_pose, turned_to
from .shapes import LARGEST_M, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..arrays import Floats
    from .robot import RobotModel
    from .structure import Joint, Link

DENSITY_KG_M3 = 2000.0
# Places nearer to each other than this are one.
SHORTEST_M = 1e-4
# Radii, as shares of the robot's longest strut, and how long that is taken to be where there is none.
THINNEST, THICKEST = 0.02, 0.4
USUAL_M = 0.1
# A housing's radius as a share of its link's, and its length as a share of that radius.
HOUSING_WIDTH, HOUSING_LENGTH = 1.25, 2.5
# The cosine of the angle at which a strut still lies along an axis.
ALONG = 0.99

_TURNING = frozenset({"revolute", "continuous", "screw", "universal", "revolute2", "gearbox"})
_ALL_WAYS = frozenset({"ball", "euler"})
_SLIDING = frozenset({"prismatic", "translational"})


def derived_shapes(model: RobotModel) -> Mapping[str, tuple[Shape, ...]]:
    """Return shapes for the links that look like nothing, by the link's name.

    Where the format can say of every link what it looks like, and says it of one at least, a link without
    shapes is bare on purpose, and there are none.
    """
    if model.describes_looks and any(link.shapes for link in model.links):
        return {}
    limbs = _limbs(model)
    longest = max((limb.longest for limb in limbs), default=0.0) or USUAL_M
    found = {limb.link.name: tuple(limb.shapes(longest)) for limb in limbs if not limb.link.shapes}
    return {name: shapes for name, shapes in found.items() if shapes}


@dataclass(slots=True)
class _Limb:
    """A link, and what matters for its looks, in its own frame."""

    link: Link
    start: Floats  # shape (3,); where it is carried
    ends: list[Floats] = field(default_factory=list)  # shape (3,); where something hangs on it
    # the joints whose housings are part of it, with their poses, shape (4, 4)
    joints: list[tuple[Floats, Joint]] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """The length of its longest strut in m, or 0."""
        return max((float(np.linalg.norm(strut)) for strut in self._struts()), default=0.0)

    def shapes(self, longest: float) -> Iterator[Shape]:
        """Return its struts and housings, no thicker than fits to a robot with a longest strut in m."""
        struts = self._struts()
        radius = self._radius(sum(float(np.linalg.norm(strut)) for strut in struts), longest)
        for strut in struts:
            pose = turned_to(strut)
            pose[:3, 3] = self.start + strut / 2
            yield Shape("cylinder", (radius, float(np.linalg.norm(strut))), frozen(pose))
        bare = not struts
        for pose, joint in self.joints:
            for housing in self._housings(pose, joint, HOUSING_WIDTH * radius):
                bare = False
                yield housing
        if bare and self.link.mass > 0:
            ball = (self.link.mass * 3 / (4 * math.pi * DENSITY_KG_M3)) ** (1 / 3)
            centre = np.eye(4)
            centre[:3, 3] = self.link.com[:3, 3]
            yield Shape("sphere", (_fitting(ball, longest),), frozen(centre))

    def _struts(self) -> list[Floats]:
        """Return where each strut leads from the start; one that nothing hangs on has its mass half way."""
        ends = self.ends or [2 * self.link.com[:3, 3] - self.start]
        ways = {tuple(np.round((end - self.start) / SHORTEST_M)): end - self.start for end in ends}
        return [way for way in ways.values() if SHORTEST_M < np.linalg.norm(way) <= LARGEST_M]

    def _radius(self, length_m: float, longest: float) -> float:
        mass = max(self.link.mass, 0.0)
        return _fitting(math.sqrt(mass / (DENSITY_KG_M3 * math.pi * length_m)) if length_m else 0.0, longest)

    def _housings(self, pose: Floats, joint: Joint, radius: float) -> Iterator[Shape]:
        length = HOUSING_LENGTH * radius
        if joint.type in _ALL_WAYS:
            yield Shape("sphere", (radius,), frozen(pose.copy()))
        elif joint.type in _TURNING | _SLIDING:
            for axis in joint.axes:
                turned = pose @ turned_to(axis)
                if joint.type in _SLIDING:
                    yield Shape("box", (radius, radius, length), frozen(turned))
                elif not self._lies_along(turned):
                    yield Shape("cylinder", (radius, length), frozen(turned))

    def _lies_along(self, turned: Floats) -> bool:
        """Whether a strut that ends at a joint lies along its axis, and so is its housing already."""
        way = turned[:3, 3] - self.start
        length = float(np.linalg.norm(way))
        return length > SHORTEST_M and bool(abs(way @ turned[:3, 2]) > ALONG * length)


def _fitting(radius: float, longest: float) -> float:
    return min(max(radius, THINNEST * longest), THICKEST * longest)


def _limbs(model: RobotModel) -> list[_Limb]:
    """Return every link with its places."""
    carriers: dict[str, Joint] = {}
    for joint in model.joints:
        if not joint.closes_loop:
            carriers.setdefault(joint.child, joint)
    limbs = {link.name: _Limb(link, _start(link, carriers)) for link in model.links}
    for joint in model.joints:
        _hang(joint, limbs)
    for link in model.links:
        if link.attached_to in limbs and link.name not in carriers:
            limbs[link.attached_to].ends.append(link.pose[:3, 3])
    for frame in model.frames:
        if frame.kind in {"output", "end_effector"} and frame.attached_to in limbs:
            limbs[frame.attached_to].ends.append(frame.pose[:3, 3])
    return list(limbs.values())


def _hang(joint: Joint, limbs: Mapping[str, _Limb]) -> None:
    """Add a joint to the link that it hangs on; one that hangs on the world has its housing on its child."""
    carried = inverse_pose(joint.child_pose)
    if joint.parent in limbs:
        limbs[joint.parent].ends.append(joint.parent_pose[:3, 3])
        limbs[joint.parent].joints.append((joint.parent_pose, joint))
    elif joint.child in limbs:
        limbs[joint.child].joints.append((carried, joint))
    if joint.closes_loop and joint.child in limbs:
        limbs[joint.child].ends.append(carried[:3, 3])


def _start(link: Link, carriers: Mapping[str, Joint]) -> Floats:
    carrier = carriers.get(link.name)
    return inverse_pose(carrier.child_pose)[:3, 3] if carrier else np.zeros(3)
