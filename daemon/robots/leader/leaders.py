"""Which robots may lead one robot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from motiond.formats import MappedJoint, MotionMap

from ...api import RequestError, unknown_robot
from ...joints import JointMapError
from ..session import FollowGoal
from .joint_match import match_joints
from .leader import Leader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...api import StartFollowRequest
    from ..robot import Robot

LONGEST_S = 0.25
"""So long a leader may have measured nothing, however long targets may be missing."""


def leader_of(robot: Robot, robots: Mapping[str, Robot], request: StartFollowRequest) -> Leader | None:
    """Return the leader that a request names, which measures where it is; None where it names none.

    `robots`: all of the daemon, by name. Raises RequestError for one that is unknown, follows the robot
    itself, cannot lead now, or has joints that do not fit.
    """
    if request.leader is None:
        return None
    problem = f"it cannot follow {request.leader}"
    if request.leader not in robots:
        raise unknown_robot(request.leader, robots)
    if robot.name in (chain := _chain(request.leader, robots)):
        reason = " follows ".join(chain) if len(chain) > 1 else "it would follow itself"
        raise RequestError("NOT_ALLOWED", robot.name, problem, reason, "choose another leader")
    leading = robots[request.leader]
    try:
        match = match_joints(leading.library.joint_map, robot.library.joint_map, _map_of(request))
    except JointMapError as error:
        raise RequestError.of("INVALID_REQUEST", error) from error
    now_s = asyncio.get_running_loop().time()
    leader = Leader(leading, match, min(request.timeout_s / 2.0, LONGEST_S), now_s)
    if leader.measure(now_s) is None:
        reason = leader.lost or "nothing was measured yet"
        raise RequestError("NOT_ALLOWED", robot.name, problem, reason)
    return leader


def _chain(name: str, robots: Mapping[str, Robot]) -> list[str]:
    """Return a robot, the one that it follows, or is about to, and so on.

    Each is named once: what still comes to rest may close a circle for a moment.
    """
    chain: list[str] = []
    following: str | None = name
    while following is not None and following not in chain:
        chain.append(following)
        following = _led_by(robots[following])
    return chain


def _led_by(robot: Robot) -> str | None:
    session = robot.session
    goal = session.begin.goal if session.begin else session.goal
    return goal.request.leader if isinstance(goal, FollowGoal) else None


def _map_of(request: StartFollowRequest) -> MotionMap | None:
    if not (request.map or request.ignore):
        return None
    joints = {
        name: MappedJoint(joint.from_, joint.sign, joint.offset, joint.unit)
        for name, joint in request.map.items()
    }
    ignores_others = request.ignore == "others"
    ignored = frozenset[str | int]() if ignores_others else frozenset[str | int](request.ignore)
    return MotionMap(joints, ignored, ignores_others)
