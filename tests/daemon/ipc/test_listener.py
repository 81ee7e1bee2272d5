"""A listener where the system has no descriptors left: it rests, says so once, and goes on by itself."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.ipc.listener import Listener, listen, listen_unix
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket as MemorySocket  # noqa: N812 - which it stands in for
else:
    from tests.virtual import MemorySocket

WAITS = (
    "page: not all connections can be taken; too many open files; others wait; "
    "raise LimitNOFILE, or close some"
)


class Scarce(MemorySocket):
    """A listening socket of a process that has so many descriptors left."""

    free = 0
    tries = 0

    def accept(self) -> tuple[MemorySocket, Any]:
        if self.free <= 0:
            self.tries += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        taken = super().accept()
        self.free -= 1
        return taken


class Greeting(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


@pytest.fixture
def scarce() -> Iterator[Scarce]:
    with Scarce() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


def client_of(bound: socket.socket) -> socket.socket:
    client = socket.create_connection(bound.getsockname(), PATIENCE_S)
    client.setblocking(False)
    return client


async def greeting(client: socket.socket) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.get_running_loop().sock_recv(client, 100)


async def test_where_no_descriptors_are_left_the_listener_rests_and_the_log_has_two_lines(
    scarce: Scarce, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    listening = Listener("page", [scarce], Greeting)
    began_s = asyncio.get_running_loop().time()
    with ExitStack() as stack:
        clients = [stack.enter_context(client_of(scarce)) for _ in range(50)]
        await asyncio.sleep(10.0)
        assert scarce.tries == pytest.approx(10.0 / 0.2, abs=3)
        assert caplog.messages == [WAITS]
        scarce.free = 50
        assert [await greeting(client) for client in clients] == [b"hello"] * 50
        assert asyncio.get_running_loop().time() - began_s < 10.3
        await asyncio.sleep(6.0)
    assert caplog.messages == [WAITS, "page: connections are taken again, after 15 s"]
    listening.close()


async def test_without_one_in_reserve_a_connection_makes_room_for_the_next(
    scarce: Scarce, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[int] = []

    def make_room() -> bool:
        ended.append(1)
        scarce.free += 1
        return True

    listening = Listener("page", [scarce], Greeting, make_room)
    for _ in range(5):
        with client_of(scarce) as client:
            assert await greeting(client) == b"hello"
    assert len(ended) == 5
    assert caplog.messages == [WAITS]
    listening.close()


async def test_it_listens_at_every_address_of_a_host_and_at_a_name(tmp_path: Any) -> None:
    listening = await listen("127.0.0.1", 0, Greeting, lambda: False, name="page")
    with socket.create_connection(listening.addresses[0], PATIENCE_S) as client:
        client.setblocking(False)
        assert await greeting(client) == b"hello"
    named = await listen_unix(str(tmp_path / "socket"), Greeting, name="control")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "socket"))
        client.setblocking(False)
        assert await greeting(client) == b"hello"
    address = listening.addresses[0]
    for one in (listening, named):
        one.close()
        one.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


async def test_an_address_that_is_taken_is_refused_with_the_systems_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is looked at
            await listen("127.0.0.1", other.getsockname()[1], Greeting, lambda: False, name="page")
        assert caught.value.errno == errno.EADDRINUSE
