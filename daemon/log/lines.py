"""Log records as lines: one an event, in the same form from the daemon and from its stream processes.

Whatever a record quotes, it cannot pass for another one: control characters are escaped, and the further
lines of a record that has several (a list of problems, a traceback) begin with `CONTINUED`. Under systemd
records go to the journal (`journal`); where it does not take one, its lines begin with their priority instead
of the time (sd-daemon(3), systemd.exec(5) on JOURNAL_STREAM), as the journal knows the time itself.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from motiond.text import printable, shortened

from .journal import PRIORITIES, SOCKET, JournalHandler

CONTINUED = "    | "
LONGEST_LINE, MOST_LINES = 4_000, 200
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
"""From which level on records may be logged, by name."""

_OURS = logging.getLogger("motiond")


class _Lines(logging.Formatter):
    """Makes printable lines of bounded length."""

    def format(self, record: logging.LogRecord) -> str:
        first, *others = super().format(record).split("\n")
        if len(others) > MOST_LINES:
            others = [f"{len(others) - MOST_LINES} lines are left out", *others[-MOST_LINES:]]
        lines = [first, *(CONTINUED + one for one in others)]
        return "\n".join(shortened(printable(one), LONGEST_LINE) for one in lines)


class _Journal(_Lines):
    """Gives every line of a record its priority."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).split("\n"))


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is now: a live table puts itself between."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override] # the base class keeps one stream for good
        return sys.stderr


def start_logging(level: int, journal: str = SOCKET) -> None:
    """Send log records to stderr, or to the journal: everyone's warnings, and our own from `level` on.

    `journal`: where the journal takes records, if systemd has connected stderr to it.
    """
    handler: logging.Handler = _Stderr()
    if _is_journal():
        handler.setFormatter(_Journal("%(message)s"))
        handler = JournalHandler(instead=handler, address=journal)
        handler.setFormatter(_Lines("%(message)s"))
    else:
        handler.setFormatter(_Lines("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    _OURS.setLevel(level)


def level_name() -> str:
    """Return from which level on our own records are logged, as it is called."""
    return logging.getLevelName(_OURS.getEffectiveLevel()).lower()


def set_level(name: str) -> None:
    """Log our own records from a level on, one of `LEVELS`."""
    _OURS.setLevel(LEVELS[name])


def _is_journal() -> bool:
    """Whether stderr is the very stream that systemd connected to the journal."""
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def has_terminal() -> bool:
    """Whether a terminal controls this process, which sends SIGHUP when it closes (tty(4))."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
