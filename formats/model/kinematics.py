"""Forward kinematics: where a robot's links, joints and frames are, for one posture or many at once.

And the Jacobian of one of these places: how it moves as joints do.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from motiond.text import listed, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from ..arrays import Floats
    from .structure import Frame, Joint, JointType, Link

_Key: TypeAlias = tuple[Literal["base", "link", "joint", "frame"], str]
_BASE: _Key = ("base", "")
_RANK = {"joint": 1, "frame": 2, "link": 3}


class ForwardKinematics:
    """The poses of a robot's links, joints and frames; in which order they follow is worked out once."""

    def __init__(
        self,
        name: str,
        joints: tuple[Joint, ...],
        links: tuple[Link, ...],
        frames: tuple[Frame, ...],
        base_pose: Floats,
    ) -> None:
        self._name = name
        self._joints = joints
        self._links = links
        self._frames = frames
        self._base_pose = base_pose
        self._dof = sum(len(joint.coordinates) for joint in joints)
        self._ways: dict[str, list[_Step]] = {}

    def poses(self, q: ArrayLike) -> dict[str, Floats]:
        """Return the pose of every place by its name, as `RobotModel.forward_kinematics` does."""
        postures = self._checked(q)
        places: dict[_Key, Floats] = {_BASE: self._base_pose}
        for step in self._steps:
            places[step.key] = step.place(places[step.hangs_on], postures)
        del places[_BASE]
        ranked = sorted(places, key=lambda key: _RANK[key[0]])
        if np.ndim(q) == 1:
            return {key[1]: places[key].reshape(4, 4) for key in ranked}
        return {key[1]: np.broadcast_to(places[key], (len(postures), 4, 4)) for key in ranked}

    def jacobian(self, q: ArrayLike, place: str, joints: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the pose of a place and its Jacobian, as `RobotModel.jacobian` does.

        Each column is a joint's unit twist, moved to the place's origin: Siciliano et al., Robotics:
        Modelling, Planning and Control (2009), 3.1.3.
        """
        postures = self._checked(q)
        if np.ndim(q) != 1:
            reason = f"{np.ndim(q)} dimensions of positions"
            raise ValueError(
                f"{self._name}: a Jacobian is of one posture; {reason}; give an array of shape ({self._dof},)"
            )
        pose, jacobian = self._base_pose, np.zeros((6, len(joints)))
        origins = np.zeros((len(joints), 3))
        for step in self._way_to(place):
            pose = step.place(pose, postures).reshape(4, 4)
            if step.joint is not None and step.joint.name in joints and step.joint.coordinates:
                column = joints.index(step.joint.name)
                slide, turn = _unit_twist(self._name, step.joint)
                jacobian[:3, column], jacobian[3:, column] = pose[:3, :3] @ slide, pose[:3, :3] @ turn
                origins[column] = pose[:3, 3]
        jacobian[:3] += np.cross(jacobian[3:].T, pose[:3, 3] - origins).T
        return pose, jacobian

    def _way_to(self, place: str) -> list[_Step]:
        """Return the steps from the base to a place; a link where one shares its name with another."""
        if place in self._ways:
            return self._ways[place]
        steps = {step.key: step for step in self._steps}
        of_name = {key[1]: key for key in sorted(steps, key=lambda key: _RANK[key[0]])}
        if place not in of_name:
            reason, hint = f"it has {listed(tuple(of_name))}", nearest(place, of_name) or "choose one of them"
            raise ValueError(f"{self._name}: there is no frame '{place}'; {reason}; {hint}")
        way = [steps[of_name[place]]]
        while way[0].hangs_on != _BASE:
            way.insert(0, steps[way[0].hangs_on])
        self._ways[place] = way
        return way

    def _checked(self, q: ArrayLike) -> Floats:
        """Return `q` as an array of shape (n, dof)."""
        array = np.asarray(q, dtype=np.float64)
        if array.ndim not in {1, 2} or array.shape[-1] != self._dof:
            raise ValueError(
                f"{self._name}: positions of shape {array.shape}; it has {self._dof} degrees of freedom; "
                f"give an array of shape ({self._dof},) or (n, {self._dof})"
            )
        if not np.isfinite(array).all():
            bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(
                f"{self._name}: position {list(bad)} is {array[bad]}; positions are finite; check the motion"
            )
        return np.atleast_2d(array)

    @functools.cached_property
    def _steps(self) -> tuple[_Step, ...]:
        """Every place, each after the one it hangs on."""
        steps = {step.key: step for step in self._unordered_steps()}
        for step in steps.values():
            if step.hangs_on not in steps and step.hangs_on != _BASE:
                raise ValueError(
                    f"{self._name}: {' '.join(step.key)!r} hangs on {step.hangs_on[1]!r}; "
                    "there is no such place"
                )
        sorter = TopologicalSorter({key: {step.hangs_on} for key, step in steps.items()})
        try:
            return tuple(steps[key] for key in sorter.static_order() if key != _BASE)
        except CycleError as error:
            ring = " -> ".join(name for _, name in error.args[1])
            raise ValueError(f"{self._name}: links hang on each other in a loop: {ring}") from None

    def _unordered_steps(self) -> Iterator[_Step]:
        links = {link.name for link in self._links}
        joints = {joint.name for joint in self._joints}

        def place(name: str) -> _Key:
            if name in links:
                return ("link", name)
            if name in joints:
                return ("joint", name)
            return _BASE if name in {"", "world"} else ("frame", name)

        carriers: dict[str, Joint] = {}
        first = 0
        for joint in self._joints:
            if not joint.closes_loop:
                carriers.setdefault(joint.child, joint)
            yield _Step(("joint", joint.name), place(joint.parent), joint.parent_pose, joint, first)
            first += len(joint.coordinates)
        for link in self._links:
            carrier = carriers.get(link.name)
            if carrier is None:
                yield _Step(("link", link.name), place(link.attached_to), link.pose)
            else:
                yield _Step(("link", link.name), ("joint", carrier.name), carrier.child_pose)
        for frame in self._frames:
            yield _Step(("frame", frame.name), place(frame.attached_to), frame.pose)


@dataclass(frozen=True, slots=True)
class _Step:
    """How one place follows from another: a constant pose, and for a joint its displacement."""

    key: _Key
    hangs_on: _Key
    pose: Floats
    joint: Joint | None = None
    first: int = 0

    def place(self, base: Floats, postures: Floats) -> Floats:
        """Return the place's pose: shape (4, 4), or (n, 4, 4) below a joint."""
        pose = base @ self.pose
        if self.joint is None or not self.joint.coordinates:
            return pose
        mine = postures[:, self.first : self.first + len(self.joint.coordinates)]
        return pose @ _DISPLACEMENTS[self.joint.type](self.joint, mine / self.joint.gear_ratio)


def _unit_twist(robot: str, joint: Joint) -> tuple[Floats, Floats]:
    """Return how a joint's moved frame slides (3,) and turns (3,) in itself, per unit of its coordinate."""
    if len(joint.coordinates) != 1:
        count = f"{len(joint.coordinates)} coordinates"
        raise ValueError(
            f"{robot}: joint '{joint.name}' ({joint.type}) has {count}; a column of a Jacobian is of one"
        )
    axis = joint.axes[0] / joint.gear_ratio
    if joint.unit(0) == "m":
        return axis, np.zeros(3)
    return axis * (joint.pitch_m / (2 * np.pi) if joint.type == "screw" else 0.0), axis


def _turned(axis: Floats, angles: Floats) -> Floats:
    """Return rotations about a unit axis by Rodrigues' formula: angles (n,) in rad, poses (n, 4, 4)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, versine = np.sin(angles)[:, None, None], (1.0 - np.cos(angles))[:, None, None]
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    poses[:, :3, :3] += sine * cross + versine * (cross @ cross)
    return poses


def _revolute(joint: Joint, values: Floats) -> Floats:
    return _turned(joint.axes[0], values[:, 0])


def _screw(joint: Joint, values: Floats) -> Floats:
    poses = _turned(joint.axes[0], values[:, 0])
    poses[:, :3, 3] = values * (joint.pitch_m / (2 * np.pi)) * joint.axes[0]
    return poses


def _in_turn(joint: Joint, values: Floats) -> Floats:
    """Turn about each axis in its turn, each carried along by those before it."""
    turns = [_turned(axis, angles) for axis, angles in zip(joint.axes, values.T, strict=True)]
    return functools.reduce(np.matmul, turns)


def _gearbox(joint: Joint, values: Floats) -> Floats:
    """Turn the parent and the child in a common body; the angles are from that body to each of the two."""
    return _turned(joint.axes[0], -values[:, 0]) @ _turned(joint.axes[1], values[:, 1])


def _ball(_: Joint, values: Floats) -> Floats:
    """Turn about a rotation vector by its length: the exponential map."""
    angles = np.linalg.norm(values, axis=1)[:, None, None]
    cross = np.zeros((len(values), 3, 3))
    cross[:, (2, 0, 1), (1, 2, 0)] = values
    cross[:, (1, 2, 0), (2, 0, 1)] = -values
    # sin(x) / x and (1 - cos(x)) / x², which are finite at zero.
    first, second = np.sinc(angles / np.pi), np.sinc(angles / (2 * np.pi)) ** 2 / 2
    poses = np.tile(np.eye(4), (len(values), 1, 1))
    poses[:, :3, :3] += first * cross + second * (cross @ cross)
    return poses


def _free(joint: Joint, values: Floats) -> Floats:
    poses = _ball(joint, values[:, :3])
    poses[:, :3, 3] = values[:, 3:]
    return poses


def _translational(joint: Joint, values: Floats) -> Floats:
    poses = np.tile(np.eye(4), (len(values), 1, 1))
    poses[:, :3, 3] = values @ joint.axes
    return poses


def _planar(joint: Joint, values: Floats) -> Floats:
    poses = _turned(joint.axes[2], values[:, 2])
    poses[:, :3, 3] = values[:, :2] @ joint.axes[:2]
    return poses


# What coordinates do, by the joint's type: values (n, coordinates) after the gear to poses (n, 4, 4).
_DISPLACEMENTS: dict[JointType, Callable[[Joint, Floats], Floats]] = {
    "revolute": _revolute,
    "continuous": _revolute,
    "prismatic": _translational,
    "screw": _screw,
    "universal": _in_turn,
    "revolute2": _in_turn,
    "gearbox": _gearbox,
    "euler": _in_turn,
    "ball": _ball,
    "free": _free,
    "translational": _translational,
    "planar": _planar,
}
