"""What requests have planned, in threads: one at a time of a robot, and for no longer than a client waits."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..api import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    AnyPlan = TypeVar("AnyPlan")

KEPT_S, MOST_KEPT = 60.0, 4
"""So long what was planned is kept, for who asks again, and so much of it."""


class RequestPlanning:
    """Plans for the requests to one robot; what takes too long goes on, and who asks again finds it done."""

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self._planned: dict[tuple[Any, ...], asyncio.Task[Any]] = {}

    async def planned(
        self, key: tuple[Any, ...], what: str, call: Callable[[], AnyPlan], until_s: float
    ) -> AnyPlan:
        """Return what a call in a thread comes to.

        - `key`: what that depends on
        - `what`: is planned, for messages
        - `until_s`: until when by the loop's clock it may take

        Raises RequestError: BUSY, where it or what is being planned before it takes longer; and what the call
        raises.
        """
        while key not in self._planned and (before := self._under_way) is not None:
            await self._wait(before, what, until_s)
        if key not in self._planned:
            while len(self._planned) >= MOST_KEPT:
                self._planned.pop(next(iter(self._planned)))
            planning = asyncio.create_task(asyncio.to_thread(call), name=f"{self._robot}.planning")
            planning.add_done_callback(partial(self._keep, key))
            self._planned[key] = planning
        planning = self._planned[key]
        await self._wait(planning, what, until_s)
        planned: AnyPlan = planning.result()
        return planned

    @property
    def _under_way(self) -> asyncio.Task[Any] | None:
        return next((planning for planning in self._planned.values() if not planning.done()), None)

    async def _wait(self, planning: asyncio.Task[Any], what: str, until_s: float) -> None:
        await asyncio.wait((planning,), timeout=max(0.0, until_s - asyncio.get_running_loop().time()))
        if not planning.done():
            problem, hint = f"{what} is still being planned", "send it again in a moment"
            raise RequestError("BUSY", self._robot, problem, "that takes long", hint)

    def _keep(self, key: tuple[Any, ...], planning: asyncio.Task[Any]) -> None:
        if not planning.cancelled():
            planning.exception()  # which nobody may wait for any more
        planning.get_loop().call_later(KEPT_S, self._forget, key, planning)

    def _forget(self, key: tuple[Any, ...], planning: asyncio.Task[Any]) -> None:
        if self._planned.get(key) is planning:
            del self._planned[key]
