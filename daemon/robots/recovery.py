"""How a robot is got back from an emergency stop, a fault or a loss, and how a stop of it is confirmed.

Each answer comes in time with what was met; what it began goes on after it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from motiond.drivers.base import DriverError
from motiond.drivers.registry import make_driver

from ..api.errors import RequestError
from ..ipc import messages
from ..ipc.states import State
from .readiness import actuator_of
from .shutdown import NOT_MOVED
from .status import ANSWER_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from .goal import Goal
    from .robot import Robot

log = logging.getLogger(__name__)

TICKS = 2
"""In so many a stream process has certainly obeyed: the first may have begun before the command came."""
LOOK_S = 0.005


async def reset(robot: Robot) -> None:
    """Leave `estopped`, `fault` by a new start of the stream process, or try at once to find lost actuators.

    Raises
    ------
    RequestError
        OFFLINE or FAULT with what the driver reports, if it does; TIMEOUT if it has not been opened yet. It
        is tried again all the same. ESTOPPED where an emergency stop has come since.
    """
    status, losses = robot.status, robot.status.losses
    was_latched, robot.estop_latched = robot.estop_latched, False
    if was_latched or status.state in NOT_MOVED:
        log.info("%s: reset", robot.name, extra={"robot": robot.name})
    match status.state:
        case State.FAULT:
            robot.stream.restart()
            await _opened(robot, losses)
        case State.OFFLINE:
            robot.stream.try_again()
            await _opened(robot, losses)
        case state if was_latched or state is State.ESTOPPED:
            await _leave_estop(robot)
        case _:
            return
    await _ticks(robot, lambda: status.state is State.IDLE)
    _refuse_latched(robot)
    if status.state is State.FAULT:
        raise RequestError("FAULT", robot.name, "in fault after the reset", status.message)
    if status.state is State.OFFLINE and not robot.leaving:
        what, mend = "offline after the reset", "it is tried again by itself"
        raise RequestError("OFFLINE", robot.name, what, status.message, mend)


async def _leave_estop(robot: Robot) -> None:
    """Wait for the end of the emergency stop, which may be under way still; it is obeyed first."""
    status, awaited = robot.status, "the end of the emergency stop"
    robot.stream.send(messages.Reset())
    is_known = status.state is State.ESTOPPED
    if not is_known and not await _ticks(robot, lambda: status.state not in {State.OFFLINE, State.FAULT}):
        raise status.late(awaited, ANSWER_TIMEOUT_S)
    await status.until(
        lambda: status.state is not State.ESTOPPED, awaited, refuse=lambda: _refuse_latched(robot)
    )


def _refuse_latched(robot: Robot) -> None:
    """Refuse to call a robot reset that was halted again since."""
    if robot.estop_latched:
        why, mend = "an emergency stop came after the reset", "send reset when it is safe"
        raise RequestError("ESTOPPED", robot.name, "halted again", why, mend)


async def reboot(robot: Robot, servos: list[str]) -> dict[str, object]:
    """Restart servos of a robot that is offline, in fault, or at rest without torque; return the answer.

    Parameters
    ----------
    servos : list of str
        Joints or actuators.

    Raises
    ------
    RequestError
        If its driver or its state forbids it, or as the driver reports.
    """
    actuators = [actuator_of(robot, name) for name in dict.fromkeys(servos)]
    driver = robot.settings.driver
    try:
        make_driver(driver.type, driver.options, robot.library.joint_map.actuators).refuse_reboot(actuators)
    except DriverError as error:
        raise RequestError("NOT_ALLOWED", robot.name, str(error)) from error
    _refuse_unless_loose(robot, "servos cannot be restarted")
    await _restart(robot, actuators, "servos cannot be restarted")
    return {"actuators": actuators, "state": robot.status.state}


def _refuse_unless_loose(robot: Robot, what: str) -> None:
    """Refuse where a robot holds, or is about to leave."""
    status = robot.status
    if robot.leaving:
        raise RequestError("OFFLINE", robot.name, what, robot.leaves_for)
    if status.state is State.ESTOPPED:
        why = "the emergency stop is latched"
        raise RequestError("ESTOPPED", robot.name, what, why, "send reset when it is safe")
    if status.state not in {State.OFFLINE, State.FAULT} and (status.state is not State.IDLE or status.torque):
        why = f"the robot is {status.in_words}"
        raise RequestError("NOT_ALLOWED", robot.name, what, why, "disable it first, as it may drop")


async def _restart(robot: Robot, actuators: list[str], what: str) -> None:
    status, before = robot.status, robot.status.rebooted
    robot.stream.reboot(actuators)
    try:
        await status.until(lambda: status.rebooted is not before or robot.leaving, "the restart")
    finally:
        robot.stream.forget_reboot()
    if status.rebooted is None or status.rebooted is before:
        raise RequestError("OFFLINE", robot.name, what, robot.leaves_for)
    if status.rebooted.error:
        raise RequestError("FAULT", robot.name, what, status.rebooted.error)


async def _opened(robot: Robot, losses: int) -> None:
    """Wait until the driver is open, or has failed to."""
    status = robot.status
    await status.until(
        lambda: status.state is State.IDLE or status.losses != losses or robot.leaving, "its driver"
    )


async def confirm_stop(robot: Robot, goal: Goal) -> None:
    """Wait until the stream process has obeyed the stop that was sent, or has ended.

    Raises
    ------
    RequestError
        TIMEOUT, where it does neither.
    """
    if not await _ticks(robot, lambda: robot.goals.goal is goal):
        awaited = "an answer of its stream process"
        raise robot.status.late(awaited, ANSWER_TIMEOUT_S, "use the robot's own switch")


async def _ticks(robot: Robot, as_long_as: Callable[[], bool]) -> bool:
    """Wait for some ticks of the stream process; False where they do not come."""
    until_s = asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S
    first = robot.stream.pulse
    while as_long_as() and robot.stream.pulse < first + TICKS:
        if asyncio.get_running_loop().time() > until_s:
            return False
        await robot.status.change(LOOK_S)
    return True


def unreached(robot: Robot) -> dict[str, object]:
    """Return whether a stop has reached the actuators, and why not, as the answers to stops tell it."""
    is_offline = robot.status.state is State.OFFLINE
    return {"reached": not is_offline, "message": robot.status.message if is_offline else ""}
