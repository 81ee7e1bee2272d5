"""What the stream process tells the daemon of an execution, and how it is sent without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ipc.channel import ChannelClosed
from ...ipc.messages import Ended
from ...ipc.states import ResultCode

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.channel import Channel
    from ...ipc.messages import Notice
    from .execution import Result


def ended(
    result: Result, joints: Sequence[str], units: Sequence[str], error: Floats, stalled: Booleans
) -> Ended:
    """Return the notice of an execution's end.

    `error` (joints,): how far the feedback is from the setpoint, without sign; NaN without feedback.
    `stalled` (joints,).
    """
    played_s = max(0, result.played_ticks - 1) / result.execution.rate_hz
    details = dict(result.details)
    if stalled.any():
        details["stalled"] = [joints[joint] for joint in np.flatnonzero(stalled)]
    details["reached_goal"] = result.code is ResultCode.SUCCESSFUL and not stalled.any()
    if np.isfinite(error).any():
        worst = int(np.nanargmax(error))
        details["final_error"] = {
            "joint": joints[worst],
            "value": float(error[worst]),
            "unit": units[worst],
        }
    return Ended(result.execution.goal_id, result.code, result.message, played_s, details)


def send_waiting(channel: Channel, notices: deque[Notice]) -> None:
    """Send notices in their order without waiting; what the daemon does not read now stays."""
    while notices and _is_done_with(channel, notices[0]):
        notices.popleft()


def _is_done_with(channel: Channel, notice: Notice) -> bool:
    """Send a notice; False if the daemon does not read now."""
    try:
        channel.send(notice)
    except BlockingIOError:
        return False
    except ChannelClosed:
        return True
    return True
