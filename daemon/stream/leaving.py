"""Ends a process that still opens its driver as soon as it is to end, by a signal of the daemon's.

Opening may wait for actuators for seconds, in a vendor's code, and hears no command. Before it, the signal
ends the process at once, as it ends any; once the actuators are there it is ignored, and `Shutdown` counts.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from ..ipc.messages import HURRY

if TYPE_CHECKING:
    from collections.abc import Iterator


class ToldToLeave(BaseException):
    """The process is to end; like KeyboardInterrupt it is no error that a driver should deal with."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the signal raise `ToldToLeave` in here, and ignore it from then on."""
    signal.signal(HURRY, _leave)
    try:
        yield
    finally:
        signal.signal(HURRY, signal.SIG_IGN)


def _leave(_number: int, _frame: object) -> NoReturn:
    raise ToldToLeave
