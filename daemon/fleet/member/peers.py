"""The latest reports of robots and daemons at the broker, as far as starts of groups need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from motiond.text import shortened

from ...mqtt.topics import DaemonTopic, ReportTopic
from ..coordinator import Roster

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PEERS = 10_000
"""How many robots, and daemons, are kept; further ones are ignored."""
LONGEST = 500
KEPT = ("state", "bridge", "start", "phase", "reason")


class Progress(NamedTuple):
    """What a robot has reported last of its reservation."""

    start: str | None
    phase: str | None
    reason: str


NONE = Progress(None, None, "")


class Peers:
    """The robots and daemons at a broker."""

    def __init__(self) -> None:
        self._roster = Roster()

    def take(self, topic: DaemonTopic | ReportTopic, report: Mapping[str, Any]) -> None:
        """Take a daemon's availability, or the availability or reservation of a robot."""
        known = self._roster.robots if isinstance(topic, ReportTopic) else self._roster.daemons
        if topic[0] in known or len(known) < MOST_PEERS:
            texts = ((key, report.get(key)) for key in KEPT)
            short = {key: shortened(text, LONGEST) for key, text in texts if isinstance(text, str)}
            self._roster.take(topic, short)

    def progress(self, robot: str) -> Progress:
        """Return what a robot has reported last of its reservation."""
        if robot not in self._roster.robots:
            return NONE
        return progress_of(self._roster.robots[robot].last.get("reservation", {}))

    def absence(self, robot: str) -> str:
        """Return why a robot's daemon is absent; '' where it is online, or not known."""
        known = self._roster.robots.get(robot)
        if known is None or known.state is None or known.daemon not in self._roster.daemons:
            return ""
        return self._roster.absence(robot)


def progress_of(report: Mapping[str, Any]) -> Progress:
    """Return the progress in a report of a reservation, NONE if it has another shape."""
    start, phase, reason = (report.get(key) for key in ("start", "phase", "reason"))
    if not isinstance(start, str) or not isinstance(phase, str):
        return NONE
    return Progress(start, phase, reason if isinstance(reason, str) else "")
