"""What a stream process hears and tells while it has no actuators: most commands are dropped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..ipc.channel import ChannelClosed
from ..ipc.messages import Reboot, Rebooted, Reset, Shutdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Driver

    from ..ipc.channel import Channel
    from ..ipc.messages import Notice


class Asked(NamedTuple):
    """What the daemon has asked for.

    Attributes
    ----------
    leaves : bool
        Whether the process is to end, as told or as the daemon has gone.
    tries : bool
        Whether the actuators are to be looked for at once.
    reboot : list of str
        Which actuators are to be restarted before.
    """

    leaves: bool = False
    tries: bool = False
    reboot: Sequence[str] = ()


def asked_by(channel: Channel) -> Asked:
    """Take all commands that have come."""
    tries, reboot = False, list[str]()
    try:
        while (received := channel.receive()) is not None:
            command, fds = received
            for fd in fds:
                os.close(fd)
            if isinstance(command, Shutdown):
                return Asked(leaves=True)
            tries |= isinstance(command, Reset | Reboot)
            reboot += command.actuators if isinstance(command, Reboot) else ()
    except ChannelClosed:
        return Asked(leaves=True)
    return Asked(tries=tries, reboot=reboot)


def restart(driver: Driver, actuators: Sequence[str]) -> Rebooted:
    """Restart actuators, and return what became of it."""
    error = ""
    try:
        driver.reboot(actuators)
    except Exception as failure:  # noqa: BLE001 - whatever a driver raises is an answer, not the process's end
        error = str(failure) or type(failure).__name__
    return Rebooted([*actuators], error)


def tell(channel: Channel, notice: Notice) -> bool:
    """Send a notice, or lose it where the daemon does not read; False if the daemon has gone."""
    try:
        channel.send(notice)
    except ChannelClosed:
        return False
    except BlockingIOError:
        return True
    return True
