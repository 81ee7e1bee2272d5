"""Between joints and actuators: `joint = actuator / reduction + offset`.

The real-time loop converts twice in every tick, so all quantities go together and are filled in place. With a
reduction of 1 and an offset of 0 every value passes bit for bit. The formula is ros2_control's simple
transmission.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.drivers import ActuatorLimits, LimitKind
    from motiond.formats.arrays import Floats

    Indexes: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Transmission:
    """Which actuator moves which joint, and by how much."""

    joint_of: Indexes  # shape (actuators,); the joint that each actuator moves
    # reduction, offset: shape (actuators,); of each actuator; the offset in rad or m
    reduction: Floats
    offset: Floats
    # shape (joints,); the actuator that measures each joint's position; of a mimic joint without one, the
    # leader's
    actuator_of: Indexes
    # joint_reduction, joint_offset: shape (joints,); from that actuator to the joint
    joint_reduction: Floats
    joint_offset: Floats
    # shape (joints,); from that actuator's effort to the joint's; NaN of a joint without an actuator of its
    # own
    effort_factor: Floats
    _plain: bool = field(init=False, repr=False)
    _to_actuators: Floats = field(init=False, repr=False)
    _to_joints: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        turn, joint_turn = self.reduction, self.joint_reduction
        with np.errstate(divide="ignore"):
            same = np.ones_like(joint_turn)
            to_joints = np.stack([1 / joint_turn, 1 / joint_turn, self.effort_factor, same, same])
        object.__setattr__(self, "_to_actuators", np.stack([turn, turn, 1 / turn]))
        object.__setattr__(self, "_to_joints", to_joints)
        in_order = np.array_equal(self.joint_of, np.arange(len(self.actuator_of)))
        even = (turn == 1).all() and (self.offset == 0).all()
        object.__setattr__(self, "_plain", bool(in_order and even))

    def to_actuators(self, joints: Floats, out: Floats) -> None:
        """Fill `out`, shape (3, actuators), from setpoints of shape (3, joints).

        The rows are positions, velocities and efforts.
        """
        if self._plain:
            out[:] = joints
            return
        np.take(joints, self.joint_of, axis=1, out=out, mode="clip")
        out[0] -= self.offset
        out *= self._to_actuators

    def to_joints(self, actuators: Floats, out: Floats) -> None:
        """Fill `out`, shape (5, joints), from feedback of shape (5, actuators).

        The rows are positions, velocities, efforts, temperatures and voltages; a mimic joint without an
        actuator has its leader's temperature and voltage, and no effort (NaN).
        """
        if self._plain:
            out[:] = actuators
            return
        np.take(actuators, self.actuator_of, axis=1, out=out, mode="clip")
        out *= self._to_joints
        out[0] += self.joint_offset

    def limits_of_joints(self, allowed: ActuatorLimits) -> dict[str, tuple[Floats, list[str]]]:
        """Return what actuators allow their joints, by kind, and where each limit comes from.

        A mimic joint without an actuator of its own is as limited as the joint that it follows, and has no
        limits here.
        """
        joints, moved = len(self.actuator_of), self.joint_of
        turned = self.reduction < 0
        ends = [end / self.reduction + self.offset for end in (allowed.lower, allowed.upper)]
        lower, upper = (np.where(turned, ends[1 - end], ends[end]) for end in (0, 1))
        size = np.abs(self.reduction)
        values: dict[LimitKind, Floats] = {
            "lower": lower,
            "upper": upper,
            "velocity": allowed.velocity / size,
            "acceleration": allowed.acceleration / size,
            "effort": allowed.effort * size,
            "continuous_effort": allowed.continuous_effort * size,
        }
        other: dict[LimitKind, LimitKind] = {"lower": "upper", "upper": "lower"}
        found: dict[str, tuple[Floats, list[str]]] = {}
        for kind, limits in values.items():
            of_joints = np.full(joints, -np.inf if kind == "lower" else np.inf)
            of_joints[moved] = limits
            words = [""] * joints
            for actuator, joint in enumerate(moved.tolist()):
                of_actuator = other.get(kind, kind) if turned[actuator] else kind
                words[joint] = allowed.sources[of_actuator][actuator]
            found[kind] = (of_joints, words)
        return found

    def as_lists(self) -> dict[str, list[float]]:
        """Return the arrays as lists, to cross the process border."""
        return {entry.name: getattr(self, entry.name).tolist() for entry in fields(self) if entry.init}

    @classmethod
    def from_lists(cls, lists: dict[str, list[float]]) -> Self:
        """Return the transmission that `as_lists` wrote."""
        whole = {"joint_of", "actuator_of"}
        return cls(
            **{name: np.array(values, np.intp if name in whole else float) for name, values in lists.items()}
        )
