"""Reports as they come, and requests, over WebSockets (RFC 6455); `client` serves each of them.

Text messages are JSON objects, binary ones are telemetry (`frames`). The first message is `hello`; then comes
who is connected, what is known of every robot, and then what changes.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import orjson
from aiohttp import web

from ..api.reports import SUBJECTS
from ..api.requests import MOST_BYTES
from .client import Client, keep_little_unsent
from .exchange import refused
from .frames import telemetry_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.dispatcher import Dispatcher
    from ..api.reports import Report, ReportHub, Subject
    from ..api.requests import Commands

MOST_CLIENTS = 64
QUEUE_LENGTH = 200
PING_S = 10.0
CLOSE_S = 1.0
LOOK_S = 0.5
VERSION = 1
HEARD: frozenset[Subject] = SUBJECTS - {"telemetry"} | {"samples"}


class Live:
    """Serves all WebSocket clients.

    Parameters
    ----------
    dispatcher : Dispatcher
    commands : Commands
    hub : ReportHub
    daemon_id : str
    is_broker_connected : callable
        Whether requests are heard by MQTT, too.

    Attributes
    ----------
    watched_s : float
        When a client has last said that somebody watches, by the event loop's clock.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        commands: Commands,
        hub: ReportHub,
        daemon_id: str,
        is_broker_connected: Callable[[], bool],
    ) -> None:
        self._is_broker_connected = is_broker_connected
        self._dispatcher = dispatcher
        self._hub = hub
        self._places = {name: place for place, name in enumerate(commands.robots)}
        hello = {"hello": {"version": VERSION, "id": daemon_id, "robots": [*self._places]}}
        self._hello = orjson.dumps(hello)
        self._encoded: dict[tuple[str, Subject], tuple[Report, bytes]] = {}
        self._served = 0
        self.watched_s = -math.inf
        self._requests: set[asyncio.Task[None]] = set()
        self._clients: set[Client] = set()

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self._served

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve one client until it goes."""
        if self._served >= MOST_CLIENTS:
            what = f"{MOST_CLIENTS} clients are connected"
            return refused(503, "BUSY", f"/api/ws: {what}; the daemon serves no more; close one of them")
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
        with self._hub.subscribe(HEARD, QUEUE_LENGTH) as reports:
            client = Client(
                request, socket, self._dispatcher, reports, self._requests, watched=self._note_watched
            )
            self._clients.add(client)
            self._tell_who_is_there()
            try:
                await client.run(self._hello, self._hub.latest(), self._encode)
            finally:
                self._clients.discard(client)
                self._tell_who_is_there()
        return socket

    async def watch_broker(self) -> NoReturn:
        """Tell all clients when the broker comes and goes, until cancelled."""
        was_connected = self._is_broker_connected()
        while True:
            await asyncio.sleep(LOOK_S)
            if self._is_broker_connected() != was_connected:
                was_connected = not was_connected
                self._tell_who_is_there()

    def _tell_who_is_there(self) -> None:
        """Tell all clients of each other, and of the broker."""
        broker = "connected" if self._is_broker_connected() else "lost"
        told = {"clients": sorted(client.caller for client in self._clients), "broker": broker}
        message = orjson.dumps({"daemon": told})
        for client in self._clients:
            client.tell(message)

    def _note_watched(self) -> None:
        self.watched_s = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Send what still waits, and tell all clients that the daemon goes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*(client.leave() for client in [*self._clients]))
        for request in [*self._requests]:
            request.cancel()

    def _encode(self, report: Report) -> tuple[bytes, bool]:
        """Encode a report once for all clients; return also whether it is binary."""
        is_binary = report.subject == "samples"
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
