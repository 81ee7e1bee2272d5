from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import suppress

import pytest

from tests.daemon.link import Link
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("passes", range(5))
async def test_a_link_that_is_cut_while_somebody_calls_leaves_no_socket_open(passes: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        link = Link(broker.getsockname()[1])
        await link.hint()
        with socket.create_connection(("127.0.0.1", link.port)) as caller:
            for _ in range(passes):
                await asyncio.sleep(0)
            await link.cut()
            gc.collect()  # what was left open warns now, and fails the test
            caller.settimeout(PATIENCE_S)
            with suppress(ConnectionResetError):
                assert not caller.recv(1)
