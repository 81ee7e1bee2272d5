"""A browser for all tests of the page, and one daemon of many robots for those of a file.

The browser lives in the event loop that it was started in, so all of these tests share one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.daemon.conftest import Mosquitto
from tests.ports import free_port
from tests.system.page.browser import BROWSERS, ManyRobots, browsing, daemon_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest

    from tests.system.page.browser import Browsed


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def _browser() -> AsyncIterator[None]:
    await BROWSERS.start()
    yield
    await BROWSERS.end()


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def _threads() -> AsyncIterator[None]:
    """Give each test threads of its own, which end with it."""
    with ThreadPoolExecutor() as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ManyRobots]:
    """Run a daemon of many robots, which are idle."""
    rig = ManyRobots(tmp_path_factory.mktemp("robots"))
    with daemon_of(rig):
        await rig.until_listening()
        for robot in ("arm", *rig.others):
            await rig.until_sees("state", lambda seen: seen.get("state") == "idle", robot)
        yield rig


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def desk(rig: ManyRobots) -> AsyncIterator[Browsed]:
    """Have its page on a desk, without 3D."""
    async with browsing(rig.url) as browsed:
        yield browsed


@pytest_asyncio.fixture(loop_scope="session")
async def mosquitto(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    broker = Mosquitto(free_port(), tmp_path)
    await broker.start()
    yield broker
    await broker.kill()
