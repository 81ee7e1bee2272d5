"""Keeps one connection to the broker: makes it anew whenever it breaks, with longer and longer waits."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, NoReturn

import aiomqtt

from .connection import address_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from ..config.mqtt import MqttSettings
    from .connection import Client

log = logging.getLogger(__name__)

STEADY_S = 30.0


class Link:
    """One connection, for as long as its task runs.

    The waits between tries begin again from the shortest only after a connection that has lasted: two
    clients of one name would otherwise throw each other out as fast as they can.

    Parameters
    ----------
    settings : MqttSettings
    make : callable
        Makes a client, or gives the one that is to connect again.
    serve : callable
        Uses a client that is connected, until the connection breaks.
    waits : callable
        Waits that many seconds before the next try; it is told why there has to be one.
    """

    def __init__(
        self,
        settings: MqttSettings,
        make: Callable[[], Client],
        serve: Callable[[Client], Awaitable[None]],
        waits: Callable[[float, BaseException | None], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._make = make
        self._serve = serve
        self._waits = waits

    async def run(self) -> NoReturn:
        """Connect, serve and connect again; only cancellation ends it."""
        loop = asyncio.get_running_loop()
        waits_s = self._waits_s()
        while True:
            reason: BaseException | None = None
            connected_s = loop.time()
            try:
                async with self._make() as client:
                    heed_cancellation()
                    connected_s = loop.time()
                    await self._serve(client)
            except* (aiomqtt.MqttError, OSError) as errors:
                reason = _first(errors)
            except* Exception as errors:
                reason = _first(errors)
                log.exception("%s: the connection failed unforeseen", address_of(self._settings))
            # a connection that breaks at the moment of the cancellation hides it
            heed_cancellation()
            if loop.time() - connected_s > STEADY_S:
                waits_s = self._waits_s()
            await self._waits(next(waits_s), reason)

    def _waits_s(self) -> Iterator[float]:
        """Yield how long to wait before each new try; random, lest many daemons come back at once."""
        longest_s = self._settings.reconnect_min_s
        while True:
            yield longest_s * random.uniform(0.5, 1.0)  # noqa: S311 # no secret
            longest_s = min(2.0 * longest_s, self._settings.reconnect_max_s)


def heed_cancellation() -> None:
    """Raise a cancellation that was lost on the way.

    Before Python 3.12, `asyncio.wait_for`, which aiomqtt publishes by, drops one that arrives together with
    what it waits for.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """Return the first error of a group, however deep it lies."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
