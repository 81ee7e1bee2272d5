"""Notifies systemd (sd_notify(3)): ready, alive, stopping; without systemd, nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from motiond.text import shortened

from ..ipc.states import State

if TYPE_CHECKING:
    from ..robots import Robot, RobotRegistry

log = logging.getLogger(__name__)


def notify(*states: str) -> bool:
    """Send states such as `READY=1` without waiting; False where nobody listens, or reads what was sent.

    A socket that has gone is logged once: a motion must not end with it.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
        try:
            connection.sendto("\n".join(states).encode(), socket.MSG_DONTWAIT, address)
        except BlockingIOError:
            return False
        except OSError as error:
            _warn(os.environ["NOTIFY_SOCKET"], error.strerror or str(error))
            return False
    return True


@cache
def _warn(address: str, reason: str) -> None:
    """Log that systemd cannot be notified, once for each reason."""
    log.warning("%s: systemd cannot be notified; %s; check NOTIFY_SOCKET", address, reason)


def watchdog_period_s() -> float | None:
    """Return how often systemd expects WATCHDOG=1 (half its timeout); None if it does not."""
    timeout_us = os.environ.get("WATCHDOG_USEC", "")
    is_meant = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(timeout_us) / 2e6 if is_meant and timeout_us.isdecimal() and int(timeout_us) else None


LOOK_PERIOD_S = 0.5
MOST_NAMED, LONGEST = 6, 300
DOING = {
    State.APPROACHING: "goes to the first row of",
    State.PLAYING: "plays",
    State.PAUSING: "pauses",
    State.PAUSED: "pauses",
    State.STOPPING: "stops",
}


async def report_status(robots: RobotRegistry) -> NoReturn:
    """Notify systemd of what goes on whenever that has changed, until cancelled."""
    sent = ""
    while True:
        text = status_text([member.robot for member in robots.members.values()])
        if text != sent and notify(f"STATUS={text}"):
            sent = text
        await asyncio.sleep(LOOK_PERIOD_S)


def status_text(robots: list[Robot]) -> str:
    """Return how many robots there are and what they do: `2 robots, arm plays wave`."""
    number = f"{len(robots)} robot" + ("" if len(robots) == 1 else "s")
    busy = [did for robot in robots if (did := _doing(robot))]
    more = [f"and {len(busy) - MOST_NAMED} more"] if len(busy) > MOST_NAMED else []
    return shortened(", ".join([number, *(busy[:MOST_NAMED] or ["idle"]), *more]), LONGEST)


def _doing(robot: Robot) -> str:
    """Return what one robot does; '' where it is idle."""
    state, goals = robot.session.state, robot.session.goals
    if state in DOING and goals:
        return f"{robot.name} {DOING[state]} {' and '.join(goal.motion for goal in goals)}"
    return "" if state is State.IDLE else f"{robot.name} is {state}"
