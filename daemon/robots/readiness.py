"""What a robot's state forbids, and what it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.formats.errors import listed, nearest

from ..api.errors import RequestError
from ..ipc.states import State

if TYPE_CHECKING:
    from .robot import Robot


def refuse_unless_able(robot: Robot, what: str) -> None:
    """Refuse what a robot that is leaving, offline or halted cannot do.

    Raises
    ------
    RequestError
        OFFLINE, ESTOPPED or FAULT.
    """
    status = robot.status
    if robot.leaving:
        raise RequestError("OFFLINE", robot.name, what, robot.leaves_for)
    if status.state is State.OFFLINE:
        raise RequestError("OFFLINE", robot.name, what, f"the robot is offline; {status.message}")
    if status.state is State.ESTOPPED or robot.estop_latched:
        why = "the emergency stop is latched"
        raise RequestError("ESTOPPED", robot.name, what, why, "send reset when it is safe")
    if status.state is State.FAULT:
        raise RequestError("FAULT", robot.name, what, status.message, "send reset when it is mended")


def busy(robot: Robot, mend: str = "stop it first or send on_busy: replace") -> RequestError:
    """Return the refusal of a robot that plays, with what the client can do."""
    goal = robot.goals.goal
    return RequestError(
        "BUSY",
        robot.name,
        f"busy with {goal.motion if goal else 'another motion'}",
        "one motion plays at a time",
        mend,
        **({"goal_id": goal.goal_id} if goal else {}),
    )


def actuator_of(robot: Robot, name: str) -> str:
    """Return the actuator of a joint, or, where no joint is called so, the actuator of this name.

    Raises
    ------
    RequestError
        INVALID_REQUEST, if there is neither.
    """
    joint_map = robot.library.joint_map
    if name in joint_map.joints:
        return joint_map.actuator_of(name)
    if name in joint_map.actuators:
        return name
    what, known = f"no joint '{name}'", f"it has {listed(joint_map.joints)}"
    raise RequestError("INVALID_REQUEST", robot.name, what, known, nearest(name, joint_map.joints))
