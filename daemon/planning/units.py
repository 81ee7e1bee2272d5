"""Whether the numbers of a motion that states no units are likely to be in degrees or millimetres."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.registry import MOTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

    from ..joints import JointMap, Unit
    from .columns import MotionRows

LIKELY: dict[Unit, tuple[str, str, float]] = {
    "rad": ("deg", "degrees", 180.0 / math.pi),
    "m": ("mm", "millimetres", 1000.0),
}
"""What numbers may be in that are read in a joint's unit, and how many of it are one of that."""
FAR_BEYOND, MUCH_FASTER = 3.0, 10.0
"""From so many times the limits on, a wrong unit is likelier than a motion that goes too far, or too fast."""
SLACK = 1.05


def unit_doubts(motion: Motion, rows: MotionRows, joint_map: JointMap) -> Iterator[str]:
    """Yield what to do where numbers without a unit are far off, and would fit in another one."""
    stated = motion.metadata.get("units", {})
    entry = MOTIONS.entries.get(str(motion.metadata.get("format")))
    if entry is None or (stated and not motion.joint_names):
        return
    is_silent = rows.driven & np.array([name not in stated for name in joint_map.joints])
    excess, odd = _excess(rows, joint_map)
    for own, (unit, plural, factor) in LIKELY.items():
        of_unit = np.where(is_silent & np.array([other == own for other in joint_map.units]), excess, 0.0)
        if (of_unit >= odd).any() and (of_unit <= SLACK * factor).all():
            worst = int(of_unit.argmax())
            what = (
                f"joint '{joint_map.joints[worst]}' goes {excess[worst]:.3g} times as far or fast as it may"
            )
            reason = f"its numbers are read as {own}, as the file states no unit"
            say = f"`unit: {unit}` of its joints" if entry.has_units else f"`units: {unit}`"
            yield f"{what}; {reason}; if they are {plural}, say {say} in a motion map"


def _excess(rows: MotionRows, joint_map: JointMap) -> tuple[Floats, Floats]:
    """Return how many times its limits each joint passes, and from how many times on that is odd.

    They are those of its speed where it has none of its position.
    """
    limits, positions = joint_map.limits, rows.positions
    reach = np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    furthest = np.maximum(positions.max(axis=0), -positions.min(axis=0))
    endless = np.flatnonzero(np.isinf(reach))
    steps = np.abs(np.diff(positions[:, endless], axis=0)) / np.diff(rows.times)[:, None]
    odd = np.full(len(reach), FAR_BEYOND)
    odd[endless] = MUCH_FASTER
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = furthest / reach
    excess[endless] = steps.max(axis=0, initial=0.0) / limits.velocity[endless]
    return excess, odd
