"""The tolerances of one play: those of the configuration, joined with those of the request.

As in ros2_controllers, a tolerance of 0 in a request stands for the configured one and -1 switches it off;
what is unknown is refused, not ignored, and so is what could never fail.

    ValueError
    └── ToleranceError    a tolerance for a joint that there is not, or of a value that there is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from motiond.text import listed, nearest

from ..ipc.messages import OFF
from ..joints import NEVER_FAILS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from motiond.formats.arrays import Floats

    from ..joints import JointBounds, JointMap


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
    """Join one kind of configured tolerances with those that a request asks for.

    - `kind`: for messages
    - `configured`: for each joint
    - `asked`: by joint
    - `ranges` (ndarray, shape (joints,)): how far each joint can move

    Returns list of float: for each joint, `OFF` where there is none.

    Raises ToleranceError for the first that cannot be meant.
    """
    robot, joints = joint_map.robot, joint_map.joints
    found = [OFF if value is None else value for value in configured]
    for joint, value in asked.items():
        if joint not in joints:
            known = f"it has {listed(joints)}"
            parts = (f"{robot}: {kind} of an unknown joint '{joint}'", known, nearest(joint, joints))
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
