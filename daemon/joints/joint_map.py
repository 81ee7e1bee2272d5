"""Joints and actuators: which belongs to which, how one's position becomes the other's, and their limits.

A `JointMap` is made of a robot model or of the configured joints, and orders the columns of every array that
the planner, the stream process and the telemetry use. `joint = actuator / reduction + offset`, and a mimic
joint is `multiplier * joint + offset` of the one it follows, as in ros2_control's transmissions and mimic
joints.

    ValueError
    └── JointMapError    joints, actuators or a motion's columns that do not fit each other
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from motiond.formats import Mimic
from motiond.text import listed, nearest, quoted_briefly

from ..config.robot import JointSettings
from ..trajectory import TURN, Transmission, endless_within, nearest_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from motiond.drivers import ActuatorLimits
    from motiond.formats import Joint, RobotModel
    from motiond.formats.arrays import Booleans, Floats

    Indexes: TypeAlias = NDArray[np.intp]

Unit = Literal["rad", "m"]
ROUNDING = 1e-9
"""So far, in the limit's unit, or as a share of a limit above 1, rounding may pass a limit."""
_LINEAR = frozenset({"prismatic", "translational"})


class JointMapError(ValueError):
    """Joints, actuators or a motion's columns that do not fit each other.

    Attributes
    ----------
    problems : tuple of str
        Every mismatch, each as `where: problem; reason; hint`.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(map(quoted_briefly, problems))
        super().__init__("\n".join(self.problems))


def with_rounding(limits: Floats) -> Floats:
    """Return how far upper limits let numbers go whose last digits are rounded."""
    return limits + ROUNDING * np.maximum(1.0, np.abs(limits))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of all joints, infinite where there is none."""

    # shape (joints,); in rad, rad/s, rad/s², N·m, or m, m/s, m/s², N; the last is what an actuator bears for
    # any time, as the root mean square
    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats
    continuous_effort: Floats


@dataclass(frozen=True, slots=True)
class MimicColumn:
    """Column `joint` follows column `leader`, which follows none: `multiplier * leader + offset`."""

    joint: int
    leader: int
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class JointMap:
    """The columns of a robot's arrays, on the joints' side and on the actuators' side."""

    robot: str  # for messages
    # joints, units: in the model's or the configured order; a unit is rad or m
    joints: tuple[str, ...]
    units: tuple[Unit, ...]
    actuators: tuple[str, ...]  # in the order of the driver's arrays
    limits: Limits  # of the joints
    configured_limits: frozenset[tuple[str, str]]  # joint and kind of each limit that the configuration sets
    mimics: tuple[MimicColumn, ...]  # joints that follow others, whose columns a plan fills
    transmission: Transmission  # between the two sides
    initial: Floats  # shape (joints,); the posture at which the description begins, 0 where it has none
    model: str | None  # the name of the robot's description; None where the configuration lists joints alone
    # turn: shape (joints,); how far each joint goes in one turn of the joint that it follows, itself where it
    # follows none; 0 where that has an end
    turn: Floats
    # reach: shape (2, joints); the lowest and highest position that the actuators of joints that turn without
    # end can count to; infinite where they count on
    reach: Floats
    # by joint and kind, where each limit that an actuator sets comes from; the others are the model's
    limit_sources: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def within(self, allowed: ActuatorLimits) -> JointMap:
        """Return this map with its limits narrowed to what the actuators allow.

        `allowed`: of all actuators, in their order.
        """
        limits, sources = self.limits, {}
        found = self.transmission.limits_of_joints(allowed)
        reach = np.stack([found["lower"][0], found["upper"][0]])
        turn = endless_within(self.turn, self.leaders, *reach)
        for kind, (values, words) in found.items():
            before: Floats = getattr(limits, kind)
            tighter = values > before if kind == "lower" else values < before
            for joint in np.flatnonzero(tighter):
                sources[self.joints[joint], kind] = words[joint]
            if kind in {"lower", "upper"}:
                tighter &= turn == 0.0
            if tighter.any():
                after = np.where(tighter, values, before)
                after.flags.writeable = False
                limits = replace(limits, **{kind: after})
        if not sources:
            return self
        configured = self.configured_limits - sources.keys()
        return replace(
            self,
            limits=limits,
            configured_limits=configured,
            turn=turn,
            reach=np.where(turn == 0.0, self.reach, reach),
            limit_sources=sources,
        )

    def has_limits_of(self, other: JointMap) -> bool:
        """Whether both have the same limits, from the same places."""
        same = all(
            np.array_equal(getattr(self.limits, kind), getattr(other.limits, kind))
            for kind in Limits.__slots__
        )
        same = same and np.array_equal(self.turn, other.turn) and np.array_equal(self.reach, other.reach)
        return same and self.limit_sources == other.limit_sources

    @property
    def continuous(self) -> Booleans:
        """Whether each joint turns without end, shape (joints,)."""
        endless: Booleans = self.turn != 0.0
        return endless

    def nearest(self, start: Floats, target: Floats, driven: Booleans) -> Floats:
        """Return by how much whole turns of driven joints move a target on so that it is nearest to a start.

        Each of shape (joints,), in rad or m; 0 for joints that have an end.
        """
        return np.where(driven, nearest_turns(start, target, self.turn, self.leaders), 0.0)

    @property
    def leaders(self) -> Indexes:
        """The joint that each joint follows, shape (joints,); itself, where it follows none."""
        leaders = np.arange(len(self.joints))
        for mimic in self.mimics:
            leaders[mimic.joint] = mimic.leader
        return leaders

    @property
    def multipliers(self) -> Floats:
        """How far each joint goes, of the way of its leader, shape (joints,); 1, where it follows none."""
        multipliers = np.ones(len(self.joints))
        for mimic in self.mimics:
            multipliers[mimic.joint] = mimic.multiplier
        return multipliers

    @property
    def offsets(self) -> Floats:
        """Where each joint is when its leader is at 0, shape (joints,); 0, where it follows none."""
        offsets = np.zeros(len(self.joints))
        for mimic in self.mimics:
            offsets[mimic.joint] = mimic.offset
        return offsets

    def follow(self, positions: Floats) -> None:
        """Fill the mimic joints' columns of `positions`, shape (…, joints), from those they follow."""
        for mimic in self.mimics:
            positions[..., mimic.joint] = mimic.multiplier * positions[..., mimic.leader] + mimic.offset

    def actuator_of(self, joint: str) -> str:
        """Return the actuator that moves a joint; a joint that follows another may have that one's."""
        return self.actuators[int(self.transmission.actuator_of[self.joints.index(joint)])]

    def payload(self) -> dict[str, Any]:
        """Return the joints with their units and limits, JSON-ready; null where there is no limit."""
        kinds = {kind: getattr(self.limits, kind).tolist() for kind in Limits.__slots__}
        return {
            "joints": [
                {"name": name, "unit": unit, "continuous": bool(self.continuous[column])}
                | {
                    kind: values[column] if math.isfinite(values[column]) else None
                    for kind, values in kinds.items()
                }
                | {
                    "limited_by": {
                        kind: words for (of, kind), words in self.limit_sources.items() if of == name
                    }
                }
                for column, (name, unit) in enumerate(zip(self.joints, self.units, strict=True))
            ],
            "actuators": list(self.actuators),
            "model": self.model,
        }

    def columns_of(
        self,
        motion: str,
        names: Sequence[str],
        count: int,
        configured: Sequence[str] | None = None,
        *,
        hint: str = "map or ignore it by `motion_map`",
    ) -> Indexes:
        """Return the joint of each column of a motion.

        Parameters
        ----------
        motion : str
            For messages.
        names : sequence of str
            The motion's joint names; empty where its format has none.
        count : int
            The number of its columns.
        configured : sequence of str, optional
            `motion_joints`: the names of the columns of motions that carry none.
        hint : str
            For names that the robot has nothing like.

        Returns
        -------
        ndarray of int, shape (count,)
            -1 for a column of a mimic joint, whose position follows from another.

        Raises
        ------
        JointMapError
            With every column that fits no joint, and the nearest name.
        """
        names = names or self._names_by_order(motion, count, configured)
        problems = [
            f"{motion}: joint '{name}' has {times} columns; a joint has one; remove or rename the others"
            for name, times in Counter(names).items()
            if times > 1
        ]
        problems += [
            _joined(
                f"{motion}: the robot has no joint '{name}'",
                _known(self.joints),
                nearest(name, self.joints) or hint,
            )
            for name in dict.fromkeys(names)
            if name not in self.joints
        ]
        if problems:
            raise JointMapError(problems)
        followers = {mimic.joint for mimic in self.mimics}
        columns = [self.joints.index(name) for name in names]
        return np.array([-1 if column in followers else column for column in columns], dtype=np.intp)

    def _names_by_order(self, motion: str, count: int, configured: Sequence[str] | None) -> Sequence[str]:
        if configured is not None:
            if len(configured) == count:
                return configured
            counts = f"motion_joints lists {len(configured)} joints"
            raise JointMapError([f"{motion}: {count} columns without names; {counts}; list {count}"])
        followers = {mimic.joint for mimic in self.mimics}
        free = [name for column, name in enumerate(self.joints) if column not in followers]
        for names in (self.joints, free):
            if len(names) == count:
                return names
        counts = f"the robot has {len(self.joints)} joints"
        raise JointMapError(
            [f"{motion}: {count} columns without names; {counts}; list them in motion_joints"]
        )


def moving_joints(model: RobotModel) -> list[Joint]:
    """Return the joints that a map has; nothing drives a floating base, so that is none."""
    return [joint for joint in model.joints if joint.coordinates and joint.type != "free"]


def build_joint_map(robot: str, model: RobotModel | None, settings: Mapping[str, JointSettings]) -> JointMap:
    """Join what the model and the configuration say of a robot's joints.

    `robot`: the robot's name, for messages.
    `model`: without one, `settings` lists the robot's joints in their order.
    `settings`: the configured joints by name.
    Raises `JointMapError` with every mismatch.
    """
    found = _Joints(robot, model, settings)
    limits = found.limits()
    mimics = found.mimics()
    turn = found.turn(limits, mimics)
    if found.problems:
        raise JointMapError(found.problems)
    return _assemble(found, limits, mimics, turn)


class _Joints:
    """The joints of one robot while they are put together, with what is wrong so far."""

    def __init__(self, robot: str, model: RobotModel | None, settings: Mapping[str, JointSettings]) -> None:
        self.robot = robot
        self.model = model.name if model else None
        self.problems: list[str] = []
        moving = moving_joints(model) if model else []
        self.of_model: dict[str, Joint] = {joint.name: joint for joint in moving}
        self._endless = {joint.name for joint in moving if model and model.is_continuous(joint)}
        self.names = tuple(self.of_model) if model else tuple(settings)
        self.settings = {name: settings.get(name, JointSettings()) for name in self.names}
        for name in (name for name in settings if name not in self.names):
            self._wrong(f"the model has no joint '{name}'", _known(self.names), nearest(name, self.names))
        for joint in moving:
            self._check_joint(joint)
        self._check_actuators()
        if not self.names:
            self._wrong("the model has no joint that moves", "there is nothing to play on", "choose another")

    def _wrong(self, problem: str, reason: str, hint: str) -> None:
        self.problems.append(_joined(f"{self.robot}: {problem}", reason, hint))

    def _check_joint(self, joint: Joint) -> None:
        count = len(joint.coordinates)
        if count > 1:
            what = f"joint '{joint.name}' ({joint.type}) has {count} coordinates"
            self._wrong(what, "motiond moves joints with one", "leave it out of the model")
        configured = self.settings[joint.name].unit
        if configured not in {None, _unit(joint)}:
            what = f"joint '{joint.name}' is configured in {configured}"
            self._wrong(what, f"the model's {joint.type} joint is in {_unit(joint)}", "remove its unit")

    def _check_actuators(self) -> None:
        for name, settings in self.settings.items():
            if settings.actuator == "none" and self._rule(name) is None:
                what = f"joint '{name}' has no actuator"
                self._wrong(what, "only a joint that follows another can do without", "name its actuator")
        for name, times in Counter(self.actuators().values()).items():
            if times > 1:
                joints = [joint for joint, actuator in self.actuators().items() if actuator == name]
                what = f"actuator '{name}' moves {' and '.join(joints)}"
                self._wrong(what, "it can move one joint", "name another, or let one mimic the other")

    def actuators(self) -> dict[str, str]:
        """Return the actuator of each joint that has one."""
        chosen = {name: joint.actuator or name for name, joint in self.settings.items()}
        return {name: actuator for name, actuator in chosen.items() if actuator != "none"}

    def units(self) -> tuple[Unit, ...]:
        """Return each joint's unit."""
        if self.of_model:
            return tuple(_unit(joint) for joint in self.of_model.values())
        return tuple(joint.unit or "rad" for joint in self.settings.values())

    def limits(self) -> Limits:
        """Narrow the model's limits by the configured ones."""
        infinite = np.full((len(Limits.__slots__), len(self.names)), np.inf)
        infinite[0] = -np.inf
        limits = Limits(*infinite)
        for column, joint in enumerate(self.of_model.values()):
            coordinate = joint.coordinates[0]
            limits.lower[column], limits.upper[column] = coordinate.lower, coordinate.upper
            limits.velocity[column] = coordinate.velocity_limit
            limits.effort[column] = coordinate.effort_limit or np.inf  # 0 stands where it was left open
        for column, (name, settings) in enumerate(self.settings.items()):
            for kind, value in settings.limits.model_dump(exclude_none=True).items():
                self._narrow(name, kind, getattr(limits, kind)[column : column + 1], value)
            if not limits.lower[column] <= limits.upper[column]:
                bounds = f"{limits.lower[column]:g} and {limits.upper[column]:g}"
                self._wrong(f"joint '{name}' cannot be anywhere", f"its limits are {bounds}", "correct them")
        return limits

    def _narrow(self, name: str, kind: str, limit: Floats, value: float) -> None:
        sign = -1.0 if kind == "lower" else 1.0
        if sign * value > with_rounding(sign * limit)[0]:
            what = f"joint '{name}' is configured with a limit of {value:g} ({kind})"
            self._wrong(
                what, f"the model's is {limit[0]:g}", f"narrow joints.{name}.limits.{kind}, or remove it"
            )
        limit[0] = sign * min(sign * value, sign * limit[0])

    def turn(self, limits: Limits, mimics: Sequence[MimicColumn]) -> Floats:
        """Return how far each joint goes in a turn of the endless joint that it follows, or is."""
        has_end = np.isfinite(limits.lower) | np.isfinite(limits.upper)
        followers = {mimic.joint: mimic for mimic in mimics}
        turn = np.zeros(len(self.names))
        for column, (name, settings) in enumerate(self.settings.items()):
            if settings.continuous and (reason := self._end_of(name, has_end=bool(has_end[column]))):
                what, fix = f"joint '{name}' cannot be continuous", f"remove joints.{name}.continuous"
                self._wrong(what, reason, fix)
            elif column not in followers and not has_end[column] and self._is_endless(name):
                turn[column] = TURN
        for mimic in mimics:
            follower, leader = self.names[mimic.joint], self.names[mimic.leader]
            if not turn[mimic.leader]:
                continue
            if mimic.multiplier.is_integer() and not has_end[mimic.joint] and self._turns(follower):
                turn[mimic.joint] = mimic.multiplier * TURN
                continue
            if self.settings[leader].continuous:
                what = f"joint '{leader}' cannot be continuous"
                reason = f"'{follower}', which follows it, is not where it was a turn before"
                self._wrong(what, reason, f"remove joints.{leader}.continuous")
            turn[[mimic.leader, *(one.joint for one in mimics if one.leader == mimic.leader)]] = 0.0
        return turn

    def _end_of(self, name: str, *, has_end: bool) -> str:
        """Return why a joint does not turn without end; '' where nothing is known against it."""
        if rule := self._rule(name):
            return f"it follows '{rule.of}', which may be"
        if not self._turns(name):
            return "a turn does not bring it back to where it was"
        return "it has a limit of position" if has_end else ""

    def _turns(self, name: str) -> bool:
        """Whether a joint is in the same place after a turn."""
        if self.of_model:
            return self.of_model[name].comes_round
        return self.settings[name].unit != "m"

    def _is_endless(self, name: str) -> bool:
        """Whether a joint that has no limit of position is said to turn without end."""
        chosen = self.settings[name].continuous
        return name in self._endless if chosen is None else chosen

    def initial(self) -> Floats:
        """Return where the model's joints begin."""
        begin = np.zeros(len(self.names))
        begin[: len(self.of_model)] = [joint.coordinates[0].initial for joint in self.of_model.values()]
        return np.where(np.isfinite(begin), begin, 0.0)

    def configured_limits(self) -> frozenset[tuple[str, str]]:
        """Return joint and kind of each limit that the configuration sets."""
        chosen = {name: joint.limits.model_dump(exclude_none=True) for name, joint in self.settings.items()}
        return frozenset((name, kind) for name, kinds in chosen.items() for kind in kinds)

    def mimics(self) -> tuple[MimicColumn, ...]:
        """Follow each mimic joint to the joint that follows none."""
        rules = {name: rule for name in self.names if (rule := self._rule(name))}
        return tuple(column for name in rules if (column := self._mimic(name, rules)))

    def _rule(self, name: str) -> Mimic | None:
        mimic = self.settings[name].mimic
        if mimic is None:
            return self.of_model[name].mimic if self.of_model else None
        return Mimic(mimic.joint, mimic.multiplier, mimic.offset)

    def _mimic(self, name: str, rules: Mapping[str, Mimic]) -> MimicColumn | None:
        rule, passed = rules[name], [name]
        while rule.of in rules and rule.of not in passed:
            passed.append(rule.of)
            onward = rules[rule.of]
            offset = rule.multiplier * onward.offset + rule.offset
            rule = Mimic(onward.of, rule.multiplier * onward.multiplier, offset)
        if rule.of in passed:
            circle = " follows ".join(f"'{joint}'" for joint in (*passed, rule.of))
            self._wrong(f"joint {circle}", "one of them must lead", "remove a mimic")
            return None
        if rule.of not in self.names:
            self._wrong(
                f"joint '{name}' follows '{rule.of}'", _known(self.names), nearest(rule.of, self.names)
            )
            return None
        place = self.names.index
        return MimicColumn(place(name), place(rule.of), rule.multiplier, rule.offset)


def _assemble(found: _Joints, limits: Limits, mimics: tuple[MimicColumn, ...], turn: Floats) -> JointMap:
    moved = found.actuators()
    column = {name: index for index, name in enumerate(moved)}
    reduction = np.array([found.settings[name].reduction for name in moved])
    offset = np.array([found.settings[name].offset for name in moved])
    leader = {found.names[mimic.joint]: mimic for mimic in mimics}
    actuator_of = np.zeros(len(found.names), dtype=np.intp)
    joint_reduction, joint_offset, effort_factor = np.full((3, len(found.names)), np.nan)
    for joint, name in enumerate(found.names):
        mimic = MimicColumn(joint, joint, 1.0, 0.0) if name in column else leader[name]
        source = found.settings[found.names[mimic.leader]]
        actuator_of[joint] = column[found.names[mimic.leader]]
        with np.errstate(divide="ignore"):
            joint_reduction[joint] = source.reduction / np.float64(mimic.multiplier)
        joint_offset[joint] = mimic.multiplier * source.offset + mimic.offset
        effort_factor[joint] = source.reduction if name in column else np.nan
    joint_of = np.array([found.names.index(name) for name in moved], dtype=np.intp)
    for array in (getattr(limits, kind) for kind in Limits.__slots__):
        array.flags.writeable = False
    return JointMap(
        robot=found.robot,
        joints=found.names,
        units=found.units(),
        actuators=tuple(moved.values()),
        limits=limits,
        configured_limits=found.configured_limits(),
        mimics=mimics,
        transmission=Transmission(
            joint_of=joint_of,
            reduction=reduction,
            offset=offset,
            actuator_of=actuator_of,
            joint_reduction=joint_reduction,
            joint_offset=joint_offset,
            effort_factor=effort_factor,
        ),
        initial=found.initial(),
        model=found.model,
        turn=turn,
        reach=np.stack([np.full(turn.size, -np.inf), np.full(turn.size, np.inf)]),
    )


def _unit(joint: Joint) -> Unit:
    return "m" if joint.type in _LINEAR else "rad"


def _known(names: Iterable[str]) -> str:
    return f"it has {listed(tuple(names)) or 'none'}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
