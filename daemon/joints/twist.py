"""How fast joints move so that a frame of the robot moves as it is asked to: resolved rates.

A twist is the velocity of the frame's origin and its angular velocity. The joints' velocities are the least
ones that give it, by the singular values of the Jacobian (Whitney, Resolved motion rate control, 1969). Near
a singularity the part of a twist that needs fast joints is damped: Nakamura and Hanafusa, Inverse kinematic
solutions with singularity robustness (1986), and, for each singular value by itself, Maciejewski and Klein,
Numerical filtering for the operation of robotic manipulators through kinematically singular configurations
(1988).

What no joint may do slows the whole: the frame keeps its direction, and stands where a joint that it needs
stands at its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from motiond.text import listed

from .joint_map import moving_joints

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Booleans, Floats

    from .joint_map import JointMap

Reference: TypeAlias = Literal["base", "tool"]
Component: TypeAlias = Literal["vx", "vy", "vz", "wx", "wy", "wz"]

QUOTE = "'"
SINGULAR = 0.05
"""Singular values below this share of the largest are damped: joints are 20 times as fast there."""
SLOWS_S = 0.25
"""So long a joint takes at least to its limit at the speed that it has: the nearer, the slower it goes."""

NEGLIGIBLE = 1e-4
"""Of its greatest speed: a joint at its limit that would hardly move does not keep the others from moving."""


class TwistError(ValueError):
    """A frame that cannot be moved."""


@dataclass(frozen=True, slots=True)
class JointVelocities:
    """What moves a frame.

    Attributes
    ----------
    velocities : ndarray, shape (joints,)
        In rad/s or m/s, of the joints that were named.
    share : float
        Of the twist that is left, 0 to 1, as no joint may be faster.
    slowed_by : str or None
        The joint that slows the whole; None where none does.
    """

    velocities: Floats
    share: float
    slowed_by: str | None


class TwistMap:
    """Turns twists of one frame of a robot into velocities of its joints.

    Parameters
    ----------
    model : RobotModel or None
        The robot's description.
    joint_map : JointMap
        Its joints, with their limits.
    frame : str
        A link, joint or frame of the model.
    joints : sequence of str
        Those that may move; the others hold. Mimic joints move with the ones that they follow.
    reference : {"base", "tool"}
        Whose axes twists are along: of the frame in which the description places the robot, or of `frame`.
    free : collection of str
        Components of twists that come as they may: an arm of three joints can place its tool, but not turn
        it at the same time.
    velocity : ndarray, shape (joints of the map,)
        The greatest speeds, finite, in rad/s or m/s.

    Raises
    ------
    TwistError
        If there is no such frame, or none of the joints moves it.
    """

    def __init__(
        self,
        model: RobotModel | None,
        joint_map: JointMap,
        frame: str,
        joints: Sequence[str],
        *,
        velocity: Floats,
        reference: Reference = "base",
        free: Collection[Component] = (),
    ) -> None:
        if model is None:
            reason = "its joints are configured without a description, so that nobody knows where frames are"
            raise TwistError(f"{joint_map.robot}: frame '{frame}' cannot be moved; {reason}; set `model`")
        self._model, self._map, self._frame = model, joint_map, frame
        self._is_tool = reference == "tool"
        self._asked = np.array([component not in free for component in get_args(Component)])
        self._numbers = [joint_map.joints.index(name) for name in joints]
        self._columns = _columns(model)
        self._speeds = velocity
        self._moves, self._slides = _moves(joint_map, self._numbers)
        self._refuse_unmoved(joints)

    def _refuse_unmoved(self, joints: Sequence[str]) -> None:
        try:
            _, jacobian = self._jacobian(self._map.initial)
        except ValueError as error:
            raise TwistError(str(error)) from error
        if (jacobian @ self._moves).any():
            return
        problem = f"{listed(joints, QUOTE)} cannot move frame '{self._frame}'"
        moved = zip(self._map.joints, jacobian.any(axis=0), strict=True)
        movers = listed([name for name, moves in moved if moves], QUOTE) or "no joint"
        raise TwistError(f"{self._map.robot}: {problem}; what moves it is {movers}; choose another")

    def velocities(self, positions: Floats, twist: Floats) -> JointVelocities:
        """Return the velocities of the joints that may move.

        Parameters
        ----------
        positions : ndarray, shape (joints of the map,)
            Where all joints are, in rad or m.
        twist : ndarray, shape (6,)
            vx, vy, vz in m/s and wx, wy, wz in rad/s; those that are free do not count.
        """
        pose, jacobian = self._jacobian(positions)
        axes = (pose if self._is_tool else self._model.base_pose)[:3, :3]
        along = np.vstack([axes.T @ jacobian[:3], axes.T @ jacobian[3:]])
        lever = _lever(jacobian)
        weights = np.repeat([1.0 / lever, 1.0], 3)
        moves = self._moves * np.where(self._slides, lever, 1.0)
        rows = (weights[:, None] * along @ moves)[self._asked]
        velocities = moves @ _damped(rows, (weights * twist)[self._asked])
        share, slowest = self._share(positions, velocities)
        return JointVelocities(share * velocities[self._numbers], share, slowest)

    def _jacobian(self, positions: Floats) -> tuple[Floats, Floats]:
        posture = np.zeros(self._model.dof)
        posture[self._columns] = positions
        return self._model.jacobian(posture, self._frame, self._map.joints)

    def _share(self, positions: Floats, velocities: Floats) -> tuple[float, str | None]:
        """Return how much of all velocities may be, and the joint that is slowest for it."""
        limits = self._map.limits
        room = np.maximum(np.where(velocities > 0, limits.upper - positions, positions - limits.lower), 0.0)
        with np.errstate(invalid="ignore"):  # no room, and no limit of acceleration
            braking = np.nan_to_num(np.sqrt(limits.acceleration * room), nan=0.0, posinf=np.inf)
        allowed = np.minimum(self._speeds, np.minimum(room / SLOWS_S, braking))
        needed = np.abs(velocities)
        counts = needed > NEGLIGIBLE * self._speeds
        shares = np.divide(allowed, needed, out=np.full(len(needed), np.inf), where=counts)
        slowest = int(np.argmin(shares))
        return (float(shares[slowest]), self._map.joints[slowest]) if shares[slowest] < 1 else (1.0, None)


def _columns(model: RobotModel) -> list[int]:
    """Return the places of the map's joints among the model's coordinates."""
    columns, first = [], 0
    moving = {joint.name for joint in moving_joints(model)}
    for joint in model.joints:
        if joint.name in moving:
            columns.append(first)
        first += len(joint.coordinates)
    return columns


def _moves(joint_map: JointMap, numbers: Sequence[int]) -> tuple[Floats, Booleans]:
    """Return how fast all joints move with each leader among some, and which of these slide.

    Shapes (joints, leaders) and (leaders,).
    """
    rates = np.eye(len(joint_map.joints))
    for mimic in joint_map.mimics:
        rates[mimic.joint] = 0.0
        rates[mimic.joint, mimic.leader] = mimic.multiplier
    leaders = [number for number in numbers if joint_map.leaders[number] == number]
    return rates[:, leaders], np.array([joint_map.units[leader] == "m" for leader in leaders], dtype=bool)


def _lever(jacobian: Floats) -> float:
    """Return the greatest distance of the frame from an axis that turns it, in m; 1 where it has none.

    So far the frame moves for a radian: by it, ways count beside turns, and joints that slide beside others.
    """
    turns = jacobian[3:].any(axis=0)
    return float(np.linalg.norm(jacobian[:3, turns], axis=0).max(initial=0.0)) or 1.0


def _damped(rows: Floats, wanted: Floats) -> Floats:
    """Return the least x for which `rows @ x` is nearest to what is wanted, damped where rows are singular.

    A singular value below `SINGULAR` of the largest, s, counts as s + d² / s. d grows from 0 there to half of
    that bound at s = 0, so that nothing jumps and no x is more than about `1 / SINGULAR` times the least.
    """
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    bound = SINGULAR * values[0]
    damping = np.maximum(bound**2 - values**2, 0.0) / 4
    denominators = values**2 + damping
    gains = np.divide(values, denominators, out=np.zeros_like(values), where=denominators > 0)
    solution: Floats = right.T @ (gains * (left.T @ wanted))
    return solution
