"""Keeps one connection to the broker: makes it again whenever it breaks, with longer and longer waits."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import aiomqtt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from ...config.mqtt import MqttSettings
    from .connection import MqttConnection

log = logging.getLogger(__name__)

STEADY_S = 30.0


class Tries(Protocol):
    """Says how long to wait before the next try."""

    def after(self, *, lasted: bool) -> float:
        """Return it in s; `lasted` is whether there was a connection, and for long."""


class BackOff:
    """Longer and longer waits, which begin again from the shortest after a connection that has lasted.

    Two clients of one name would otherwise throw each other out as fast as they can. They are random, lest
    many daemons come back at once.
    """

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._longest_s = settings.reconnect_min_s

    def after(self, *, lasted: bool) -> float:
        """Return how long to wait before the next try, in s."""
        if lasted:
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
        tries: Tries,
    ) -> None:
        self._turn = turn
        self._make = make
        self._serve = serve
        self._waits = waits
        self._tries = tries

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
            lasted = loop.time() - connected_s > STEADY_S
            await self._waits(self._tries.after(lasted=lasted), reason)


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
