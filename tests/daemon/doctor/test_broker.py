"""What is said of brokers: whether a message comes back from them, and how soon."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.broker import EmbeddedBroker
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.doctor.broker import _judged, check_brokers
from motiond.daemon.doctor.report import Check, Verdict
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.link import Link
from tests.virtual import NETWORK

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

    from tests.daemon.link import Way

LOST = "robots play nothing that is asked for over MQTT, and nobody sees what they do"


class LongLine(Link):
    """A network on which everything takes its time."""

    def __init__(self, port: int, there_s: float, back_s: float) -> None:
        super().__init__(port)
        self.takes_s: dict[Way, float] = {"to broker": there_s, "from broker": back_s}

    async def _pass(self, data: bytes, sink: socket.socket, way: Way) -> bool:
        await asyncio.sleep(self.takes_s[way])
        return await super()._pass(data, sink, way)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A broker's."""
    port = NETWORK.free_port()
    async with EmbeddedBroker(f"127.0.0.1:{port}"):
        yield port


def at(*ports: int) -> MqttSettings:
    urls = [f"mqtt://127.0.0.1:{port}" for port in ports]
    return MqttSettings(broker=urls if len(urls) > 1 else urls[0], protocol="3.1.1")


SLOW = "end what is busy on this machine"


@pytest.mark.parametrize(
    ("there_s", "back_s", "messages", "verdict", "hint"),
    [
        (0.0, 0.0, 200, Verdict.OK, None),
        (0.006, 0.013, 106, Verdict.OK, None),
        (0.006, 0.015, 96, Verdict.WARNING, SLOW),
        (1.0, 0.9, 2, Verdict.WARNING, SLOW),
    ],
)
async def test_messages_that_come_back_are_timed(  # noqa: PLR0917 - a table
    port: int, there_s: float, back_s: float, messages: int, verdict: Verdict, hint: str | None
) -> None:
    line = LongLine(port, there_s, back_s)
    await line.repair()
    (found,) = await check_brokers(at(line.port), "bench")
    await line.cut()
    took_ms = 1e3 * (there_s + back_s)
    assert (found.verdict, found.subject, found.hint) == (verdict, f"mqtt://127.0.0.1:{line.port}", hint)
    assert found.found == f"there and back in ms p50 {took_ms:.3g}, p99 {took_ms:.3g}"
    assert found.means == "a request, a stop too, takes half of that to the daemon"
    assert found.figures == pytest.approx(
        {
            "connect_s": there_s + back_s,
            "round_trip_p50_s": there_s + back_s,
            "round_trip_p99_s": there_s + back_s,
            "messages": messages,
        }
    )


async def test_messages_that_do_not_come_back_in_time_are_a_failure(port: int) -> None:
    line = LongLine(port, 1.0, 1.5)
    await line.repair()
    (found,) = await check_brokers(at(line.port), "bench")
    await line.cut()
    topic = found.found.split("'")[1]
    assert topic.startswith("motiond/bridge/bench/doctor/")
    assert found == Check(
        check="broker",
        subject=f"mqtt://127.0.0.1:{line.port}",
        verdict=Verdict.FAILURE,
        found=f"message 1 on '{topic}' has not come back in 2 s",
        means="a daemon with this login takes no requests, and counts the broker as lost",
        hint="permit it in the broker's access list (docs/security.md), or use the daemon's login",
    )


async def test_a_broker_that_falls_silent_is_another_failure_than_one_that_refuses(port: int) -> None:
    line = LongLine(port, 0.1, 0.1)
    await line.repair()
    asking = asyncio.create_task(check_brokers(at(line.port), "bench"))
    await asyncio.sleep(1.5)
    line.takes_s["from broker"] = 10.0
    (found,) = await asking
    await line.cut()
    assert "message 1 on" not in found.found
    assert found.hint == "look at the broker's log, and at the network"


async def test_a_slow_broker_elsewhere_is_to_be_nearer() -> None:
    slow = _judged("mqtt://10.0.0.1:1883", 0.1, [0.1])
    assert slow.hint == "use a broker on this machine or a wired network"


async def test_nothing_is_left_at_the_broker(port: int) -> None:
    await check_brokers(at(port), "bench")
    async with MqttConnection(at(port)) as client:
        await client.subscribe("#")
        await client.publish("end", b"")
        assert str((await anext(client.messages)).topic) == "end"


async def test_a_broker_that_is_not_there_fails(free_port: int) -> None:
    assert await check_brokers(MqttSettings(broker=f"mqtt://127.0.0.1:{free_port}"), "bench") == [
        Check(
            check="broker",
            subject=f"mqtt://127.0.0.1:{free_port}",
            verdict=Verdict.FAILURE,
            found="no connection: nobody listens there",
            means=LOST,
            hint="start the broker, or correct mqtt.broker",
        )
    ]


async def test_each_broker_of_a_list_is_tried(port: int) -> None:
    gone = NETWORK.free_port()
    first, second = await check_brokers(at(port, gone), "bench")
    assert (first.subject, first.verdict) == (f"mqtt://127.0.0.1:{port}", "ok")
    assert (second.subject, second.verdict) == (f"mqtt://127.0.0.1:{gone}", "failure")


async def test_an_embedded_broker_is_not_missed_while_no_daemon_runs(free_port: int) -> None:
    assert await check_brokers(MqttSettings(listen=f"127.0.0.1:{free_port}"), "bench") == [
        Check(
            check="broker",
            subject=f"mqtt://127.0.0.1:{free_port}",
            verdict=Verdict.NOT_APPLICABLE,
            found="nobody listens there: the broker is inside the daemon, and no daemon runs",
            means="its latency can be measured while the daemon runs",
            hint="start the daemon with `motiond run`, and ask again",
        )
    ]
