"""A connection of the daemon to its broker, on paho's loop interface (docs/decisions/paho-loop.md).

MQTT 5.0 and 3.1.1 (OASIS), over TCP, TLS and WebSocket.
"""

from __future__ import annotations

import asyncio
import logging
import select
import socket
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NoReturn, Self

import aiomqtt
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from ...config.mqtt import ENCRYPTED, WEB_SOCKETS
from .address import address_of, login_of, speaks_5
from .dialling import Attempt, load_certificates
from .packet_limit import RAISE_IT, PacketLimit, PacketTooLong, SentPackets, packet_bytes
from .reasons import PACKET_TOO_LARGE, HungUp, not_connected
from .refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from types import TracebackType

    from paho.mqtt.reasoncodes import ReasonCode

    from ...config.mqtt import MqttSettings

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
MISC_PERIOD_S = 1.0
PACKETS_AT_ONCE = 50
MOST_RECEIVED = 64  # messages that the broker sends before it waits for acknowledgements (MQTT 5)
MOST_SENT = 20  # the same of ours, or fewer if the broker takes fewer (MQTT 5)
MOST_PACKET_BYTES = 262_144
LENGTH_GROWS_BY = 3
"""A packet's length is written in one to four bytes."""
QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
# What waits for us waits in our own broker, which queues by publisher, and not in the system behind a flood.
LITTLE_READ_AHEAD = (socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)


@dataclass(slots=True)
class Outgoing:
    """A message until the broker has it; its length is that of the packet, in bytes."""

    topic: str
    payload: bytes | None
    qos: int
    retain: bool
    properties: Properties | None
    length: int = 0
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)


class MqttConnection:
    """A connection to the configured broker, the first of several; `async with` makes it.

    It may be made again and again. One with a session then delivers what was cut off before, as MQTT
    specifies: what is handed over with QoS 2 arrives exactly once.

    Parameters
    ----------
    settings : MqttSettings
    identifier : str, optional
        The client identifier; without one the broker makes one up.
    will : aiomqtt.Will, optional
        What the broker publishes when the connection breaks.
    receive : callable, optional
        Is called with each message as it arrives; without it they wait in `messages`.
    session_s : int
        How long the broker keeps the session when the connection has broken (MQTT 5), in s; 0 keeps none.
    limit : PacketLimit, optional
        Of the broker, where several connections share it.

    Attributes
    ----------
    identifier : str
    limit : PacketLimit
    attempt : Attempt
        The present one to connect, with the certificate that the broker has shown.
    version_5 : bool
        Whether it is MQTT 5.
    refused : set of str
        Topics on which the broker has refused what was published (MQTT 5), the first of them.
    logs_refusals : bool
        Whether the log names them.
    """

    def __init__(
        self,
        settings: MqttSettings,
        identifier: str | None = None,
        will: aiomqtt.Will | None = None,
        *,
        receive: Callable[[aiomqtt.Message], None] | None = None,
        session_s: int = 0,
        limit: PacketLimit | None = None,
    ) -> None:
        self.identifier = identifier or ""
        self.limit = limit or PacketLimit()
        self.version_5 = speaks_5(settings)
        self.logs_refusals = True
        self._refusals = Refusals()
        self.refused = self._refusals.topics
        self._settings = settings
        self._session_s = session_s
        self._loop = asyncio.get_running_loop()
        self._receive = receive or self._keep
        self._received = deque[aiomqtt.Message]()
        self._arrived = asyncio.Event()
        self.attempt = Attempt()
        self._made_before = self._is_dialling = self._is_given_up = False
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._descriptor = -1
        self._misc: asyncio.TimerHandle | None = None
        self._subscribing: dict[int, asyncio.Future[list[ReasonCode]]] = {}
        self._outgoing: dict[int, Outgoing] = {}  # by number; of QoS 1 and 2
        self._waiting = deque[int]()  # those that were not sent yet
        self._in_flight: dict[int, int] = {}  # packet identifiers of the others, and their numbers
        self._writing: dict[int, Outgoing] = {}  # by packet identifier; of QoS 0
        self._last_number = 0
        self._most_sent = MOST_SENT
        self._most_qos = 2
        self._all_confirmed = asyncio.Event()
        self._all_confirmed.set()
        self._sent = SentPackets(self._loop.time)
        self._withdrawn: list[int] = []
        self._is_unanswered = False
        self._tls = self.attempt.tls_context() if address_of(settings).scheme in ENCRYPTED else None
        self._paho = self._make_paho(will)

    def _make_paho(self, will: aiomqtt.Will | None) -> paho.Client:
        address = address_of(self._settings)
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self.identifier,
            clean_session=None if self.version_5 else not self._session_s,
            protocol=paho.MQTTv5 if self.version_5 else paho.MQTTv311,
            transport="websockets" if address.scheme in WEB_SOCKETS else "tcp",
            reconnect_on_failure=False,
        )
        client.enable_logger(self.attempt.logger(log))
        client.connect_timeout = TIMEOUT_S
        client.max_inflight_messages_set(0)  # no more are handed to paho than may be sent
        if address.path:
            client.ws_set_options(path=address.path)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        if will is not None:
            client.will_set(will.topic, will.payload, will.qos, will.retain, will.properties)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_subscribe = client.on_unsubscribe = self._on_acknowledged
        client.on_socket_close = self._on_socket_close
        client.on_socket_register_write = self._on_socket_register_write
        return client

    # -- making and ending it -------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect; the password and the certificates are read each time.

        Raises `NotConnected` if there is no connection; `str()` is why. Raises `aiomqtt.MqttError` if it
        breaks at once.
        """
        if self._session_s and not self._made_before and not self.version_5:
            # MQTT 3.1.1 can only end a session that an earlier process left by beginning a clean one.
            async with MqttConnection(self._settings, self.identifier):
                pass
        self._connected, self._lost = self._loop.create_future(), self._loop.create_future()
        self.attempt.begin()
        self._paho.username_pw_set(*login_of(self._settings))
        try:
            await self._dial()
            await asyncio.wait((self._connected,), timeout=TIMEOUT_S)
            if not self._connected.done():
                raise TimeoutError  # noqa: TRY301 # as of the system
            self._connected.result()
        except (aiomqtt.MqttError, OSError, paho.WebsocketConnectionError) as error:
            reason = self.attempt.reason(error)
            self.break_off()
            raise not_connected(reason, self._settings, self.identifier) from error
        except BaseException:
            self.break_off()
            raise
        self._made_before = True
        if self._lost.done():
            self._note_loss()
            await self.broken()
        self._send_waiting()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Disconnect; after an error without DISCONNECT, so that the broker publishes the will."""
        if kind is not None and not issubclass(kind, asyncio.CancelledError):
            self._note_loss()
        elif not self._lost.done():
            self._paho.disconnect()
            await asyncio.wait((self._lost,), timeout=TIMEOUT_S)
        self.break_off()
        self._refusals.report()

    async def _dial(self) -> None:
        """Connect the socket and send CONNECT; in a thread, as paho waits for the network meanwhile."""
        self._is_dialling = self._is_given_up = False
        dialling = self._loop.run_in_executor(None, self._dial_in_thread)
        try:
            await asyncio.wait((dialling,))
        except asyncio.CancelledError:
            self._is_given_up = True
            if self._is_dialling:
                await asyncio.wait((dialling,), timeout=TIMEOUT_S)
            raise
        finally:
            if dialling.done():
                dialling.exception()
        dialling.result()
        connection = self._paho.socket()
        if connection is None:
            raise HungUp
        self._descriptor = connection.fileno()
        if isinstance(connection, socket.socket):
            connection.setsockopt(*NO_DELAY)
            if self._settings.broker == "embedded":
                connection.setsockopt(*LITTLE_READ_AHEAD)
        self._loop.add_reader(self._descriptor, self._read)
        self._write_soon()
        self._keep_alive()

    def _dial_in_thread(self) -> None:
        self._is_dialling = True
        if self._is_given_up:
            return
        address = address_of(self._settings)
        with self.attempt.dialling():
            if self._tls is not None:
                load_certificates(self._tls, self._settings)
            keepalive_s = self._settings.keepalive_s
            if self.version_5:
                clean = not self._session_s or not self._made_before
                properties = _connect_properties(self._session_s)
                self._paho.connect(
                    address.host, address.port, keepalive_s, clean_start=clean, properties=properties
                )
            else:
                self._paho.connect(address.host, address.port, keepalive_s)
        self._close_if_given_up()

    def _close_if_given_up(self) -> None:
        if self._is_given_up and (connection := self._paho.socket()) is not None:
            connection.close()

    def break_off(self) -> None:
        """Close the connection, if it is open, as if it had broken."""
        if (connection := self._paho.socket()) is not None:
            self._forget_socket()
            connection.close()
            self._paho.loop_read()  # by which paho finds it closed

    async def broken(self) -> NoReturn:
        """Wait until the connection breaks; raise `aiomqtt.MqttError` then."""
        await asyncio.wait((self._lost,))
        raise aiomqtt.MqttError("the connection broke") from self._lost.exception()

    def _on_connect(
        self,
        client: paho.Client,
        _userdata: Any,
        _flags: paho.ConnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None,
    ) -> None:
        """Note what the broker states, before anything is sent (MQTT 5.0, 3.2.2.3)."""
        if self._connected.done():
            return
        if reason_code.is_failure:
            _fail(self._connected, aiomqtt.MqttCodeError(reason_code))
            return
        self._most_qos = getattr(properties, "MaximumQoS", 2)
        self._most_sent = min(MOST_SENT, getattr(properties, "ReceiveMaximum", MOST_SENT))
        self.limit.state(getattr(properties, "MaximumPacketSize", inf))
        self._is_unanswered = False
        self._withdraw(client)
        self._sent.begin()
        self._connected.set_result(None)

    def _on_disconnect(
        self,
        _client: paho.Client,
        _userdata: Any,
        _flags: paho.DisconnectFlags,
        reason_code: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        _fail(self._connected, HungUp())
        if reason_code == MQTTErrorCode.MQTT_ERR_SUCCESS and not self._lost.done():
            self._lost.set_result(None)
        _fail(self._lost, aiomqtt.MqttCodeError(reason_code, "Unexpected disconnection"))
        self._writing.clear()
        self._arrived.set()

    def _note_loss(self) -> None:
        """Note that the connection has broken, and for which packet that may have been."""
        error = self._lost.exception() if self._lost.done() else None
        code = getattr(getattr(error, "rc", None), "value", None)
        if error is not None or self._is_unanswered:
            certain = code == PACKET_TOO_LARGE
            self.limit.blame(self.identifier, self._sent.suspect(), certain=certain)

    # -- the event loop -------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read many packets: one in each turn of the loop would fall behind where each turn is long."""
        connection = self._paho.socket()
        try:
            for _ in range(PACKETS_AT_ONCE):
                self._paho.loop_read()
                if connection is None or self._paho.socket() is not connection or not _has_more(connection):
                    break
        except Exception as error:  # noqa: BLE001 # whatever it is, the connection is of no more use
            self._lose(error)

    def _write(self) -> None:
        try:
            self._paho.loop_write()
        except Exception as error:  # noqa: BLE001 # the same
            self._lose(error)
        if self._descriptor >= 0 and not self._paho.want_write():
            self._loop.remove_writer(self._descriptor)

    def _lose(self, error: Exception) -> None:
        _fail(self._connected, HungUp())
        _fail(self._lost, error)
        self.break_off()

    def _on_socket_register_write(self, _client: paho.Client, _userdata: Any, _socket: Any) -> None:
        self._loop.call_soon_threadsafe(self._write_soon)

    def _write_soon(self) -> None:
        """Write as soon as there is room; paho may have written all by itself meanwhile."""
        if self._descriptor >= 0 and self._paho.want_write():
            self._loop.add_writer(self._descriptor, self._write)

    def _keep_alive(self) -> None:
        self._paho.loop_misc()
        if self._descriptor >= 0:
            self._misc = self._loop.call_later(MISC_PERIOD_S, self._keep_alive)

    def _on_socket_close(self, _client: paho.Client, _userdata: Any, _socket: Any) -> None:
        self._forget_socket()

    def _forget_socket(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            self._descriptor = -1
        if self._misc is not None:
            self._misc.cancel()

    # -- receiving ------------------------------------------------------------------------------------------

    def _on_message(self, _client: paho.Client, _userdata: Any, message: paho.MQTTMessage) -> None:
        """Hand a message over as it arrives; what fails at it must not end the connection."""
        try:
            self._receive(
                aiomqtt.Message(
                    message.topic,
                    bytes(message.payload),
                    message.qos,
                    message.retain,
                    message.mid,
                    message.properties,
                )
            )
        except Exception:
            log.exception("a message of %d bytes was left out", len(message.payload))

    def _keep(self, message: aiomqtt.Message) -> None:
        self._received.append(message)
        self._arrived.set()

    @property
    async def messages(self) -> AsyncIterator[aiomqtt.Message]:
        """The messages that arrive, where nobody else receives them; ends with `MqttError`."""
        while True:
            while self._received:
                yield self._received.popleft()
            if self._lost.done():
                await self.broken()
            self._arrived.clear()
            await self._arrived.wait()

    async def subscribe(
        self,
        topics: str | Sequence[tuple[str, int | SubscribeOptions]],
        qos: int = 0,
        *,
        timeout: float = TIMEOUT_S,  # noqa: ASYNC109 # as aiomqtt has it
    ) -> list[int]:
        """Subscribe to one or more topics; return for each the granted QoS, or why it is refused.

        Raises
        ------
        aiomqtt.MqttError
            If there is no connection, or no answer in time.
        """
        wanted: Any = [(topics, qos)] if isinstance(topics, str) else list(topics)
        if self.version_5:
            wanted = [
                (topic, SubscribeOptions(qos=option) if isinstance(option, int) else option)
                for topic, option in wanted
            ]
        return await self._acknowledged(*self._paho.subscribe(wanted), timeout)

    async def unsubscribe(self, topics: str | list[str], *, timeout: float = TIMEOUT_S) -> None:  # noqa: ASYNC109
        """Unsubscribe from one or more topics; raises as `subscribe`."""
        await self._acknowledged(*self._paho.unsubscribe(topics), timeout)

    async def _acknowledged(self, error: MQTTErrorCode, mid: int | None, timeout_s: float) -> list[int]:
        if error != MQTTErrorCode.MQTT_ERR_SUCCESS or mid is None:
            raise aiomqtt.MqttCodeError(error, "Could not subscribe") from self._loss()
        answer = self._subscribing[mid] = self._loop.create_future()
        try:
            await asyncio.wait((answer,), timeout=timeout_s)
        finally:
            del self._subscribing[mid]
        if not answer.done():
            raise aiomqtt.MqttError("Operation timed out")
        return [code.value for code in answer.result()]

    def _on_acknowledged(
        self, _client: paho.Client, _userdata: Any, mid: int, codes: list[ReasonCode], _properties: Any
    ) -> None:
        answer = self._subscribing.get(mid)
        if answer is not None and not answer.done():
            answer.set_result(codes)

    # -- sending --------------------------------------------------------------------------------------------

    def room(
        self, topic: str, qos: int, properties: Properties | None = None, *, is_cut: bool = False
    ) -> float:
        """Return how many bytes of payload may be sent.

        Parameters
        ----------
        is_cut : bool
            Whether the payload is cut, for which there is less where the broker's limit is a guess.
        """
        most_bytes = self.limit.cut_bytes if is_cut else self.limit.most_bytes
        return most_bytes - packet_bytes(topic, 0, qos, properties, v5=self.version_5) - LENGTH_GROWS_BY

    async def publish(
        self,
        topic: str,
        payload: bytes | None = None,
        qos: int = 0,
        retain: bool = False,  # noqa: FBT001, FBT002 # as aiomqtt has it
        properties: Properties | None = None,
        *,
        timeout: float = TIMEOUT_S,  # noqa: ASYNC109 # as aiomqtt has it
    ) -> None:
        """Publish a message, and wait until the broker has it; with QoS 0, until it is written.

        Raises
        ------
        PacketTooLong
            If it is longer than the broker takes.
        aiomqtt.MqttError
            If there is no connection, or no confirmation in time.
        """
        if not self._is_connected:
            code = MQTTErrorCode.MQTT_ERR_NO_CONN
            raise aiomqtt.MqttCodeError(code, "Could not publish message") from self._loss()
        _, message = self._hand_over(Outgoing(topic, payload, qos, retain, properties))
        await self._confirmed(message, timeout)

    def hand_over(
        self,
        topic: str,
        payload: bytes | None,
        qos: int,
        *,
        retain: bool = False,
        properties: Properties | None = None,
        expires_s: float | None = None,
    ) -> int:
        """Have a message delivered, on this connection or, with a session, a later one; return its number.

        `expires_s`, in place of properties, is how long the broker may keep it (MQTT 5).

        What is handed over with QoS 1 or 2 is published in this order; with QoS 0 it is published now, or
        not at all.

        Raises
        ------
        PacketTooLong
            If it is longer than the broker takes.
        """
        if expires_s is not None and self.version_5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
            properties.MessageExpiryInterval = ceil(expires_s)
        number, _ = self._hand_over(Outgoing(topic, payload, qos, retain, properties))
        return number

    def _hand_over(self, message: Outgoing) -> tuple[int, Outgoing]:
        message.qos = min(message.qos, self._most_qos)
        message.length = packet_bytes(
            message.topic, len(message.payload or b""), message.qos, message.properties, v5=self.version_5
        )
        if message.length > self.limit.most_bytes:
            problem = f"{message.topic}: {message.length} bytes"
            reason = f"the broker takes at most {self.limit.most_bytes:.0f}"
            raise PacketTooLong(f"{problem}; {reason}; {RAISE_IT}")
        self._last_number += 1
        if message.qos:
            self._outgoing[self._last_number] = message
            self._all_confirmed.clear()
            self._waiting.append(self._last_number)
            if self._is_connected:
                self._send_waiting()
        elif self._is_connected:
            self._writing[self._send(message)] = message
            self._sent.send(message.topic, message.length, None)
        return self._last_number, message

    @property
    def _is_connected(self) -> bool:
        return self._paho.is_connected() and not self._lost.done()

    def _send_waiting(self) -> None:
        """Send what waits, as much as the broker takes at a time."""
        while self._waiting and len(self._in_flight) < self._most_sent and self._is_connected:
            number = self._waiting.popleft()
            if (message := self._outgoing.get(number)) is not None:
                self._in_flight[self._send(message)] = number
                self._sent.send(message.topic, message.length, number)

    def _send(self, message: Outgoing) -> int:
        return self._paho.publish(
            message.topic, message.payload, message.qos, message.retain, message.properties
        ).mid

    def _withdraw(self, client: paho.Client) -> None:
        """Take back what is too long for the broker and was not confirmed: it would end each connection.

        What was on its way beside it is then published again, so that it may come twice.
        """
        too_long = {number for number, one in self._outgoing.items() if one.length > self.limit.most_bytes}
        if too_long.intersection(self._in_flight.values()):
            client.drop_out_messages()
            for number in self._in_flight.values():
                self._sent.forget(number)
            self._in_flight.clear()
            self._waiting = deque(self._outgoing)
        for number in sorted(too_long):
            del self._outgoing[number]
            self._withdrawn.append(number)
        if not self._outgoing:
            self._all_confirmed.set()

    def take_withdrawn(self) -> list[int]:
        """Return the numbers of messages that were too long to be sent again, each once."""
        withdrawn, self._withdrawn = self._withdrawn, []
        return withdrawn

    def is_outstanding(self, number: int) -> bool:
        """Whether the broker has not confirmed a message yet."""
        return number in self._outgoing

    async def delivered(self, number: int, timeout_s: float) -> None:
        """Wait until the broker has confirmed a message.

        Raises
        ------
        aiomqtt.MqttError
            If it does not in time; the message is still on its way.
        """
        if (message := self._outgoing.get(number)) is not None:
            await self._confirmed(message, timeout_s)

    async def _confirmed(self, message: Outgoing, timeout_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await message.confirmed.wait()
        if not message.confirmed.is_set():
            self._is_unanswered = True
            raise aiomqtt.MqttError("Operation timed out")

    async def all_delivered(self) -> None:
        """Wait until the broker has confirmed every message."""
        await self._all_confirmed.wait()

    def _on_publish(
        self, client: paho.Client, _userdata: Any, mid: int, reason_code: ReasonCode, _properties: Any
    ) -> None:
        """Note a confirmation, or with QoS 0 that a message is written.

        Let TCP acknowledge it without delay: brokers leave Nagle's algorithm on (mosquitto's
        `set_tcp_nodelay` is false by default), and what they send next would wait for it, up to 40 ms.
        """
        if (written := self._writing.pop(mid, None)) is not None:
            written.confirmed.set()
        if (number := self._in_flight.pop(mid, None)) is None:
            return
        message = self._outgoing.pop(number)
        if reason_code.is_failure:
            self._refusals.note(message.topic, to_be_logged=self.logs_refusals)
        self.limit.take(self.identifier, self._sent.confirm(number))
        message.confirmed.set()
        if not self._outgoing:
            self._all_confirmed.set()
        self._loop.call_soon(self._send_waiting)
        connection = client.socket()
        if QUICK_ACK is not None and isinstance(connection, socket.socket):
            connection.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)

    def _loss(self) -> BaseException | None:
        return self._lost.exception() if self._lost.done() else None


def _fail(future: asyncio.Future[None], error: BaseException) -> None:
    """Set an exception that nobody needs to look at, unless there is a result already."""
    if not future.done():
        future.set_exception(error)
        future.exception()


def _connect_properties(session_s: int) -> Properties:
    """Return what the broker is to know of us and our session (MQTT 5)."""
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho's is untyped
    properties.ReceiveMaximum = MOST_RECEIVED
    properties.MaximumPacketSize = MOST_PACKET_BYTES
    properties.SessionExpiryInterval = session_s
    return properties


def _has_more(connection: Any) -> bool:
    """Whether there is more to read, from the system or from what TLS has decoded already."""
    decoded = getattr(connection, "pending", None)
    if decoded is not None and decoded():
        return True
    poller = select.poll()  # `select` knows descriptors up to 1023 only
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(0))
