"""From a target to the first setpoint that it changes, over each way in, beside a bare echo over the same.

The daemon, and each echo, is a process of its own. The robot follows and rests; each target lets it go a
little further or back, and the driver's trace tells when its setpoint first moved. Each echo is measured
while the daemon holds its robot, and there and back; a target goes there only, and then waits for its tick.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import aiohttp
import numpy as np
import orjson
from aiohttp import web

from bench.http import ask, until_idle
from bench.programs import ended, running_daemon
from bench.request import first_steps
from motiond.client.messages import target_frame
from motiond.daemon.mqtt.client import MqttConnection
from motiond.drivers.sim.command_log import read_trace
from motiond.local import address_of
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import use
from tests.daemon.rig import JOINTS, Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
    from contextlib import AbstractAsyncContextManager
    from multiprocessing.synchronize import Event

    from motiond.daemon.config.mqtt import MqttSettings

    Send = Callable[[bytes], Awaitable[object]]
    Receive = Callable[[], Awaitable[object]]

TIMES = 200
RATE_HZ = 500
STEP_RAD = 0.01
REST_S = 0.2
"""Such a step takes 0.15 s."""
TIMEOUT_S = 10.0
GOAL_S = 1 / RATE_HZ + 1e-3


class Place(NamedTuple):
    """Where a daemon, or an echo, is reached."""

    socket: str
    port: int
    mqtt: MqttSettings
    topic: str


class Way(NamedTuple):
    """A way in.

    Attributes
    ----------
    connected : callable
        Connects to a place; returns what sends a message, and what waits for one.
    message : callable
        Makes the message of a target, of the goal's id and the positions in rad.
    echo : callable
        Serves an echo at a place, until it is cancelled, and sets an event once it is there.
    """

    connected: Callable[[Place], AbstractAsyncContextManager[tuple[Send, Receive]]]
    message: Callable[[str, list[float]], bytes]
    echo: Callable[[Place, Event], Coroutine[None, None, None]]


def main() -> None:
    """Print the times, and how those of the control socket stand to their goal."""
    figures = asyncio.run(_measure())
    print(f"{TIMES} targets over each way, {len(JOINTS)} joints at {RATE_HZ} Hz; ms")
    print(f"{'':18}{'to the setpoint':>24}{'echo, there and back':>24}")
    print(f"{'':18}" + 2 * f"{'p50':>8}{'p95':>8}{'p99':>8}")
    for name, both in figures.items():
        shares = (np.quantile(times, share) for times in both for share in (0.5, 0.95, 0.99))
        print(f"{name:18}" + "".join(f"{1e3 * share:8.2f}" for share in shares))
    share = np.quantile(figures["control socket"][0], 0.99) / GOAL_S
    print(
        f"control socket, p99 beside a tick plus 1 ms ({1e3 * GOAL_S:.2f} ms): {share:.2f} (goal: at most 1)"
    )


async def _measure() -> dict[str, tuple[list[float], list[float]]]:
    """Return by the way in: how long targets took to the setpoint, and how long an echo took, in s."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mosquitto = Mosquitto(free_port(), folder)
        mosquitto.configure("allow_anonymous true", "set_tcp_nodelay true")
        await mosquitto.start()
        try:
            rig, port = Rig(folder), free_port()
            use(rig, mosquitto.settings)
            rig.daemon["http"] = {"listen": f"127.0.0.1:{port}"}
            here = Place(address_of(rig.config), port, mosquitto.settings, TARGETS)
            with running_daemon(rig.config) as daemon:
                asked, echoes = await _ask(here)
                await ended(daemon)
            trace = read_trace(folder / "trace.npy")
            return {name: (first_steps(trace, asked[name]), echoes[name]) for name in WAYS}
        finally:
            await mosquitto.kill()


async def _ask(here: Place) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return by the way in when targets were sent, in monotonic s, and how long an echo took."""
    asked, echoes = {}, {}
    there = Place(f"{here.socket}.echo", free_port(), here.mqtt, "echo/there")
    async with aiohttp.ClientSession(f"http://127.0.0.1:{here.port}") as session:
        for name, way in WAYS.items():
            await until_idle(session)
            body = {"timeout_s": TIMEOUT_S, "rate_hz": RATE_HZ}
            goal_id = (await ask(session, "follow/start", body))["goal_id"]
            async with way.connected(here) as (send, _):
                asked[name] = await _targets(way, goal_id, send)
            await ask(session, "follow/stop", {})
            with _beside(way, there):
                async with way.connected(there) as (send, receive):
                    echoes[name] = await _round_trips(way, send, receive)
    return asked, echoes


async def _targets(way: Way, goal_id: str, send: Send) -> list[float]:
    """Let the robot go to and fro by small steps; return when each was asked for."""
    asked = []
    for turn in range(TIMES + 1):
        message = way.message(goal_id, [STEP_RAD * (turn % 2)] * len(JOINTS))
        asked.append(time.monotonic())
        await send(message)
        await asyncio.sleep(REST_S + random.uniform(0.0, 2 / RATE_HZ))
    return asked[1:]


async def _round_trips(way: Way, send: Send, receive: Receive) -> list[float]:
    took = []
    message = way.message(UUID(int=1).hex, [STEP_RAD] * len(JOINTS))
    for _ in range(TIMES):
        asked_s = time.monotonic()
        await send(message)
        await asyncio.wait_for(receive(), PATIENCE_S)
        took.append(time.monotonic() - asked_s)
        await asyncio.sleep(random.uniform(0.0, 2 / RATE_HZ))
    return took


@contextmanager
def _beside(way: Way, there: Place) -> Iterator[None]:
    """Serve an echo in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    echo = spawn.Process(target=_echo, args=(way, there, ready), daemon=True)
    echo.start()
    try:
        if not ready.wait(PATIENCE_S):
            raise TimeoutError(f"the echo was not ready in {PATIENCE_S:g} s")
        yield
    finally:
        echo.kill()
        echo.join()


def _echo(way: Way, there: Place, ready: Event) -> None:
    asyncio.run(way.echo(there, ready))


# -- the control socket -------------------------------------------------------------------------------------


def _line(goal_id: str, positions: list[float]) -> bytes:
    body = {"goal_id": goal_id, "positions": positions, "sent_at": time.time()}
    return orjson.dumps({"robot": "arm", "verb": "follow/target", "body": body}) + b"\n"


@asynccontextmanager
async def _socket(place: Place) -> AsyncIterator[tuple[Send, Receive]]:
    reader, writer = await asyncio.open_unix_connection(place.socket)

    async def send(message: bytes) -> None:
        writer.write(message)
        await writer.drain()

    yield send, reader.readline
    writer.close()
    await writer.wait_closed()


async def _echo_socket(place: Place, ready: Event) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()

    async with await asyncio.start_unix_server(serve, place.socket) as server:
        ready.set()
        await server.serve_forever()


# -- WebSocket ----------------------------------------------------------------------------------------------


def _frame(goal_id: str, positions: list[float]) -> bytes:
    return target_frame({"goal_id": goal_id, "positions": positions, "sent_at": time.time()}) or b""


@asynccontextmanager
async def _web_socket(place: Place) -> AsyncIterator[tuple[Send, Receive]]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{place.port}/api/ws", max_msg_size=0) as socket,
    ):
        yield socket.send_bytes, socket.receive


async def _echo_web_socket(place: Place, ready: Event) -> None:
    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    application = web.Application()
    application.router.add_get("/api/ws", serve)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", place.port).start()
    ready.set()
    await asyncio.Event().wait()


# -- MQTT ---------------------------------------------------------------------------------------------------

ECHOED = "echo/back"
TARGETS = "motiond/arm/request/follow/target"


def _payload(goal_id: str, positions: list[float]) -> bytes:
    return orjson.dumps({"goal_id": goal_id, "positions": positions, "sent_at": time.time()})


@asynccontextmanager
async def _mqtt(place: Place) -> AsyncIterator[tuple[Send, Receive]]:
    async with MqttConnection(place.mqtt) as connection:
        await connection.subscribe(ECHOED)
        yield partial(connection.publish, place.topic), partial(anext, connection.messages)


async def _echo_mqtt(place: Place, ready: Event) -> None:
    async with MqttConnection(place.mqtt) as connection:
        await connection.subscribe(place.topic)
        ready.set()
        async for message in connection.messages:
            await connection.publish(ECHOED, message.payload)


WAYS = {
    "control socket": Way(_socket, _line, _echo_socket),
    "WebSocket": Way(_web_socket, _frame, _echo_web_socket),
    "mosquitto, QoS 0": Way(_mqtt, _payload, _echo_mqtt),
}
