"""A listener of a process that the system gives no more descriptors."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from motiond.daemon.ipc.listener import listen
from tests.daemon.ipc.test_listener import WAITS, Greeting
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    _, most = usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


async def test_where_no_descriptors_are_left_a_listener_rests_and_goes_on_by_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    listening = await listen("127.0.0.1", 0, Greeting, lambda: False, name="page")
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(10)]
        with no_more_descriptors():
            for client in clients:
                client.connect(listening.addresses[0])
                client.setblocking(False)
            # The descriptor in reserve takes one of them, whose own is free again at its end, and so on.
            async with asyncio.timeout(PATIENCE_S):
                assert await loop.sock_recv(clients[0], 100) == b"hello"
        for client in clients[1:]:
            async with asyncio.timeout(PATIENCE_S):
                assert await loop.sock_recv(client, 100) == b"hello"
    assert caplog.messages[0] == WAITS
    listening.close()
