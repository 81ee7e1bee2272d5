"""The page is loaded once the robots are on line, or after a second."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.service.daemon import _until_on_line

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

ROBOTS = cast("RobotRegistry", SimpleNamespace(robots=("left", "right")))


async def waits_s(*reports: tuple[float, str, str]) -> float:
    """Let robots report their availability, each so long after the one before; how long the page waits."""
    hub, loop = ReportHub(), asyncio.get_running_loop()
    begun_s = loop.time()
    waiting = asyncio.create_task(_until_on_line(hub, ROBOTS))
    await asyncio.sleep(0)
    for wait_s, robot, state in reports:
        await asyncio.sleep(wait_s)
        hub.publish(Report(robot, "availability", {"state": state}))
    await waiting
    return loop.time() - begun_s


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
    assert await waits_s(*reports) == pytest.approx(after_s)
