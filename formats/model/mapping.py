"""A mapping from the columns of motions to the joints of a robot: names, signs, offsets, units and order.

Each joint is `sign * column + offset`, in SI. Nothing is guessed: a column that the map neither uses nor
ignores keeps its name and stays, for the robot to refuse.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from motiond.text import listed, nearest

from .editing import is_of_joints, metadata_for
from .motion import MotionError, check_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..arrays import Floats
    from .motion import Motion

Unit = Literal["rad", "deg", "m", "cm", "mm", "SI"]
MOST_PROBLEMS = 100  # are worded: each may take milliseconds
UNITS: tuple[Unit, ...] = get_args(Unit)
IN_SI: Mapping[Unit, float] = {
    "rad": 1.0,
    "deg": math.pi / 180.0,
    "m": 1.0,
    "cm": 1e-2,
    "mm": 1e-3,
    "SI": 1.0,
}


def si_unit(unit: str | None) -> str:
    """Return what positions are in that a file had in a unit: rad or m, or SI where it is not known which."""
    return {"rad": "rad", "deg": "rad", "m": "m", "cm": "m", "mm": "m"}.get(unit or "", "SI")


Column: TypeAlias = str | int
"""By name; by number, from 0, in motions whose columns have no names."""


@dataclass(frozen=True, slots=True)
class MappedJoint:
    """Where a joint's positions come from: `sign * column + offset`.

    Attributes
    ----------
    column : str or int
    sign : {1, -1}
    offset : float
        In `unit`, else in the unit that the file states, else in the map's, else in rad or m.
    unit : {'rad', 'deg', 'm', 'cm', 'mm', 'SI'}, optional
        Of the column; a file that states another one contradicts it.
    place : str
        Where this stands, for messages, such as `arm.map.yaml:5`.
    """

    column: Column
    sign: float = 1.0
    offset: float = 0.0
    unit: Unit | None = None
    place: str = ""

    def __post_init__(self) -> None:
        if abs(self.sign) != 1.0:
            raise ValueError(f"sign is {self.sign:g}; it is 1 or -1; correct it")
        if not math.isfinite(self.offset):
            raise ValueError(f"offset is {self.offset:g}; it is a finite number; correct it")


@dataclass(frozen=True, slots=True)
class MotionMap:
    """How the columns of motions become the joints of a robot.

    Attributes
    ----------
    joints : mapping
        Joint to its column; their order is that of the mapped motion.
    ignored : frozenset of str or int
        Columns that are left out.
    ignores_others : bool
        Whether every column is left out that no joint uses.
    units : {'rad', 'deg', 'm', 'cm', 'mm', 'SI'}, optional
        Of columns for which neither a joint of the map nor the file states one.
    rate_hz : float, optional
        Of rows for which the file states neither times nor a rate, in rows/s.
    topic : str, optional
        Which topic of a recording that holds several.
    must_fit : bool
        Whether a motion is refused that has none of the joints' columns; else `units` and `ignored` count.
    """

    joints: Mapping[str, MappedJoint] = field(default_factory=dict)
    ignored: frozenset[Column] = frozenset()
    ignores_others: bool = False
    units: Unit | None = None
    rate_hz: float | None = None
    topic: str | None = None
    must_fit: bool = True

    def __post_init__(self) -> None:
        check_rate(self.rate_hz)
        for unit in (self.units, *(joint.unit for joint in self.joints.values())):
            if unit is not None and unit not in UNITS:
                raise ValueError(f"unit is '{unit}'; it is one of {listed(UNITS)}; correct it")

    @property
    def states_units(self) -> bool:
        """Whether it says what columns are in."""
        return bool(self.units or any(joint.unit for joint in self.joints.values()))

    def apply(self, motion: Motion) -> Motion:
        """Return the motion with the joints of the map, then the columns that it leaves as they are.

        `JointVelocity`, `JointAcceleration` and `JointEffort` go along. `metadata["units"]` has the unit that
        each joint's column was in, where one is known, and `metadata["map"]` what became of the columns.

        Raises
        ------
        MotionError
            With everything that does not fit: columns that are not there, units that contradict each other,
            names that stand twice.
        """
        labels: tuple[Column, ...] = motion.joint_names or tuple(range(motion.positions.shape[1]))
        has_any = not self.joints or not {joint.column for joint in self.joints.values()}.isdisjoint(labels)
        if not labels:
            return motion
        if not (has_any or self.must_fit):
            # What it says of no joint counts all the same.
            rest = replace(self, joints={}, ignores_others=False)
            return rest.apply(motion) if self.units or not self.ignored.isdisjoint(labels) else motion
        fitting = _Fitting(self, motion, labels)
        taken = [*fitting.of_joints(), *fitting.of_others()]
        components = fitting.components(taken)
        fitting.raise_if_any(taken)
        positions = motion.positions[:, _columns(taken)]
        positions *= _factors(taken)
        positions += [one.offset * IN_SI[one.unit or "rad"] for one in taken]
        return replace(
            motion,
            joint_names=tuple(one.name for one in taken if isinstance(one.name, str)),
            positions=positions,
            components=components,
            metadata=_metadata(motion, labels, taken),
            warnings=(*motion.warnings, *(f"{motion.name}: {warning}" for warning in fitting.warnings)),
        )


class _Taken(NamedTuple):
    """A column of the mapped motion: `sign * scale * column + offset`."""

    name: Column
    column: int  # of the motion as it was read
    unit: Unit | None  # that the column is, or was, in
    sign: float = 1.0
    scale: float = 1.0  # to SI, of what has not been converted
    offset: float = 0.0  # in `unit`


class _Fitting:
    """A map and a motion, with what does not fit."""

    def __init__(self, map_: MotionMap, motion: Motion, labels: Sequence[Column]) -> None:
        self._map, self._motion, self._labels = map_, motion, labels
        self._stated: Mapping[str, Unit] = motion.metadata.get("units", {})
        self._times = Counter(labels)
        self._places = {label: number for number, label in enumerate(labels)}
        self._users = Counter(joint.column for joint in map_.joints.values())
        self._left = [
            (number, label)
            for number, label in enumerate(labels)
            if not map_.ignores_others and label not in self._users and label not in map_.ignored
        ]
        # A column may be missing where every one that is there is accounted for by its name.
        has_any = not self._users.keys().isdisjoint(labels)
        is_accounted = has_any and not self._left and not map_.ignores_others
        self._may_lack = bool(motion.joint_names) and is_accounted
        self._problems: list[str] = []
        self.warnings: list[str] = []

    def raise_if_any(self, taken: Sequence[_Taken]) -> None:
        """Raise `MotionError` with everything that does not fit, if anything does not."""
        if not (taken or self._problems):
            self._problems.append("no column is left; the map ignores every one; correct its `ignore`")
        if self._problems:
            raise MotionError("\n".join(f"{self._motion.name}: {problem}" for problem in self._problems))

    def of_joints(self) -> Iterator[_Taken]:
        """Yield the columns of the map's joints."""
        for name, joint in self._map.joints.items():
            if len(self._problems) >= MOST_PROBLEMS:
                return
            if joint.column not in self._times:
                self._lack(name, joint)
                continue
            if self._times[joint.column] > 1:
                what = f"{self._times[joint.column]} columns are called {_shown(joint)}"
                self._problems.append(f"{what}; joint '{name}' takes one{_place(joint)}; rename the others")
            if self._map.ignores_others and self._users[joint.column] > 1:
                what = f"joint '{name}' takes column {_shown(joint)}{_place(joint)}"
                self.warnings.append(f"{what}; so does another one; check that it is meant")
            unit = self._unit_of(name, joint)
            scale = self._scale_of(joint.column, unit)
            yield _Taken(name, self._places[joint.column], unit, joint.sign, scale, joint.offset)

    def of_others(self) -> Iterator[_Taken]:
        """Yield the columns that the map neither uses nor ignores."""
        for number, label in self._left:
            if isinstance(label, int) and self._map.joints:
                reason = "the map has no joint for it, and it has no name"
                self._problems.append(
                    f"column {label} is left over; {reason}; map it, or list it under `ignore`"
                )
            elif (other := self._map.joints.get(str(label))) and other.column in self._times:
                reason = f"the joint of this name takes column {_shown(other)}{_place(other)}"
                self._problems.append(
                    f"column '{label}' is left over; {reason}; map it, or list it under `ignore`"
                )
            unit = self._stated.get(str(label), self._map.units)
            yield _Taken(label, number, unit, scale=self._scale_of(label, unit))

    def _scale_of(self, column: Column, unit: Unit | None) -> float:
        """Return the factor to SI; what the file states has been converted."""
        return 1.0 if str(column) in self._stated else IN_SI[unit or "rad"]

    def components(self, taken: Sequence[_Taken]) -> dict[str, Any]:
        """Return the motion's other series, those of joints mapped as the positions are."""
        mapped = {}
        for name, series in self._motion.components.items():
            mapped[name] = series
            if is_of_joints(self._motion, name):
                mapped[name] = series[:, _columns(taken)] * self._factors_of(name, taken)
            elif name in _OF_JOINTS:
                what = f"component '{name}' cannot go along; it does not have a column for each joint"
                self._problems.append(f"{what}; drop it first")
        return mapped

    def _factors_of(self, component: str, taken: Sequence[_Taken]) -> Floats:
        if component == "JointEffort":
            return np.array([one.sign for one in taken])
        factors = _factors(taken)
        if component not in _OF_JOINTS and ((factors != 1.0).any() or any(one.offset for one in taken)):
            what = f"component '{component}' cannot go along; its sign and unit are not known"
            self._problems.append(f"{what}; drop it first")
        return factors

    def _lack(self, name: str, joint: MappedJoint) -> None:
        """Note that a joint's column is not there."""
        what = f"there is no column {_shown(joint)} for joint '{name}'{_place(joint)}"
        known, is_named = [str(label) for label in self._labels], bool(self._motion.joint_names)
        if is_named is not isinstance(joint.column, str):
            has = (
                f"the names {listed(known)}" if is_named else f"no names, but numbers, 0 to {len(known) - 1}"
            )
            self._problems.append(f"{what}; its columns have {has}; correct the map")
        elif self._may_lack:
            self.warnings.append(f"{what}; the motion does not move that joint; check that it is meant")
        else:
            hint = nearest(str(joint.column), known) if is_named else ""
            if name in known and name not in self._users:
                swapped = f"`{joint.column}: {name}`"
                hint = f"if these are the robot's joints, it needs no map; else write {swapped}"
            has = listed(known) if is_named else f"0 to {len(known) - 1}"
            self._problems.append(f"{what}; it has {has}; {hint or 'correct the map'}")

    def _unit_of(self, name: str, joint: MappedJoint) -> Unit | None:
        """Return the unit of a joint's column, after refusing a second one."""
        stated = self._stated.get(str(joint.column))
        what = f"the file has column {_shown(joint)} in {stated}"
        if stated and joint.unit and not _agree(stated, joint.unit):
            reason = f"the map has it in {joint.unit} for joint '{name}'{_place(joint)}"
            self._problems.append(f"{what}; {reason}; correct the one that is wrong")
        elif stated and joint.offset and not joint.unit and self._map.units not in {None, stated}:
            units = f"that or the map's {self._map.units}"
            reason = f"the offset of joint '{name}' may be in {units}{_place(joint)}"
            self._problems.append(f"{what}; {reason}; write `unit: {stated}` beside the offset")
        return joint.unit or stated or self._map.units


_OF_JOINTS = frozenset({"JointVelocity", "JointAcceleration", "JointEffort"})
"""Series of joints whose sign and unit are known."""


def _agree(unit: Unit, other: Unit) -> bool:
    """Whether a column may be in both units; SI is rad or m."""
    return unit == other or ("SI" in {unit, other} and IN_SI[unit] == IN_SI[other])


def _columns(taken: Sequence[_Taken]) -> list[int]:
    return [one.column for one in taken]


def _factors(taken: Sequence[_Taken]) -> Floats:
    return np.array([one.sign * one.scale for one in taken])


def _metadata(motion: Motion, labels: Sequence[Column], taken: Sequence[_Taken]) -> dict[str, Any]:
    """Return the metadata by the new names, with each column's unit and what became of the columns."""
    names = [(motion.joint_names[one.column], str(one.name)) for one in taken] if motion.joint_names else []
    metadata = metadata_for(motion, names)
    metadata.pop("units", None)
    new_labels = [str(number if isinstance(one.name, int) else one.name) for number, one in enumerate(taken)]
    if units := {label: one.unit for label, one in zip(new_labels, taken, strict=True) if one.unit}:
        metadata["units"] = units
    mapped = [
        {
            "column": labels[one.column],
            "unit": one.unit,
            "sign": int(one.sign),
            "offset": one.offset,
            "joint": label,
        }
        for label, one in zip(new_labels, taken, strict=True)
    ]
    used = {one.column for one in taken}
    ignored = [label for number, label in enumerate(labels) if number not in used]
    return metadata | {"map": {"columns": mapped, "ignored": ignored}}


def _shown(joint: MappedJoint) -> str:
    return f"'{joint.column}'" if isinstance(joint.column, str) else str(joint.column)


def _place(joint: MappedJoint) -> str:
    return f" ({joint.place})" if joint.place else ""
