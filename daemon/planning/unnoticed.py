"""Joints whose motion is so small, or so brief, that nobody would notice if they stood still instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.text import listed

from ..config.robot import JointSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Booleans

    from ..config.robot import RobotSettings
    from ..joints import JointBounds, JointMap
    from .planner import Plan


def unnoticed(plan: Plan, joint_map: JointMap, settings: RobotSettings, bounds: JointBounds) -> str:
    """Return a warning of joints that could stand on the first row all the time; '' if there are none.

    With them, the motion would end with SUCCESSFUL: no path or goal tolerance would be broken, and no stall
    be found. A joint that moves by no more than its start tolerance does not count, nor one that may stall.
    """
    found = list(_unnoticed(plan, joint_map, settings, bounds))
    if not found:
        return ""
    problem = f"no check would find out if these joints stood still: {listed(found)}"
    reason = "they move so little, or so briefly"
    return f"{plan.motion}: {problem}; {reason}; lower `joints.NAME.tolerances`, or set their `path`"


def _unnoticed(
    plan: Plan, joint_map: JointMap, settings: RobotSettings, bounds: JointBounds
) -> Iterator[str]:
    """Yield each such joint with how far it moves from the first row."""
    away = np.abs(plan.positions - plan.positions[0])
    travel = away.max(axis=0)
    for joint in np.flatnonzero(plan.driven & (travel > bounds.start_tolerance)):
        name, path, goal = joint_map.joints[joint], bounds.path[joint], bounds.goal[joint]
        is_found = (
            settings.joints.get(name, JointSettings()).allow_stalling
            or (path is not None and travel[joint] > path)
            or (goal is not None and away[-1, joint] > goal)
            or _longest_s(away[:, joint] > bounds.stall_error[joint], plan.rate_hz) >= _stall_s(settings)
        )
        if not is_found:
            yield f"{name} ({travel[joint]:.4g} {joint_map.units[joint]})"


def _stall_s(settings: RobotSettings) -> float:
    stall_s = settings.checks.stall_s
    return np.inf if stall_s is None else stall_s


def _longest_s(is_away: Booleans, rate_hz: float) -> float:
    """Return the longest time for which ticks follow each other that are so."""
    edges = np.flatnonzero(np.diff(is_away, prepend=False, append=False))
    ticks: int = (edges[1::2] - edges[::2]).max(initial=0)
    return ticks / rate_hz
