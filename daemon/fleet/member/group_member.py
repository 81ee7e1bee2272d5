"""The part of one daemon in starts of groups: its robots stop when another robot of the start does not play.

A committed robot plays by itself (`robots.reservation`). This module only watches the other robots: the
broker delivers their reservations and their daemons' availability; robots of this daemon report directly.
docs/decisions/all-or-none.md states what that promises.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from motiond.text import listed, shortened

from ...mqtt.topics import DaemonTopic, ReportTopic
from ..coordinator import Roster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...api import CommitRequest
    from ...robots import Reservation

log = logging.getLogger(__name__)

SEEN_WITHIN_S = 2.0
"""So long after the first row every robot of a start has to be seen playing."""
MOST_NAMED = 5
MOST_KNOWN = 10_000
"""How many robots, and daemons, are kept; further ones are ignored."""
LONGEST = 500
KEPT = ("state", "bridge", "start", "phase", "reason")
PLAYS = frozenset({"playing", "ended"})


class GroupMember:
    """Watches all starts in which robots of this daemon, those of `reservations`, take part."""

    def __init__(
        self,
        reservations: Mapping[str, Reservation],
        unix_now: Callable[[], float] = time.time,
    ) -> None:
        self._reservations = reservations
        self._is_connected: Callable[[], bool] = lambda: False
        self._unix_now = unix_now
        self._roster = Roster()
        self._reserved: dict[str, dict[str, str]] = {}
        """What each robot has reported last of its reservation."""
        self._starts: dict[str, _Start] = {}
        self._news = asyncio.Event()

    async def run(self, is_connected: Callable[[], bool]) -> NoReturn:
        """Watch until cancelled; `is_connected` is whether the daemon has its broker."""
        self._is_connected = is_connected
        listeners = {name: partial(self._take_own, name) for name in self._reservations}
        for name, listener in listeners.items():
            self._reservations[name].listeners.append(listener)
        try:
            while True:
                self._news.clear()
                for start in [*self._starts.values()]:
                    if not self._goes_on(start):
                        del self._starts[start.commit.start]
                due_s = (start.checked_s for start in self._starts.values() if start.checked_s is not None)
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min(due_s, default=None)):
                        await self._news.wait()
        finally:
            for name, listener in listeners.items():
                self._reservations[name].listeners.remove(listener)

    def _goes_on(self, start: _Start) -> bool:
        try:
            return start.look()
        except Exception:
            log.exception("start '%s' failed inside motiond", start.commit.start)
            start.break_off("it failed inside motiond; see the daemon's log", None)
            return False

    def take(self, topic: DaemonTopic | ReportTopic, report: dict[str, Any]) -> None:
        """Take a daemon's availability, or the availability or reservation of a robot, at the broker."""
        match topic:
            case ReportTopic(robot, "reservation"):
                if robot not in self._reservations:
                    self._take_reservation(robot, report)
                return
            case ReportTopic():
                known: Mapping[str, Any] = self._roster.robots
            case DaemonTopic():
                known = self._roster.daemons
        if topic[0] in known or len(known) < MOST_KNOWN:
            self._roster.take(topic, _shortened(report))
        self._news.set()

    def _take_own(self, robot: str, report: dict[str, Any]) -> None:
        """Take what one of the daemon's own robots reports; its commit begins the watch."""
        commit = self._reservations[robot].committed
        if report["phase"] == "committed" and commit is not None:
            if commit.start not in self._starts:
                self._starts[commit.start] = self._joined(commit)
            self._starts[commit.start].own[robot] = self._reservations[robot]
        self._take_reservation(robot, report)

    def _take_reservation(self, robot: str, report: Mapping[str, Any]) -> None:
        reservation = _shortened(report)
        if robot in self._reserved or len(self._reserved) < MOST_KNOWN:
            self._reserved[robot] = reservation
        for start in self._starts.values():
            start.take(robot, reservation)
        self._news.set()

    def _joined(self, commit: CommitRequest) -> _Start:
        """Return a start with what its robots have reported so far."""
        start = _Start(commit, self._absence, self._is_connected, self._unix_now())
        for robot in commit.robots:
            start.take(robot, self._reserved.get(robot, {}))
        return start

    def _absence(self, robot: str) -> str:
        """Return why a robot's daemon is absent; '' where it is online, or not known."""
        known = self._roster.robots.get(robot)
        if known is None or known.state is None or known.daemon not in self._roster.daemons:
            return ""
        return self._roster.absence(robot)


class _Start:
    """One start; `own` are the daemon's robots that are committed to it."""

    def __init__(
        self,
        commit: CommitRequest,
        absence: Callable[[str], str],
        is_connected: Callable[[], bool],
        unix_s: float,
    ) -> None:
        self.commit = commit
        self.own: dict[str, Reservation] = {}
        self._absence = absence
        self._is_connected = is_connected
        self._seen = dict.fromkeys(commit.robots, "")
        """The phase of this start that each robot has reported last; '' where none."""
        self._reasons: dict[str, str] = {}
        first_row_s = asyncio.get_running_loop().time() + commit.start_at - unix_s
        self.checked_s: float | None = first_row_s + SEEN_WITHIN_S
        """When every robot has to be seen playing, by the event loop's clock; None once that was checked."""

    def take(self, robot: str, reservation: Mapping[str, str]) -> None:
        """Take what a robot reports of its reservation, if it is in this start."""
        seen, phase = self._seen.get(robot), reservation.get("phase", "")
        if seen is None or seen == "ended":
            return
        if reservation.get("start") == self.commit.start and phase:
            if phase == "released":
                self._reasons.setdefault(robot, reservation.get("reason") or "it was released")
            else:
                self._seen[robot] = phase
        elif seen and (phase != "released" or "start" not in reservation):
            # A commit of another start may be refused meanwhile.
            self._reasons.setdefault(robot, "it is not reserved for the start any more")

    def look(self) -> bool:
        """Stop what has to stop; return whether one of the daemon's own robots still takes part."""
        self._check_failures()
        if self.checked_s is not None and asyncio.get_running_loop().time() >= self.checked_s:
            self._check_unseen()
            self.checked_s = None
        return any(own.phase_of(self.commit.start) is not None for own in self.own.values())

    def _check_failures(self) -> None:
        """Stop because of robots that are known to have failed."""
        for robot, phase in self._seen.items():
            if phase == "ended":
                continue
            reason = self._reasons.get(robot) or ("" if robot in self.own else self._absence(robot))
            if reason:
                plays_on = phase in PLAYS and self.commit.on_member_failure == "continue"
                self.break_off(f"{robot}: {reason}", robot, plays_on=plays_on)

    def _check_unseen(self) -> None:
        """Stop because of robots that have not reported that they play."""
        unseen = [robot for robot, phase in self._seen.items() if phase not in PLAYS]
        if unseen:
            names = listed(unseen[:MOST_NAMED], more=max(0, len(unseen) - MOST_NAMED))
            why = "; ".join(f"{robot}: {self._why_unseen(robot)}" for robot in unseen[:MOST_NAMED])
            reason = f"not seen playing {SEEN_WITHIN_S:g} s after the first row: {names}; {why}"
            self.break_off(reason, unseen[0])

    def _why_unseen(self, robot: str) -> str:
        if not self._is_connected():
            return "the connection to the broker is lost"
        phase = self._seen[robot]
        return f"it reported last that it is {phase}" if phase else "it has reported nothing of the start"

    def break_off(self, reason: str, member: str | None, *, plays_on: bool = False) -> None:
        """Stop the daemon's own robots; `plays_on` spares those that play their rows."""
        for reservation in self.own.values():
            if not plays_on or reservation.phase_of(self.commit.start) != "playing":
                reservation.break_off(self.commit.start, reason, member)


def _shortened(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a report that count, so that others cannot fill the memory with them."""
    texts = ((key, report.get(key)) for key in KEPT)
    return {key: shortened(text, LONGEST) for key, text in texts if isinstance(text, str)}
