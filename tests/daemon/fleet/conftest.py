from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.conftest import Embedded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def broker(free_port: int) -> AsyncIterator[Embedded]:
    broker = Embedded(free_port)
    await broker.start()
    yield broker
    await broker.kill()
