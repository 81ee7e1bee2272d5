"""What the daemon writes to stderr: log records and the robots' reports, one line an event.

Whatever a record quotes, it cannot pass for another one: control characters are escaped, and the further
lines of a record that has several (a list of problems, a traceback) begin with `CONTINUED`. Under systemd a
line begins with its priority instead of the time (sd-daemon(3), systemd.exec(5) on JOURNAL_STREAM), as the
journal knows the time itself.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

from motiond.formats.errors import MOST_LISTED, listed, printable, shortened

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
CONTINUED = "    | "
LONGEST_LINE, MOST_LINES = 4_000, 200
# syslog(3); systemd takes anything it does not know for the priority of the unit.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


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
        prefix = f"<{_PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).split("\n"))


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
        handler.setFormatter(_Lines("%(asctime)s %(levelname)-7s %(message)s"))
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
    """Log what the robots report, until cancelled; motions that are as before are not told again."""
    motions: dict[str, Report] = {}
    with hub.subscribe(TOLD) as reports:
        async for report in reports:
            if report.subject == "motions":
                if report == motions.get(report.robot):
                    continue
                motions[report.robot] = report
            try:
                log_report(report)
            except Exception:  # a report that cannot be told ends no daemon
                log.exception("%s: %s could not be logged", report.robot, report.subject)
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
            _log_motions(robot, data["motions"], data.get("more", 0))
        case "state":
            log.debug("%s: %s", robot, data["state"])
        case _:
            pass


def _log_motions(robot: str, motions: list[dict[str, object]], more: int) -> None:
    playable = [str(motion["name"]) for motion in motions if motion["ok"]]
    log.info("%s: motions: %s", robot, listed(playable) or "none")
    unplayable = [motion for motion in motions if not motion["ok"]]
    for motion in unplayable[:MOST_LISTED]:
        log.warning("%s: %s", robot, motion["reason"])
    if len(unplayable) > MOST_LISTED:
        untold = len(unplayable) - MOST_LISTED
        log.warning("%s: %d more motions cannot be played; `motiond check` says why", robot, untold)
    if more:
        log.info("%s: %d more motions; `motiond check` names them", robot, more)
