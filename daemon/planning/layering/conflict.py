"""Whether what is added to others leaves them within every limit, and what it leaves to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .extent import BETWEEN_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...joints import JointMap
    from .extent import Extent

SHARE = 0.99
"""Of the weight that would just do, which is named where another does not."""
LEAST = 0.01
"""A weight below it is none."""


class Conflict(NamedTuple):
    """The joint at which a sum would break a limit by the greatest factor.

    - `what`: does what, for messages, with the value and the limit
    - `weight`: the highest that would do; 0 where none does
    """

    joint: str
    what: str
    weight: float


def conflict_of(base: Extent, added: Extent, weight: float, joint_map: JointMap) -> Conflict | None:
    """Return where what is added to others would break a limit; None where it does not.

    - `added`: what it adds with the weight 1
    """
    worst = min(_shares(base, added, joint_map), key=lambda share: share[0], default=None)
    if worst is None or worst[0] >= weight:
        return None
    share, joint, kind, limit = worst
    values = {
        "lower": base.lower + weight * added.lower,
        "upper": base.upper + weight * added.upper,
        "velocity": base.velocity + weight * added.velocity,
        "acceleration": base.acceleration + weight * added.acceleration,
    }
    unit, per = joint_map.units[joint], {"velocity": "/s", "acceleration": "/s²"}.get(kind, "")
    does = {"velocity": "move at up to", "acceleration": "accelerate at up to"}.get(kind, "reach")
    value = f"{values[kind][joint]:.4g} {unit}{per}"
    what = (
        f"joint '{joint_map.joints[joint]}' would {does} {value}; its {kind} limit is {limit:.4g} {unit}{per}"
    )
    would_do = SHARE * share
    return Conflict(joint_map.joints[joint], what, would_do if would_do >= LEAST else 0.0)


def _shares(base: Extent, added: Extent, joint_map: JointMap) -> Iterator[tuple[float, int, str, float]]:
    """Yield, for each kind of limit, the weight that it leaves, at which joint, the kind, and the limit."""
    limits = joint_map.limits
    for kind, room, adds, limit in (
        ("lower", base.lower - limits.lower, -added.lower, limits.lower),
        ("upper", limits.upper - base.upper, added.upper, limits.upper),
        ("velocity", limits.velocity - base.velocity, added.velocity, limits.velocity),
        ("acceleration", limits.acceleration - base.acceleration, added.acceleration, limits.acceleration),
    ):
        moves = adds > 0.0
        shares = np.divide(np.maximum(room, 0.0), adds, out=np.full_like(adds, np.inf), where=moves)
        joint = int(shares.argmin())
        yield float(shares[joint]), joint, kind, float(limit[joint])


def left_beside(added: Extent, joint_map: JointMap) -> JointMap:
    """Return a robot's joints with the limits that what is added leaves to all else.

    Of the acceleration, so much less as a curve bends between its rows.
    """
    limits = joint_map.limits
    left = (limits.acceleration - added.acceleration) / BETWEEN_ROWS
    reduced = replace(
        limits,
        lower=limits.lower - added.lower,
        upper=limits.upper - added.upper,
        velocity=np.maximum(limits.velocity - added.velocity, 0.0),
        acceleration=np.where(added.acceleration > 0.0, np.maximum(left, 0.0), limits.acceleration),
    )
    return replace(joint_map, limits=reduced)
