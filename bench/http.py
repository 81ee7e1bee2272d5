"""How late telemetry arrives in a WebSocket beside MQTT, and what twenty pages cost a daemon that plays.

The daemon is a process of its own, as are the pages. Telemetry carries the time of its tick, by the clock
that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import numpy as np
import orjson
import psutil

from bench import cyclictest
from bench.programs import running_daemon
from bench.rig import simulated_robot
from motiond.daemon.http.live.frames import HEAD
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import use
from tests.daemon.rig import Rig, sweep
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from multiprocessing.queues import Queue

    from motiond.daemon.config.mqtt import MqttSettings

SECONDS = 30
RATE_HZ = 200
JOINTS = 30
PAGES = 20
SETTLE_S = 2.0
TELEMETRY_HZ = 20.0
GOAL_SHARE = 0.1


class Figures(NamedTuple):
    """What was measured.

    Attributes
    ----------
    websocket_s, mqtt_s : list of float
        From ticks to the arrival of their telemetry.
    alone, with_pages : float
        The processor time that the daemon takes of a core.
    missed : int
        Deadlines beside all pages.
    theirs : Latencies
        Of cyclictest, meanwhile.
    """

    websocket_s: list[float]
    mqtt_s: list[float]
    alone: float
    with_pages: float
    missed: int
    theirs: cyclictest.Latencies


def main(seconds: float = SECONDS) -> None:
    """Print lateness of both, and what the pages cost."""
    if not cyclictest.is_there():
        return
    figures = asyncio.run(_measure(seconds))
    print(f"{JOINTS} joints at {RATE_HZ} Hz, telemetry at {TELEMETRY_HZ:g} Hz, {seconds:g} s; ms to a client")
    print(f"{'':16}{'p50':>8}{'p99':>8}")
    for name, times in (("WebSocket", figures.websocket_s), ("MQTT", figures.mqtt_s)):
        print(f"{name:16}{1e3 * np.quantile(times, 0.5):8.2f}{1e3 * np.quantile(times, 0.99):8.2f}")
    ratios = [
        np.quantile(figures.websocket_s, share) / np.quantile(figures.mqtt_s, share) for share in (0.5, 0.99)
    ]
    print(f"{'ratio':16}{ratios[0]:8.2f}{ratios[1]:8.2f}   (goal: at most 1)")
    cost = figures.with_pages - figures.alone
    print(
        f"{PAGES} pages cost the daemon {100 * cost:.1f} % of a core (goal: at most {100 * GOAL_SHARE:g} %)"
    )
    late = figures.theirs.late_by(1 / RATE_HZ)
    print(f"missed deadlines beside them: {figures.missed}; cyclictest a period late: {late} (goal: none)")


async def _measure(seconds: float) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = name  # nothing is left behind
        mosquitto = Mosquitto(free_port(), folder)
        await mosquitto.start()
        try:
            rig, url = _rig(folder, mosquitto.settings)
            with running_daemon(rig.config) as daemon:
                return await _figures(psutil.Process(daemon.pid), url, mosquitto.settings, seconds)
        finally:
            await mosquitto.kill()


async def _figures(process: psutil.Process, url: str, settings: MqttSettings, seconds: float) -> Figures:
    async with aiohttp.ClientSession(url) as session:
        await until_idle(session)
        await _play(session)
        alone = await share_of(process, asyncio.sleep(seconds))
        async with _clients(1, url, settings) as heard:
            await asyncio.sleep(seconds)
        websocket_s, mqtt_s = heard
        await ask(session, "stop", {})
        await until_idle(session)
        await _play(session)
        async with _clients(PAGES, url, None):
            measuring = asyncio.create_task(cyclictest.measure(seconds, RATE_HZ))
            with_pages = await share_of(process, measuring)
            async with session.ws_connect("/api/ws", max_msg_size=0) as socket:
                await ask(session, "stop", {})
                missed = await _missed(socket)
        return Figures(websocket_s, mqtt_s, alone, with_pages, missed, measuring.result())


async def _play(session: aiohttp.ClientSession) -> None:
    """Let the robot play to and fro, and wait until planning is over, which is no cost of playing."""
    await ask(session, "play", {"motion": "long", "loop": "forever", "ping_pong": True})
    await asyncio.sleep(SETTLE_S)


def _rig(folder: Path, settings: MqttSettings) -> tuple[Rig, str]:
    """Write a robot of many joints, and return where its page will be."""
    rig = simulated_robot(folder, "long", sweep(20.0, RATE_HZ, JOINTS, swings=10), RATE_HZ)
    use(rig, settings)
    listen = f"127.0.0.1:{free_port()}"
    rig.daemon["mqtt"]["telemetry_hz"] = TELEMETRY_HZ
    rig.daemon["http"] = {"listen": listen, "telemetry_hz": TELEMETRY_HZ}
    return rig, f"http://{listen}"


async def ask(session: aiohttp.ClientSession, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the robot for something, and return what it answers."""
    async with session.post(f"/api/robots/arm/{verb}", json=body) as response:
        answer = await response.json()
    if answer["status"] != "ok":
        raise RuntimeError(f"{verb}: {answer['error']}")
    data: dict[str, Any] = answer["data"]
    return data


async def until_idle(session: aiohttp.ClientSession) -> None:
    """Wait until the daemon serves, and its robot rests."""
    deadline_s = time.monotonic() + PATIENCE_S
    seen: Any = None
    while time.monotonic() < deadline_s:
        try:
            async with session.get("/api/robots/arm/state") as answer:
                seen = await answer.json()
        except aiohttp.ClientConnectionError as error:
            seen = error
        else:
            if seen.get("state") == "idle":
                return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"the robot is not idle in {PATIENCE_S:g} s: {seen}")


async def share_of(process: psutil.Process, lasting: Any) -> float:
    """Return the processor time that a process takes of a core while something lasts."""
    begun_s, before = time.monotonic(), process.cpu_times()
    await lasting
    lasted_s, after = time.monotonic() - begun_s, process.cpu_times()
    return (after.user + after.system - before.user - before.system) / lasted_s


async def _missed(socket: aiohttp.ClientWebSocketResponse) -> int:
    """Return how many deadlines the motion missed that has just been stopped."""
    async with asyncio.timeout(PATIENCE_S):
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                told = orjson.loads(message.data)
                if told.get("subject") == "result":
                    return int(told["data"]["timing"]["missed_deadlines"])
    raise RuntimeError("the WebSocket closed before the result")


@asynccontextmanager
async def _clients(
    count: int, url: str, settings: MqttSettings | None
) -> AsyncIterator[tuple[list[float], list[float]]]:
    """Let pages, and perhaps an MQTT client, listen in a process of their own.

    Yields lists of how late telemetry arrived in a WebSocket and by MQTT, which are full at the end.
    """
    spawn = multiprocessing.get_context("spawn")
    heard: Queue[tuple[list[float], list[float]]] = spawn.Queue()
    begun, ended = spawn.Event(), spawn.Event()
    events = {"begun": begun, "ended": ended, "heard": heard}
    process = spawn.Process(target=_listen, args=(count, url, settings), kwargs=events, daemon=True)
    process.start()
    found: tuple[list[float], list[float]] = ([], [])
    try:
        if not await asyncio.to_thread(begun.wait, PATIENCE_S):
            raise TimeoutError(f"the clients have not connected in {PATIENCE_S:g} s")
        yield found
        ended.set()
        for kept, told in zip(found, await asyncio.to_thread(heard.get, True, PATIENCE_S), strict=True):
            kept.extend(told)
    finally:
        process.terminate()
        process.join()


def _listen(
    count: int, url: str, settings: MqttSettings | None, *, begun: Any, ended: Any, heard: Queue[Any]
) -> None:
    async def listen() -> None:
        late: tuple[list[float], list[float]] = ([], [])
        connected = [asyncio.Event() for _ in range(count + (settings is not None))]
        async with aiohttp.ClientSession(url) as session, asyncio.TaskGroup() as tasks:
            listening = [tasks.create_task(_page(session, late[0], one)) for one in connected[:count]]
            if settings is not None:
                listening.append(tasks.create_task(_mqtt(settings, late[1], connected[-1])))
            for one in connected:
                await one.wait()
            begun.set()
            await asyncio.to_thread(ended.wait)
            for task in listening:
                task.cancel()
        heard.put(late)

    asyncio.run(listen())


async def _page(session: aiohttp.ClientSession, late_s: list[float], connected: asyncio.Event) -> None:
    async with session.ws_connect("/api/ws") as socket:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                late_s.append(time.monotonic() - HEAD.unpack_from(message.data)[3])
                connected.set()


async def _mqtt(settings: MqttSettings, late_s: list[float], connected: asyncio.Event) -> None:
    async with MqttConnection(settings) as client:
        await client.subscribe(f"{settings.base}/arm/telemetry")
        async for message in client.messages:
            assert isinstance(message.payload, bytes)
            late_s.append(time.monotonic() - orjson.loads(message.payload)["stamp_s"])
            connected.set()
