"""Loads on a daemon and its broker, each from a process of its own, for benchmarks."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import aiohttp
import aiomqtt
import orjson
import psutil

from motiond.daemon.mqtt.client import MqttConnection
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.daemon.config.mqtt import MqttSettings

FLOOD_HZ = 5000
LONGEST_BURST_S = 0.1  # what a flood makes up for after it was suspended
OBSERVERS = 50
BOMBS = 100
HOSTILE, HOSTILE_HZ, SLOW = 8, 200.0, 300
BOMB = orjson.dumps({f"k{number}": 0 for number in range(6500)})[:65_000].rsplit(b",", 1)[0] + b"}"

TARGET = orjson.dumps({"goal_id": "0" * 32, "positions": [0.1, 0.1]})


class Load:
    """A load that is up, in a process of its own.

    Parameters
    ----------
    process : psutil.Process or None
        None where there is no load.
    """

    def __init__(self, process: psutil.Process | None) -> None:
        self._process = process

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Let the load rest for what it would displace."""
        if self._process is not None:
            self._process.suspend()
        try:
            yield
        finally:
            if self._process is not None:
                self._process.resume()


@contextmanager
def load(name: str, settings: MqttSettings, http_port: int = 0) -> Iterator[Load]:
    """Keep a load up: the name of a function of this module; '' is none."""
    if not name:
        yield Load(None)
        return
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_run, args=(name, settings, http_port, ready))
    process.start()
    try:
        if not ready.wait(PATIENCE_S):
            raise RuntimeError(f"{name}: not ready in {PATIENCE_S:g} s")
        yield Load(psutil.Process(process.pid))
    finally:
        process.kill()
        process.join()


def _run(name: str, settings: MqttSettings, http_port: int, ready: multiprocessing.synchronize.Event) -> None:
    if name == "hostile":
        asyncio.run(hostile(http_port, ready))
        return
    with suppress(aiomqtt.MqttError):  # the broker ends before the load
        asyncio.run(BY_MQTT[name](settings, ready))


async def flood(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    """Ask for the status, `FLOOD_HZ` times a second."""
    await _publish_again(settings, ready, "motiond/arm/request/status", b"{}")


async def targets(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    """Send targets, `FLOOD_HZ` times a second, of a goal that nothing follows."""
    await _publish_again(settings, ready, "motiond/arm/request/follow/target", TARGET)


async def _publish_again(
    settings: MqttSettings, ready: multiprocessing.synchronize.Event, topic: str, payload: bytes
) -> None:
    async with MqttConnection(settings) as client:
        ready.set()
        before_s = time.monotonic()
        while True:
            await asyncio.sleep(0.002)
            now_s = time.monotonic()
            for _ in range(round(FLOOD_HZ * min(now_s - before_s, LONGEST_BURST_S))):
                await client.publish(topic, payload)
            before_s = now_s


async def bombs(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    """Send `BOMBS` requests of 65 kB with thousands of unknown keys, again and again."""
    async with MqttConnection(settings) as client:
        ready.set()
        while True:
            for _ in range(BOMBS):
                await client.publish("motiond/arm/request/play", BOMB)
            await asyncio.sleep(0.5)


async def reload(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    """Have a robot's motions read again, and again."""
    async with MqttConnection(settings) as client:
        await client.subscribe("motiond/library/response/#", qos=1)
        ready.set()
        while True:
            await client.publish("motiond/library/request/motions/reload", b"{}", 1)
            await anext(client.messages)


async def observers(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    """Listen to everything, `OBSERVERS` times."""
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        for _ in range(OBSERVERS):
            client = await stack.enter_async_context(MqttConnection(settings))
            await client.subscribe("motiond/#")
            tasks.create_task(_listen(client))
        ready.set()


BY_MQTT = {"flood": flood, "targets": targets, "bombs": bombs, "reload": reload, "observers": observers}


async def hostile(http_port: int, ready: multiprocessing.synchronize.Event) -> None:
    """Send refused requests over `HOSTILE` WebSockets, and keep as many connections busy as there may be."""
    begun = b"POST /api/robots/arm/play HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    tolerances: dict[str, dict[str, float]] = {f"j{number}": {} for number in range(4500)}
    body = {"path_tolerance": tolerances}
    request = orjson.dumps({"id": 1, "robot": "arm", "verb": "play", "body": body}).decode()
    url = f"http://127.0.0.1:{http_port}/api/ws"
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        for _ in range(HOSTILE):
            tasks.create_task(_send_again(session, url, request))
        for _ in range(SLOW):
            tasks.create_task(_send_slowly(http_port, begun + b"Content-Length: 100\r\n\r\n{"))
        await asyncio.sleep(1.0)
        ready.set()


async def _send_again(session: aiohttp.ClientSession, url: str, request: str) -> None:
    while True:
        with suppress(OSError, aiohttp.ClientError):
            async with session.ws_connect(url, max_msg_size=0) as page:
                reading = asyncio.create_task(_read_all(page))
                while not reading.done():
                    await page.send_str(request)
                    await asyncio.sleep(1.0 / HOSTILE_HZ)
        await asyncio.sleep(0.1)


async def _read_all(page: aiohttp.ClientWebSocketResponse) -> None:
    async for _ in page:
        pass


async def _send_slowly(port: int, begun: bytes) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            await reader.read()
            writer.close()
        await asyncio.sleep(0.1)


async def _listen(client: MqttConnection) -> None:
    async for _ in client.messages:
        pass
