"""Follows each member of a start to its end, by the reports of all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mqtt.topics import ReportTopic
    from .conversation import Conversation

RESULT_S = 2.0
"""How long after its release the result of a goal that had begun may still come."""
BACK_S = 10.0
"""How long a member may be away, as it may be on its way to another broker."""
SILENT_S = 5.0
"""A daemon that runs sends the diagnostics of each robot once a second."""
LOOK_S = 0.5
SILENT = "its daemon has fallen silent"
FORGOTTEN = "its daemon was started again and knows nothing of the start"
UNDER_WAY = frozenset({"committed", "ready", "playing"})
PHASES = frozenset({"reserved", "ended", "released"} | UNDER_WAY)


@dataclass(frozen=True, slots=True)
class End:
    """How a member's part ended.

    `code` is the result's; `RELEASED` where the member was released before there was one, `GONE` where its
    reports have ceased, `UNKNOWN` where the connection to the broker was lost before.
    """

    robot: str
    motion: str
    code: str
    message: str
    result: dict[str, Any] | None = None


@dataclass(slots=True)
class _Member:
    """What was received of one member; times are the event loop's."""

    robot: str
    motion: str
    phase: str | None = None
    reason: str = ""
    result: dict[str, Any] | None = None
    released_s: float | None = None
    gone_s: float | None = None
    absence: str = ""
    has_forgotten: bool = False

    def end(self) -> End:
        if self.result is not None:
            code, message = str(self.result.get("code")), str(self.result.get("message", ""))
            return End(self.robot, self.motion, code, message, self.result)
        if self.released_s is not None:
            return End(self.robot, self.motion, "RELEASED", self.reason)
        if self.absence:
            return End(self.robot, self.motion, "GONE", self.absence)
        message = f"it was {self.phase or 'asked'} when last heard of; look at what it does"
        return End(self.robot, self.motion, "UNKNOWN", message)

    def take_reservation(self, start: str, data: Mapping[str, Any], now_s: float) -> None:
        phase = data.get("phase")
        if data.get("start") != start:
            self.has_forgotten = self.phase in UNDER_WAY
        elif phase in PHASES:
            self.phase = phase
            if phase == "released" and self.released_s is None:
                self.reason, self.released_s = str(data.get("reason") or "it was released"), now_s


@dataclass(slots=True)
class Outcomes:
    """All members of the start with the id `start`."""

    conversation: Conversation
    start: str
    _members: dict[str, _Member] = field(default_factory=dict, init=False)
    _diagnosed_s: dict[str, float] = field(default_factory=dict, init=False)
    """When the latest diagnostics of each robot came; of some none do, as bridges leave them out."""

    def __post_init__(self) -> None:
        self.conversation.listeners.append(self._take)

    def follow(self, motions: Mapping[str, str]) -> None:
        """Follow members, by name, each with its motion."""
        self._members |= {robot: _Member(robot, motion) for robot, motion in motions.items()}

    def phases(self) -> dict[str, int]:
        """Return how many members are in each phase, of those that have no result."""
        return dict(Counter(it.phase or "asked" for it in self._members.values() if it.result is None))

    async def next(self) -> bool:
        """Wait for a report; return whether all have ended. Raises NoAnswer if the connection is lost."""
        if not self.have_ended():
            await self.conversation.news(LOOK_S)
        return self.have_ended()

    def have_ended(self) -> bool:
        """Return whether each member has a result, was released or is gone."""
        now_s = asyncio.get_running_loop().time()
        for member in self._members.values():
            self._look(member, now_s)
        return all(_has_ended(member, now_s) for member in self._members.values())

    def ends(self) -> list[End]:
        """Return how it ended for each member, as far as it is known now."""
        return [member.end() for member in self._members.values()]

    def _look(self, member: _Member, now_s: float) -> None:
        """Note since when a member is away, and why."""
        absence = FORGOTTEN if member.has_forgotten else self.conversation.roster.absence(member.robot)
        if not absence and now_s >= self._diagnosed_s.get(member.robot, inf) + SILENT_S:
            absence = SILENT
        if not absence:
            member.gone_s = None
        elif member.gone_s is None:
            member.gone_s = now_s
        member.absence = absence

    def _take(self, topic: ReportTopic, data: dict[str, Any]) -> None:
        member, now_s = self._members.get(topic.robot), asyncio.get_running_loop().time()
        if topic.subject == "diagnostics":
            self._diagnosed_s[topic.robot] = now_s
        if member is None:
            return
        match topic.subject:
            case "reservation":
                member.take_reservation(self.start, data, now_s)
            case "result":
                details = data.get("details")
                if isinstance(details, dict) and details.get("start") == self.start:
                    member.result = data


def _has_ended(member: _Member, now_s: float) -> bool:
    if member.result is not None:
        return True
    if member.gone_s is not None and now_s >= member.gone_s + BACK_S:
        return True
    return member.released_s is not None and now_s >= member.released_s + RESULT_S
