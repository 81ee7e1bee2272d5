"""What the daemon relies on at a broker: one suite for real brokers and for those that stand in for them.

A test module has a class of its own that inherits it; which brokers it meets follows from where that stands.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.mqtt.client import MqttConnection, speaks_5, try_to_subscribe
from motiond.daemon.mqtt.client.packet_limit import PacketLimit
from motiond.daemon.mqtt.client.reasons import ANOTHER_OF_OUR_NAME, GONE, NotConnected, reason_of
from tests.daemon import answers
from tests.daemon.conftest import (
    Robots,
    WatchedBridge,
    by_access_list,
    data_of,
    is_connected,
    is_lost,
    listening,
    reconfigured,
    running,
)
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.conftest import AnyBroker, Mosquitto
    from tests.daemon.mqtt.stand_in import StandIn

    Configurable = StandIn | Mosquitto


class Received(NamedTuple):
    topic: str
    payload: bytes
    qos: int
    retain: bool


class Listener:
    """A client, and what it has received."""

    def __init__(self, client: MqttConnection) -> None:
        self.client = client
        self._marks = 0

    async def received(self) -> list[Received]:
        """Return what the broker has sent since the last time, up to a mark that is published now."""
        self._marks += 1
        mark = f"mark/{self._marks}"
        await self.client.subscribe(mark, qos=1)
        await self.client.publish(mark, b"", qos=1)
        messages: list[Received] = []
        async with asyncio.timeout(PATIENCE_S):
            async for message in self.client.messages:
                if message.topic.value == mark:
                    break
                assert isinstance(message.payload, bytes)
                messages.append(Received(message.topic.value, message.payload, message.qos, message.retain))
        return messages


@asynccontextmanager
async def client_of(broker: AnyBroker, name: str | None = None, **options: Any) -> AsyncIterator[Listener]:
    async with MqttConnection(broker.settings, name, **options) as client:
        yield Listener(client)


async def is_broken(client: MqttConnection) -> BaseException:
    """Wait until a connection has broken, and return how."""
    ended = asyncio.create_task(client.broken())
    await asyncio.wait((ended,), timeout=PATIENCE_S)
    assert ended.done()
    error = ended.exception()
    assert isinstance(error, aiomqtt.MqttError)
    return error


class BrokerContract:
    """At every broker."""

    async def test_what_is_retained_is_sent_to_new_subscribers_until_it_is_cleared(
        self, broker: AnyBroker
    ) -> None:
        async with client_of(broker) as daemon, client_of(broker) as early:
            await early.client.subscribe("a/#", qos=1)
            for topic, payload, retain in (("a/b", b"1", True), ("a/c", b"2", True), ("a/d", b"3", False)):
                await daemon.client.publish(topic, payload, 1, retain)
            await daemon.client.publish("a/b", b"4", 0, retain=True)
            await daemon.client.publish("a/b", b"5", 1)
            await daemon.client.publish("a/c", b"", 1, retain=True)
            assert await early.received() == [
                Received("a/b", b"1", 1, retain=False),
                Received("a/c", b"2", 1, retain=False),
                Received("a/d", b"3", 1, retain=False),
                Received("a/b", b"4", 0, retain=False),
                Received("a/b", b"5", 1, retain=False),
                Received("a/c", b"", 1, retain=False),
            ]
            async with client_of(broker) as late:
                await late.client.subscribe("a/+", qos=1)
                assert await late.received() == [Received("a/b", b"4", 0, retain=True)]

    async def test_the_quality_of_service_is_the_lower_one_of_message_and_subscription(
        self, broker: AnyBroker
    ) -> None:
        async with client_of(broker) as publisher, client_of(broker) as listener:
            await listener.client.subscribe([(f"{qos}/#", qos) for qos in range(3)])
            for subscribed in range(3):
                for published in range(3):
                    await publisher.client.publish(f"{subscribed}/{published}", b"x", published)
            by_topic = {message.topic: message.qos for message in await listener.received()}
        assert by_topic == {f"{qos}/{other}": min(qos, other) for qos in range(3) for other in range(3)}

    async def test_a_will_is_published_when_the_connection_breaks_and_is_taken_over_and_no_other_time(
        self, broker: AnyBroker
    ) -> None:
        will = aiomqtt.Will("will", b"gone", 1, retain=True)
        async with client_of(broker) as witness:
            await witness.client.subscribe("will", qos=1)
            async with client_of(broker, "c", will=will):
                pass
            assert await witness.received() == []
            async with client_of(broker, "c", will=will) as broken:
                broken.client.break_off()
                await is_broken(broken.client)
            async with asyncio.timeout(PATIENCE_S):
                assert (await anext(witness.client.messages)).payload == b"gone"
            async with client_of(broker, "c", will=will) as first, client_of(broker, "c"):
                async with asyncio.timeout(PATIENCE_S):
                    assert (await anext(witness.client.messages)).payload == b"gone"
                reason = reason_of(await is_broken(first.client))
        assert reason == GONE or (reason == ANOTHER_OF_OUR_NAME and speaks_5(broker.settings))

    async def test_a_session_is_resumed_with_what_came_meanwhile_and_one_that_begins_clean_is_not(
        self, broker: AnyBroker
    ) -> None:
        client = MqttConnection(broker.settings, "c", session_s=60)
        async with client_of(broker) as other:
            async with client:
                await client.subscribe("a", qos=1)
            await other.client.publish("a", b"kept", 1)
            await other.client.publish("a", b"lost", 0)
            async with client:
                kept = [message.payload for message in await Listener(client).received()]
                assert kept[:1] == [b"kept"]  # QoS 0 may be kept, too
                await other.client.publish("a", b"next", 1)
                assert [message.payload for message in await Listener(client).received()] == [b"next"]
            await other.client.publish("a", b"old", 1)
            async with client_of(broker, "c") as clean:
                await other.client.publish("a", b"new", 1)
                assert await clean.received() == []

    async def test_the_daemon_is_served_and_is_back_after_the_broker_was_killed(
        self, broker: AnyBroker, robots: Robots, hub: ReportHub
    ) -> None:
        bridge = WatchedBridge(broker.settings, robots, hub)
        async with running(bridge):
            for number in range(2):
                async with listening(broker.settings) as observer:
                    assert data_of(await observer.until("motiond/arm/state")) == answers.state()
                    for verb in ("status", "stop"):
                        answer = await observer.ask(f"motiond/arm/request/{verb}", b"{}")
                        assert answer["status"] == "ok"
                    hub.publish(Report("arm", "result", answers.result(f"g{number}")))
                    assert data_of(await observer.until("motiond/arm/result")) == answers.result(f"g{number}")
                bridge.lost.clear()
                await broker.kill()
                await is_lost(bridge)
                await broker.start()
                await is_connected(bridge)
        async with listening(broker.settings) as observer:
            offline = {"state": "offline"}
            assert offline.items() <= data_of(await observer.until("motiond/bridge/d1/availability")).items()
        assert robots.verbs() == ["status", "stop"] * 2


class Limit(NamedTuple):
    """A line of a configuration, and what it means to a client.

    Attributes
    ----------
    states : dict
        What MQTT 5 states of it.
    breaks : set of str
        In which versions what is too much ends the connection; otherwise it is dropped in silence.
    """

    line: str
    states: dict[str, float]
    payload: bytes = b"x"
    qos: int = 1
    retain: bool = False
    breaks: frozenset[str] = frozenset({"5", "3.1.1"})


LIMITS = {
    "packets": Limit("max_packet_size 1000", {"most_bytes": 1000}, payload=bytes(2000)),
    "payloads": Limit("message_size_limit 1000", {}, payload=bytes(2000), breaks=frozenset({"5"})),
    "quality of service": Limit("max_qos 1", {"most_qos": 1}, qos=2),
    "retained": Limit("retain_available false", {}, retain=True),
    "in flight": Limit("max_inflight_messages 3", {"in_flight": 3}, breaks=frozenset()),
}


class ConfigurableBrokerContract(BrokerContract):
    """At a broker that can be configured and frozen, as mosquitto."""

    async def test_each_limit_is_stated_in_mqtt_5_and_what_exceeds_it_ends_the_connection_or_is_dropped(
        self, mosquitto_of_any_version: Configurable
    ) -> None:
        broker = mosquitto_of_any_version
        is_5 = speaks_5(broker.settings)
        for name, limit in LIMITS.items():
            await reconfigured(broker, "allow_anonymous true", limit.line)
            stated = PacketLimit()
            async with MqttConnection(broker.settings, limit=stated) as client:
                client.logs_refusals = False
                seen = {
                    "most_bytes": stated.most_bytes,
                    "most_qos": client._most_qos,
                    "in_flight": client._most_sent,
                }
                unlimited = {"most_bytes": float("inf"), "most_qos": 2, "in_flight": 20}
                assert seen == (unlimited | limit.states if is_5 else seen | {"most_qos": 2}), name
                await client.subscribe("a", qos=1)
                if broker.settings.protocol in limit.breaks:
                    client._paho.publish("a", limit.payload, limit.qos, limit.retain)
                    await is_broken(client)
                else:
                    await client.publish("a", limit.payload, limit.qos)
                    came = [message.payload for message in await Listener(client).received()]
                    assert came == [limit.payload] * (not limit.breaks), name

    async def test_who_may_not_log_in_read_or_write_is_refused_by_mqtt_5_and_ignored_by_mqtt_3(
        self, mosquitto_of_any_version: Configurable, tmp_path: Path
    ) -> None:
        broker = mosquitto_of_any_version
        await reconfigured(broker, "allow_anonymous false")
        for login, reason in (({}, "asks for a login"), ({"username": "arm"}, "refuses the login")):
            with pytest.raises(NotConnected, match=f"the broker {reason}"):
                await MqttConnection(broker.settings.model_copy(update=login)).__aenter__()
        await by_access_list(
            broker, tmp_path, "mark/#", "read see/#", "write say/#", "both/#", "deny both/secret"
        )
        topics = ("see/a", "say/a", "both/a", "both/secret", "other")
        async with client_of(broker) as listener:
            listener.client.logs_refusals = False
            assert await try_to_subscribe(listener.client, topics) == []
            for topic in topics:
                await listener.client.publish(topic, b"x", 1)
            assert [message.topic for message in await listener.received()] == ["both/a"]
            refused = {"see/a", "both/secret", "other"}
            assert listener.client.refused == (refused if speaks_5(broker.settings) else set())

    async def test_a_broker_that_hangs_keeps_its_connections_and_one_that_ends_keeps_what_is_persistent(
        self, mosquitto_of_any_version: Configurable, tmp_path: Path
    ) -> None:
        broker = mosquitto_of_any_version
        keeps = ("allow_anonymous true", "persistence true", f"persistence_location {tmp_path}/")
        await reconfigured(broker, *keeps)
        async with client_of(broker) as witness:
            await witness.client.subscribe("will", qos=1)
            will = aiomqtt.Will("will", b"gone", 1, retain=True)
            async with client_of(broker, "c", will=will) as client:
                broker.freeze()
                with pytest.raises(aiomqtt.MqttError, match="Operation timed out"):
                    await client.client.publish("a", b"held", 1, retain=True, timeout=0.2)
                broker.thaw()
                await client.client.publish("a", b"kept", 1, retain=True)
                await broker.end()
                await is_broken(client.client)
            await is_broken(witness.client)
        await broker.start()
        async with client_of(broker) as late:
            await late.client.subscribe("#", qos=1)
            kept = [message for message in await late.received() if message.retain]
            assert sorted(kept) == [
                Received("a", b"kept", 1, retain=True),
                Received("will", b"gone", 1, retain=True),
            ]
        await broker.kill()
        await broker.start()

    async def test_in_mqtt_5_properties_and_the_retain_flag_go_along(self, mosquitto: Configurable) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
        properties.ResponseTopic, properties.CorrelationData = "answers", b"\x01\x02"
        properties.MessageExpiryInterval = 60
        async with client_of(mosquitto) as listener:
            assert await try_to_subscribe(listener.client, ["a"]) == []
            await listener.client.publish("a", b"x", 1, retain=True, properties=properties)
            async with asyncio.timeout(PATIENCE_S):
                message = await anext(listener.client.messages)
        assert (message.payload, message.retain) == (b"x", True)
        came: Any = message.properties
        assert (came.ResponseTopic, came.CorrelationData) == ("answers", b"\x01\x02")
        assert 50 <= came.MessageExpiryInterval <= 60
