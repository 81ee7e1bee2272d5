"""Commands to all robots of a group at once, and their gathered answers.

A stop is sent to each robot as soon as it is known to belong to the group, whether its daemon is reported
online or not, and at every broker that the configuration names.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.client import NoAnswer
from motiond.local import own_holder
from motiond.text import listed

from ...api import VERBS, RequestError
from .conversation import conversing

if TYPE_CHECKING:
    from ...api import GroupVerb
    from ...config.mqtt import MqttSettings
    from .conversation import Conversation

ABSENT_S = 1.0
"""How long answers of absent robots are waited for, once all others have answered: a daemon that is reported
absent may be back, and stop its robot."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one member has answered, or why it has not."""

    robot: str
    data: dict[str, Any] | None = None
    error: RequestError | NoAnswer | None = None

    def payload(self) -> dict[str, Any]:
        """Return it for JSON."""
        if self.error is None:
            return {"robot": self.robot, "ok": True, "data": self.data}
        code = getattr(self.error, "code", "OFFLINE")
        return {"robot": self.robot, "ok": False, "code": code, "error": str(self.error)}


async def command(settings: MqttSettings, group: str, verb: GroupVerb) -> list[Gathered]:
    """Send a command to all robots of a group, and return what each answers.

    Raises
    ------
    RequestError
        UNKNOWN_GROUP if no robot is in it.
    NoAnswer
        If there is no broker.
    """
    # Any broker may have the daemons that are to stop.
    brokers = settings.each() if VERBS[verb].stops else [settings]
    asking = (_ask_all(broker, group, verb) for broker in brokers)
    answers = await asyncio.gather(*asking, return_exceptions=True)
    gathered: dict[str, Gathered] = {}
    failures: list[BaseException] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            failures.append(answer)
            continue
        for member in answer:
            known = gathered.get(member.robot)
            if known is None or known.error is not None:
                gathered[member.robot] = member
    if not gathered:
        raise min(failures, key=lambda error: not isinstance(error, RequestError))
    return [gathered[robot] for robot in sorted(gathered)]


def shortfall(group: str, verb: GroupVerb, gathered: list[Gathered]) -> RequestError | None:
    """Return which robots refused or did not answer, and why; None where all have obeyed."""
    failed = [answer for answer in gathered if answer.error is not None]
    if not failed:
        return None
    names = listed([answer.robot for answer in failed])
    head = f"{group}/{verb}: {names} did not take it, of {len(gathered)} robots; look at what stands below"
    lines = "\n".join((head, *(str(answer.error) for answer in failed)))
    return RequestError.of("MEMBER_REFUSED", lines, {"robots": [answer.payload() for answer in gathered]})


async def _ask_all(settings: MqttSettings, group: str, verb: GroupVerb) -> list[Gathered]:
    """Ask each robot of a group as soon as it is known to be one."""
    async with conversing(settings, own_holder(f"fleet {verb}")) as conversation:
        asked: dict[str, asyncio.Task[dict[str, Any]]] = {}

        def ask_new(*_: object) -> None:
            for robot in conversation.roster.members(group):
                if robot not in asked:
                    asked[robot] = asyncio.create_task(
                        conversation.ask(robot, verb, {}), name=f"fleet.{verb}"
                    )

        conversation.listeners.append(ask_new)
        try:
            await conversation.look_around("description", "availability")
            conversation.listeners.remove(ask_new)
            conversation.roster.must_have(group)
            there = [task for robot, task in asked.items() if not conversation.roster.absence(robot)]
            if there:
                await asyncio.wait(there)
            await asyncio.wait(asked.values(), timeout=ABSENT_S)
            return [_gathered(conversation, robot, asked[robot]) for robot in sorted(asked)]
        finally:
            for task in asked.values():
                task.cancel()
            await asyncio.gather(*asked.values(), return_exceptions=True)


def _gathered(conversation: Conversation, robot: str, answer: asyncio.Task[dict[str, Any]]) -> Gathered:
    if not answer.done():
        reason = conversation.roster.absence(robot)
        return Gathered(robot, error=NoAnswer(f"{robot}: no answer; {reason}; look at the robot"))
    error = answer.exception()
    if error is None:
        return Gathered(robot, answer.result())
    if isinstance(error, RequestError | NoAnswer):
        return Gathered(robot, error=error)
    raise error
