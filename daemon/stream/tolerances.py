"""How far feedback may be from the reference, and which joint is too far.

In come the configured tolerances and those of one play, out come a goal's tolerances, and for feedback the
joint that breaks one. As in ros2_controllers, a tolerance of 0 in a request stands for the configured one and
-1 switches it off; what is unknown is refused, not ignored.

    ValueError
    └── ToleranceError    a tolerance for a joint that there is not, or of a value that there is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from motiond.formats.errors import nearest

from ..ipc.messages import OFF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Booleans: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]


class ToleranceError(ValueError):
    """A tolerance for a joint that there is not, or of a value that there is not."""


class Excess(NamedTuple):
    """A joint that is too far from its reference; the values are in rad or m."""

    joint: int
    error: float
    tolerance: float


class Tolerances:
    """Tolerances of some joints.

    Parameters
    ----------
    values : sequence of float
        For each joint, in rad or m; `OFF` where there is none.

    Attributes
    ----------
    any : bool
        Whether any joint has one.
    """

    def __init__(self, values: Sequence[float]) -> None:
        tolerances = np.array(values, dtype=float)
        self._joints = np.flatnonzero(tolerances != OFF)
        self._tolerances: Floats = tolerances[self._joints]
        self.any = bool(self._joints.size)

    def worst(self, reference: Floats, measured: Floats, forgiven: Booleans | None = None) -> Excess | None:
        """Give the joint that passes its tolerance by the greatest factor; None where all keep theirs.

        Parameters
        ----------
        reference, measured : ndarray, shape (joints,)
            A joint without feedback (NaN) passes its tolerance.
        forgiven : ndarray of bool, shape (joints,), optional
            Joints that may be anywhere.
        """
        errors = np.abs(reference[self._joints] - measured[self._joints])
        kept = errors <= self._tolerances
        if forgiven is not None:
            kept |= forgiven[self._joints]
        if kept.all():
            return None
        share = np.where(kept, 0.0, np.where(np.isnan(errors), np.inf, errors / self._tolerances))
        worst = int(share.argmax())
        return Excess(int(self._joints[worst]), float(errors[worst]), float(self._tolerances[worst]))


def resolve(
    robot: str,
    kind: str,
    joints: Sequence[str],
    configured: Sequence[float | None],
    asked: Mapping[str, float],
) -> list[float]:
    """Join the configured tolerances with those that a request asks for.

    Parameters
    ----------
    robot, kind : str
        For messages.
    configured : sequence of float or None
        For each joint.
    asked : mapping of str to float
        By joint.

    Returns
    -------
    list of float
        For each joint, `OFF` where there is none.

    Raises
    ------
    ToleranceError
        For the first that cannot be meant.
    """
    found = {joint: OFF if value is None else value for joint, value in zip(joints, configured, strict=True)}
    for joint, value in asked.items():
        if joint not in found:
            known = f"it has {', '.join(joints)}"
            parts = (f"{robot}: {kind} of an unknown joint '{joint}'", known, nearest(joint, joints))
            raise ToleranceError("; ".join(part for part in parts if part))
        if value < 0.0 and value != OFF:
            meant = "0 stands for the configured one and -1 for none"
            raise ToleranceError(f"{robot}: {kind} of joint '{joint}' is {value:g}; {meant}; correct it")
        if value != 0.0:
            found[joint] = value
    return list(found.values())
