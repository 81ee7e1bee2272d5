"""A planned motion to look at: its setpoints, where they come near to a limit, and its curves in brief."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .violations import accelerations_of, speeds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Floats

    from ..joints import JointMap
    from .planner import Plan
    from .playback import Playback

MOST_NUMBERS = 2_000_000
CURVE_POINTS = 64
NEAR = 0.9


def preview(
    playback: Playback, joint_map: JointMap, most_numbers: int = MOST_NUMBERS
) -> tuple[dict[str, Any], Floats]:
    """Return a description of a plan, JSON-ready, and its positions, shape (rows, joints).

    Of a plan with more than so many positions every second row is left out, or more of them.
    """
    plan = playback.plan
    every = max(1, math.ceil(plan.positions.size / most_numbers))
    positions = plan.positions[::every]
    about = {
        "motion": plan.motion,
        "rate_hz": plan.rate_hz / every,
        "rows": len(positions),
        "joints": list(plan.joints),
        "units": list(joint_map.units),
        "driven": plan.driven.tolist(),
        "duration": plan.duration_s,
        "markers": [
            {"name": marker.name, "time": row / plan.rate_hz}
            for marker, row in zip(playback.markers, playback.marker_rows, strict=True)
        ],
        "near": [*_near(plan, joint_map)],
        **plan.physics,
    }
    return about, positions


def curves(plan: Plan) -> Floats:
    """Return the positions of the joints that move, at a few evenly spaced rows, shape (rows, joints)."""
    moves = plan.driven & (np.ptp(plan.positions, axis=0) > 0)
    rows = np.linspace(0, len(plan.positions) - 1, CURVE_POINTS).round().astype(int)
    brief: Floats = plan.positions[np.unique(rows)][:, moves]
    return brief


def _near(plan: Plan, joint_map: JointMap) -> Iterator[dict[str, Any]]:
    """Yield for each joint and kind of limit the place that comes nearest, if it is near."""
    limits = joint_map.limits
    with np.errstate(invalid="ignore"):
        middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
        shares = {"position": np.abs(plan.positions - middle) / half}
    if len(plan.positions) > 1:
        steps, speeds = speeds_of(np.arange(len(plan.positions)) / plan.rate_hz, plan.positions)
        shares["velocity"] = np.abs(speeds) / limits.velocity
        shares["acceleration"] = np.abs(accelerations_of(steps, speeds)) / limits.acceleration
    for kind, share in shares.items():
        rows = np.argmax(share, axis=0)
        for joint, row in enumerate(rows.tolist()):
            worst = float(share[row, joint])
            if plan.driven[joint] and worst >= NEAR:
                time_s = row / plan.rate_hz
                yield {"joint": plan.joints[joint], "limit": kind, "time": time_s, "share": worst}
