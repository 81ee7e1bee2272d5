"""What the broker keeps of one client, connected or not: subscriptions, and messages until acknowledged."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .limits import SMALL_BYTES
from .outbox import Outbox, Waiting
from .packets import Kind, Message, PacketError, write_ack, write_publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..log import RateLimitedLog
    from .limits import Limits, Memory

AT_ONCE = 64  # messages that are sent before others have their turn
LARGEST_ID = 65_535


class Link(Protocol):
    """The connection of a client."""

    @property
    def writable(self) -> bool:
        """Whether the client reads what it is sent."""

    def send(self, packet: bytes) -> None:
        """Send a packet."""

    def call_soon(self, action: Callable[[], None]) -> None:
        """Go on once others have had their turn."""

    def close(self) -> None:
        """Send what is still to be sent, and close."""

    def make_way(self) -> None:
        """Close, as another connection has taken the client's name."""


@dataclass(slots=True)
class InFlight:
    """A message that was sent and not acknowledged; without one, its release (QoS 2) was sent."""

    message: Message | None
    qos: int
    retain: bool
    size: int


class Session:
    """One client's state; the connection comes and goes."""

    def __init__(
        self,
        client_id: str,
        limits: Limits,
        memory: Memory,
        retained: Callable[[str], Message | None],
        rate_limited: RateLimitedLog,
    ) -> None:
        self.client_id = client_id
        self.clean = True
        self.connection: Link | None = None
        self.left_s = 0.0
        self.subscriptions: dict[str, int] = {}
        self._limits = limits
        self._memory = memory
        self._retained = retained
        self._rate_limited = rate_limited
        self._outbox = Outbox(limits, memory)
        self._in_flight: dict[int, InFlight] = {}
        self._in_flight_bytes = 0
        self._last_id = 0
        self._unreleased: set[int] = set()
        self._due: OrderedDict[str, int] = (
            OrderedDict()
        )  # topics of retained messages that are still to be sent, with QoS
        self._pumps = False
        self._logged_dropped = 0  # logged whenever it has doubled

    # -- to the client --------------------------------------------------------------------------------------

    def deliver(self, publisher: str, message: Message, qos: int) -> None:
        """Send a message, or let it wait; a retained one that it would overtake goes first."""
        if message.topic in self._due:
            before = self._take_due(message.topic)
            if before is not None:
                self._send_or_queue(publisher, before)
        self._send_or_queue(publisher, Waiting(message, qos, retain=False))

    def send_retained(self, topics: Iterable[str], qos: int) -> None:
        """Have the retained messages of some topics sent, each once; `pump` begins."""
        for topic in topics:
            self._due[topic] = max(qos, self._due.get(topic, 0))

    def pump(self) -> None:
        """Send what waits, as much as the client takes, in turns with everything else."""
        self._pumps = False
        for _ in range(AT_ONCE):
            if self.connection is None or not self.connection.writable or (waiting := self._next()) is None:
                return
            self._transmit(self.connection, waiting)
        self._pump_soon()

    def attach(self, connection: Link) -> None:
        """Begin with a connection: send again what was not acknowledged, then what waited."""
        self.connection = connection
        for packet_id, sent in self._in_flight.items():
            if sent.message is None:
                connection.send(write_ack(Kind.PUBREL, packet_id))
            else:
                connection.send(
                    write_publish(
                        sent.message, qos=sent.qos, retain=sent.retain, packet_id=packet_id, again=True
                    )
                )
        self._pump_soon()

    def detach(self, now_s: float) -> None:
        """Go on without a connection; of QoS 0 nothing is kept."""
        self.connection = None
        self.left_s = now_s
        self._outbox.clear(sure=False)
        for topic, qos in list(self._due.items()):
            message = self._retained(topic)
            if message is None or min(qos, message.qos) == 0:
                del self._due[topic]

    def end(self) -> None:
        """Forget everything."""
        self.connection = None
        self._outbox.clear()
        self._due.clear()
        for sent in self._in_flight.values():
            self._memory.held -= sent.size
        self._in_flight.clear()

    def _send_or_queue(self, publisher: str, waiting: Waiting) -> None:
        connection = self.connection
        if connection is None:
            if waiting.qos == 0:
                return
        elif (
            connection.writable
            and not self._outbox.has(waiting.qos)
            and (waiting.qos == 0 or self._has_window())
            and (waiting.message.size <= SMALL_BYTES or self._memory.has_room(waiting.message.size))
        ):
            self._transmit(connection, waiting)
            return
        if self._outbox.put(publisher, waiting) and self._outbox.dropped >= 2 * self._logged_dropped:
            self._logged_dropped = self._outbox.dropped
            reason = "more wait for it than are kept; let it read faster"
            problem = f"client %.60r: messages are lost, %d up to now; {reason}"
            self._rate_limited.warning(problem, self.client_id, self._logged_dropped)

    def _pump_soon(self) -> None:
        if self.connection is not None and not self._pumps:
            self._pumps = True
            self.connection.call_soon(self.pump)

    def _has_window(self) -> bool:
        if not self._in_flight:
            return True
        most_bytes = self._limits.in_flight_bytes if self._memory.has_room(0) else SMALL_BYTES
        return len(self._in_flight) < self._limits.in_flight and self._in_flight_bytes < most_bytes

    def _next(self) -> Waiting | None:
        """Take the next message: what was retained, then what waits."""
        window = self._has_window()
        while self._due:
            topic, qos = next(iter(self._due.items()))
            message = self._retained(topic)
            if message is not None and min(message.qos, qos) and not window:
                break
            if (waiting := self._take_due(topic)) is not None:
                return waiting
        return self._outbox.take(sure=window)

    def _take_due(self, topic: str) -> Waiting | None:
        qos = self._due.pop(topic)
        message = self._retained(topic)
        return message and Waiting(message, min(qos, message.qos), retain=True)

    def _transmit(self, connection: Link, waiting: Waiting) -> None:
        message, qos, retain = waiting
        if qos == 0:
            connection.send(write_publish(message, retain=retain))
            return
        packet_id = self._new_id()
        sent = InFlight(message, qos, retain, message.size)
        self._in_flight[packet_id] = sent
        self._in_flight_bytes += sent.size
        self._memory.held += sent.size
        connection.send(write_publish(message, qos=qos, retain=retain, packet_id=packet_id))

    def _new_id(self) -> int:
        while True:
            self._last_id = self._last_id % LARGEST_ID + 1
            if self._last_id not in self._in_flight:
                return self._last_id

    # -- from the client ------------------------------------------------------------------------------------

    def acknowledged(self, packet_id: int) -> None:
        """Take a PUBACK."""
        if self._flying(packet_id, 1) is not None:
            self._land(packet_id)

    def received(self, packet_id: int) -> None:
        """Take a PUBREC; the release is sent, also for what is not known any more."""
        sent = self._flying(packet_id, 2)
        if sent is not None:
            del self._in_flight[packet_id]  # releases are sent again in the order of what they answer
            self._in_flight[packet_id] = sent
            self._in_flight_bytes -= sent.size
            self._memory.held -= sent.size
            sent.message, sent.size = None, 0
        if self.connection is not None:
            self.connection.send(write_ack(Kind.PUBREL, packet_id))
        self.pump()

    def completed(self, packet_id: int) -> None:
        """Take a PUBCOMP."""
        if self._flying(packet_id, 2) is not None:
            self._land(packet_id)

    def _flying(self, packet_id: int, qos: int) -> InFlight | None:
        sent = self._in_flight.get(packet_id)
        if sent is not None and sent.qos != qos:
            raise PacketError(f"an acknowledgement of another QoS than {sent.qos}, that of its message")
        return sent

    def _land(self, packet_id: int) -> None:
        sent = self._in_flight.pop(packet_id)
        self._in_flight_bytes -= sent.size
        self._memory.held -= sent.size
        self.pump()

    def is_new(self, packet_id: int) -> bool:
        """Whether a message of QoS 2 has not come before; it is noted until it is released."""
        if packet_id in self._unreleased:
            return False
        if len(self._unreleased) >= self._limits.unreleased:
            raise PacketError(f"more than {self._limits.unreleased} messages of QoS 2 without a PUBREL")
        self._unreleased.add(packet_id)
        return True

    def release(self, packet_id: int) -> None:
        """Take a PUBREL."""
        self._unreleased.discard(packet_id)
