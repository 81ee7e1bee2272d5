"""How long the PUBLISH packets may be that a broker takes: what it states, and what its behaviour shows.

MQTT 5.0, 3.2.2.3.6: a client must not send a packet that is longer than the Maximum Packet Size of the
CONNACK. MQTT 3.1.1 has no such statement; there a connection that ends again and again right after the same
message is the evidence.
"""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING

from .reasons import ConnectionUseless

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paho.mqtt.properties import Properties

log = logging.getLogger(__name__)

TIMES = 3
"""So many connections in a row have to end right after the same message."""
SOON_S = 6.0
"""What was sent longer before the end of a connection is not the reason of it."""
CUT_TO = 4
"""Where a broker does not state its limit, what can be cut is cut to this part of what was refused."""
MOST_REPORTED = 1000
MOST_TOPICS = 256
RAISE_IT = "raise the broker's limit (mosquitto: max_packet_size, message_size_limit)"
EMPTY_PROPERTIES = 1
ONE_BYTE = 128


class PacketTooLong(ConnectionUseless):
    """A message is longer than the broker takes, and cannot be cut or left out."""


def packet_bytes(topic: str, payload_bytes: int, qos: int, properties: Properties | None, *, v5: bool) -> int:
    """Return the length of an encoded PUBLISH packet (MQTT 5.0, 3.3)."""
    rest = 2 + len(topic.encode()) + (2 if qos else 0) + payload_bytes
    if v5:
        rest += EMPTY_PROPERTIES if properties is None else len(properties.pack())  # type: ignore[no-untyped-call] # paho's is untyped
    length = 1
    while rest >= ONE_BYTE**length:
        length += 1
    return 1 + length + rest


class PacketLimit:
    """What one broker takes; shared by all connections to it."""

    def __init__(self) -> None:
        self.stated_bytes = inf
        self._refused_bytes = inf
        self._streaks: dict[str, tuple[str, int]] = {}
        self._reported: set[str] = set()

    @property
    def most_bytes(self) -> float:
        """The longest packet that may be sent."""
        return min(self.stated_bytes, self._refused_bytes - 1)

    @property
    def cut_bytes(self) -> float:
        """To what a packet is cut that is too long: lower than `most_bytes` where that is a guess."""
        return min(self.stated_bytes, max(self._refused_bytes // CUT_TO, 1))

    @property
    def is_suspicious(self) -> bool:
        """Whether a connection has ended right after a message that may have been too long."""
        return bool(self._streaks)

    def state(self, most_bytes: float) -> None:
        """Note what a CONNACK states; another statement is reported again."""
        if most_bytes != self.stated_bytes:
            self.stated_bytes = most_bytes
            self._reported.clear()

    def blame(self, client: str, suspect: tuple[str, int] | None, *, certain: bool = False) -> None:
        """Note that a connection has broken."""
        if suspect is None:
            self._streaks.pop(client, None)
            return
        topic, length = suspect
        before, times = self._streaks.get(client, (topic, 0))
        times = times + 1 if before == topic else 1
        self._streaks[client] = topic, times
        # What was cut because of an earlier refusal, and is refused as well, needs no more evidence.
        is_cut = self._refused_bytes < inf and length > self._refused_bytes // (2 * CUT_TO)
        if certain or is_cut or times >= TIMES:
            del self._streaks[client]
            self._refuse(topic, length, "at once" if certain else f"{times} times in a row")

    def take(self, client: str, topics: Collection[str]) -> None:
        """Note that the broker has taken packets on some topics."""
        if self._streaks and self._streaks.get(client, ("", 0))[0] in topics:
            del self._streaks[client]

    def _refuse(self, topic: str, length: int, how: str) -> None:
        self._refused_bytes = min(self._refused_bytes, length)
        if self._is_news(topic):
            what = (
                "%s: %d bytes; the broker ended the connection %s right after it; "
                "nothing so long is sent any more, but cut or left out; %s"
            )
            log.warning(what, topic, length, how, RAISE_IT)

    def report(self, topic: str, length: int, remedy: str) -> None:
        """Log, once for each topic, that a packet is too long and what becomes of it."""
        if self._is_news(topic):
            what = "%s: %d bytes; the broker takes at most %d; %s; %s"
            log.warning(what, topic, length, self.most_bytes, remedy, RAISE_IT)

    def _is_news(self, topic: str) -> bool:
        if topic in self._reported or len(self._reported) >= MOST_REPORTED:
            return False
        self._reported.add(topic)
        return True


class SentPackets:
    """What one client has sent and the broker is not known to have taken yet.

    A broker takes packets in their order: with the confirmation of one, all that were sent before it are
    taken, those of QoS 0 too.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._sent = 0
        self._taken_bytes = 0
        self._by_topic: dict[str, tuple[int, int, float]] = {}
        self._by_number: dict[int, tuple[int, str, int]] = {}

    def begin(self) -> None:
        """Note a new connection, on which what has no confirmation is sent again."""
        again, self._by_number = self._by_number, {}
        self._by_topic.clear()
        self._taken_bytes = 0
        for number, (_, topic, length) in again.items():
            self.send(topic, length, number)

    def send(self, topic: str, length: int, number: int | None) -> None:
        """Note a packet; `number` is None for one of QoS 0."""
        self._sent += 1
        if len(self._by_topic) >= MOST_TOPICS and topic not in self._by_topic:
            del self._by_topic[next(iter(self._by_topic))]
        _, longest, first_s = self._by_topic.get(topic, (0, 0, self._now()))
        self._by_topic[topic] = self._sent, max(length, longest), first_s
        if number is not None:
            self._by_number[number] = self._sent, topic, length

    def forget(self, number: int) -> None:
        """Note that a packet is not sent any more."""
        self._by_number.pop(number, None)

    def confirm(self, number: int) -> list[str]:
        """Note a confirmation; return the topics on which all has been taken with it."""
        place, _, length = self._by_number.pop(number, (0, "", 0))
        self._taken_bytes = max(self._taken_bytes, length)
        taken = [topic for topic, (last, _, _) in self._by_topic.items() if last <= place]
        for topic in taken:
            self._taken_bytes = max(self._taken_bytes, self._by_topic.pop(topic)[1])
        return taken

    def suspect(self) -> tuple[str, int] | None:
        """Return the longest packet for which the connection may have ended: its topic and length in bytes.

        A shorter one than has been taken is none, nor is one that was sent long ago.
        """
        since_s = self._now() - SOON_S
        suspects = [
            (longest, topic)
            for topic, (_, longest, first_s) in self._by_topic.items()
            if longest > self._taken_bytes and first_s >= since_s
        ]
        if not suspects:
            return None
        longest, topic = max(suspects)
        return topic, longest
