"""A browser for all tests of the page, and an arm with a page for each of them.

The browser lives in the event loop that it was started in, so all of these tests share one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.daemon.conftest import Mosquitto
from tests.page.browser import BROWSERS, ArmRig
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let all of them run on one event loop."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def _browser() -> AsyncIterator[None]:
    await BROWSERS.start()
    yield
    await BROWSERS.end()


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def _leaves_no_task_behind() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    for _ in range(10):
        await asyncio.sleep(0)
    left = [task.get_name() for task in asyncio.all_tasks() - before if task is not asyncio.current_task()]
    if left:
        pytest.fail("tasks left behind: " + ", ".join(sorted(left)))


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def _threads() -> AsyncIterator[None]:
    """Give each test threads of its own, which end with it."""
    with ThreadPoolExecutor() as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        yield


@pytest.fixture
def rig(tmp_path: Path) -> ArmRig:
    return ArmRig(tmp_path)


@pytest_asyncio.fixture(loop_scope="session")
async def mosquitto(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    broker = Mosquitto(free_port(), tmp_path)
    await broker.start()
    yield broker
    await broker.kill()
