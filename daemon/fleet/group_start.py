"""One start of a group in this daemon: its robots begin when all are committed, and play when all are ready.

Whatever happens here, a robot that was not told to go on lets the start go by itself (`robots.reservation`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from motiond.formats.errors import listed

from ..robots.reservation import GUARD_S
from .heard import Members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..api.schemas import CommitRequest
    from ..robots.reservation import Reservation
    from .heard import Daemons, Failure

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.5
MOST_NAMED = 5


class GroupStart:
    """What is done of a start in this daemon.

    Parameters
    ----------
    commit : CommitRequest
    ours : mapping of str to Reservation
        The daemon's own robots that take part.
    daemons : Daemons
        Which are at the broker.
    unix_now : callable
        Returns Unix time in s.

    Attributes
    ----------
    commit : CommitRequest
    members : Members
        All that take part, as far as they were heard.
    """

    def __init__(
        self,
        commit: CommitRequest,
        ours: Mapping[str, Reservation],
        daemons: Daemons,
        unix_now: Callable[[], float] = time.time,
    ) -> None:
        self.commit = commit
        self.members = Members(commit.start, commit.robots, daemons)
        self._ours = ours
        self._news = asyncio.Event()
        start_s = asyncio.get_running_loop().time() + commit.start_at - unix_now()
        self._begins_s, self._plays_s = start_s - commit.ready_in_s, start_s - GUARD_S

    def hear(self, robot: str, subject: str, data: dict[str, Any]) -> None:
        """Take note of what a member reports, and act on it at once."""
        self.members.hear(robot, subject, data)
        self.look()

    def look(self) -> None:
        """Break off what has to be, now that something was heard."""
        self._heed_failures()
        self._news.set()

    def _heed_failures(self) -> None:
        for failure in self.members.failures():
            self._fail(failure)

    def lose_connection(self) -> None:
        """Take note that nothing is heard any more: who has not played yet cannot know of the others."""
        self.members.forget()
        for robot, reservation in self._ours.items():
            if reservation.phase_of(self.commit.start) != "playing":
                why = f"{robot}: the daemon's connection was lost, by which it hears the others"
                reservation.break_off(self.commit.start, why)
        self._news.set()

    async def run(self) -> None:
        """Bring the start to its end; raises nothing but cancellation."""
        try:
            await self._run()
        except Exception:
            log.exception("start '%s' failed inside motiond", self.commit.start)
            self._break_off("it failed inside motiond; the daemon's log says more")

    async def _run(self) -> None:
        start = self.commit.start
        if await self._heard("committed", self.members.not_committed, self._begins_s):
            for reservation in self._ours.values():
                reservation.begin(start)
        if await self._heard("ready", self.members.not_ready, self._plays_s):
            for reservation in self._ours.values():
                reservation.go(start)
        while not self._is_over():
            await self._wait(LOOK_PERIOD_S)
            self._heed_failures()

    async def _heard(self, what: str, missing: Callable[[], list[str]], deadline_s: float) -> bool:
        """Wait until nobody is missing; where that is not so in time, break off."""
        loop = asyncio.get_running_loop()
        while (names := missing()) and not self._is_over():
            left_s = deadline_s - loop.time()
            if left_s <= 0.0:
                told = listed(names[:MOST_NAMED], more=max(0, len(names) - MOST_NAMED))
                self._break_off(f"not heard to be {what} in time: {told}", names[0])
                return False
            await self._wait(left_s)
        return not names

    async def _wait(self, within_s: float) -> None:
        """Wait for news, for so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._news.wait()
        self._news.clear()

    def _is_over(self) -> bool:
        return all(one.phase_of(self.commit.start) is None for one in self._ours.values())

    def _fail(self, failure: Failure) -> None:
        """Stop ours because of one that does not play with them."""
        goes_on = failure.has_played and self.commit.on_member_failure == "continue"
        for reservation in self._ours.values():
            if goes_on and reservation.phase_of(self.commit.start) == "playing":
                continue
            reservation.break_off(self.commit.start, f"{failure.member}: {failure.why}", failure.member)

    def _break_off(self, why: str, member: str | None = None) -> None:
        """Let go what has not come to its first row."""
        for reservation in self._ours.values():
            if reservation.phase_of(self.commit.start) != "playing":
                reservation.break_off(self.commit.start, why, member)
