"""Collisions of planned motions: rows a second, of motions of 20 minutes of 6 and of 30 joints.

The robots are the example's arm and a humanoid, which swing all their joints about where they begin, each at
a rhythm of its own: a little, and so widely that their links pass through each other all the time, which is
the most that there is to look at.

    python -m bench.collisions
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.physics.sweeping import JointPath, sweep
from motiond.formats import load_robot
from motiond.formats.model import pchip_slopes
from tests.daemon.physics.robots import ARM, clearance_of, humanoid

if TYPE_CHECKING:
    from motiond.daemon.joints import JointMap
    from motiond.formats import RobotModel

MOTION_S = 20 * 60
GOALS_S = {500.0: 120.0, 50.0: 5.0}
"""How long 30 joints may take at these rates."""
MARGIN_M = 0.005
RHYTHMS_HZ = 0.1, 0.5
SWINGS = {"a little": 0.1, "widely": 0.6}
"""By how much of half its range, or of half a turn, each joint swings."""


def main() -> None:
    print(f"nearest links of planned motions of {MOTION_S // 60} min, margin {MARGIN_M:g} m; processor time")
    with tempfile.TemporaryDirectory() as folder:
        robots = load_robot(ARM), humanoid(Path(folder))
    for model in robots:
        for swing in SWINGS:
            for rate_hz in GOALS_S:
                print_swept(model, swing, rate_hz)


def print_swept(model: RobotModel, swing: str, rate_hz: float) -> None:
    """Print how long the looking takes, and what it finds."""
    clearance, joint_map = clearance_of(model)
    path = swinging(joint_map, SWINGS[swing], rate_hz)
    begun_s = time.process_time()
    found = sweep(clearance, path, MARGIN_M)
    taken_s = time.process_time() - begun_s
    joints, pairs, rows = len(joint_map.joints), len(clearance.first), len(path.positions)
    met = "met" if taken_s <= GOALS_S[rate_hz] else "MISSED"
    what = f"{joints:6} joints, {pairs} pairs, {swing}, {rate_hz:g} Hz"
    print(
        f"{what:48}{taken_s:8.2f} s{rows / taken_s:12,.0f} rows/s; goal {GOALS_S[rate_hz]:g} s: {met}", end=""
    )
    print(f"; {len(found.violations)} pairs within the margin")


def swinging(joint_map: JointMap, share: float, rate_hz: float) -> JointPath:
    """Return a motion in which all joints swing by a share of what they can, on a cubic curve."""
    limits, middle = joint_map.limits, joint_map.initial
    room = np.minimum(np.minimum(middle - limits.lower, limits.upper - middle), np.pi)
    rows = np.arange(MOTION_S * rate_hz)
    turns = 2.0 * np.pi * np.linspace(*RHYTHMS_HZ, middle.size) / rate_hz
    positions = middle + share * room * np.sin(turns * rows[:, None])
    return JointPath(positions, pchip_slopes(rows, positions))


if __name__ == "__main__":
    main()
