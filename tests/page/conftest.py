"""An arm with a page, for every test of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.daemon.conftest import Mosquitto
from tests.page.browser import ArmRig
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[ArmRig]:
    yield ArmRig(tmp_path)
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest_asyncio.fixture
async def mosquitto(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    broker = Mosquitto(free_port(), tmp_path)
    await broker.start()
    yield broker
    await broker.kill()
    await asyncio.get_running_loop().shutdown_default_executor()
