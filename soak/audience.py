"""Who listens during a soak: observers by MQTT and pages by WebSockets, each kind in a process of its own.

An observer reads ten times a second and looks at nothing that it reads, so that fifty cost little.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from tests.daemon.broker.wire import connect, subscribe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.sharedctypes import Synchronized

READ_S = 0.1
READ_BYTES = 1_000_000
COME_BACK_S = 0.2
WATCHING_S = 0.5


class Audience(NamedTuple):
    """What a process of listeners tells of itself.

    Attributes
    ----------
    connected : Synchronized
        How many of them are connected now.
    heard : Synchronized
        How many bytes they have read.
    """

    connected: Synchronized[int]
    heard: Synchronized[int]


@contextmanager
def listeners(listen: Callable[[int, int, Audience], None], count: int, port: int) -> Iterator[Audience]:
    """Let so many listen at a port of the loopback, in a process of their own."""
    context = multiprocessing.get_context("spawn")
    audience = Audience(context.Value("i", 0), context.Value("Q", 0))
    process = context.Process(target=listen, args=(count, port, audience), daemon=True)
    process.start()
    try:
        yield audience
    finally:
        process.kill()
        process.join()


def observe(count: int, port: int, audience: Audience) -> None:
    """Listen to all that a broker carries below `motiond`, for ever."""
    connections: dict[int, socket.socket] = {}
    while True:
        for number in range(count):
            if number not in connections:
                with suppress(OSError):
                    connections[number] = _observer(number, port)
                continue
            try:
                read = len(connections[number].recv(READ_BYTES))
            except BlockingIOError:
                continue
            except OSError:
                read = 0
            audience.heard.value += read
            if not read:  # the broker has gone
                connections.pop(number).close()
        audience.connected.value = len(connections)
        time.sleep(READ_S)


def _observer(number: int, port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(connect(f"observer{number}") + subscribe("motiond/#"))
    connection.setblocking(False)  # as socket has it
    return connection


def watch(count: int, port: int, audience: Audience) -> None:
    """Be so many pages, each with somebody before it, for ever."""
    asyncio.run(_watch(count, port, audience))


async def _watch(count: int, port: int, audience: Audience) -> None:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session, asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(_page(session, audience))


async def _page(session: aiohttp.ClientSession, audience: Audience) -> None:
    while True:
        with suppress(aiohttp.ClientError):
            async with session.ws_connect("/api/ws", max_msg_size=0) as page:
                audience.connected.value += 1
                watching = asyncio.create_task(_say_watching(page))
                try:
                    async for message in page:
                        audience.heard.value += len(message.data)
                finally:
                    audience.connected.value -= 1
                    watching.cancel()
        await asyncio.sleep(COME_BACK_S)


async def _say_watching(page: aiohttp.ClientWebSocketResponse) -> None:
    with suppress(ConnectionError):
        while True:
            await page.send_str('{"watching":true}')
            await asyncio.sleep(WATCHING_S)
