"""Whether somebody may close the terminal that a process belongs to."""

from __future__ import annotations

import os


def has_terminal() -> bool:
    """Whether a terminal controls this process, which sends SIGHUP when it closes (tty(4))."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
