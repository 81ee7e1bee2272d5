"""Between joints and actuators: `joint = actuator / reduction + offset`.

In come arrays on one side, out go arrays on the other, filled in place: the real-time loop calls these in
every tick. With a reduction of 1 and an offset of 0 every value passes bit for bit. The formula is
ros2_control's simple transmission.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Indexes: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Transmission:
    """Which actuator moves which joint, and by how much.

    Attributes
    ----------
    joint_of : ndarray of int, shape (actuators,)
        The joint that each actuator moves.
    reduction, offset : ndarray, shape (actuators,)
        Of each actuator; the offset in rad or m.
    actuator_of : ndarray of int, shape (joints,)
        The actuator that tells each joint's position; of a mimic joint without one, the leader's.
    joint_reduction, joint_offset : ndarray, shape (joints,)
        From that actuator to the joint.
    effort_factor : ndarray, shape (joints,)
        From that actuator's effort to the joint's; NaN of a joint without an actuator of its own.
    """

    joint_of: Indexes
    reduction: Floats
    offset: Floats
    actuator_of: Indexes
    joint_reduction: Floats
    joint_offset: Floats
    effort_factor: Floats

    def to_actuators(self, q: Floats, out: Floats) -> None:
        """Fill `out`, shape (actuators,), from joint positions `q`, shape (joints,)."""
        np.take(q, self.joint_of, out=out, mode="clip")
        np.subtract(out, self.offset, out=out)
        np.multiply(out, self.reduction, out=out)

    def to_joints(self, a: Floats, out: Floats) -> None:
        """Fill `out`, shape (joints,), from actuator positions `a`, shape (actuators,)."""
        np.take(a, self.actuator_of, out=out, mode="clip")
        np.divide(out, self.joint_reduction, out=out)
        np.add(out, self.joint_offset, out=out)

    def velocities_to_actuators(self, v: Floats, out: Floats) -> None:
        """Fill `out`, shape (actuators,), from joint velocities `v`, shape (joints,)."""
        np.take(v, self.joint_of, out=out, mode="clip")
        np.multiply(out, self.reduction, out=out)

    def velocities_to_joints(self, v: Floats, out: Floats) -> None:
        """Fill `out`, shape (joints,), from actuator velocities `v`, shape (actuators,)."""
        np.take(v, self.actuator_of, out=out, mode="clip")
        np.divide(out, self.joint_reduction, out=out)

    def efforts_to_joints(self, e: Floats, out: Floats) -> None:
        """Fill `out`, shape (joints,), from actuator efforts `e`; NaN where a joint has no actuator."""
        np.take(e, self.actuator_of, out=out, mode="clip")
        np.multiply(out, self.effort_factor, out=out)

    def temperatures_to_joints(self, t: Floats, out: Floats) -> None:
        """Fill `out`, shape (joints,), from the temperatures `t` of the actuators that tell the positions."""
        np.take(t, self.actuator_of, out=out, mode="clip")

    def as_lists(self) -> dict[str, list[float]]:
        """Give the arrays as lists, to cross the process border."""
        return {entry.name: getattr(self, entry.name).tolist() for entry in fields(self)}

    @classmethod
    def from_lists(cls, lists: dict[str, list[float]]) -> Self:
        """Give the transmission that `as_lists` wrote."""
        whole = {"joint_of", "actuator_of"}
        return cls(
            **{name: np.array(values, np.intp if name in whole else float) for name, values in lists.items()}
        )
