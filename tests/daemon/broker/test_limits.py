"""Everything that the embedded broker keeps has a bound, and each bound has its test here."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.broker import EmbeddedBroker, Limits
from tests.daemon.broker.conftest import Wires
from tests.daemon.broker.wire import (
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Published,
    Will,
    Wire,
    ack,
    connack,
    connect,
    packet,
    publish,
    suback,
    subscribe,
)
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "mqtt.md"


class Limited(Wires):
    """Clients of a broker with bounds of the test's own."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        super().__init__(broker.port)
        self.broker = broker

    @property
    def held(self) -> int:
        """What waits or is under way to all clients, in bytes."""
        return self.broker._router.memory.held

    @property
    def incoming(self) -> int:
        """What has come in part, of all clients, in bytes."""
        return self.broker._registry._incoming


@asynccontextmanager
async def limited(**limits: float) -> AsyncIterator[Limited]:
    async with EmbeddedBroker("127.0.0.1:0", limits=Limits(**limits)) as broker:  # type: ignore[arg-type]
        wires = Limited(broker)
        yield wires
        await wires.close()


async def publishes(wire: Wire, *packets: bytes) -> None:
    """Publish, and wait until the broker has taken all."""
    wire.send(*packets, PINGREQ)
    while (received := await wire.next()) != PINGRESP:
        assert received


def of(wire: Wire) -> str:
    """Name a connection as the broker's log does."""
    return "127.0.0.1:{}".format(wire.writer.get_extra_info("sockname")[1])


def test_the_page_has_a_row_for_each_bound_with_its_value() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    bounds = dataclasses.asdict(Limits())
    assert {name: rows.get(name) for name in bounds} == {name: shown(name, bounds[name]) for name in bounds}


def shown(name: str, value: float) -> str:
    """Spell a bound as the page does."""
    if name.endswith("_s"):
        return "24 h" if value == 86_400 else f"{value:g} s"
    if name.endswith("_bytes"):
        return f"{value / 1024**2:g} MiB" if value >= 1024**2 else f"{value / 1024:g} KiB"
    return f"{value:,}"


# -- connections --------------------------------------------------------------------------------------------


async def test_one_client_too_many_is_refused_until_another_has_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with limited(clients=2) as wires:
        first, _ = await wires.connected("a"), await wires.connected("b")
        wire = await wires.open()
        wire.send(connect("c"))
        assert await wire.next() == connack(3)
        assert await wire.ends()
        assert caplog.messages == [
            f"client 'c' at {of(wire)}: refused with code 3; 2 are connected; end some of them"
        ]
        await wires.connected("b")
        first.send(DISCONNECT)
        assert await first.ends()
        await wires.connected("c")


async def test_of_too_many_that_do_not_connect_the_oldest_goes(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(waiting=3) as wires:
        silent = [await wires.open() for _ in range(4)]
        assert await silent[0].ends()
        assert caplog.messages == [
            f"client at {of(silent[0])}: disconnected; 3 others have not sent a CONNECT; let it send one"
        ]
        for wire in silent[1:]:
            wire.send(connect(f"c{of(wire)}"))
            assert await wire.next() == connack()


async def test_who_sends_no_connect_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(connect_s=0.2) as wires:
        wire = await wires.open()
        wire.send(connect()[:-1])
        assert await wire.ends()
        assert caplog.messages == [
            f"client at {of(wire)}: disconnected; no CONNECT in 0.2 s; let it send one"
        ]


# -- packets ------------------------------------------------------------------------------------------------


async def test_a_message_of_16_mib_goes_through_and_a_longer_one_is_not_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    most = Limits().packet_bytes
    async with limited() as wires:
        observer = await wires.subscribed("a", "observer")
        wire = await wires.connected()
        wire.send(publish("a", bytes(most - 3)))
        assert len((await observer.message()).payload) == most - 3
        wire.send(publish("a", bytes(most - 2))[:100])
        assert await wire.ends()
        sizes = f"a packet of {most + 1} bytes; {most} are the most"
        assert caplog.messages == [
            f"client 'c' at {of(wire)}: disconnected; it sent {sizes}; correct the client"
        ]


@pytest.mark.parametrize(
    "sent", [packet(0x82, bytes(200_000)), packet(0x10, bytes(200_000)), publish("a", bytes(200_000))]
)
async def test_other_packets_and_those_before_connect_have_a_lower_bound(sent: bytes) -> None:
    async with limited(control_bytes=100_000) as wires:
        wire = await wires.connected() if sent[0] == 0x82 else await wires.open()
        wire.send(sent[:10])
        assert await wire.ends()


async def test_of_packets_that_do_not_come_whole_the_longest_ends(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(incoming_bytes=1_000_000) as wires:
        small, large = await wires.connected("small"), await wires.connected("large")
        small.send(publish("a", bytes(400_000))[:-1])
        large.send(publish("a", bytes(900_000))[:-1])
        assert await large.ends()
        assert re.search(
            r"client 'large' at .*: disconnected; \d+ bytes of a packet are too many beside others'; "
            "send less at a time",
            caplog.text,
        )
        small.send(b"\0" + PINGREQ)
        assert await small.next() == PINGRESP


# -- topics and subscriptions -------------------------------------------------------------------------------


async def test_topics_have_a_longest_and_a_deepest(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(topic_bytes=10, topic_levels=3) as wires:
        wire = await wires.connected()
        wire.send(subscribe("x" * 10, "x" * 11, "a/b/c", "+/+/#", "+/+/+/#", "éééééé"))
        assert await wire.next() == suback(0, 0x80, 0, 0, 0x80, 0x80)
        assert caplog.messages[0] == (
            "client 'c': the subscription to 'xxxxxxxxxxx' is refused; "
            "a filter has at most 10 bytes and 3 levels; shorten it"
        )
        for topic in ("x" * 10, "a/b/c"):
            wire.send(publish(topic))
            assert (await wire.message()).topic == topic
        for topic, reason in (
            ("x" * 11, "a topic of more than 10 bytes"),
            ("éééééé", "a topic of more than 10 bytes"),
            ("a/b/c/d", "a topic of more than 3 levels"),
        ):
            for sent in (connect() + publish(topic), connect(will=Will(topic))):
                wire = await wires.open()
                wire.send(sent)
                while await wire.next():
                    pass
                assert f"at {of(wire)}: disconnected; it sent {reason}; correct the client" in caplog.text


async def test_a_client_and_all_clients_have_so_many_subscriptions(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(subscriptions=2, subscriptions_in_all=3) as wires:
        wire, other = await wires.connected("c"), await wires.connected("other")
        wire.send(subscribe("a", "b", "c", "a"))
        assert await wire.next() == suback(0, 0, 0x80, 0)
        other.send(subscribe("a", "b"))
        assert await other.next() == suback(0, 0x80)
        assert caplog.messages == [
            "client 'c': the subscription to 'c' is refused; a client has at most 2; use wildcards",
            "client 'other': the subscription to 'b' is refused; there are 3 of all clients; use wildcards",
        ]
        wire.send(DISCONNECT)
        assert await wire.ends()
        other.send(subscribe("b"))
        assert await other.next() == suback(0)


# -- retained messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"retained": 2}, {"retained_bytes": 3 * 400}])
async def test_so_many_messages_are_retained(
    limits: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    async with limited(**limits) as wires:
        observer = await wires.subscribed("#", "observer")
        wire = await wires.connected()
        await publishes(wire, *(publish(topic, bytes(200), retain=True) for topic in "abcb"))
        assert [message.topic for message in await observer.received()] == list("abcb")
        observer.send(subscribe("#"))
        assert await observer.next() == suback(0)
        assert sorted(message.topic for message in await observer.received()) == ["a", "b"]
        assert re.fullmatch(
            r"client 'c': the message on 'c' is not retained; the broker keeps \d+, in \d+ bytes; "
            "clear what is not needed",
            caplog.messages[0],
        )
        await publishes(wire, publish("a", retain=True), publish("c", b"1", retain=True))
        await observer.received()
        observer.send(subscribe("c"))
        assert await observer.next() == suback(0)
        assert [message[:4] for message in await observer.received()] == [("c", b"1", 0, True)]


# -- what waits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"in_flight": 3}, {"in_flight_bytes": 1000}])
async def test_so_many_messages_are_sent_without_an_acknowledgement(limits: dict[str, int]) -> None:
    async with limited(**limits) as wires:
        observer = await wires.subscribed("a", "observer", qos=1)
        wire = await wires.connected()
        await publishes(wire, *(publish("a", b"%03d" % number * 40, 1, 1 + number) for number in range(10)))
        sent = await observer.received()
        assert [int(message.payload[:3]) for message in sent] == [0, 1, 2]
        payloads = []
        while sent:
            message = sent.pop(0)
            payloads.append(int(message.payload[:3]))
            observer.send(ack(PUBACK, message.packet_id))
            sent += await observer.received()
        assert payloads == list(range(10))


async def test_qos_0_goes_on_while_the_window_is_full() -> None:
    async with limited(in_flight=1) as wires:
        observer = await wires.subscribed("a", "observer", qos=1)
        wire = await wires.connected()
        await publishes(wire, publish("a", b"1", 1), publish("a", b"2", 1, 2), publish("a", b"3"))
        assert [message.payload for message in await observer.received()] == [b"1", b"3"]


async def gone(wires: Wires, filter_: str) -> None:
    """Leave a session behind."""
    wire = await wires.connected("away", clean=False)
    wire.send(subscribe(filter_, qos=1), DISCONNECT)
    assert await wire.next() == suback(1)
    assert await wire.ends()


@pytest.mark.parametrize("limits", [{"queued": 3}, {"queued_bytes": 1800, "in_flight": 64}])
async def test_so_many_messages_wait_for_a_client(
    limits: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    async with limited(**limits) as wires:
        await gone(wires, "a")
        wire = await wires.connected()
        await publishes(wire, *(publish("a", b"%03d" % number * 90, 1, 1 + number) for number in range(6)))
        assert caplog.messages[0] == (
            "client 'away': messages are lost, 1 up to now; more wait for it than are kept; "
            "let it read faster"
        )
        wire = await wires.connected("away", clean=False, present=True)
        assert [int(message.payload[:3]) for message in await wire.received()] == [0, 1, 2]


async def test_where_too_much_waits_it_is_the_flood_that_is_dropped() -> None:
    async with limited(queued=100) as wires:
        await gone(wires, "a")
        flood, wire = await wires.connected("flood"), await wires.connected()
        await publishes(flood, *(publish("a", b"flood", 1, 1 + number) for number in range(300)))
        await publishes(wire, publish("a", b"stop", 1))
        wire = await wires.connected("away", clean=False, present=True)
        payloads = []
        while (payload := (await wire.message()).payload) != b"stop":
            payloads.append(payload)
        assert len(payloads) <= 1


LARGE = bytes(10_000)


async def stuck(wires: Wires, *filters: str, qos: int = 0, **options: Any) -> Wire:
    """Connect a client that subscribes and then reads nothing, and send it more than the system holds."""
    observer = await wires.connected("stuck", reads_little=True, **options)
    observer.send(subscribe(*filters, "fill", qos=qos))
    assert (await observer.next())[0] == 0x90
    wire = await wires.connected("filler")
    await publishes(wire, *[publish("fill", LARGE)] * 40)
    return observer


async def all_of(wire: Wire) -> list[Published]:
    """Give all messages that wait for a client; an answer to PINGREQ overtakes them."""
    messages = []
    while came := await wire.received():
        messages += came
    return messages


async def test_qos_0_is_dropped_first() -> None:
    async with limited(queued=50) as wires:
        observer = await stuck(wires, "a", qos=1)
        one, two = await wires.connected("one"), await wires.connected("two")
        await publishes(one, *[publish("a", b"0")] * 200)
        await publishes(two, *(publish("a", b"1", 1, 1 + number) for number in range(50)))
        messages = [message.payload for message in await all_of(observer) if message.topic == "a"]
        assert messages == [b"1"] * 50


async def test_who_does_not_read_holds_up_nobody_and_costs_bounded_memory() -> None:
    async with limited(queued_bytes=300_000) as wires:
        await stuck(wires, "#")
        observer = await wires.subscribed("a", "observer")
        wire = await wires.connected()
        for number in range(300):
            wire.send(publish("a", b"%03d" % number + LARGE))
            assert int((await observer.message()).payload[:3]) == number
            assert wires.held < 300_000 + 3 * 65_536


async def test_who_reads_nothing_for_long_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(stalled_s=0.3) as wires:
        observer = await wires.subscribed("will", "observer")
        await stuck(wires, "a", will=Will("will"))
        assert (await observer.message()).topic == "will"
        assert "disconnected; it has read nothing for 0.3 s; let it read" in caplog.text
        await eventually(lambda: wires.held == 0)


async def test_who_reads_slowly_stays() -> None:
    async with limited(stalled_s=6.0) as wires:
        observer = await stuck(wires, "a")
        for _ in range(28):  # longer than it may read nothing, and each time far less
            await asyncio.sleep(0.25)
            assert (await observer.message()).topic == "fill"


async def test_all_that_waits_has_a_bound_and_each_client_a_share_of_its_own() -> None:
    async with limited(held_bytes=1_000_000) as wires:
        for number in range(20):
            wire = await wires.connected(f"away {number}", clean=False)
            wire.send(subscribe(f"a/{number}", "stop", qos=1), DISCONNECT)
            assert await wire.next() == suback(1, 1)
            assert await wire.ends()
        wire = await wires.connected()
        for number in range(20):
            sent = [publish(f"a/{number}", 9 * LARGE, 1, 1 + count) for count in range(3)]
            await publishes(wire, *sent)
        assert wires.held < 1_000_000
        await publishes(wire, publish("stop", b"now", 1))
        for number in range(20):
            wire = await wires.connected(f"away {number}", clean=False, present=True)
            assert "stop" in [message.topic for message in await wire.received()]


async def test_answers_that_nobody_reads_stop_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(stalled_s=PATIENCE_S) as wires:
        wire = await wires.connected("c", reads_little=True)
        wire.send(PINGREQ * 2_000_000)
        (connection,) = wires.broker._registry.connections
        # What the system yet takes of the answers may let it read a little more, which changes nothing below.
        await eventually(lambda: connection._is_choked and not connection._reads)
        assert wires.held < 300_000
        other = await wires.connected("other")
        other.send(PINGREQ)
        assert await other.next() == PINGRESP
        wire.vanish()
    assert caplog.text == ""


async def test_messages_of_qos_2_that_are_not_released_have_a_bound(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with limited(unreleased=2) as wires:
        wire = await wires.connected()
        wire.send(*(publish("a", b"", 2, number) for number in (1, 2, 2)))
        assert [await wire.next() for _ in range(3)] == [ack(PUBREC, number) for number in (1, 2, 2)]
        wire.send(ack(PUBREL, 1), publish("a", b"", 2, 3))
        assert (await wire.next(), await wire.next()) == (ack(PUBCOMP, 1), ack(PUBREC, 3))
        wire.send(publish("a", b"", 2, 4))
        assert await wire.ends()
        reason = "more than 2 messages of QoS 2 without a PUBREL"
        assert caplog.messages == [
            f"client 'c' at {of(wire)}: disconnected; it sent {reason}; correct the client"
        ]


# -- sessions -----------------------------------------------------------------------------------------------


async def test_sessions_of_so_many_absent_clients_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(sessions=2) as wires:
        for client_id in ("a", "b", "c"):
            wire = await wires.connected(client_id, clean=False)
            wire.send(subscribe("x", qos=1), publish("x", LARGE, 1), DISCONNECT)
            while await wire.next():
                pass
        assert caplog.messages == [
            "client 'a': its session is forgotten; 2 of absent clients are kept; use clean sessions"
        ]
        for client_id, present in (("b", True), ("c", True), ("a", False)):
            await wires.connected(client_id, clean=False, present=present)


async def test_sessions_of_absent_clients_are_kept_for_so_long() -> None:
    async with limited(session_s=2.0) as wires:
        stays = await wires.connected("stays", clean=False)
        away = await wires.subscribed("a", "away", clean=False, qos=1)
        await publishes(await wires.connected(), publish("a", LARGE, 1))
        away.vanish()  # without an acknowledgement, so that the message waits for it
        assert wires.held > 0
        await eventually(lambda: wires.held == 0)
        await wires.connected("away", clean=False)
        stays.vanish()
        await wires.connected("stays", clean=False, present=True)


async def test_the_last_bytes_may_take_so_long(caplog: pytest.LogCaptureFixture) -> None:
    async with limited(close_s=0.3) as wires:
        observer = await stuck(wires, "a")
        observer.send(publish("a/#"))
        await eventually(lambda: not wires.broker._registry.connections[1:])
        assert len(caplog.messages) == 1


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 # it is the broker that changes, not the test
            await asyncio.sleep(0.01)


async def test_what_came_in_part_of_a_client_that_has_gone_counts_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with limited(incoming_bytes=1_000_000) as wires:
        for _ in range(5):
            gone = await wires.connected("gone")
            gone.send(publish("a", bytes(400_000))[:-1])
            await eventually(lambda: wires.incoming > 0)
            gone.vanish()
            await eventually(lambda: len(wires.broker._registry.connections) == 0)
        wire = await wires.connected("c")
        wire.send(PINGREQ)
        assert await wire.next() == PINGRESP
    assert caplog.messages == []
