"""The embedded broker as a context: it listens, looks after its connections, and ends with all sent.

Exception
└── BrokerError      it cannot listen
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
from typing import TYPE_CHECKING, ClassVar, Self

from ..config.types import split_place
from ..ipc.listener import Listener, listen
from ..log import RateLimitedLog
from .connection import Connection, ConnectionRegistry
from .limits import Limits
from .router import Router

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .login import Login

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.1
FLUSH_S = 1.0
HINTS = {
    errno.EADDRINUSE: "stop the other broker or set mqtt.listen",
    errno.EACCES: "set mqtt.listen to a port from 1024 on",
}
"""What helps where nothing can listen, by why; anything else is the address's."""


class BrokerError(Exception):
    """The embedded broker cannot listen."""

    exit_code: ClassVar[int] = 1


class EmbeddedBroker:
    """A broker for as long as its context lasts.

    Parameters
    ----------
    listen : str
        `host:port`; port 0 takes a free one.
    login : Login, optional
        What is asked of clients; without it, everyone may connect.
    """

    def __init__(self, listen: str, login: Login | None = None, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._listen = listen
        self._registry = ConnectionRegistry(limits, login)
        self._router = Router(limits, RateLimitedLog())
        self._listener: Listener
        self._keeper: asyncio.Task[None]

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._listener.addresses[0][1]

    async def __aenter__(self) -> Self:
        """Listen."""
        host, port = split_place(self._listen)
        make_room = self._registry.make_room
        try:
            self._listener = await listen(host, port, self._accept, make_room, name=self._listen)
        except OSError as error:
            # None from Python 3.12 on where the address is another machine's; negative for a name's trouble
            number = errno.EADDRNOTAVAIL if error.errno is None else error.errno
            reason = os.strerror(number).lower() if number > 0 else str(error)
            hint = HINTS.get(number, "set mqtt.listen to an address of this machine")
            raise BrokerError(f"{self._listen}: cannot listen; {reason}; {hint}") from error
        self._warn_if_open()
        self._keeper = asyncio.create_task(self._look_after(), name="broker")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening, publish what wills there are, send what is still to be sent, and close."""
        self._listener.close()
        self._keeper.cancel()
        try:
            await asyncio.sleep(LOOK_PERIOD_S / 10)  # what has come is read
            for connection in self._registry.connections:
                connection.client.publish_will()
            await self._until(lambda: not any(one.is_busy for one in self._registry.connections))
            for connection in self._registry.connections:
                connection.close()
            await self._until(lambda: not self._registry.connections)
        finally:
            for connection in self._registry.connections:
                connection.abort()
            await asyncio.sleep(0)

    def _accept(self) -> Connection:
        return Connection(self._router, self._registry)

    def _warn_if_open(self) -> None:
        """Warn of what it means to listen to a network and to ask for no login."""
        addresses = [address for address, _ in self._listener.addresses]
        if self._registry.login is None and not all(map(_is_loopback, addresses)):
            hint = "set mqtt.username and mqtt.password_file, or listen on 127.0.0.1"
            log.warning(
                "%s: everyone on the network can move the robots; no login is asked for; %s",
                self._listen,
                hint,
            )

    async def _look_after(self) -> None:
        """Disconnect who is silent for too long, and forget who has been away for too long."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_PERIOD_S)
            now_s = loop.time()
            self._router.forget_expired(now_s)
            for connection in self._registry.connections:
                try:
                    connection.check(now_s)
                except Exception:
                    log.exception("%s: disconnected; it failed inside motiond", connection.client)
                    connection.abort()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, but not for long."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + FLUSH_S
        while not is_so() and loop.time() < deadline_s:  # noqa: ASYNC110 # many connections, no one event
            await asyncio.sleep(LOOK_PERIOD_S / 10)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
