"""The neutral robot: links, joints, coordinates and frames, and where each of them is for given positions.

Every robot reader makes one of these; nothing here knows a file format. SI units, 4x4 poses.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .poses import identity_pose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike

    from ..arrays import Floats

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "screw", "universal", "ball", "euler",
    "translational", "planar", "free", "revolute2", "gearbox",
]  # fmt: skip
FrameKind = Literal["link", "joint", "frame", "model", "output", "com", "end_effector"]


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: `position = multiplier * of + offset`."""

    of: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One degree of freedom of a joint; limits are infinite where the file sets none.

    Units are rad or m, rad/s or m/s, N·m or N, by the joint's type. Damping is effort by velocity, friction
    an effort, stiffness effort by distance from `spring_reference`.
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
        Unit vectors in the joint's frame, one for each coordinate: what it turns about or moves along. A
        ball's coordinates are a rotation vector's components, and a free joint's are that and its position's.
    parent_pose : ndarray, shape (4, 4)
        The joint's frame in the parent link's frame; where the parent is `world`, in the model's frame.
    child_pose : ndarray, shape (4, 4)
        The child link's frame in the joint's moved frame.
    gear_ratio : float
        The joint's displacement is its coordinate divided by this.
    pitch_m : float
        How far a screw joint moves along its axis in one full turn.
    actuator : str
        What the file says moves it, in the file's words; '' where it does not say.
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
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _steps: tuple[_Step, ...] = field(default=(), init=False, repr=False, compare=False)

    @property
    def dof(self) -> int:
        """The number of coordinates of all joints."""
        return sum(len(joint.coordinates) for joint in self.joints)

    def forward_kinematics(self, q: ArrayLike) -> dict[str, Floats]:
        """Say where every link, joint and frame is, in the frame that the file places the robot in.

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
        postures = self._checked(q)
        if not self._steps:
            object.__setattr__(self, "_steps", _plan_steps(self))
        places: dict[_Key, Floats] = {_BASE: self.base_pose}
        for step in self._steps:
            places[step.key] = step.place(places[step.hangs_on], postures)
        del places[_BASE]
        ranked = sorted(places, key=lambda key: _RANK[key[0]])
        if np.ndim(q) == 1:
            return {key[1]: places[key].reshape(4, 4) for key in ranked}
        return {key[1]: np.broadcast_to(places[key], (len(postures), 4, 4)) for key in ranked}

    def _checked(self, q: ArrayLike) -> Floats:
        """Give `q` as an array of shape (n, dof)."""
        array = np.asarray(q, dtype=np.float64)
        if array.ndim not in {1, 2} or array.shape[-1] != self.dof:
            raise ValueError(
                f"{self.name}: positions of shape {array.shape}; it has {self.dof} degrees of freedom; "
                f"give an array of shape ({self.dof},) or (n, {self.dof})"
            )
        if not np.isfinite(array).all():
            bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(
                f"{self.name}: position {list(bad)} is {array[bad]}; positions are finite; check the motion"
            )
        return np.atleast_2d(array)


_Key: TypeAlias = tuple[Literal["base", "link", "joint", "frame"], str]
_BASE: _Key = ("base", "")
_RANK = {"joint": 1, "frame": 2, "link": 3}


@dataclass(frozen=True, slots=True)
class _Step:
    """How one place follows from another: a constant pose, and for a joint its displacement."""

    key: _Key
    hangs_on: _Key
    pose: Floats
    joint: Joint | None = None
    first: int = 0

    def place(self, base: Floats, postures: Floats) -> Floats:
        """Give the place's pose, shape (4, 4), or (n, 4, 4) below a joint."""
        pose = base @ self.pose
        if self.joint is None or not self.joint.coordinates:
            return pose
        mine = postures[:, self.first : self.first + len(self.joint.coordinates)]
        return pose @ _DISPLACEMENTS[self.joint.type](self.joint, mine / self.joint.gear_ratio)


def _turned(axis: Floats, angles: Floats) -> Floats:
    """Give rotations about a unit axis by Rodrigues' formula: angles (n,) in rad, poses (n, 4, 4)."""
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
    """Turn the parent and the child in a common body: angles from that body to each of the two."""
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


# What a joint's coordinates do: values (n, coordinates) after the gear to poses (n, 4, 4); a function a type.
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


def _plan_steps(model: RobotModel) -> tuple[_Step, ...]:
    """Order the places so that each comes after the one it hangs on."""
    steps = {step.key: step for step in _all_steps(model)}
    for step in steps.values():
        if step.hangs_on not in steps and step.hangs_on != _BASE:
            raise ValueError(
                f"{model.name}: {' '.join(step.key)!r} hangs on {step.hangs_on[1]!r}; there is no such place"
            )
    sorter = TopologicalSorter({key: {step.hangs_on} for key, step in steps.items()})
    try:
        return tuple(steps[key] for key in sorter.static_order() if key != _BASE)
    except CycleError as error:
        ring = " -> ".join(name for _, name in error.args[1])
        raise ValueError(f"{model.name}: links hang on each other in a loop: {ring}") from None


def _all_steps(model: RobotModel) -> Iterator[_Step]:
    links = {link.name for link in model.links}
    joints = {joint.name for joint in model.joints}

    def place(name: str) -> _Key:
        if name in links:
            return ("link", name)
        if name in joints:
            return ("joint", name)
        return _BASE if name in {"", "world"} else ("frame", name)

    carriers: dict[str, Joint] = {}
    first = 0
    for joint in model.joints:
        if not joint.closes_loop:
            carriers.setdefault(joint.child, joint)
        yield _Step(("joint", joint.name), place(joint.parent), joint.parent_pose, joint, first)
        first += len(joint.coordinates)
    for link in model.links:
        carrier = carriers.get(link.name)
        if carrier is None:
            yield _Step(("link", link.name), place(link.attached_to), link.pose)
        else:
            yield _Step(("link", link.name), ("joint", carrier.name), carrier.child_pose)
    for frame in model.frames:
        yield _Step(("frame", frame.name), place(frame.attached_to), frame.pose)
