"""Efforts of planned motions: rows a second, with 6 and 30 joints, and a motion of 20 minutes.

And how long it takes to find that no longer blend would do, where motions are slowed for efforts.

python -m bench.efforts
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics import Dynamics, PhysicalRobot, make_world
from motiond.daemon.planning.blend import LONGER_TRIED, Blend, Overlap, longer_blend, plan_blend
from motiond.daemon.planning.checks.effort import loads_of
from tests.daemon.random_robots import random_robot
from tests.robots import settings_of

JOINTS = (6, 30)
ROWS, TIMES = 20_000, 5
MOTION_S = 20 * 60
GOALS_S = {500.0: 120.0, 50.0: 5.0}
"""How long 30 joints may take at these rates."""


def taken_s(joints: int, rows: int) -> float:
    """Return the processor time of rows, with all limits set."""
    model = random_robot(1, joints, rubs=True)
    joint_map = build_joint_map("robot", model, {})
    dynamics = Dynamics(PhysicalRobot(make_world(model, joint_map)), joint_map)
    times = np.arange(rows)[:, None] / 500.0
    positions = np.sin(times * np.linspace(0.5, 2.0, joints))
    limits = np.full((2, joints), 1e6)
    begun_s = time.process_time()
    loads_of(dynamics, positions, 500.0, *limits)
    return time.process_time() - begun_s


def blend_s(joints: int) -> float:
    """Return the processor time in which all longer blends are tried that may be, at 500 Hz."""
    model = random_robot(1, joints, rubs=True)
    joint_map = build_joint_map("robot", model, {})
    dynamics = Dynamics(PhysicalRobot(make_world(model, joint_map)), joint_map)
    driven, none = np.ones(joints, dtype=bool), np.zeros(joints)
    turns = np.linspace(0.0, 2.0 * np.pi, 20 * 500 + 1)[:, None] * np.arange(1, joints + 1)
    rows = joint_map.initial + 0.001 * (1.0 - np.cos(turns))
    overlap = Overlap(rows, rows, driven, 500.0, "motion", "cubic", none)
    settings = settings_of({name: {} for name in joint_map.joints})
    blend = plan_blend(overlap, 0.3, joint_map, settings)
    limits, tried = np.full((2, joints), 1e6), list[float]()

    def allows(one: Blend) -> bool:
        loads_of(dynamics, one.positions, 500.0, *limits, rests=False)
        tried.append(one.lasts_s)
        return False

    begun_s = time.process_time()
    longer_blend(overlap, blend, joint_map, settings, allows=allows)
    taken_s = time.process_time() - begun_s
    assert len(tried) == LONGER_TRIED, f"only {len(tried)} blends keep the limits"
    return taken_s


def main() -> None:
    print(f"efforts of planned rows, processor time, median of {TIMES} times {ROWS} rows")
    for joints in JOINTS:
        row_s = median(taken_s(joints, ROWS) for _ in range(TIMES)) / ROWS
        print(f"  {joints:2} joints {1e6 * row_s:>10.1f} µs a row {1 / row_s:>10.0f} rows/s")
    for rate_hz, goal_s in GOALS_S.items():
        whole_s = taken_s(JOINTS[-1], round(MOTION_S * rate_hz))
        met = "met" if whole_s <= goal_s else "MISSED"
        what = f"{MOTION_S // 60} min of {JOINTS[-1]} joints at {rate_hz:g} Hz"
        print(f"  {what} {whole_s:>8.2f} s; goal at most {goal_s:g} s: {met}")
    for joints in JOINTS:
        print(f"  {joints:2} joints: all longer blends, up to 10 s at 500 Hz {blend_s(joints):>8.2f} s")


if __name__ == "__main__":
    main()
