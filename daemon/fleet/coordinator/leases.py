"""Control of the robots that require it: acquired where nobody has it, renewed, and returned in the end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import aiomqtt

from ...api import RequestError
from ...client.connection import NoAnswer
from ...client.session import RELEASE_TIMEOUT_S, RENEWALS_A_TTL
from .conversation import ANSWER_S

if TYPE_CHECKING:
    from types import TracebackType

    from .conversation import Conversation


class Leases:
    """The leases of one coordinator; leaving the context returns them.

    Parameters
    ----------
    conversation : Conversation
    holder : str
        What others are told of who is in control.
    """

    def __init__(self, conversation: Conversation, holder: str) -> None:
        self._conversation = conversation
        self._holder = holder
        self._held: dict[str, str] = {}
        self._keeping: list[asyncio.Task[None]] = []

    @property
    def are_held(self) -> bool:
        """Whether there is any."""
        return bool(self._held)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Return control of all robots."""
        for keeping in self._keeping:
            keeping.cancel()
        if self._keeping:
            await asyncio.wait(self._keeping)
        await asyncio.gather(*(self._give_back(robot) for robot in self._held))

    async def ask(self, robot: str, verb: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Ask; if nobody is in control and somebody has to be, be it from then on.

        Raises
        ------
        RequestError
            If it is refused.
        NoAnswer
            If no answer comes in `ANSWER_S`, however many requests it takes.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + ANSWER_S
        try:
            return await self._conversation.ask(robot, verb, self._with_lease(robot, payload), ANSWER_S)
        except RequestError as error:
            if error.code != "NOT_IN_CONTROL" or error.data.get("holder") is not None:
                raise
        await self._acquire(robot, until_s)
        held = self._with_lease(robot, payload)
        return await self._conversation.ask(robot, verb, held, ANSWER_S, until_s)

    def _with_lease(self, robot: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "lease": self._held[robot]} if robot in self._held else payload

    async def _acquire(self, robot: str, until_s: float) -> None:
        asked = {"holder": self._holder}
        given = await self._conversation.ask(robot, "lease/acquire", asked, ANSWER_S, until_s)
        self._held[robot] = given["lease"]
        keeping = self._keep(robot, given["ttl_s"] / RENEWALS_A_TTL)
        self._keeping.append(asyncio.create_task(keeping, name="fleet.lease"))

    async def _keep(self, robot: str, period_s: float) -> None:
        """Renew a lease until it is lost; what that leads to is the daemon's to say."""
        with suppress(RequestError, aiomqtt.MqttError):
            while True:
                await asyncio.sleep(period_s)
                with suppress(NoAnswer):
                    asked = {"lease": self._held[robot]}
                    await self._conversation.ask(robot, "lease/renew", asked, period_s)

    async def _give_back(self, robot: str) -> None:
        with suppress(RequestError, NoAnswer, aiomqtt.MqttError):  # it runs out by itself
            asked = {"lease": self._held[robot]}
            await self._conversation.ask(robot, "lease/release", asked, RELEASE_TIMEOUT_S)
