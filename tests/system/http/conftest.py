"""A server on sockets of the system, before a robot to command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.daemon.config.http import HttpSettings
from motiond.daemon.service import daemon as service
from tests.daemon.conftest import Robots, known_hub
from tests.daemon.http.conftest import Site, serving
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    service.raise_limit()  # this process has both ends of each connection
    async with serving(HttpSettings(listen=f"127.0.0.1:{free_port()}"), Robots(), known_hub()) as site:
        yield site
