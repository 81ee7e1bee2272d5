"""A WebSocket client that reads nothing, or late, and what is published to it."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Self

import numpy as np
import orjson

from motiond.daemon.api import Report
from motiond.daemon.http.live.frames import HEAD
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.daemon.api import Subject
    from tests.daemon.http.conftest import Page, Site

JOINTS = 30


def sample(number: float, robot: str = "arm") -> Report:
    """Return telemetry whose every array begins with a number."""
    side = {name: np.full(JOINTS, number) for name in ("position", "velocity", "effort")}
    data = {"stamp_s": 100.0 + number, "frame": number, "reference": side, "feedback": side, "error": side}
    return Report(robot, "samples", data, renews=True)


def report(subject: Subject, number: int) -> Report:
    return Report(
        "arm", subject, {"number": number} | ({"code": "SUCCESSFUL"} if subject == "result" else {})
    )


async def publish(site: Site, numbers: range, page: Page) -> None:
    """Publish telemetry, each as soon as a client that reads has got the one before."""
    for number in numbers:
        site.hub.publish(sample(number))
        assert HEAD.unpack_from(await page.frame())[4] == number


class Stopped:
    """A client that has connected and reads nothing, with as little room in its system as there can be."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self.socket.setblocking(False)
        await loop.sock_connect(self.socket, ("127.0.0.1", self._site.port))
        key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        head = b"GET /api/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        await loop.sock_sendall(self.socket, head + key + b"\r\n")
        assert (await loop.sock_recv(self.socket, 20)).startswith(b"HTTP/1.1 101")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.socket.close()

    async def read(self, holds: Callable[[list[tuple[int, bytes]]], object]) -> list[tuple[int, bytes]]:
        """Give all frames that have come and still come until they hold: opcode and content."""
        loop, came = asyncio.get_running_loop(), bytearray()
        async with asyncio.timeout(PATIENCE_S):
            while not holds(frames := frames_of(bytes(came).partition(b"\r\n\r\n")[2])):
                data = await loop.sock_recv(self.socket, 65536)
                assert data, "the server has hung up"
                came += data
        return frames

    async def read_all(self) -> None:
        """Read until the server hangs up."""
        while await asyncio.get_running_loop().sock_recv(self.socket, 65536):
            pass

    @property
    def is_reset(self) -> bool:
        return self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def frames_of(data: bytes) -> list[tuple[int, bytes]]:
    """Give the frames that are whole."""
    found, at = [], 0
    while at + 2 <= len(data):
        opcode, length, at = data[at] & 15, data[at + 1] & 127, at + 2
        if length >= 126:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        if at + length > len(data):
            break
        found.append((opcode, data[at : at + length]))
        at += length
    return found


async def gets_all_results_and_little_telemetry(site: Site, stopped: Stopped) -> None:
    """Show that a client that reads late gets every result, and of telemetry the newest before all."""
    async with site.live() as page:
        await page.until_daemon()
        for number in range(10):
            await publish(site, range(200 * number, 200 * number + 200), page)
            for subject in ("result", "event"):
                site.hub.publish(report(subject, number))
    frames = await stopped.read(lambda frames: has_come(frames, 1999, 9))
    assert told_in(frames, "result") == told_in(frames, "event") == [*range(10)]
    samples = samples_in(frames)
    assert samples == sorted(samples)
    assert len(samples) < 500


def has_come(frames: list[tuple[int, bytes]], newest: int, last: int) -> bool:
    said = all(last in told_in(frames, subject) for subject in ("result", "event"))
    return said and newest in samples_in(frames)


def told_in(frames: list[tuple[int, bytes]], subject: Subject) -> list[int]:
    texts = [orjson.loads(data) for opcode, data in frames if opcode == 1]
    return [one["data"]["number"] for one in texts if one.get("subject") == subject]


def samples_in(frames: list[tuple[int, bytes]]) -> list[float]:
    return [HEAD.unpack_from(data)[4] for opcode, data in frames if opcode == 2]
