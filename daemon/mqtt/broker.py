"""The broker inside the daemon: amqtt, listening on the loopback unless told otherwise.

It speaks MQTT 3.1.1 (OASIS MQTT Version 3.1.1), lasts as long as its context, and asks for no login. What it
cannot do stands in `docs/mqtt.md`.

    Exception
    └── BrokerError      it cannot listen
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, ClassVar, Self

from amqtt.adapters import StreamReaderAdapter, StreamWriterAdapter
from amqtt.broker import Broker
from amqtt.contexts import BrokerConfig, ListenerConfig, ListenerType

from .connection import split_listen

if TYPE_CHECKING:
    from types import TracebackType

    from amqtt.session import Session

log = logging.getLogger(__name__)

LISTENER = "default"
CLOSE_TIMEOUT_S = 2.0


class BrokerError(Exception):
    """The embedded broker cannot listen."""

    exit_code: ClassVar[int] = 1


class EmbeddedBroker:
    """A broker for as long as its context lasts.

    The socket is opened here and amqtt is handed each connection, so that an address in use is one clear
    error, and every connection ends with the context.

    Parameters
    ----------
    listen : str
        `host:port`; port 0 takes a free one.
    """

    def __init__(self, listen: str) -> None:
        self._listen = listen
        self._broker = _make_broker()
        self._server: asyncio.Server
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def port(self) -> int:
        """The port it listens on."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        """Listen.

        Raises
        ------
        BrokerError
            If the address cannot be had.
        """
        host, port = split_listen(self._listen)
        try:
            self._server = await asyncio.start_server(self._accept, host, port, start_serving=False)
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
            mend = "stop the other broker or set mqtt.listen"
            raise BrokerError(f"{self._listen}: cannot listen; {reason}; {mend}") from error
        await self._broker.start()
        await self._server.start_serving()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening and end every connection.

        Connections end first, by closing their sockets: amqtt's own way, cancelling its readers, loses the
        cancellation where a packet arrives in the same moment, and then waits for ever.
        """
        self._server.close()
        for writer in self._connections.values():
            writer.close()
        if self._connections:
            await asyncio.wait(self._connections, timeout=CLOSE_TIMEOUT_S)
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._broker.shutdown()
        except TimeoutError:
            log.exception("%s: the broker did not shut down in %g s", self._listen, CLOSE_TIMEOUT_S)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer), name="broker.connection")
        self._connections[connection] = writer
        connection.add_done_callback(self._connections.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = StreamReaderAdapter(reader), StreamWriterAdapter(writer)
        try:
            await self._broker.external_connected(*stream, LISTENER)
        except OSError as error:  # a client that speaks MQTT 5 alone is gone before amqtt has refused it
            log.warning("%s: a connection failed; %s", self._listen, error)
        except Exception:
            log.exception("%s: a connection failed", self._listen)
        finally:
            writer.close()


class _Broker(Broker):  # type: ignore[misc] # amqtt is untyped
    """A broker that tells clients only what they have subscribed to."""

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        """Leave out what others have subscribed to: amqtt sends a client that connects all of that as well.

        One that publishes and goes at once has not read it, the system resets its connection, and what it
        has published is lost.
        """
        if any(subscriber is session for subscriber, _ in self._subscriptions.get(subscription[0], ())):
            await super()._publish_retained_messages_for_subscription(subscription, session)


def _make_broker() -> Broker:
    """Make an amqtt broker that listens nowhere, publishes no $SYS topics and lets everyone in."""
    for library in ("amqtt", "transitions"):
        logging.getLogger(library).setLevel(logging.ERROR)  # they log every connection
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    listeners = {LISTENER: ListenerConfig(type=ListenerType.EXTERNAL)}
    return _Broker(BrokerConfig(listeners=listeners, plugins=plugins))
