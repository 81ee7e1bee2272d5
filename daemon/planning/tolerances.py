"""The tolerances of one play: those of the configuration, joined with those of the request.

As in ros2_controllers, a tolerance of 0 in a request stands for the configured one and -1 switches it off;
what is unknown is refused, not ignored, and so is what could never fail.

    ValueError
    └── ToleranceError    a tolerance for a joint that there is not, or of a value that there is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from motiond.text import echoed, listed, nearest

from ..config.robot import JointSettings
from ..ipc.messages import OFF
from ..joints import NEVER_FAILS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointBounds, JointMap
    from .planner import Plan

SMALLEST = 1e-6  # rad or m; no feedback is that fine


class ToleranceError(ValueError):
    """A tolerance for a joint that there is not, or of a value that there is not."""


class GoalTolerances(NamedTuple):
    """The tolerances of one play.

    - `path`, `goal`: for each joint, in rad or m, while the motion plays and after its last row; `OFF` where
      there is none
    - `goal_time_s`: how long to wait for the goal tolerance; `OFF` for ever
    """

    path: list[float]
    goal: list[float]
    goal_time_s: float


def join_tolerances(
    joint_map: JointMap,
    bounds: JointBounds,
    *,
    path: Mapping[str, float],
    goal: Mapping[str, float],
    goal_time_s: float,
) -> GoalTolerances:
    """Join the configured tolerances with those that a request asks for.

    Parameters
    ----------
    bounds : JointBounds
        With the configured ones.
    path, goal : mapping of str to float
        What is asked for, by joint, in rad or m.
    goal_time_s : float
        What is asked for.

    Raises
    ------
    ToleranceError
        For the first that cannot be meant.
    """
    return GoalTolerances(
        resolve("path_tolerance", joint_map, bounds.path, path, bounds.ranges),
        resolve("goal_tolerance", joint_map, bounds.goal, goal, bounds.ranges),
        goal_time_s,
    )


def resolve(
    kind: str,
    joint_map: JointMap,
    configured: Sequence[float | None],
    asked: Mapping[str, float],
    ranges: Floats,
) -> list[float]:
    """Join one kind of configured tolerances with those asked for, by joint; `OFF` where there is none.

    Raises ToleranceError for the first that cannot be meant, beside how far each joint can move.
    """
    robot, joints = joint_map.robot, joint_map.joints
    found = [OFF if value is None else value for value in configured]
    for joint, value in asked.items():
        if joint not in joints:
            known = f"it has {listed(joints)}"
            parts = (f"{robot}: {kind} of an unknown joint '{echoed(joint)}'", known, nearest(joint, joints))
            raise ToleranceError("; ".join(part for part in parts if part))
        column = joints.index(joint)
        if value not in {0.0, OFF}:
            reason = _wrong_with(value, float(ranges[column]), joint_map.units[column])
            if reason:
                raise ToleranceError(f"{robot}: {kind} of joint '{joint}' is {value:g}; {reason}")
        if value != 0.0:
            found[column] = value
    return found


def _wrong_with(value: float, span: float, unit: str) -> str:
    """Return why a tolerance cannot be meant, and what to do; '' where it can."""
    if value < 0.0:
        return "0 stands for the configured one and -1 for none; correct it"
    if value < SMALLEST:
        return f"the smallest is {SMALLEST:g}, and 0 stands for the configured one; correct it"
    if value >= NEVER_FAILS * span:
        reason = f"its range is {span:.4g} {unit}, so that it could hardly fail"
        return f"{reason}; make it less than {NEVER_FAILS * span:.4g}, or -1 for none"
    return ""


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
