from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.mqtt.client.packet_limit import (
    MOST_TOPICS,
    RAISE_IT,
    SOON_S,
    TIMES,
    PacketLimit,
    SentPackets,
    packet_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def correlated() -> Properties:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
    properties.CorrelationData = b"0123456789"
    properties.MessageExpiryInterval = 5
    return properties


# -- how long a packet is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 100, 110, 120, 125, 16_370, 16_380, 2_097_140, 2_097_150])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize(
    ("v5", "properties"),
    [(False, None), (True, None), (True, correlated())],
    ids=["3.1.1", "5", "5 with properties"],
)
def test_a_packet_is_as_long_as_the_one_that_is_written(
    length: int, qos: int, v5: Any, properties: Properties | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = MQTTProtocolVersion.MQTTv5 if v5 else MQTTProtocolVersion.MQTTv311
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=protocol)
    written: list[int] = []
    monkeypatch.setattr(client, "_sock", object())
    monkeypatch.setattr(client, "_packet_queue", lambda _, packet, *__: written.append(len(packet)))
    client.publish("motiond/Käse/motions", b"x" * length, qos, properties=properties)
    monkeypatch.setattr(client, "_sock", None)
    assert written == [packet_bytes("motiond/Käse/motions", length, qos, properties, v5=v5)]


# -- which packet a connection may have ended for -----------------------------------------------------------


class Sending:
    """What is sent, at a time of the test's."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.sent = SentPackets(lambda: self.now_s)

    def after(self, seconds: float) -> None:
        self.now_s += seconds


def _all_confirmed(sending: Sending) -> None:
    sending.sent.send("list", 900, 1)
    sending.sent.confirm(1)


def _one_under_way(sending: Sending) -> None:
    sending.sent.send("small", 90, 1)
    sending.sent.send("list", 900, 2)
    sending.sent.send("state", 80, 3)


def _longest_is_confirmed(sending: Sending) -> None:
    _one_under_way(sending)
    sending.sent.confirm(2)


def _shorter_than_what_was_taken(sending: Sending) -> None:
    _all_confirmed(sending)
    sending.sent.send("state", 300, 2)


def _longer_than_what_was_taken(sending: Sending) -> None:
    _all_confirmed(sending)
    sending.sent.send("state", 1000, 2)


def _long_ago(sending: Sending) -> None:
    sending.sent.send("telemetry", 500, None)
    sending.after(SOON_S + 0.1)
    sending.sent.send("telemetry", 500, None)


def _without_confirmation(sending: Sending) -> None:
    sending.sent.send("telemetry", 500, None)


def _without_confirmation_before_a_confirmed_one(sending: Sending) -> None:
    sending.sent.send("telemetry", 500, None)
    sending.sent.send("state", 80, 1)
    sending.sent.confirm(1)
    sending.sent.send("diagnostics", 400, None)


def _sent_again_on_the_next_connection(sending: Sending) -> None:
    sending.sent.send("list", 900, 1)
    sending.sent.send("telemetry", 950, None)
    sending.after(60.0)
    sending.sent.begin()


def _withdrawn(sending: Sending) -> None:
    sending.sent.send("list", 900, 1)
    sending.sent.forget(1)
    sending.sent.begin()


@pytest.mark.parametrize(
    ("what_happens", "suspect"),
    [
        (_all_confirmed, None),
        (_one_under_way, ("list", 900)),
        (_longest_is_confirmed, None),
        (_shorter_than_what_was_taken, None),
        (_longer_than_what_was_taken, ("state", 1000)),
        (_long_ago, None),
        (_without_confirmation, ("telemetry", 500)),
        (_without_confirmation_before_a_confirmed_one, None),
        (_sent_again_on_the_next_connection, ("list", 900)),
        (_withdrawn, None),
    ],
)
def test_the_longest_that_was_not_taken_is_suspected(
    what_happens: Callable[[Sending], None], suspect: tuple[str, int] | None
) -> None:
    sending = Sending()
    what_happens(sending)
    assert sending.sent.suspect() == suspect


def test_topics_without_confirmation_do_not_add_up() -> None:
    sending = Sending()
    for number in range(10 * MOST_TOPICS):
        sending.sent.send(f"answer/{number}", 100, None)
    assert len(sending.sent._by_topic) == MOST_TOPICS


# -- what that says of the broker ---------------------------------------------------------------------------

LIST = ("motiond/arm/motions", 30_000)
STATE = ("motiond/arm/state", 500)


@pytest.mark.parametrize(
    ("ends", "most"),
    [
        ([LIST] * (TIMES - 1), float("inf")),
        ([LIST] * TIMES, 29_999),
        ([LIST, LIST, None, LIST, LIST], float("inf")),
        ([LIST, LIST, STATE, LIST, LIST], float("inf")),
        ([LIST] * TIMES + [STATE] * TIMES, 499),
        ([LIST] * TIMES + [STATE] * (TIMES - 1), 29_999),
        ([LIST] * TIMES + [(LIST[0], 7_400)], 7_399),
        ([LIST] * TIMES + [(LIST[0], 7_400), (LIST[0], 1_800)], 1_799),
    ],
)
def test_a_broker_that_ends_connections_in_a_row_after_one_message_takes_none_so_long(
    ends: list[tuple[str, int] | None], most: float
) -> None:
    limit = PacketLimit()
    for suspect in ends:
        limit.blame("main", suspect)
    assert limit.most_bytes == most


def test_each_connection_has_a_row_of_its_own_and_a_message_that_is_taken_ends_it() -> None:
    limit = PacketLimit()
    for client in ("main", "requests", "main", "requests"):
        limit.blame(client, LIST)
    limit.take("main", [STATE[0], LIST[0]])
    limit.blame("main", LIST)
    assert limit.most_bytes == float("inf")
    assert limit.is_suspicious
    limit.blame("requests", LIST)
    limit.take("main", [LIST[0]])
    assert limit.most_bytes == 29_999
    assert not limit.is_suspicious


def test_a_broker_that_names_the_reason_is_believed_at_once_and_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    limit = PacketLimit()
    for _ in range(3):
        limit.blame("main", LIST, certain=True)
    assert (limit.most_bytes, limit.cut_bytes) == (29_999, 7_500)
    assert caplog.messages == [
        (
            "motiond/arm/motions: 30000 bytes; the broker ended the connection at once right after it; "
            f"nothing so long is sent any more, but cut or left out; {RAISE_IT}"
        )
    ]


def test_what_is_stated_counts_and_is_reported_again_when_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    limit = PacketLimit()
    for most in (20_000, 20_000, 10_000):
        limit.state(most)
        assert (limit.most_bytes, limit.cut_bytes) == (most, most)
        limit.report(*LIST, "it is left out")
    assert caplog.messages == [
        f"motiond/arm/motions: 30000 bytes; the broker takes at most {most}; it is left out; {RAISE_IT}"
        for most in (20_000, 10_000)
    ]
