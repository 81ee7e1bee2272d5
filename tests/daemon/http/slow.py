"""Telemetry and results for a WebSocket client that reads late, or nothing."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.api import Report
from motiond.daemon.http.live.frames import HEAD

if TYPE_CHECKING:
    from motiond.daemon.api import Subject
    from tests.daemon.http.conftest import Page, Site

JOINTS = 30
RECEIVE_BUFFER_BYTES = 16_384
"""Of the system, which may hold megabytes otherwise."""


def sample(number: float, robot: str = "arm") -> Report:
    """Return telemetry whose every array begins with a number."""
    side = {name: np.full(JOINTS, number) for name in ("position", "velocity", "effort")}
    data = {"stamp_s": 100.0 + number, "frame": number, "reference": side, "feedback": side, "error": side}
    return Report(robot, "samples", data, renews=True)


def report(subject: Subject, number: int) -> Report:
    data = {"number": number} | ({"code": "SUCCESSFUL"} if subject == "result" else {})
    return Report("arm", subject, data)


async def publish(site: Site, numbers: range, page: Page) -> None:
    """Publish telemetry, each as soon as a client that reads has got the one before."""
    for number in numbers:
        site.hub.publish(sample(number))
        assert HEAD.unpack_from(await page.frame())[4] == number


async def publish_to_nobody(site: Site, count: int) -> None:
    """Fill what lies between the server and a client that reads nothing."""
    for number in range(count):
        site.hub.publish(sample(number))
        await asyncio.sleep(0)


async def gets_all_results_and_little_telemetry(site: Site) -> None:
    """Show that a client that reads late gets every result, and of telemetry the newest before all."""
    async with site.live() as slow, site.live() as page:
        slow.socket.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES
        )
        await page.until_daemon()
        for number in range(10):
            await publish(site, range(500 * number, 500 * number + 500), page)
            for subject in ("result", "event"):
                site.hub.publish(report(subject, number))
        samples: list[float] = [0.0]
        said: list[tuple[str, int]] = []
        while samples[-1] < 4999.0 or len(said) < 20:
            if isinstance(told := await slow.next(), bytes):
                samples.append(HEAD.unpack_from(told)[4])
            elif told.get("subject") in {"result", "event"}:
                said.append((told["subject"], told["data"]["number"]))
    assert said == [(subject, number) for number in range(10) for subject in ("result", "event")]
    assert samples == sorted(samples)
    assert len(samples) < 1000
