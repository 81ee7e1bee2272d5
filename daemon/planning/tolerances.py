"""The tolerances of one play: those of the configuration, joined with those of the request.

As in ros2_controllers, a tolerance of 0 in a request stands for the configured one and -1 switches it off;
what is unknown is refused, not ignored.

    ValueError
    └── ToleranceError    a tolerance for a joint that there is not, or of a value that there is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from motiond.formats.errors import listed, nearest

from ..config.robot import JointSettings
from ..ipc.messages import OFF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..config.robot import RobotSettings


SMALLEST = 1e-6  # rad or m; no feedback is that fine


class ToleranceError(ValueError):
    """A tolerance for a joint that there is not, or of a value that there is not."""


class GoalTolerances(NamedTuple):
    """The tolerances of one play.

    Attributes
    ----------
    path, goal : list of float
        For each joint, in rad or m, while the motion plays and after its last row; `OFF` where there is none.
    goal_time_s : float
        How long to wait for the goal tolerance; `OFF` for ever.
    """

    path: list[float]
    goal: list[float]
    goal_time_s: float


def join_tolerances(
    robot: str,
    joints: Sequence[str],
    settings: RobotSettings,
    *,
    path: Mapping[str, float],
    goal: Mapping[str, float],
    goal_time_s: float,
) -> GoalTolerances:
    """Join the configured tolerances with those that a request asks for.

    Parameters
    ----------
    robot : str
        For messages.
    path, goal : mapping of str to float
        What is asked for, by joint, in rad or m.
    goal_time_s : float
        What is asked for.

    Raises
    ------
    ToleranceError
        For the first that cannot be meant.
    """
    common = settings.tolerances
    own = [settings.joints.get(joint, JointSettings()).tolerances for joint in joints]
    paths = [joint.path or common.path for joint in own]
    goals = [joint.goal or common.goal for joint in own]
    return GoalTolerances(
        resolve(robot, "path_tolerance", joints, paths, path),
        resolve(robot, "goal_tolerance", joints, goals, goal),
        goal_time_s or common.goal_time_s,
    )


def resolve(
    robot: str,
    kind: str,
    joints: Sequence[str],
    configured: Sequence[float | None],
    asked: Mapping[str, float],
) -> list[float]:
    """Join one kind of configured tolerances with those that a request asks for.

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
            known = f"it has {listed(joints)}"
            parts = (f"{robot}: {kind} of an unknown joint '{joint}'", known, nearest(joint, joints))
            raise ToleranceError("; ".join(part for part in parts if part))
        if value < 0.0 and value != OFF:
            meant = "0 stands for the configured one and -1 for none"
            raise ToleranceError(f"{robot}: {kind} of joint '{joint}' is {value:g}; {meant}; correct it")
        if 0.0 < value < SMALLEST:
            why = f"the smallest is {SMALLEST:g}, and 0 stands for the configured one"
            raise ToleranceError(f"{robot}: {kind} of joint '{joint}' is {value:g}; {why}; correct it")
        if value != 0.0:
            found[joint] = value
    return list(found.values())
