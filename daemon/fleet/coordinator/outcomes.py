"""Follows each member of a start to its end, by what all of them report."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mqtt.topics import ReportTopic
    from .conversation import Conversation

RESULT_S = 2.0
"""So long after it was let go, the result of a goal that had begun may still come."""
BACK_S = 10.0
"""So long a member may be away, as it may be on its way to another broker."""
COMMIT_S, MOST_COMMIT_S = 5.0, 10.0
"""Within so long after the commit all have to have told that they heard it: at least, and at most."""
SILENT_S = 3.0
"""For so long a daemon that takes part does not fall silent while it lives, and reaches the broker."""
LOOK_S = 0.5
SILENT = "its daemon has fallen silent"
FORGOTTEN = "its daemon was started anew and knows nothing of the start"
ACCEPTED = frozenset({"committed", "ready", "playing"})
PHASES = frozenset({"reserved", "released"} | ACCEPTED)


@dataclass(frozen=True, slots=True)
class End:
    """How a member's part ended.

    Attributes
    ----------
    robot, motion : str
    code : str
        The result's; `RELEASED` where the member was let go before there was one, `GONE` where nothing is
        heard of it any more.
    message : str
    result : dict or None
        As the robot has reported it.
    """

    robot: str
    motion: str
    code: str
    message: str
    result: dict[str, Any] | None = None


class _Member:
    """What was heard of one member, with times of the event loop's clock."""

    def __init__(self, robot: str, motion: str) -> None:
        self.robot = robot
        self.motion = motion
        self.phase: str | None = None
        self.reason = ""
        self.result: dict[str, Any] | None = None
        self.released_s: float | None = None
        self.gone_s: float | None = None
        self.absence = ""
        self.has_forgotten = False
        self.heard_s: float | None = None

    def end(self) -> End:
        if self.result is not None:
            code, message = str(self.result.get("code")), str(self.result.get("message", ""))
            return End(self.robot, self.motion, code, message, self.result)
        if self.released_s is not None:
            return End(self.robot, self.motion, "RELEASED", self.reason)
        return End(self.robot, self.motion, "GONE", self.absence or "nothing was heard of it")


class Watch:
    """All members of one start.

    Parameters
    ----------
    conversation : Conversation
    start : str
        The start's id.
    """

    def __init__(self, conversation: Conversation, start: str) -> None:
        self._conversation = conversation
        self._start = start
        self._members: dict[str, _Member] = {}
        self._committed_by_s = float("inf")
        conversation.listeners.append(self._hear)
        conversation.pulse_listeners.append(self._hear_pulse)

    def follow(self, motions: Mapping[str, str]) -> None:
        """Follow members, of whom each plays a motion."""
        self._members |= {robot: _Member(robot, motion) for robot, motion in motions.items()}

    def expect_commit(self, within_s: float) -> float:
        """Take a member for gone that does not tell in time that it has heard the commit, which is sent now.

        Parameters
        ----------
        within_s : float
            How long it is until members have to begin: these let go by themselves then.

        Returns
        -------
        float
            How long it is waited for.
        """
        wait_s = max(COMMIT_S, min(within_s, MOST_COMMIT_S))
        self._committed_by_s = self._now() + wait_s
        return wait_s

    def phases(self) -> dict[str, int]:
        """Return how many members are in each phase, or have ended."""
        return dict(Counter(one.phase or "asked" for one in self._members.values() if one.result is None))

    async def accepted(self) -> bool:
        """Wait until all members have accepted the commit, or one has not; return which of the two.

        Raises
        ------
        NoAnswer
            If the connection is lost.
        """
        while True:
            self._look()
            members = self._members.values()
            if all(one.phase in ACCEPTED or one.result is not None for one in members):
                return True
            if any(one.released_s is not None or self._is_given_up(one) for one in members):
                return False
            await self._conversation.news(LOOK_S)

    async def next(self) -> bool:
        """Wait until something is heard; return whether all have ended.

        Raises
        ------
        NoAnswer
            If the connection is lost.
        """
        if not self.have_ended():
            await self._conversation.news(LOOK_S)
        return self.have_ended()

    def have_ended(self) -> bool:
        """Return whether each member has a result, was let go or is gone."""
        self._look()
        return all(self._has_ended(one) for one in self._members.values())

    def ends(self) -> list[End]:
        """Return how it ended for each member, as far as it is known now."""
        return [one.end() for one in self._members.values()]

    def _has_ended(self, one: _Member) -> bool:
        if one.result is not None or self._is_given_up(one):
            return True
        return one.released_s is not None and self._now() >= one.released_s + RESULT_S

    def _is_given_up(self, one: _Member) -> bool:
        if one.gone_s is not None and self._now() >= one.gone_s + BACK_S:
            return True
        return one.phase in {None, "reserved"} and self._now() >= self._committed_by_s

    def _look(self) -> None:
        """See who of the members is there."""
        for one in self._members.values():
            absence = FORGOTTEN if one.has_forgotten else self._conversation.roster.absence(one.robot)
            if not absence and one.heard_s is not None and self._now() >= one.heard_s + SILENT_S:
                absence = SILENT
            if not absence:
                one.gone_s = None
            elif one.gone_s is None:
                one.gone_s = self._now()
            one.absence = absence

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _hear_pulse(self, data: dict[str, Any]) -> None:
        robots = data.get("robots")
        if data.get("start") == self._start and isinstance(robots, dict):
            for robot in robots.keys() & self._members.keys():
                self._members[robot].heard_s = self._now()

    def _hear(self, topic: ReportTopic, data: dict[str, Any]) -> None:
        one = self._members.get(topic.robot)
        if one is None:
            return
        if topic.subject == "reservation":
            self._hear_reservation(one, data)
        elif topic.subject == "result":
            details = data.get("details")
            if isinstance(details, dict) and details.get("start") == self._start:
                one.result = data

    def _hear_reservation(self, one: _Member, data: dict[str, Any]) -> None:
        phase = data.get("phase")
        if data.get("start") != self._start:
            one.has_forgotten = one.phase in ACCEPTED
        elif phase in PHASES:
            one.phase = phase
            if phase == "released" and one.released_s is None:
                one.reason, one.released_s = str(data.get("reason") or "it was let go"), self._now()
