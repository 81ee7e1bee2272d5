"""What a stream process hears and tells while it has no actuators: most commands are dropped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..ipc.channel import ChannelClosed
from ..ipc.messages import Reset, Shutdown

if TYPE_CHECKING:
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
    """

    leaves: bool = False
    tries: bool = False


def asked_by(channel: Channel) -> Asked:
    """Take all commands that have come."""
    tries = False
    try:
        while (received := channel.receive()) is not None:
            command, fds = received
            for fd in fds:
                os.close(fd)
            if isinstance(command, Shutdown):
                return Asked(leaves=True)
            tries |= isinstance(command, Reset)
    except ChannelClosed:
        return Asked(leaves=True)
    return Asked(tries=tries)


def tell(channel: Channel, notice: Notice) -> bool:
    """Send a notice, or lose it where the daemon does not read; False if the daemon has gone."""
    try:
        channel.send(notice)
    except ChannelClosed:
        return False
    except BlockingIOError:
        return True
    return True
