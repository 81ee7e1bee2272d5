"""Keeps one connection to the broker: makes it again whenever it breaks, with longer and longer waits."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, NoReturn

import aiomqtt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from ...config.mqtt import MqttSettings
    from .connection import MqttConnection

log = logging.getLogger(__name__)

STEADY_S = 30.0


class BackOff:
    """Longer and longer waits, which begin again from the shortest after a connection that has lasted.

    Two clients of one name would otherwise disconnect each other as fast as they can. They are random, lest
    many daemons come back at once.
    """

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._longest_s = settings.reconnect_min_s

    def after(self, lasted_s: float) -> float:
        """Return how long to wait before the next try, in s, after a connection of so many seconds."""
        if lasted_s > STEADY_S:
            self._longest_s = self._settings.reconnect_min_s
        wait_s = self._longest_s * random.uniform(0.5, 1.0)  # noqa: S311 # no secret
        self._longest_s = min(2.0 * self._longest_s, self._settings.reconnect_max_s)
        return wait_s


class Link:
    """One connection, for as long as its task runs."""

    def __init__(
        self,
        turn: Callable[[], AbstractAsyncContextManager[None]],
        make: Callable[[], MqttConnection],
        serve: Callable[[MqttConnection], Awaitable[None]],
        waits: Callable[[float, BaseException | None], Awaitable[None]],
        next_wait_s: Callable[[float], float],
    ) -> None:
        self._turn = turn
        self._make = make
        self._serve = serve
        self._waits = waits
        self._next_wait_s = next_wait_s

    async def run(self) -> NoReturn:
        """Connect, serve and connect again; only cancellation ends it."""
        loop = asyncio.get_running_loop()
        while True:
            reason: BaseException | None = None
            connected_s = loop.time()
            try:
                async with self._turn(), self._make() as client:
                    heed_cancellation()
                    connected_s = loop.time()
                    await self._serve(client)
            except* (aiomqtt.MqttError, OSError) as errors:
                reason = _first(errors)
            except* Exception as errors:
                reason = _first(errors)
                log.exception("the connection to the broker failed unforeseen")
            # a connection that breaks at the moment of the cancellation hides it
            heed_cancellation()
            await self._waits(self._next_wait_s(loop.time() - connected_s), reason)


def heed_cancellation() -> None:
    """Raise a cancellation that was lost on the way.

    An error that comes at the same moment hides it, and a library may take it for one of its own.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """Return the first error of a group, however deep it lies."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
