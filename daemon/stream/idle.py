"""What a stream process hears and tells while it has no actuators: all commands are dropped but the last."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..ipc.channel import ChannelClosed
from ..ipc.messages import Shutdown

if TYPE_CHECKING:
    from ..ipc.channel import Channel
    from ..ipc.messages import Notice


def told_to_leave(channel: Channel) -> bool:
    """Take all commands that have come; True if the process is to end, as told or as the daemon has gone."""
    try:
        while (received := channel.receive()) is not None:
            command, fds = received
            for fd in fds:
                os.close(fd)
            if isinstance(command, Shutdown):
                return True
    except ChannelClosed:
        return True
    return False


def tell(channel: Channel, notice: Notice) -> bool:
    """Send a notice, or lose it where the daemon does not read; False if the daemon has gone."""
    try:
        channel.send(notice)
    except ChannelClosed:
        return False
    except BlockingIOError:
        return True
    return True
