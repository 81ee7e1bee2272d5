from __future__ import annotations

import logging
from typing import Any

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


LISTED = ("list", 900, 1)
STREAMED = ("telemetry", 500, None)  # without a confirmation
LATER = SOON_S + 0.1


@pytest.mark.parametrize(
    ("steps", "suspect"),
    [
        ([LISTED, "confirm"], None),
        ([("small", 90, 2), LISTED, ("state", 80, 3)], ("list", 900)),
        ([("small", 90, 2), LISTED, ("state", 80, 3), "confirm"], None),
        ([LISTED, "confirm", ("state", 300, 2)], None),
        ([LISTED, "confirm", ("state", 1000, 2)], ("state", 1000)),
        ([STREAMED, LATER, STREAMED], None),
        ([STREAMED], ("telemetry", 500)),
        ([STREAMED, ("state", 80, 1), "confirm", ("diagnostics", 400, None)], None),
        ([LISTED, ("telemetry", 950, None), 60.0, "begin"], ("list", 900)),
        ([LISTED, "forget", "begin"], None),
    ],
)
def test_the_longest_packet_that_was_not_confirmed_is_suspected(
    steps: list[Any], suspect: tuple[str, int] | None
) -> None:
    now_s = 100.0
    sent = SentPackets(lambda: now_s)
    for step in steps:
        match step:
            case float():
                now_s += step
            case "begin":
                sent.begin()
            case "confirm":
                sent.confirm(1)
            case "forget":
                sent.forget(1)
            case _:
                sent.send(*step)
    assert sent.suspect() == suspect


def test_topics_without_confirmation_do_not_add_up() -> None:
    sent = SentPackets(lambda: 0.0)
    for number in range(10 * MOST_TOPICS):
        sent.send(f"answer/{number}", 100, None)
    assert len(sent._by_topic) == MOST_TOPICS


# -- what that shows of the broker ---------------------------------------------------------------------------

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
