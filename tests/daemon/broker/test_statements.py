"""The normative statements of MQTT 3.1.1 for servers, on raw packets; each test has their numbers above it.

What a client sees of them, `contract.py` shows for each broker: retained messages, QoS, wills and sessions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.daemon.broker.wire import (
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    UNSUBACK,
    Published,
    Will,
    ack,
    connack,
    connect,
    packet,
    publish,
    published,
    short,
    suback,
    subscribe,
    text,
    unsubscribe,
)

if TYPE_CHECKING:
    from tests.daemon.broker.conftest import Wires


def body(message: Published) -> tuple[str, bytes]:
    return message.topic, message.payload


# -- 1.5.3: text --------------------------------------------------------------------------------------------

ILL_FORMED = [b"a\xff", b"a\xed\xa0\x80", b"a\xc0\xaf", b"a\xe2\x82", b"a\x00"]
"""Text that is no UTF-8, a surrogate, in too long an encoding, cut off, or with the null character."""

PACKETS = {
    "PUBACK": ack(PUBACK, 1),
    "PUBREC": ack(PUBREC, 1),
    "PUBREL": ack(PUBREL, 1),
    "PUBCOMP": ack(PUBCOMP, 1),
    "SUBSCRIBE": subscribe("a"),
    "UNSUBSCRIBE": unsubscribe("a"),
    "PINGREQ": PINGREQ,
    "DISCONNECT": DISCONNECT,
}


def fields(flags: int, *payload: bytes) -> bytes:
    """A CONNECT with these flags and fields."""
    return packet(0x10, text("MQTT") + bytes([4, flags]) + short(0) + b"".join(payload))


# -- what ends a connection ---------------------------------------------------------------------------------

AS_FIRST = {
    ("1.5.3-1", "1.5.3-2", "3.1.3-4", "3.1.3-10", "3.1.3-11", "3.1.4-1", "4.7.3-2"): [
        sent for bad in ILL_FORMED for sent in (connect(bad), connect(will=Will(bad)), connect(username=bad))
    ],
    ("2.2.2-2",): [bytes([0x10 | flags]) + connect()[1:] for flags in range(1, 16)],
    ("3.1.0-1",): [*PACKETS.values(), publish("a")],
    ("3.1.2-1", "3.1.4-1", "3.2.2-6"): [
        connect(name=name) for name in ("mqtt", "MQT", "MQIsdp", "MQTTT", "")
    ],
    ("3.1.2-3", "3.1.4-1"): [connect(flags=1)],
    ("3.1.2-9", "3.1.2-19", "3.1.2-21", "3.1.3-3", "3.1.4-1"): [  # a field is announced and not there
        fields(0b00000010),
        fields(0b00000110, text("c")),
        fields(0b00000110, text("c"), text("will")),
        fields(0b10000010, text("c")),
        fields(0b11000010, text("c"), text("name")),
    ],
    ("3.1.2-11", "3.1.2-18", "3.1.2-20", "3.1.4-1"): [  # a field is there and not announced
        fields(0b00000010, text("c"), text("d")),
        fields(0b10000010, text("c"), text("name"), text("d")),
    ],
    ("3.1.2-11", "3.1.2-13", "3.1.2-14", "3.1.2-15", "3.1.2-22", "3.1.4-1"): [
        connect(flags=0b00001000),  # QoS 1, QoS 2 and retain of no will
        connect(flags=0b00010000),
        connect(flags=0b00100000),
        connect(will=Will("a", qos=3)),
        connect(password=b"x"),  # without a user name
        connect(after=b"x"),  # with more than its fields
    ],
    ("3.3.2-2", "4.7.1-1"): [connect(will=Will(topic)) for topic in ("#", "+", "a/#", "a/+/b")],
}
AFTER_CONNECT = {
    ("1.5.3-1", "1.5.3-2", "3.3.2-1", "3.8.3-1", "3.10.3-1", "4.7.3-2"): [
        make(bad) for bad in ILL_FORMED for make in (publish, subscribe, unsubscribe)
    ],
    ("2.2.2-2", "3.6.1-1", "3.8.1-1", "3.10.1-1", "3.14.1-1", "4.8.0-1"): [
        bytes([sent[0] & 0xF0 | flags]) + sent[1:]
        for sent in PACKETS.values()
        for flags in {*range(16)} - {sent[0] & 15}
    ],
    ("4.8.0-1",): [
        *(packet(first, b"\0\1") for first in (0x00, 0x20, 0x90, 0xB0, 0xD0, 0xF0)),  # of servers, of nobody
        b"\xc0\x01\x00",  # too long or too short for its fields
        b"\xe0\x01\x00",
        b"\x40\x03\x00\x01\x00",
        b"\x40\x01\x00",
        b"\x30\x01\x00",
        b"\x30\x03\x00\x05a",
        b"\x32\x03\x00\x01a",
        b"\x82\x03\x00\x01\x00",
        b"\x82\x05\x00\x01\x00\x01a",
        b"\x30\xff\xff\xff\xff\x01",
    ],
    ("2.3.1-1",): [
        publish("a", qos=1, packet_id=0),
        publish("a", qos=2, packet_id=0),
        subscribe("a", packet_id=0),
        unsubscribe("a", packet_id=0),
        ack(PUBACK, 0),
        ack(PUBREL, 0),
    ],
    ("3.1.0-2",): [connect()],
    ("3.3.1-2",): [publish("a", again=True)],
    ("3.3.1-4",): [packet(0x36 | flags, text("a") + short(1)) for flags in range(16)],
    ("3.3.2-2", "4.7.1-1"): [publish(topic) for topic in ("#", "+", "a/#", "a/+", "a+", "#b", "a/+/b")],
    ("3.3.5-2",): [publish("x" * 1025, qos=1), publish("/".join("x" * 33), qos=1)],
    ("3.8.3-3", "3.10.3-2"): [subscribe(), unsubscribe()],
    ("3.8.3-4",): [subscribe("a", qos=qos) for qos in (3, 4, 0x80, 0xFF)],
    ("4.7.1-2", "4.7.1-3", "4.7.3-1"): [
        make(bad)
        for bad in ("", "a#", "a/#/b", "#/a", "##", "a+", "+a", "a/b+/c", "++", "a/+#")
        for make in (subscribe, unsubscribe)
    ],
    ("4.7.3-1",): [publish(""), publish("", qos=1, retain=True)],
}


@pytest.mark.parametrize("group", AS_FIRST.values(), ids=map(str, AS_FIRST))
async def test_what_may_not_come_first_closes(wires: Wires, group: list[bytes]) -> None:
    for sent in group:
        wire = await wires.open()
        wire.send(sent)
        assert await wire.ends(), sent


@pytest.mark.parametrize("group", AFTER_CONNECT.values(), ids=map(str, AFTER_CONNECT))
async def test_what_may_not_come_later_closes_and_is_not_served(wires: Wires, group: list[bytes]) -> None:
    for sent in group:
        wire = await wires.connected(will=Will("will"))
        wire.send(sent)
        assert await wire.ends(), sent


# 1.5.3-3, 4.7.3-4
async def test_topics_are_taken_character_by_character(wires: Wires) -> None:
    wire = await wires.connected()
    wire.send(subscribe("\ufeffa", "\u00e9"))
    assert await wire.next() == suback(0, 0)
    wire.send(publish("a"), publish("\ufeffa"), publish("e\u0301"), publish("\u00e9"), publish("\u00c9"))
    assert [message.topic for message in await wire.received()] == ["\ufeffa", "\u00e9"]


# -- 2: the format of packets -------------------------------------------------------------------------------


# 2.3.1-2, 2.3.1-4, 4.3.2-1, 4.3.3-1
async def test_each_message_has_an_identifier_that_no_other_has(wires: Wires) -> None:
    wire = await wires.connected()
    wire.send(subscribe("a", qos=2), *(publish("a", qos=1, packet_id=7) for _ in range(5)))
    wire.send(*(publish("a", qos=2, packet_id=number) for number in range(1, 6)))
    received = [await wire.next() for _ in range(21)]
    sent = [data for data in received if data[0] >> 4 == 3]
    identifiers = {data[5:7] for data in sent}
    assert len(identifiers) == 10
    assert short(0) not in identifiers
    assert {data[0] for data in sent} == {0x32, 0x34}


# 2.3.1-6, 2.3.1-7, 3.3.4-1, 3.8.4-1, 3.8.4-2, 3.10.4-4, 3.10.4-5, 3.12.4-1
async def test_each_packet_has_the_answer_of_the_standard_with_its_identifier(wires: Wires) -> None:
    wire = await wires.connected()
    for sent, answer in (
        (publish("a", qos=1, packet_id=11), ack(PUBACK, 11)),
        (publish("a", qos=2, packet_id=0x1234), ack(PUBREC, 0x1234)),
        (ack(PUBREL, 0x1234), ack(PUBCOMP, 0x1234)),
        (ack(PUBREL, 99), ack(PUBCOMP, 99)),
        (ack(PUBREC, 98), ack(PUBREL, 98)),
        (subscribe("a", packet_id=65535), suback(0, packet_id=65535)),
        (unsubscribe("a", packet_id=12), ack(UNSUBACK, 12)),
        (unsubscribe("never subscribed to", packet_id=13), ack(UNSUBACK, 13)),
        (publish("b") + PINGREQ, PINGRESP),
    ):
        wire.send(sent)
        assert await wire.next() == answer


# -- 3.1: CONNECT -------------------------------------------------------------------------------------------


CONNECT_5 = packet(0x10, text("MQTT") + b"\x05\x02\x00\x3c" + b"\x05\x11\x00\x00\x00\x0a" + text("c"))


# 3.1.2-2, 3.1.4-5, 3.2.2-4, 3.2.2-5
@pytest.mark.parametrize(
    "sent", [CONNECT_5, *(connect(level=level, clean=False) for level in (0, 3, 5, 255))]
)
async def test_another_level_is_refused_with_code_1_and_what_follows_is_not_served(
    wires: Wires, sent: bytes
) -> None:
    observer = await wires.subscribed("#", "observer")
    wire = await wires.open()
    wire.send(sent, publish("a", b"1"))
    assert await wire.next() == connack(1)
    assert await wire.ends()
    assert await observer.received() == []


# 3.1.2-4, 3.1.3-2, 3.2.2-2, 3.2.2-3, 3.1.4-3, 4.1.0-1
async def test_a_session_goes_on_where_it_was_left(wires: Wires) -> None:
    wire = await wires.connected("kept", clean=False)
    wire.send(subscribe("a", qos=1), publish("b", qos=2, packet_id=5))
    assert await wire.next() == suback(1)
    assert await wire.next() == ack(PUBREC, 5)
    wire.send(DISCONNECT)
    assert await wire.ends()
    await wires.connected("another", clean=False)
    wire = await wires.connected("kept", clean=False, present=True)
    wire.send(subscribe("b", packet_id=2), publish("b", b"again", qos=2, packet_id=5, again=True))
    assert await wire.next() == suback(0, packet_id=2)
    assert await wire.next() == ack(PUBREC, 5)
    wire.send(publish("a", b"1"))
    assert [body(message) for message in await wire.received()] == [("a", b"1")]


# 3.1.2-6, 3.2.2-1, 3.1.4-3
async def test_a_clean_session_forgets_and_is_forgotten(wires: Wires) -> None:
    for clean, present, subscribes in (
        (False, False, True),
        (True, False, False),
        (False, False, False),
        (True, False, True),
        (True, False, False),
        (False, False, False),
        (False, True, False),
    ):
        wire = await wires.connected("c", clean=clean, present=present)
        wire.send(publish("a", b"1"))
        assert await wire.received() == []
        if subscribes:
            wire.send(subscribe("a"))
            assert await wire.next() == suback(0)
        wire.send(DISCONNECT)
        assert await wire.ends()


# 3.1.2-8, 3.1.2-9, 3.1.2-16, 3.1.2-17, 3.1.2-10
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [False, True])
async def test_a_will_is_published_once_its_client_has_vanished(
    wires: Wires, qos: int, *, retain: bool
) -> None:
    observer = await wires.subscribed("#", "observer", qos=2)
    for clean in (True, False):
        wire = await wires.connected("c", clean=clean, will=Will("will", b"gone", qos, retain))
        assert await observer.received() == []
        wire.vanish()
        assert (await observer.message())[:4] == ("will", b"gone", qos, False)
    wire = await wires.connected("c", clean=False, present=True)
    wire.vanish()
    wire = await wires.subscribed("will", "late", qos=2)
    kept = [("will", b"gone", qos, True)] if retain else []
    assert [message[:4] for message in await wire.received()] == kept
    assert await observer.received() == []


# 3.1.2-8
@pytest.mark.parametrize("sent", [publish("a/#"), connect("c"), b"\x00\x00"])
async def test_a_will_is_published_where_the_broker_disconnects(wires: Wires, sent: bytes) -> None:
    observer = await wires.subscribed("will", "observer")
    wire = await wires.connected("c", will=Will("will"))
    wire.send(sent)
    assert await wire.ends()
    assert body(await observer.message()) == ("will", b"gone")


# 3.1.2-24
async def test_a_client_is_disconnected_after_one_and_a_half_times_its_keep_alive_without_a_packet(
    wires: Wires,
) -> None:
    observer = await wires.subscribed("will", "observer", keep_alive_s=0)
    loop = asyncio.get_running_loop()
    wire = await wires.connected("c", keep_alive_s=1, will=Will("will"))
    for _ in range(8):
        await asyncio.sleep(0.5)
        wire.send(PINGREQ)
        assert await wire.next() == PINGRESP
    last_s = loop.time()
    assert await wire.ends()
    assert loop.time() - last_s == pytest.approx(1.5, abs=0.2)
    assert body(await observer.message()) == ("will", b"gone")


# 3.1.3-5
@pytest.mark.parametrize(
    "client_id",
    ["0", "0123456789abcdefghijklm", "nopqrstuvwxyzABCDEFGHIJ", "KLMNOPQRSTUVWXYZ", "with / and é"],
)
async def test_identifiers_of_the_standard_and_others_are_allowed(wires: Wires, client_id: str) -> None:
    await wires.connected(client_id)


# 3.1.3-6
async def test_clients_without_an_identifier_are_clients_of_their_own(wires: Wires) -> None:
    first, second = [await wires.connected("") for _ in range(2)]
    first.send(subscribe("a"))
    assert await first.next() == suback(0)
    second.send(publish("a", b"1"), PINGREQ)
    assert await second.next() == PINGRESP
    assert [body(message) for message in await first.received()] == [("a", b"1")]


# 3.1.3-8, 3.1.3-9, 3.2.2-4, 3.2.2-5
@pytest.mark.parametrize(
    "sent", [connect("", clean=False), connect("x" * 257)], ids=["none, to be kept", "too long"]
)
async def test_an_identifier_that_cannot_be_is_refused_with_code_2(wires: Wires, sent: bytes) -> None:
    wire = await wires.open()
    wire.send(sent)
    assert await wire.next() == connack(2)
    assert await wire.ends()


# 3.1.4-2, 3.1.4-4, 4.1.0-2
@pytest.mark.parametrize("clean", [True, False])
async def test_a_client_takes_over_from_one_of_its_name_and_receives(wires: Wires, *, clean: bool) -> None:
    observer = await wires.subscribed("will", "observer")
    first = await wires.subscribed("a", "c", clean=clean, will=Will("will"))
    second = await wires.connected("c", clean=clean, present=not clean)
    assert await first.ends()
    assert body(await observer.message()) == ("will", b"gone")
    if clean:
        second.send(publish("a"))
        assert await second.received() == []
        second.send(subscribe("a"))
        assert await second.next() == suback(0)
    observer.send(publish("a", b"1"), PINGREQ)
    assert await observer.next() == PINGRESP
    assert [body(message) for message in await second.received()] == [("a", b"1")]


# 3.2.0-1, 3.1.4-4
async def test_the_first_packet_of_the_broker_is_connack_however_much_waits(wires: Wires) -> None:
    wire = await wires.subscribed("#", "c", clean=False, qos=1)
    wire.send(publish("a", qos=1, retain=True))
    assert {(await wire.next())[0] for _ in range(2)} == {0x32, 0x40}
    wire.vanish()
    wire = await wires.open()
    wire.send(connect("c", clean=False), subscribe("#"), PINGREQ)
    assert await wire.next() == connack(present=True)


# -- 3.3: PUBLISH -------------------------------------------------------------------------------------------


# 3.3.1-1, 2.3.1-3, 4.4.0-1, 4.6.0-1, 4.3.2-1, 4.3.3-1
async def test_what_was_not_acknowledged_is_sent_again_as_it_was(wires: Wires) -> None:
    wire = await wires.subscribed("#", "c", clean=False, qos=2)
    other = await wires.connected("other")
    for number in range(1, 7):
        other.send(publish(f"a/{number}", b"%d" % number, qos=1 + number % 2, packet_id=number))
        await other.next()
    sent = [await wire.message() for _ in range(6)]
    assert [(message.topic, message.again) for message in sent] == [
        (f"a/{number}", False) for number in range(1, 7)
    ]
    wire.send(ack(PUBACK, sent[1].packet_id))
    wire.send(ack(PUBREC, sent[4].packet_id), ack(PUBREC, sent[0].packet_id))
    assert await wire.next() == ack(PUBREL, sent[4].packet_id)
    assert await wire.next() == ack(PUBREL, sent[0].packet_id)
    wire.vanish()
    wire = await wires.connected("c", clean=False, present=True)
    received = [await wire.next() for _ in range(5)]
    releases = [data for data in received if data[0] == PUBREL]
    assert releases == [ack(PUBREL, sent[4].packet_id), ack(PUBREL, sent[0].packet_id)]
    again = [sent[index]._replace(again=True) for index in (2, 3, 5)]
    assert [data for data in received if data[0] != PUBREL] == [
        publish(message.topic, message.payload, message.qos, message.packet_id, again=True)
        for message in again
    ]
    wire.send(*(ack(PUBCOMP, sent[index].packet_id) for index in (4, 0)))
    wire.send(ack(PUBREC, sent[2].packet_id), ack(PUBACK, sent[3].packet_id), ack(PUBACK, sent[5].packet_id))
    assert await wire.next() == ack(PUBREL, sent[2].packet_id)
    wire.send(ack(PUBCOMP, sent[2].packet_id), PINGREQ)
    assert await wire.next() == PINGRESP
    wire.vanish()
    wire = await wires.connected("c", clean=False, present=True)
    assert await wire.received() == []


# 3.3.1-3
async def test_the_dup_flag_is_not_passed_on(wires: Wires) -> None:
    wire = await wires.subscribed("a", qos=2)
    wire.send(publish("a", qos=1, again=True), publish("a", qos=2, packet_id=2, again=True))
    received = [await wire.next() for _ in range(4)]
    assert [data[0] for data in received if data[0] >> 4 == 3] == [0x32, 0x34]


MATCHES = {
    "#": {"a", "/a", "a/b", "a/b/c", "b", "a/", "/", "a//c"},
    "a/#": {"a", "a/b", "a/b/c", "a/", "a//c"},
    "a/b/#": {"a/b", "a/b/c"},
    "+": {"a", "b"},
    "+/+": {"/a", "a/b", "a/", "/"},
    "/+": {"/a", "/"},
    "a/+": {"a/b", "a/"},
    "a/+/c": {"a/b/c", "a//c"},
    "+/b/#": {"a/b", "a/b/c"},
    "a//c": {"a//c"},
    "$x/#": {"$x", "$x/a", "$x/y"},
    "$x/+": {"$x/a", "$x/y"},
    "A": set(),
}
TOPICS = ["a", "/a", "a/b", "a/b/c", "b", "a/", "/", "a//c", "$x", "$x/a", "$x/y"]


# 3.3.2-3, 4.7.1-2, 4.7.1-3, 4.7.2-1
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("filter_", MATCHES)
async def test_a_subscriber_receives_what_matches_and_nothing_else(
    wires: Wires, filter_: str, *, retain: bool
) -> None:
    wire = await wires.connected()
    sent = [publish(topic, b"1", retain=retain) for topic in TOPICS]
    wire.send(*sent, subscribe(filter_)) if retain else wire.send(subscribe(filter_), *sent)
    assert await wire.next() == suback(0)
    assert sorted(message.topic for message in await wire.received()) == sorted(MATCHES[filter_])


# 3.3.5-1
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_overlapping_subscriptions_give_one_message_of_the_highest_qos(wires: Wires, qos: int) -> None:
    wire = await wires.connected()
    wire.send(packet(0x82, short(1) + text("a/#") + b"\0" + text("a/+") + b"\2" + text("a/b") + b"\1"))
    assert await wire.next() == suback(0, 2, 1)
    other = await wires.connected("other")
    other.send(publish("a/b", b"1", qos=qos), PINGREQ)
    while await other.next() != PINGRESP:
        pass
    assert [message[:3] for message in await wire.received()] == [("a/b", b"1", qos)]


# -- 3.8 to 3.14: SUBSCRIBE, UNSUBSCRIBE, DISCONNECT --------------------------------------------------------


# 3.8.4-3
async def test_a_second_subscription_to_a_filter_takes_the_place_of_the_first(wires: Wires) -> None:
    wire = await wires.connected()
    other = await wires.connected("other")
    other.send(publish("a", b"kept", qos=2, retain=True))
    assert await other.next() == ack(PUBREC, 1)
    for qos in (2, 0, 1):
        wire.send(subscribe("a", qos=qos))
        assert await wire.next() == suback(qos)
        assert (await wire.message())[:4] == ("a", b"kept", qos, True)
        other.send(publish("a", b"live", qos=2, packet_id=10 + qos))
        assert await other.next() == ack(PUBREC, 10 + qos)
        assert [message[:4] for message in await wire.received()] == [("a", b"live", qos, False)]
    wire.send(unsubscribe("a"))
    assert await wire.next() == ack(UNSUBACK, 1)
    other.send(publish("a", b"live"), PINGREQ)
    assert await other.next() == PINGRESP
    assert await wire.received() == []


# 3.8.4-4, 3.8.4-5, 3.9.3-1, 3.9.3-2
async def test_a_suback_has_a_code_for_each_filter_in_their_order(wires: Wires) -> None:
    wire = await wires.connected()
    asked = [("a", 2), ("b", 0), ("x" * 2000, 1), ("a", 1), ("c/#", 1)]
    wire.send(packet(0x82, short(9) + b"".join(text(one) + bytes([qos]) for one, qos in asked)))
    assert await wire.next() == suback(2, 0, 0x80, 1, 1, packet_id=9)
    other = await wires.connected("other")
    other.send(*(publish(topic, qos=1) for topic in ("a", "b", "c")))
    assert [await other.next() for _ in range(3)] == [ack(PUBACK, 1)] * 3
    assert [(message.topic, message.qos) for message in await wire.received()] == [
        ("a", 1),
        ("b", 0),
        ("c", 1),
    ]


# 3.10.4-1, 3.10.4-2, 3.10.4-6
async def test_unsubscribing_compares_filters_byte_by_byte(wires: Wires) -> None:
    wire = await wires.connected()
    wire.send(subscribe("a/+", "a/b", "c", "d"))
    assert await wire.next() == suback(0, 0, 0, 0)
    wire.send(unsubscribe("a/#", "+", "c", "C", "d/", "a/b", packet_id=3))
    assert await wire.next() == ack(UNSUBACK, 3)
    wire.send(*(publish(topic) for topic in ("a/b", "a/x", "c", "d")))
    assert [message.topic for message in await wire.received()] == ["a/b", "a/x", "d"]


# 3.10.4-3
async def test_what_was_begun_is_completed_after_unsubscribing(wires: Wires) -> None:
    wire = await wires.subscribed("a", "c", clean=False, qos=2)
    other = await wires.connected("other")
    other.send(publish("a", b"1", qos=2))
    assert await other.next() == ack(PUBREC, 1)
    sent = await wire.message()
    wire.send(unsubscribe("a", packet_id=2))
    assert await wire.next() == ack(UNSUBACK, 2)
    wire.vanish()
    wire = await wires.connected("c", clean=False, present=True)
    assert await wire.message() == sent._replace(again=True)
    wire.send(ack(PUBREC, sent.packet_id))
    assert await wire.next() == ack(PUBREL, sent.packet_id)


# 3.14.4-2
async def test_what_follows_a_disconnect_is_not_served(wires: Wires) -> None:
    observer = await wires.subscribed("#", "observer")
    wire = await wires.connected("c")
    wire.send(DISCONNECT, publish("a", b"1"))
    assert await wire.ends()
    assert await observer.received() == []


# -- 4: delivery --------------------------------------------------------------------------------------------


# 4.3.2-2
async def test_qos_1_by_one_identifier_is_a_new_message_after_its_acknowledgement(wires: Wires) -> None:
    observer = await wires.subscribed("a", "observer")
    wire = await wires.connected()
    for payload, again in ((b"1", False), (b"2", True), (b"3", False)):
        wire.send(publish("a", payload, qos=1, packet_id=5, again=again))
        assert await wire.next() == ack(PUBACK, 5)
    assert [message.payload for message in await observer.received()] == [b"1", b"2", b"3"]


# 4.3.3-2
async def test_qos_2_is_delivered_once_until_it_is_released(wires: Wires) -> None:
    observer = await wires.subscribed("a", "observer")
    wire = await wires.connected()
    for payload, again in ((b"1", False), (b"1", True), (b"1", False)):
        wire.send(publish("a", payload, qos=2, packet_id=5, again=again))
        assert await wire.next() == ack(PUBREC, 5)
    for _ in range(2):
        wire.send(ack(PUBREL, 5))
        assert await wire.next() == ack(PUBCOMP, 5)
    wire.send(publish("a", b"2", qos=2, packet_id=5))
    assert await wire.next() == ack(PUBREC, 5)
    assert [message.payload for message in await observer.received()] == [b"1", b"2"]


# 4.8.0-1
@pytest.mark.parametrize(("qos", "answer"), [(1, PUBREC), (1, PUBCOMP), (2, PUBACK)])
async def test_an_acknowledgement_of_another_qos_closes(wires: Wires, qos: int, answer: int) -> None:
    wire = await wires.connected("c")
    other = await wires.connected("other")
    wire.send(subscribe("a", qos=2))
    assert await wire.next() == suback(2)
    other.send(publish("a", b"1", qos=qos))
    await other.next()
    wire.send(ack(answer, (await wire.message()).packet_id))
    assert await wire.ends()


# 4.6.0-2, 4.6.0-3, 4.6.0-4, 4.6.0-5, 4.6.0-6
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_messages_and_acknowledgements_keep_their_order(wires: Wires, qos: int) -> None:
    observer = await wires.subscribed("a", "observer", qos=2)
    wire = await wires.connected()
    numbers = list(range(1, 301))
    wire.send(*(publish("a", b"%d" % number, qos=qos, packet_id=number) for number in numbers))
    if qos:
        answer = PUBACK if qos == 1 else PUBREC
        assert [await wire.next() for _ in numbers] == [ack(answer, number) for number in numbers]
    payloads: list[int] = []
    while len(payloads) < len(numbers):
        received = await observer.next()
        if received[0] == PUBREL:
            observer.send(ack(PUBCOMP, int.from_bytes(received[2:4])))
            continue
        message = published(received)
        payloads.append(int(message.payload))
        if qos:
            observer.send(ack(PUBACK if qos == 1 else PUBREC, message.packet_id))
    assert payloads == numbers


# 4.7.3-3
async def test_a_topic_of_65535_bytes_is_read_whole_and_refused_as_too_long(wires: Wires) -> None:
    wire = await wires.connected()
    wire.send(subscribe("x" * 65535), PINGREQ)
    assert await wire.next() == suback(0x80)
    assert await wire.next() == PINGRESP


# 7.0.0-2, 7.1.1-1
async def test_packets_may_come_byte_by_byte_and_many_at_a_time(wires: Wires) -> None:
    wire = await wires.open()
    sent = connect() + subscribe("a", qos=1) + publish("a", b"1") + PINGREQ
    for byte in sent:
        wire.send(bytes([byte]))
        await asyncio.sleep(0)
    assert await wire.next() == connack()
    assert await wire.next() == suback(1)
    assert [body(message) for message in await wire.until(PINGRESP)] == [("a", b"1")]
    wire.send(*(publish("a", b"%d" % number) for number in range(5000)))
    assert [int(message.payload) for message in await wire.received()] == list(range(5000))
