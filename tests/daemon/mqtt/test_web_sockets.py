"""MQTT over WebSockets, on a real mosquitto: all that goes over a plain connection goes over one of these."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api.reports import Report, ReportHub
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.connection import address_of, make_client
from motiond.daemon.mqtt.reasons import NotConnected
from tests.daemon import told
from tests.daemon.conftest import (
    Mosquitto,
    WatchedBridge,
    is_connected,
    is_lost,
    listening,
    running,
    said,
    web_sockets,
)
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Robots

CA = Path(__file__).parents[2] / "files" / "good" / "broker.crt"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ws://broker.example", "ws://broker.example:80/mqtt"),
        ("ws://broker.example/", "ws://broker.example:80/mqtt"),
        ("wss://me:secret@broker.example/a/b", "wss://broker.example:443/a/b"),
        ("ws://[2001:db8::1]:9001/ws", "ws://[2001:db8::1]:9001/ws"),
    ],
)
def test_an_address_has_the_path_of_its_web_socket(url: str, address: str) -> None:
    assert str(address_of(MqttSettings(broker=url))) == address


def make_login(passwords: Path) -> None:
    command = ["mosquitto_passwd", "-b", "-c", str(passwords), "arm", "s3cret"]
    subprocess.run(command, timeout=PATIENCE_S, check=True)


@pytest.fixture(params=["ws 5", "ws 3.1.1", "wss 5"])
async def web(request: pytest.FixtureRequest, free_port: int, tmp_path: Path) -> AsyncIterator[Mosquitto]:
    """Run a mosquitto that takes WebSockets alone; with TLS it asks for a login, too."""
    scheme, protocol = request.param.split()
    broker = Mosquitto(free_port, tmp_path, protocol)
    lines = ["allow_anonymous true"]
    options: dict[str, Any] = {"broker": f"ws://127.0.0.1:{free_port}/mqtt"}
    if scheme == "wss":
        passwords = tmp_path / "passwords"
        make_login(passwords)
        lines = ["allow_anonymous false", f"password_file {passwords}"]
        lines += [f"certfile {CA}", f"keyfile {CA.with_suffix('.key')}"]
        options = {"broker": f"wss://arm:s3cret@localhost:{free_port}", "ca_file": CA}
    broker.configure(*web_sockets(*lines))
    broker.settings = MqttSettings(**options, protocol=protocol, reconnect_min_s=0.05, reconnect_max_s=0.2)
    await broker.start()
    yield broker
    await broker.kill()


async def test_requests_reports_and_stops_go_over_a_web_socket(
    web: Mosquitto, robots: Robots, hub: ReportHub
) -> None:
    async with (
        running(WatchedBridge(web.settings, robots, hub)),
        listening(web.settings, checked=False) as ear,
    ):
        assert said(await ear.until("motiond/arm/state")) == told.state()
        for verb in ("status", "stop"):
            assert (await ear.ask(f"motiond/arm/request/{verb}", b"{}"))["status"] == "ok"
        long = "x" * 10_000  # mosquitto 2.0 takes 4 KiB of a WebSocket in each tenth of a second
        hub.publish(Report("arm", "motions", {"motions": [long]}))
        await ear.until("motiond/arm/motions", lambda said: said == {"motions": [long]})
        for number in range(300):
            hub.publish(Report("arm", "result", {"goal_id": f"g{number}"}))
        await ear.until("motiond/arm/result", lambda said: said["goal_id"] == "g299")
        results = [said(one)["goal_id"] for one in ear.heard if one.topic.value == "motiond/arm/result"]
        assert results == [f"g{number}" for number in range(299)]


async def test_many_messages_at_once_are_all_read(web: Mosquitto) -> None:
    taken: list[bytes] = []
    all_there = asyncio.Event()

    def take(message: Any) -> None:
        taken.append(message.payload)
        if len(taken) == 500:
            all_there.set()

    async with make_client(web.settings, receive=take) as client, make_client(web.settings) as other:
        await client.subscribe("numbers", qos=1)
        for number in range(500):
            await other.publish("numbers", b"%d" % number + b" " * (number * 7), qos=1)
        await asyncio.wait_for(all_there.wait(), PATIENCE_S)
    assert [int(one.split()[0]) for one in taken] == list(range(500))


async def test_a_web_socket_is_made_again_after_the_broker_was_killed(
    web: Mosquitto, robots: Robots, hub: ReportHub
) -> None:
    bridge = WatchedBridge(web.settings, robots, hub)
    async with running(bridge):
        for _ in range(2):
            bridge.lost.clear()
            await web.kill()
            await is_lost(bridge)
            hub.publish(Report("arm", "state", {"state": "playing"}))
            await web.start()
            await is_connected(bridge)
            async with listening(web.settings, checked=False) as ear:
                assert said(await ear.until("motiond/arm/state")) == {"state": "playing"}
                assert (await ear.ask("motiond/arm/request/status", b"{}"))["status"] == "ok"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept:x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \xff\r\n\r\n",
        b"",
    ],
)
async def test_whatever_answers_in_place_of_a_web_socket_is_told_and_can_be_tried_again(
    answer: bytes,
) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    settings = MqttSettings(broker=f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/mqtt")
    client = make_client(settings)
    async with server:
        for _ in range(2):
            with pytest.raises(NotConnected) as caught:
                await client.__aenter__()
            assert str(caught.value) == (
                "nobody speaks WebSocket there, or not on this path; "
                "correct port and path in mqtt.broker, or write mqtt://"
            )
