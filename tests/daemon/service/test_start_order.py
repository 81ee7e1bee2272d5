"""The page is served once the robots are on line, or after a second."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.api.reports import Report, ReportHub
from motiond.daemon.service.daemon import PAGE_WAITS_S, _serve_page

if TYPE_CHECKING:
    from motiond.daemon.http.server import HttpServer
    from motiond.daemon.robots.registry import RobotRegistry

ROBOTS = cast("RobotRegistry", SimpleNamespace(robots=("left", "right")))


class Page:
    """Notes when it begins to be served."""

    def __init__(self) -> None:
        self.served_s: float | None = None

    async def run(self) -> None:
        self.served_s = asyncio.get_running_loop().time()
        await asyncio.get_running_loop().create_future()


async def served_after_s(*reports: tuple[float, str, str]) -> float:
    """Let robots report their availability, each so long after the one before; when the page begins."""
    hub, page, loop = ReportHub(), Page(), asyncio.get_running_loop()
    begun_s = loop.time()
    serving = asyncio.create_task(_serve_page(cast("HttpServer", page), hub, ROBOTS))
    await asyncio.sleep(0)
    for wait_s, robot, state in reports:
        await asyncio.sleep(wait_s)
        hub.publish(Report(robot, "availability", {"state": state}))
    await asyncio.sleep(2 * PAGE_WAITS_S)
    serving.cancel()
    await asyncio.wait((serving,))
    assert page.served_s is not None
    return page.served_s - begun_s


@pytest.mark.parametrize(
    ("reports", "after_s"),
    [
        ([(0.25, "left", "online"), (0.25, "right", "online")], 0.5),
        ([(0.0, "left", "offline"), (0.0, "right", "offline"), (0.5, "left", "online")], 1.0),
        ([(0.25, "left", "online"), (0.25, "left", "online")], 1.0),
        ([], 1.0),
    ],
    ids=["all are on line", "one is missing", "one comes twice", "nobody reports"],
)
async def test_the_page_lets_robots_come_on_line_first(
    reports: list[tuple[float, str, str]], after_s: float
) -> None:
    told: Any = await served_after_s(*reports)
    assert told == pytest.approx(after_s)
