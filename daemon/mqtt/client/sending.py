"""An aiomqtt client that sends no more than the broker takes, and knows what the broker has confirmed."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from typing import TYPE_CHECKING, Any, TypeVar

import aiomqtt
from paho.mqtt.enums import MessageState, MQTTErrorCode

from .packet_limit import RAISE_IT, PacketLimit, PacketTooLong, SentPackets, packet_bytes
from .reasons import PACKET_TOO_LARGE
from .refusals import Refusals, heed_pubrec

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import paho.mqtt.client as paho
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

    Answer = TypeVar("Answer")

log = logging.getLogger(__name__)

QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
LENGTH_GROWS_BY = 3
"""A packet's length is written in one to four bytes."""


class SendingClient(aiomqtt.Client):
    """The sending half of a client.

    Parameters
    ----------
    limit : PacketLimit
        Of the broker.
    v5 : bool
        Whether it speaks MQTT 5.
    **options : object
        As of aiomqtt's client.

    Attributes
    ----------
    limit : PacketLimit
    version_5 : bool
        Whether it speaks MQTT 5.
    refused : set of str
        Topics on which the broker has refused what was published (MQTT 5), the first of them.
    logs_refusals : bool
        Whether the log tells of them; off where whoever has asked is told.
    """

    def __init__(self, limit: PacketLimit, *, v5: bool, **options: Any) -> None:
        super().__init__(**options)
        self.limit = limit
        self.version_5 = v5
        self._refusals = Refusals()
        self.refused = self._refusals.topics
        self.logs_refusals = True
        self._confirmed = asyncio.Event()
        self._sent = SentPackets(self._loop.time)
        self._withdrawn: list[int] = []
        self._most_qos = 2
        self._is_unanswered = False
        if v5:
            heed_pubrec(self._client, self._note_refusal)

    # -- what the broker takes ------------------------------------------------------------------------------

    def _on_connect(
        self,
        client: paho.Client,
        userdata: Any,
        flags: paho.ConnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        """Note what the broker states of itself, before anything is sent (MQTT 5.0, 3.2.2.3)."""
        if not reason_code.is_failure:
            self._most_qos = getattr(properties, "MaximumQoS", 2)
            self.limit.state(getattr(properties, "MaximumPacketSize", math.inf))
            in_flight = min(client.max_inflight_messages, getattr(properties, "ReceiveMaximum", math.inf))
            client._max_inflight_messages = int(in_flight)  # noqa: SLF001 # public before a connection alone
            self._is_unanswered = False
            self._withdraw()
            self._sent.begin()
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _withdraw(self) -> None:
        """Take back what a session would send again and is too long: it would end each connection."""
        waiting = self._client._out_messages  # noqa: SLF001 # `drop_out_messages` takes all of them
        for number, message in list(waiting.items()):
            is_taken = message.state == MessageState.MQTT_MS_RESEND_PUBREL
            if self._sent.length_of(number) > self.limit.most_bytes and not is_taken:
                del waiting[number]
                self._sent.forget(number)
                self._withdrawn.append(number)

    def take_withdrawn(self) -> list[int]:
        """Return the numbers of messages that were too long to be sent again, each once."""
        withdrawn, self._withdrawn = self._withdrawn, []
        return withdrawn

    def _note_loss(self) -> None:
        """Note that the connection has broken, and for which packet that may have been."""
        error = self._disconnected.exception() if self._disconnected.done() else None
        code = getattr(getattr(error, "rc", None), "value", None)
        if error is not None or self._is_unanswered:
            certain = code == PACKET_TOO_LARGE
            self.limit.blame(self.identifier, self._sent.suspect(), certain=certain)

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

    # -- sending --------------------------------------------------------------------------------------------

    async def publish(  # type: ignore[override] # narrower, as all that is sent here is
        self,
        topic: str,
        payload: bytes | None = None,
        qos: int = 0,
        retain: bool = False,  # noqa: FBT001, FBT002 # aiomqtt's
        properties: Properties | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 # aiomqtt's
    ) -> None:
        """Publish a message, and wait until the broker has it; by QoS 0, until it is written.

        Raises
        ------
        PacketTooLong
            If it is longer than the broker takes.
        aiomqtt.MqttError
            If there is no connection, or no confirmation in time.
        """
        told = self._send(topic, payload, qos, retain, properties)
        if told.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            broken = self._disconnected.exception() if self._disconnected.done() else None
            raise aiomqtt.MqttCodeError(told.rc, "Could not publish message") from broken
        if not told.is_published():
            await self._until_confirmed(told.mid, timeout)

    def hand_over(
        self,
        topic: str,
        payload: bytes,
        qos: int,
        *,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """Have a message delivered, on this connection or, with a session, a later one; return its number.

        What is handed over is published in this order; of QoS 0 nothing is kept without a connection.

        Raises
        ------
        PacketTooLong
            If it is longer than the broker takes.
        """
        return self._send(topic, payload, qos, retain, properties).mid

    def _send(
        self,
        topic: str,
        payload: bytes | None,
        qos: int,
        retain: bool,  # noqa: FBT001 # paho's
        properties: Properties | None,
    ) -> paho.MQTTMessageInfo:
        qos = min(qos, self._most_qos)
        length = packet_bytes(topic, len(payload or b""), qos, properties, v5=self.version_5)
        if length > self.limit.most_bytes:
            what = f"{topic}: {length} bytes; the broker takes at most {self.limit.most_bytes:.0f}"
            raise PacketTooLong(f"{what}; {RAISE_IT}")
        told = self._client.publish(topic, payload, qos, retain, properties)
        self._sent.send(topic, length, told.mid if qos else None)
        return told

    def is_outstanding(self, number: int) -> bool:
        """Whether the broker has not confirmed a message yet."""
        return number in self._client._out_messages  # noqa: SLF001 # paho tells it nowhere else

    async def delivered(self, number: int, timeout_s: float) -> None:
        """Wait until the broker has confirmed a message.

        Raises
        ------
        aiomqtt.MqttError
            If it does not in time; the message is still on its way.
        """
        if self.is_outstanding(number):
            await self._until_confirmed(number, timeout_s)

    async def _until_confirmed(self, number: int, timeout_s: float | None) -> None:
        confirmed = asyncio.Event()
        with self._pending_call(number, confirmed, self._pending_publishes):
            try:
                await self._wait_for(confirmed.wait(), timeout=timeout_s)
            except aiomqtt.MqttError:
                self._is_unanswered = True
                raise

    async def _wait_for(self, awaited: Awaitable[Answer], timeout: float | None) -> Answer:  # noqa: ASYNC109 - aiomqtt's
        return await _answered(awaited, self.timeout if timeout is None else timeout)

    async def all_delivered(self) -> None:
        """Wait until the broker has confirmed every message."""
        while self._client._out_messages:  # noqa: SLF001 # the same
            self._confirmed.clear()
            await self._confirmed.wait()

    def _on_publish(
        self, client: paho.Client, userdata: Any, mid: int, reason_code: ReasonCode, properties: Properties
    ) -> None:
        """Note what the broker refuses (MQTT 5), and let TCP acknowledge its acknowledgement without delay.

        Brokers leave Nagle's algorithm on (mosquitto's `set_tcp_nodelay` is false by default): what they
        send next would wait for it, up to 40 ms on Linux.
        """
        if reason_code.is_failure:
            self._note_refusal(mid)
        self.limit.take(self.identifier, self._sent.confirm(mid))
        super()._on_publish(client, userdata, mid, reason_code, properties)
        self._confirmed.set()
        connection = client.socket()
        if QUICK_ACK is not None and isinstance(connection, socket.socket):
            connection.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)

    def _note_refusal(self, number: int) -> None:
        if (message := self._client._out_messages.get(number)) is not None:  # noqa: SLF001 # the same
            self._refusals.note(message.topic, to_be_told=self.logs_refusals)


async def _answered(awaited: Awaitable[Answer], within_s: float) -> Answer:
    """Wait as aiomqtt does, and lose neither a cancellation nor an answer that comes at the last moment.

    `asyncio.wait_for`, by which aiomqtt waits, drops a cancellation that comes together with the answer
    before Python 3.12; since then, it drops an answer that comes together with the end of the time, as all
    do that come while the machine stands still.

    Raises
    ------
    aiomqtt.MqttError
        If it does not come in time.
    """
    answer = asyncio.ensure_future(awaited)
    try:
        await asyncio.wait((answer,), timeout=None if within_s == math.inf else within_s)
        if answer.done():
            return answer.result()
    finally:
        answer.cancel()
    raise aiomqtt.MqttError("Operation timed out")
