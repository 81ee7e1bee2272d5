"""How fast joints move so that a frame of the robot moves as it is asked to: resolved rates.

A twist is the velocity of the frame's origin and its angular velocity. The joints' velocities are the least
ones that give it, by the singular values of the Jacobian (Whitney, Resolved motion rate control, 1969).

What no joint may do slows the whole: the frame keeps its direction, and stands where a joint that it needs
stands at its limit. Likewise it slows towards a singularity and stands before it, as by the hard stop of
MoveIt Servo; where its twist leads out of one, it begins slowly, as joints have to be fast for little of it.
From twist to twist all joints' velocities change in step, within what they may accelerate.

In a singularity itself the Jacobian does not tell which way leads out, as that is a matter of second order:
an elbow may bend to either side. So the way is looked for in postures beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from motiond.text import listed

from .joint_map import moving_joints

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Booleans, Floats

    from .joint_map import JointMap

Reference: TypeAlias = Literal["base", "tool"]
Component: TypeAlias = Literal["vx", "vy", "vz", "wx", "wy", "wz"]

QUOTE = "'"
SINGULAR = 1.0 / 30.0
"""The frame stands where its twist needs joints 30 times as fast as the best direction does, and would need
them faster yet."""
SINGULARITY = "singularity"
SLOWS_S = 0.25
"""So long it takes at least to a limit or a singularity at the speed that it has: the nearer, the slower."""
AHEAD_S = 1e-4
"""So far ahead it is looked whether a singularity comes nearer, and how the joints' velocities change."""
FOR_THE_WAY = 0.25
"""The share of accelerations that keeping to the line may need; the rest is for becoming faster or slower."""
DEVIATION = 0.05
"""By so much of its speed the frame may come to move differently in `HELD_S`, as velocities are held."""
HELD_S = 0.03
LONGEST_S = 0.1
"""Since the last twist; one that comes later does not change the joints' velocities by more."""
FIRST_S = 0.02
"""The first twist counts as if one of 0 had come so long before."""

UNEVEN = 0.1
"""By so much more than asked the frame may be fast for a moment, where joints, each by its own jerk, do not
take a step in their velocities in the same time."""

NO_VALUE = 1e-9
"""Of the largest: a singular value that rounding leaves of 0."""
WITHIN = 1e-4
"""A twist that needs joints 10,000 times as fast as the best direction, or more, is in a singularity."""
ASIDE = 0.01
"""So far from a singularity, in rad, it is looked for the way out."""
LEAVES = 1.0
"""A way leads out of a singularity where joints have left it after so many rad, all together."""
STANDS = 0.05
"""A twist of which less than this share is left looks for another way out of a singularity."""
EVEN, FASTER = 0.01, 5.0
"""Of what bends by more than this share in `HELD_S`, so many times is taken away, so that nothing is too fast
while joints change their velocities."""
RANK, POSTURES = 1e-6, 5
"""Directions count that joints can move the frame in, by this share of the best, in one of some postures."""
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
        The joint that slows the whole, or "singularity"; None where nothing does.
    """

    velocities: Floats
    share: float
    slowed_by: str | None


class _Solved(NamedTuple):
    """Which velocities of joints (leaders,) give a twist in one posture.

    - `solution`, `others`: all of them; those that no singularity needs
    - `weakest`: those that move the frame least
    - `margin`: how far the twist is from a singularity, 1 to 0: the least speed of joints that such a twist
      could need, by that which it needs; one by the condition number of the Jacobian in its direction
    - `is_singular`: whether the posture is in a singularity, of this twist or another one
    """

    solution: Floats
    others: Floats
    weakest: Floats
    margin: float
    is_singular: bool


class _Resolved(NamedTuple):
    """What gives a twist in one posture.

    - `moves` (joints, leaders): velocities of all joints for those of the solution
    - `rows` (components, leaders): turns beside ways by the frame's lever
    - `speed`: that is wanted, in rad/s
    """

    moves: Floats
    rows: Floats
    speed: float
    solved: _Solved


class _Way(NamedTuple):
    """How joints move a frame from a posture on.

    - `velocities`, `change` (joints,): of all joints, and how these change
    - `margin`, `nearer`: as of `_Solved`, and how that changes
    - `bend`: by how much the frame's velocity changes in `HELD_S` if the joints keep theirs, as a share
    """

    velocities: Floats
    change: Floats
    margin: float
    nearer: float
    bend: float


class _Slowed(NamedTuple):
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
    acceleration : ndarray, shape (joints of the map,)
        By how much velocities may change a second, finite.

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
        acceleration: Floats,
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
        self._speeds, self._accelerations = velocity, acceleration
        self._last = np.zeros(len(joint_map.joints))
        self._last_s: float | None = None
        self._leaders = [number for number in self._numbers if joint_map.leaders[number] == number]
        self._moves, self._slides = _moves(joint_map, self._leaders)
        self._refuse_unmoved(joints)
        self._rank = self._greatest_rank()

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

    def _greatest_rank(self) -> int:
        """Return in how many directions the joints can move the frame at once, in most postures."""
        postures = np.random.default_rng(0).uniform(-1.0, 1.0, (POSTURES, len(self._map.joints)))
        every = [self._rows(self._map.initial + posture)[1] for posture in postures]
        return max(int(np.linalg.matrix_rank(rows, tol=RANK * np.linalg.norm(rows))) for rows in every)

    def next(self, positions: Floats, twist: Floats, now_s: float) -> JointVelocities:
        """Return the velocities of the joints that may move, on from those that it has returned last.

        They change in step, so that from rest and to rest the frame goes straight. Arguments are those of
        `velocities`; `now_s` is in s, on a clock that does not jump.
        """
        since_s = FIRST_S if self._last_s is None else min(now_s - self._last_s, LONGEST_S)
        whole, share, slowed_by = self._within_limits(positions, twist)
        change = self._accelerations * max(since_s, 0.0)
        part = _reached(self._last, whole, change, 1.0 / max(share, NO_VALUE))
        towards = part * whole - self._last
        far = np.abs(towards)
        step = np.min(np.divide(change, far, out=np.ones_like(far), where=far > change), initial=1.0)
        step = min(step, self._even_step(positions, twist, towards))
        self._last, self._last_s = self._last + step * towards, now_s
        return JointVelocities(self._last[self._numbers], share, slowed_by)

    def _even_step(self, positions: Floats, twist: Floats, towards: Floats) -> float:
        """Return which share of a change of velocities may be made at once.

        Joints with a lower jerk come later to their new velocities. Where the parts of the frame's way that
        joints make take each other away, as near a singularity, what they leave for a moment is faster than
        before or after: at most by half of what these parts are more than their sum.
        """
        _, rows, weights = self._rows(positions)
        scales = np.where(self._slides, 1.0 / weights[0] if weights[0] else 1.0, 1.0)
        parts = rows * (towards[self._leaders] / scales)
        uneven = (np.linalg.norm(parts, axis=0).sum() - np.linalg.norm(parts.sum(axis=1))) / 2.0
        now = np.linalg.norm(rows @ (self._last[self._leaders] / scales))
        speed = max(float(np.linalg.norm((weights * twist)[self._asked])), float(now))
        allowed = speed - float(now) + UNEVEN * speed
        return allowed / max(float(uneven), allowed, NO_VALUE)

    def velocities(self, positions: Floats, twist: Floats) -> JointVelocities:
        """Return the velocities of the joints that may move, whatever they are now.

        Parameters
        ----------
        positions : ndarray, shape (joints of the map,)
            Where all joints are, in rad or m.
        twist : ndarray, shape (6,)
            vx, vy, vz in m/s and wx, wy, wz in rad/s; those that are free do not count.
        """
        velocities, share, slowed_by = self._within_limits(positions, twist)
        return JointVelocities(velocities[self._numbers], share, slowed_by)

    def _within_limits(self, positions: Floats, twist: Floats) -> _Slowed:
        now = self._resolved(positions, twist)
        slowed = _Slowed(np.zeros(len(positions)), 0.0, SINGULARITY)
        if now.solved.margin >= WITHIN:
            slowed = self._slowed(positions, self._ahead(positions, twist, now))
        if slowed.share < STANDS and now.solved.is_singular:
            ways = [self._slowed(positions, way) for way in self._ways_out(positions, twist, now)]
            slowed = max([slowed, *ways], key=lambda one: one.share)
        return slowed

    def _slowed(self, positions: Floats, way: _Way) -> _Slowed:
        left = self._share_at_singularity(way)
        shares = [
            self._share(positions, way.velocities),
            self._share_on_way(way.velocities, way.change),
            (left, SINGULARITY),
        ]
        share, slowed_by = min(shares, key=lambda found: found[0])
        if left < STANDS:  # there joints' velocities change without bound, too
            slowed_by = SINGULARITY
        even = min(share, 1.0 / (1.0 + FASTER * max(share * way.bend - EVEN, 0.0)))
        return _Slowed(even * way.velocities, even, slowed_by if share < 1.0 else None)

    def _ahead(self, positions: Floats, twist: Floats, now: _Resolved) -> _Way:
        solved = now.solved
        ahead_s = AHEAD_S * min(max(solved.margin, WITHIN) / SINGULAR, 1.0) ** 2
        velocities = now.moves @ solved.solution
        then = self._resolved(positions + ahead_s * velocities, twist)
        change = (then.moves @ then.solved.solution - velocities) / ahead_s
        nearer = (then.solved.margin - solved.margin) / ahead_s
        bend = float(np.linalg.norm((then.rows - now.rows) @ solved.solution)) / ahead_s
        return _Way(velocities, change, solved.margin, nearer, bend * HELD_S / max(now.speed, NO_VALUE))

    def _ways_out(self, positions: Floats, twist: Floats, now: _Resolved) -> Iterator[_Way]:
        """Yield ways out of a singularity, as they are beside it.

        That is where those joints go that move the frame least, to the middle of their ranges first, or those
        that the twist moves at any rate.
        """
        weakest, others = now.moves @ now.solved.weakest, now.moves @ now.solved.others
        if weakest @ self._from_middle(positions) > 0.0:
            weakest = -weakest
        for direction, is_own in ((weakest, False), (-weakest, False), (others, True)):
            aside = _moved(positions, direction)
            beside = self._resolved(aside, twist)
            if beside.solved.is_singular:
                continue
            way = self._ahead(aside, twist, beside)
            leads_out = way.nearer > 0.0 or (is_own and way.margin > SINGULAR)
            then = self._resolved(_moved(positions, way.velocities), twist)
            if leads_out and then.solved.margin > WITHIN:
                yield way

    def _from_middle(self, positions: Floats) -> Floats:
        """Return how far joints are from the middle of their ranges; 0 of those without."""
        middle = (self._map.limits.lower + self._map.limits.upper) / 2.0
        return np.where(np.isfinite(middle), positions - middle, 0.0)

    def _resolved(self, positions: Floats, twist: Floats) -> _Resolved:
        moves, rows, weights = self._rows(positions)
        wanted = (weights * twist)[self._asked]
        return _Resolved(moves, rows, float(np.linalg.norm(wanted)), _solved(rows, wanted, self._rank))

    def _rows(self, positions: Floats) -> tuple[Floats, Floats, Floats]:
        pose, jacobian = self._jacobian(positions)
        axes = (pose if self._is_tool else self._model.base_pose)[:3, :3]
        along = np.vstack([axes.T @ jacobian[:3], axes.T @ jacobian[3:]])
        lever = _lever(jacobian)
        weights = np.repeat([1.0 / lever, 1.0], 3)
        moves = self._moves * np.where(self._slides, lever, 1.0)
        return moves, (weights[:, None] * along @ moves)[self._asked], weights

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

    def _share_on_way(self, velocities: Floats, change: Floats) -> tuple[float, str]:
        """Return how much of all velocities may be, so that joints can change them as the way needs it.

        Of a way that is gone at a share of the speed, accelerations are the square of that share.
        """
        needed = np.where(np.abs(velocities) > NEGLIGIBLE * self._speeds, np.abs(change), 0.0)
        shares = np.sqrt(self._shares_of(FOR_THE_WAY * self._accelerations, needed))
        slowest = int(np.argmin(shares))
        return float(shares[slowest]), self._map.joints[slowest]

    def _share_at_singularity(self, way: _Way) -> float:
        """Return how much of all velocities may be, so that the frame can stand before a singularity.

        And so that it keeps its direction while velocities are held; where it leaves a singularity, what it
        deviates counts beside the speed that is wanted, as it is slow for a moment only.
        """
        straight = DEVIATION / max(way.bend, DEVIATION)
        if way.nearer >= 0.0:
            left = max(SINGULAR - way.margin, 0.0) * float(np.linalg.norm(way.velocities))
            leaves = float(np.clip(2.0 - left / max(LEAVES * way.nearer, NO_VALUE), 0.0, 1.0))
            return min(way.margin / SINGULAR, float(np.sqrt(straight)), leaves)
        left_s = max(way.margin - SINGULAR, 0.0) / -way.nearer
        allowed = FOR_THE_WAY * self._accelerations * left_s
        braking = np.sqrt(self._shares_of(allowed, np.abs(way.velocities)))
        return float(min(left_s / SLOWS_S, braking.min(), straight))

    def _shares_of(self, allowed: Floats, needed: Floats) -> Floats:
        return np.divide(allowed, needed, out=np.ones_like(needed), where=needed > allowed)


def _columns(model: RobotModel) -> list[int]:
    """Return the places of the map's joints among the model's coordinates."""
    columns, first = [], 0
    moving = {joint.name for joint in moving_joints(model)}
    for joint in model.joints:
        if joint.name in moving:
            columns.append(first)
        first += len(joint.coordinates)
    return columns


def _moves(joint_map: JointMap, leaders: Sequence[int]) -> tuple[Floats, Booleans]:
    """Return how fast all joints move with each of some leaders, and which of these slide.

    Shapes (joints, leaders) and (leaders,).
    """
    rates = np.eye(len(joint_map.joints))
    for mimic in joint_map.mimics:
        rates[mimic.joint] = 0.0
        rates[mimic.joint, mimic.leader] = mimic.multiplier
    return rates[:, leaders], np.array([joint_map.units[leader] == "m" for leader in leaders], dtype=bool)


def _lever(jacobian: Floats) -> float:
    """Return the greatest distance of the frame from an axis that turns it, in m; 1 where it has none.

    So far the frame moves for a radian: by it, ways count beside turns, and joints that slide beside others.
    """
    turns = jacobian[3:].any(axis=0)
    return float(np.linalg.norm(jacobian[:3, turns], axis=0).max(initial=0.0)) or 1.0


def _reached(last: Floats, whole: Floats, change: Floats, most: float) -> float:
    """Return the part of velocities, 0 to `most`, nearest to 1, that joints reach from their last ones.

    It is more than 1 where joints cannot slow down so soon: they keep to the way, and slow down along it.
    Where no part is in reach of all joints, it is the greatest up to 1 that none would have to speed up for.
    """
    speed = np.abs(whole)
    forward, moves = last * np.sign(whole), speed > 0.0
    greatest = np.divide(forward + change, speed, out=np.ones_like(speed), where=moves).min()
    least = np.divide(forward - change, speed, out=np.zeros_like(speed), where=moves).max()
    return float(np.clip(1.0, min(least, most) if least <= greatest else 0.0, max(greatest, 0.0)))


def _moved(positions: Floats, direction: Floats) -> Floats:
    """Return positions that are `ASIDE` further on in a direction."""
    moved: Floats = positions + ASIDE * direction / max(float(np.linalg.norm(direction)), NO_VALUE)
    return moved


def _solved(rows: Floats, wanted: Floats, rank: int) -> _Solved:
    """Return the least x for which `rows @ x` is nearest to what is wanted.

    Only as many singular values count as most postures have; the others are of what no joint does.
    """
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    is_some, across = values[:rank] > WITHIN * values[0], right[:rank].T
    parts = left[:, :rank].T @ wanted
    each = parts / np.maximum(values[:rank], NO_VALUE * values[0])
    least, needed = np.linalg.norm(parts), np.linalg.norm(each)
    margin = float(least / (values[0] * needed)) if needed > 0.0 else 1.0
    others = across @ np.where(is_some, each, 0.0)
    return _Solved(across @ each, others, across[:, -1], margin, not is_some.all())
