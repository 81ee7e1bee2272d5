"""One start of a group in this daemon: its robots begin when all are committed, and play when all agree.

All agree when it is known of each daemon that it knows that all are ready. From then on the first row is
played, whatever becomes of the connection to the broker, unless somebody is heard to fail, or nothing is
heard of somebody for too long before it (docs/decisions/all-or-none.md). Whatever happens here, a robot that
was not told to go on lets the start go by itself (`robots.reservation`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from motiond.text import listed

from ...robots import GUARD_S
from .heard import Members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...api import CommitRequest
    from ...robots import Reservation
    from .heard import Daemons, Failure

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.5
MOST_NAMED = 5
PULSE_S, SLOW_PULSE_S = 0.1, 1.0
"""How often others are told how far ours are: until all have to be known to play, and from then on."""
SILENCE_S = 2.0
"""Of whom nothing is heard for so long before the first row counts as gone."""
WILL_S = 1.0
"""Who loses the connection for starts in so long before the first row counts as gone."""
CONFIRM_S = 2.0
"""So long after the first row all have to be known to play."""
LINGER_S = 5.0
"""For so long others are still told how it ended, as a daemon may be on its way to another broker."""


class GroupStart:
    """What is done of a start in this daemon.

    Parameters
    ----------
    commit : CommitRequest
    ours : mapping of str to Reservation
        The daemon's own robots that take part.
    daemons : Daemons
        Which are at the broker.
    tell : callable
        Tells all daemons how far ours are, while there is a connection.
    unix_now : callable
        Returns Unix time in s.
    confirm_s : float
        So long after the first row all have to be known to play.

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
        tell: Callable[[dict[str, Any]], None],
        *,
        unix_now: Callable[[], float] = time.time,
        confirm_s: float = CONFIRM_S,
    ) -> None:
        self.commit = commit
        self.members = Members(commit.start, commit.robots, daemons)
        self._ours = ours
        self._tell = tell
        self._phases = dict.fromkeys(ours, "committed")
        self._reasons: dict[str, str] = {}
        self._agrees = False
        self._is_connected = True
        self._news, self._pulse_is_due = asyncio.Event(), asyncio.Event()
        self._now = asyncio.get_running_loop().time
        self._confirm_s = confirm_s
        self._start_s = self._now() + commit.start_at - unix_now()
        self._begins_s, self._plays_s = self._start_s - commit.ready_in_s, self._start_s - GUARD_S

    # -- what is heard --------------------------------------------------------------------------------------

    def hear(self, robot: str, data: dict[str, Any]) -> None:
        """Take note of what a member reports of its reservation, and act on it at once."""
        self.members.hear(robot, data)
        self.look()

    def hear_pulse(self, daemon_id: str, data: dict[str, Any]) -> None:
        """Take note of what a daemon tells of its robots, and act on it at once."""
        self.members.hear_pulse(daemon_id, data, self._now())
        self.look()

    def hear_will(self, daemon_id: str) -> None:
        """Let go at once where a daemon's connection for starts has broken in the last moment.

        Before that it has time to come back; if it does not, its own will, or silence, tells.
        """
        left_s = self._start_s - self._now()
        if 0.0 < left_s <= WILL_S and (names := self.members.of(daemon_id)):
            self._break_off(f"{names[0]}: its daemon has lost the connection for starts", names[0])
            self._news.set()

    def look(self) -> None:
        """Break off what has to be, now that something was heard."""
        self._heed_failures()
        self._news.set()

    def _heed_failures(self) -> None:
        for failure in self.members.failures():
            self._fail(failure)

    def lose_connection(self) -> None:
        """Take note that nothing is heard any more, nor told."""
        self._is_connected = False
        self.members.lose_connection()

    def regain_connection(self) -> None:
        """Tell others at once how far ours are, who may have waited for it."""
        self._is_connected = True
        self._pulse_is_due.set()

    def has_let_go(self, robot: str) -> bool:
        """Whether one of ours took part and does not any more, without having played to its end."""
        return self._phases.get(robot) == "released"

    # -- what is told ---------------------------------------------------------------------------------------

    def _note(self, robot: str, told: dict[str, Any]) -> None:
        """Take note of what one of ours tells of its reservation, and let others know at once."""
        if told["start"] == self.commit.start:
            self._phases[robot] = told["phase"]
            if told["phase"] == "released":
                self._reasons[robot] = told["reason"]
        elif self._phases[robot] == "playing":
            self._phases[robot] = "ended"
        self._pulse_is_due.set()

    async def _beat(self) -> None:
        """Tell how far ours are, again and again, and at once where that changes."""
        while True:
            self._pulse_is_due.clear()
            start, robots = self.commit.start, self._phases
            self._tell({"start": start, "robots": robots, "agrees": self._agrees, "reasons": self._reasons})
            is_near = self._now() < self._start_s + self._confirm_s
            with suppress(TimeoutError):
                async with asyncio.timeout(PULSE_S if is_near else SLOW_PULSE_S):
                    await self._pulse_is_due.wait()

    # -- what is done ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Bring the start to its end, and tell for a while how it ended; raises nothing but cancellation."""
        notes = {robot: partial(self._note, robot) for robot in self._ours}
        for robot, reservation in self._ours.items():
            reservation.listeners.append(notes[robot])
            if reservation.phase_of(self.commit.start) is None:
                self._phases[robot] = "released"
        beating = asyncio.create_task(self._beat(), name=f"fleet.{self.commit.start}.pulse")
        try:
            try:
                await self._run()
            except Exception:
                log.exception("start '%s' failed inside motiond", self.commit.start)
                self._break_off("it failed inside motiond; the daemon's log says more")
            await asyncio.sleep(LINGER_S)
        finally:
            beating.cancel()
            await asyncio.wait((beating,))
            for robot, reservation in self._ours.items():
                reservation.listeners.remove(notes[robot])

    async def _run(self) -> None:
        if await self._agree():
            await self._confirm()
        while not self._is_over():
            await self._wait(LOOK_PERIOD_S)
            self._heed_failures()

    async def _agree(self) -> bool:
        """Bring ours to where nothing is left to be agreed on; return whether it came to that."""
        members, start = self.members, self.commit.start
        if not await self._heard(members.not_committed, self._begins_s, "not heard to be committed in time"):
            return False
        for reservation in self._ours.values():
            reservation.begin(start)
        if not await self._heard(members.not_ready, self._plays_s, "not heard to be ready in time"):
            return False
        self._agrees = True
        self._pulse_is_due.set()
        reason = "not heard in time to know that all are ready"
        if not await self._heard(members.not_agreed, self._plays_s, reason):
            return False
        for reservation in self._ours.values():
            reservation.go(start)
        return True

    async def _heard(self, missing: Callable[[], list[str]], deadline_s: float, reason: str) -> bool:
        """Wait until nobody is missing; where that is not so in time, break off."""
        while (names := missing()) and not self._is_over():
            left_s = deadline_s - self._now()
            if left_s <= 0.0:
                self._break_off(f"{reason}: {_named(names)}", names[0])
                return False
            await self._wait(left_s)
        return not names

    async def _confirm(self) -> None:
        """Let go where somebody falls silent before the first row; stop where somebody has not played it."""
        while (now_s := self._now()) < self._plays_s and not self._is_over():
            if names := self.members.silent(now_s - SILENCE_S):
                reason = f"nothing was heard for {SILENCE_S:g} s of: {_named(names)}"
                if not self._is_connected:
                    reason = "the daemon's connection was lost, by which it hears the others"
                self._break_off(reason, names[0] if self._is_connected else None)
                return
            await self._wait(min(PULSE_S, self._plays_s - now_s))
        while (names := self.members.not_playing()) and not self._is_over():
            left_s = self._start_s + self._confirm_s - self._now()
            if left_s <= 0.0:
                if self.commit.on_member_failure == "stop":
                    reason = f"not heard to play {self._confirm_s:g} s after the first row: {_named(names)}"
                    self._break_off(reason, names[0], also_playing=True)
                return
            await self._wait(left_s)

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
        reason = f"{failure.member}: {failure.reason}"
        self._break_off(reason, failure.member, also_playing=not goes_on)

    def _break_off(self, reason: str, member: str | None = None, *, also_playing: bool = False) -> None:
        """Let go what has not come to its first row, or all of it."""
        for reservation in self._ours.values():
            if also_playing or reservation.phase_of(self.commit.start) != "playing":
                reservation.break_off(self.commit.start, reason, member)


def _named(names: list[str]) -> str:
    return listed(names[:MOST_NAMED], more=max(0, len(names) - MOST_NAMED))
