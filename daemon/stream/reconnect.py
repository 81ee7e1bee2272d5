"""Finds lost actuators again: opens the driver anew, with longer and longer waits between.

A port that comes back by another name is locked by that first. Nothing moves by itself: torque stays off
until somebody asks for it.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from ..ipc.messages import Lost
from .idle import Asked, asked_by, restart, tell
from .leaving import ToldToLeave, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from motiond.drivers.base import Driver

    from ..ipc.channel import Channel
    from .clocks import Clock
    from .locks import DeviceLocks, Holder

    Interruptible: TypeAlias = Callable[[], AbstractContextManager[None]]

BACK_OFF_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def open_alone(
    driver: Driver, locks: DeviceLocks, interruptible: Interruptible = interruptible
) -> Holder | None:
    """Open a driver whose devices are locked, and lock what has come into being with it.

    Parameters
    ----------
    interruptible : callable
        Returns the context within which the process may be told to leave.

    Returns
    -------
    Holder or None
        Who was first to lock that; the driver is closed again then.

    Raises
    ------
    ToldToLeave
        If the process is to end.
    DriverError
        If the driver cannot be opened.
    """
    with interruptible():
        driver.open()
    if (holder := locks.take()) is not None:
        driver.close()
    return holder


def restart_first(
    driver: Driver, asked: Asked, channel: Channel, interruptible: Interruptible = interruptible
) -> None:
    """Restart the actuators that are asked for, if any, before a driver is opened whose devices are locked.

    Parameters
    ----------
    interruptible : callable
        As of `open_alone`.

    Raises
    ------
    ToldToLeave
        If the process is to end.
    """
    if asked.reboot:
        with interruptible():
            notice = restart(driver, asked.reboot)
        tell(channel, notice)


def reopen(
    driver: Driver,
    locks: DeviceLocks,
    channel: Channel,
    clock: Clock,
    interruptible: Interruptible = interruptible,
) -> bool:
    """Open a driver that has lost its actuators, however long it takes; False once the process is to end.

    Parameters
    ----------
    locks : DeviceLocks
        Those on what the driver drove; they follow it where its devices have other names now.
    interruptible : callable
        As of `open_alone`.
    """
    driver.close()
    for wait_s in chain(BACK_OFF_S, repeat(BACK_OFF_S[-1])):
        asked = _asked_within(channel, clock, clock.now() + wait_s)
        if asked.leaves:
            return False
        try:
            locks.follow(driver.devices)
            holder = locks.take()
            if holder is None:
                restart_first(driver, asked, channel, interruptible)
                holder = open_alone(driver, locks, interruptible)
            if holder is None:
                driver.disable()
                return True
            reason = str(holder)
            holder.close()
        except ToldToLeave:
            driver.close()
            return False
        except Exception as error:  # noqa: BLE001 - whatever keeps it from opening, it is tried again
            driver.close()
            reason = str(error) or type(error).__name__
        if not tell(channel, Lost(reason)):
            return False
    return False


def _asked_within(channel: Channel, clock: Clock, deadline_s: float) -> Asked:
    """Wait, no longer than until something is asked for, and drop commands that need actuators."""
    while clock.now() < deadline_s:
        clock.wait_readable(channel.fileno(), deadline_s)
        asked = asked_by(channel)
        if asked.leaves or asked.tries:
            return asked
    return Asked()
