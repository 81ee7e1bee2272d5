"""Reports as they come, and requests, over WebSockets (RFC 6455); `client` serves each of them.

Text messages are JSON objects, binary ones are telemetry (`frames`). The first message is `hello`; then comes
who is connected, what is known of every robot, and then what changes. Where robots appear or vanish, another
`hello` comes before anything else of them.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

import orjson
from aiohttp import web

from ...api import MOST_BYTES, SUBJECTS
from ..routes.exchange import Refused
from .client import Client, Traffic, keep_little_unsent
from .frames import telemetry_frame

if TYPE_CHECKING:
    from ...api import Report, Subject
    from ..served import Served

MOST_CLIENTS = 64
QUEUE_LENGTH, QUEUED_A_ROBOT = 200, 8
PING_S = 10.0
CLOSE_S = 1.0
LOOK_S = 0.5
BEAT_S = 1.0
"""So often each client receives a message at least; who receives none for longer has lost the connection."""
LOOKED_AT_S = 3.0
VERSION = 1
SENT: frozenset[Subject] = SUBJECTS - {"telemetry"} | {"samples"}


class Live:
    """Serves all WebSocket clients."""

    def __init__(self, served: Served) -> None:
        self._is_broker_connected = served.is_broker_connected
        self._dispatcher, self._hub = served.dispatcher, served.hub
        self._commands = served.dispatcher.commands
        about = {"version": VERSION, "id": served.daemon_id, "instance": uuid4().hex[:8]}
        self._about = about | ({"fleet": True} if served.is_fleet else {})
        self._places: dict[str, int] = {}
        self._robots: tuple[str, ...] | None = None
        self._hello = b""
        self._sent_connected, self._sent_s = served.is_broker_connected(), -math.inf
        self._encoded: dict[tuple[str, Subject], tuple[Report, bytes]] = {}
        self._served = 0
        self.watched_s = -math.inf
        self._requests: set[asyncio.Task[None]] = set()
        self._traffic = Traffic()
        self._clients: set[Client] = set()

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self._served

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve one client until it goes."""
        if self._served >= MOST_CLIENTS:
            what = f"{MOST_CLIENTS} clients are connected"
            raise Refused(503, "BUSY", f"/api/ws: {what}; the daemon serves no more; close one of them")
        self._served += 1
        try:
            return await self._serve(request)
        finally:
            self._served -= 1

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(
            heartbeat=PING_S, timeout=CLOSE_S, compress=False, max_msg_size=MOST_BYTES + 1024, writer_limit=1
        )
        await socket.prepare(request)
        keep_little_unsent(request)
        robots = len(self._commands.robots)
        with self._hub.subscribe(SENT, max(QUEUE_LENGTH, QUEUED_A_ROBOT * robots)) as reports:
            client = Client(
                request,
                socket,
                self._dispatcher,
                reports,
                self._requests,
                traffic=self._traffic,
                watched=self._note_watched,
                robots=lambda: len(self._commands.robots),
            )
            self._clients.add(client)
            self._send_clients()
            try:
                await client.run(self._greeting, self._hub.latest(), self._encode)
            finally:
                self._clients.discard(client)
                self._send_clients()
        return socket

    def _greeting(self) -> bytes:
        """Return the message on who there is; the same object until somebody appears or vanishes."""
        robots = self._commands.robots
        if robots != self._robots:
            self._robots = robots
            self._places = {name: place for place, name in enumerate(robots)}
            self._encoded.clear()  # it holds places
            self._hello = orjson.dumps({"hello": {**self._about, "robots": robots}})
        return self._hello

    @property
    def looked_at(self) -> frozenset[str]:
        """The robots that clients have named lately as those that somebody looks at."""
        now_s = asyncio.get_running_loop().time()
        return frozenset(
            client.looks_at for client in self._clients if now_s - client.looked_s < LOOKED_AT_S
        ) - {""}

    async def watch_broker(self) -> NoReturn:
        """Notify all clients each second, and when the broker or a robot comes or goes; until cancelled."""
        greeting = self._greeting()
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(LOOK_S)
            if self._greeting() is not greeting:
                greeting = self._greeting()
                for client in self._clients:
                    client.send(greeting)  # a robot that is removed sends no other report
            if self._is_broker_connected() != self._sent_connected or now() - self._sent_s >= BEAT_S:
                self._send_clients()

    def _send_clients(self) -> None:
        """Send all clients who is connected, whether the broker is, and the daemon's clock."""
        self._sent_connected = self._is_broker_connected()
        self._sent_s = asyncio.get_running_loop().time()
        broker = "connected" if self._sent_connected else "lost"
        daemon = {
            "clients": sorted(client.caller for client in self._clients),
            "broker": broker,
            "time": time.time(),
        }
        message = orjson.dumps({"daemon": daemon})
        for client in self._clients:
            client.send(message)

    def _note_watched(self) -> None:
        self.watched_s = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Send what still waits, and notify all clients that the daemon shuts down."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*(client.leave() for client in [*self._clients]))
        for request in [*self._requests]:
            request.cancel()

    def _encode(self, report: Report) -> tuple[bytes, bool]:
        """Encode a report once for all clients; return also whether it is binary.

        Of a robot that has vanished meanwhile nothing is sent: b"".
        """
        is_binary = report.subject == "samples"
        if report.robot not in self._places:
            return b"", False
        known = self._encoded.get((report.robot, report.subject))
        if known and known[0] is report:
            return known[1], is_binary
        encoded = (
            telemetry_frame(self._places[report.robot], report.data)
            if is_binary
            else _text({"robot": report.robot, "subject": report.subject, "data": report.data})
        )
        self._encoded[report.robot, report.subject] = report, encoded
        return encoded, is_binary


def _text(message: dict[str, Any]) -> bytes:
    return orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)
