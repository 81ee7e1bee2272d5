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
from typing import TYPE_CHECKING, NoReturn

import orjson
from aiohttp import web

from ...api import MOST_BYTES, SUBJECTS
from ..routes.exchange import Refused
from ..security.guard import SOCKET_PROTOCOL
from .client import Client, keep_little_unsent
from .shared import Shared

if TYPE_CHECKING:
    from ...api import Subject
    from ..served import Served

MOST_CLIENTS = 64
QUEUE_LENGTH, QUEUED_A_ROBOT = 200, 8
PING_S = 10.0
CLOSE_S = 1.0
LOOK_S = 0.5
BEAT_S = 1.0
"""So often each client receives a message at least; who receives none for longer has lost the connection."""
LOOKED_AT_S = 3.0
SENT: frozenset[Subject] = SUBJECTS - {"telemetry"} | {"samples"}


class Live:
    """Serves all WebSocket clients."""

    def __init__(self, served: Served) -> None:
        self._is_broker_connected = served.is_broker_connected
        self._shared = Shared(served)
        self._sent_connected, self._sent_s = served.is_broker_connected(), -math.inf
        self.clients = 0
        self._clients: set[Client] = set()

    @property
    def watched_s(self) -> float:
        """When a client has last said that somebody watches, by the event loop's clock."""
        return self._shared.watched_s

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve one client until it goes."""
        if self.clients >= MOST_CLIENTS:
            what = f"{MOST_CLIENTS} clients are connected"
            raise Refused(503, "BUSY", f"/api/ws: {what}; the daemon serves no more; close one of them")
        self.clients += 1
        try:
            return await self._serve(request)
        finally:
            self.clients -= 1

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(
            protocols=(SOCKET_PROTOCOL,),
            heartbeat=PING_S,
            timeout=CLOSE_S,
            compress=False,
            max_msg_size=MOST_BYTES + 1024,
            writer_limit=1,
        )
        try:
            await socket.prepare(request)
        except ConnectionError as error:
            problem = "its client disconnected during the handshake; connect again"
            raise Refused(400, "INVALID_REQUEST", f"/api/ws: {problem}") from error
        keep_little_unsent(request)
        length = max(QUEUE_LENGTH, QUEUED_A_ROBOT * len(self._shared.dispatcher.commands.robots))
        with self._shared.hub.subscribe(SENT, length) as reports:
            client = Client(self._shared, request, socket, reports)
            self._clients.add(client)
            self._send_clients()
            try:
                await client.run()
            finally:
                self._clients.discard(client)
                self._send_clients()
        return socket

    @property
    def looked_at(self) -> frozenset[str]:
        """The robots that clients have named lately as those that somebody looks at."""
        now_s = asyncio.get_running_loop().time()
        return frozenset(
            client.looks_at for client in self._clients if now_s - client.looked_s < LOOKED_AT_S
        ) - {""}

    async def watch_broker(self) -> NoReturn:
        """Notify all clients each second, and when the broker or a robot comes or goes; until cancelled."""
        greeting = self._shared.greeting()
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(LOOK_S)
            if self._shared.greeting() is not greeting:
                greeting = self._shared.greeting()
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

    async def close(self) -> None:
        """Send what still waits, and notify all clients that the daemon shuts down."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*(client.leave() for client in [*self._clients]))
        for request in [*self._shared.requests]:
            request.cancel()
