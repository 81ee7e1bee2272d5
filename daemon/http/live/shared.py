"""What all WebSocket clients share: reports, each encoded once, and a pace of what they ask for."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING
from uuid import uuid4

import orjson
from aiohttp import WSMsgType

from ...api import Pace
from .frames import telemetry_frame

if TYPE_CHECKING:
    from ...api import Report, Subject
    from ..served import Served

TOGETHER_HZ, TOGETHER_BURST = 400.0, 128  # requests of all clients beyond their shares
READ_HZ, READ_BURST = 1000.0, 256  # messages of all clients beyond their shares, served or refused
TARGETS_HZ, TARGETS_BURST = 1000.0, 256  # frames of all clients beyond their shares
VERSION = 1


class Shared:
    """What all clients of one server share."""

    def __init__(self, served: Served) -> None:
        self.dispatcher, self.hub = served.dispatcher, served.hub
        about = {"version": VERSION, "id": served.daemon_id, "instance": uuid4().hex[:8]}
        self._about = about | ({"fleet": True} if served.is_fleet else {})
        self._places: dict[str, int] = {}
        self._robots: tuple[str, ...] | None = None
        self._hello = b""
        self._encoded: dict[tuple[str, Subject], tuple[Report, bytes]] = {}
        self.requests: set[asyncio.Task[None]] = set()
        self.watched_s = -math.inf
        now = asyncio.get_running_loop().time
        self.served_pace = Pace(TOGETHER_HZ, TOGETHER_BURST, now)
        self.target_pace = Pace(TARGETS_HZ, TARGETS_BURST, now)
        self.read_pace = Pace(READ_HZ, READ_BURST, now)

    def greeting(self) -> bytes:
        """Return the message on who there is; the same object until somebody appears or vanishes."""
        robots = self.dispatcher.commands.robots
        if robots != self._robots:
            self._robots = robots
            self._places = {name: place for place, name in enumerate(robots)}
            self._encoded.clear()  # it holds places
            self._hello = orjson.dumps({"hello": {**self._about, "robots": robots}})
        return self._hello

    def encode(self, report: Report) -> tuple[bytes, WSMsgType]:
        """Encode a report once for all clients, and return its kind; b"" of a robot that has vanished."""
        key = report.robot, report.subject
        kind = WSMsgType.BINARY if report.subject == "samples" else WSMsgType.TEXT
        if report.robot not in self._places:
            return b"", kind
        known = self._encoded.get(key)
        if known is None or known[0] is not report:
            if report.subject == "samples":
                encoded = telemetry_frame(self._places[report.robot], report.data)
            else:
                message = {"robot": report.robot, "subject": report.subject, "data": report.data}
                encoded = orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)
            known = self._encoded[key] = report, encoded
        return known[1], kind
