"""What the daemon writes to stderr: log records and the robots' reports, one line an event.

Under systemd a line begins with its priority instead of the time (sd-daemon(3), systemd.exec(5) on
JOURNAL_STREAM), as the journal knows the time itself.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from ..api.reports import Report, ReportHub, Subject

log = logging.getLogger(__name__)

TOLD: frozenset[Subject] = frozenset({"availability", "motions", "state", "result", "event"})
LEVELS = {
    "marker": logging.DEBUG,  # a loop passes many
    "driver": logging.INFO,
    "back": logging.INFO,
    "stream_lost": logging.DEBUG,  # whoever lost it has logged it
}
AS_WISHED = {"SUCCESSFUL", "CANCELED", "PREEMPTED"}
# syslog(3); systemd takes anything it does not know for the priority of the unit.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class _Journal(logging.Formatter):
    """Gives every line of a record its priority."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{_PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).splitlines())


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is now: a live table puts itself between."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override] # the base class keeps one stream for good
        return sys.stderr


def start_logging(level: int) -> None:
    """Send log records to stderr: everyone's warnings, and our own from `level` on."""
    handler = _Stderr()
    if _is_journal():
        handler.setFormatter(_Journal("%(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("motiond").setLevel(level)


def _is_journal() -> bool:
    """Whether stderr is the very stream that systemd connected to the journal."""
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


async def write_journal(hub: ReportHub) -> NoReturn:
    """Log what the robots report, until cancelled."""
    with hub.subscribe(TOLD) as reports:
        async for report in reports:
            log_report(report)
    raise AssertionError  # a subscription never ends by itself


def log_report(report: Report) -> None:
    """Log one report in one line."""
    robot, data = report.robot, report.data
    match report.subject:
        case "result":
            level = logging.INFO if data["code"] in AS_WISHED else logging.WARNING
            log.log(level, "%s: %s ended with %s; %s", robot, data["motion"], data["code"], data["message"])
        case "event":
            log.log(LEVELS.get(data["kind"], logging.WARNING), "%s: %s", robot, data["message"])
        case "availability":
            log.info("%s: %s", robot, data["state"])
        case "motions":
            _log_motions(robot, data["motions"])
        case "state":
            log.debug("%s: %s", robot, data["state"])
        case _:
            pass


def _log_motions(robot: str, motions: list[dict[str, object]]) -> None:
    playable = [str(motion["name"]) for motion in motions if motion["ok"]]
    log.info("%s: motions: %s", robot, ", ".join(playable) or "none")
    for motion in motions:
        if not motion["ok"]:
            log.warning("%s: %s", robot, motion["reason"])
