"""Control of the robots that require it: acquired where it is free, renewed, and released at the end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import aiomqtt

from motiond.client import NoAnswer

from ...api import RequestError
from .conversation import ANSWER_S

if TYPE_CHECKING:
    from .conversation import Conversation

RENEWALS_A_TTL = 3  # so that two of them may be lost
RELEASE_S = 1.0


class Leases:
    """The leases of one coordinator, shown to others as of `holder`; leaving the context returns them."""

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

    async def __aexit__(self, *_: object) -> None:
        """Return control of all robots."""
        for keeping in self._keeping:
            keeping.cancel()
        if self._keeping:
            await asyncio.wait(self._keeping)
        await asyncio.gather(*(self._release(robot) for robot in self._held))

    async def ask(
        self, robot: str, verb: str, payload: dict[str, Any], timeout_s: float = ANSWER_S
    ) -> dict[str, Any]:
        """Ask; where a lease is required and free, acquire it and keep it.

        Raises
        ------
        RequestError
            If it is refused.
        NoAnswer
            If no answer comes in `timeout_s`, however many requests it takes.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_s
        try:
            return await self._conversation.ask(robot, verb, self._with_lease(robot, payload), timeout_s)
        except RequestError as error:
            if error.code != "NOT_IN_CONTROL" or error.data.get("holder") is not None:
                raise
        await self._acquire(robot, until_s)
        held = self._with_lease(robot, payload)
        return await self._conversation.ask(robot, verb, held, timeout_s, until_s)

    def _with_lease(self, robot: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "lease": self._held[robot]} if robot in self._held else payload

    async def _acquire(self, robot: str, until_s: float) -> None:
        asked = {"holder": self._holder}
        granted = await self._conversation.ask(robot, "lease/acquire", asked, ANSWER_S, until_s)
        self._held[robot] = granted["lease"]
        keeping = self._keep(robot, granted["ttl_s"] / RENEWALS_A_TTL)
        self._keeping.append(asyncio.create_task(keeping, name="fleet.lease"))

    async def _keep(self, robot: str, period_s: float) -> None:
        """Renew a lease until it is lost; what follows is the daemon's decision."""
        with suppress(RequestError, aiomqtt.MqttError):
            while True:
                await asyncio.sleep(period_s)
                with suppress(NoAnswer):
                    asked = {"lease": self._held[robot]}
                    await self._conversation.ask(robot, "lease/renew", asked, period_s)

    async def _release(self, robot: str) -> None:
        with suppress(RequestError, NoAnswer, aiomqtt.MqttError):  # it runs out by itself
            asked = {"lease": self._held[robot]}
            await self._conversation.ask(robot, "lease/release", asked, RELEASE_S)
