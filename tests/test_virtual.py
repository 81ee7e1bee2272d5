"""The virtual loop and its network, held to what the system's do."""

from __future__ import annotations

import asyncio
import errno
import inspect
import os
import select
import socket
import struct
import time

import paho.mqtt.client as paho
import pytest

from motiond.daemon.api.lease import Lease
from motiond.local import Peer, peer_of
from tests import virtual
from tests.users import OTHER_USER
from tests.virtual import NETWORK, START_S, NothingHappensError, VirtualLoop


async def test_time_passes_at_once() -> None:
    loop = asyncio.get_running_loop()
    before_s = loop.time()
    before_unix_s = time.time()
    await asyncio.sleep(3600.0)
    assert loop.time() == time.monotonic() == pytest.approx(before_s + 3600.0)
    assert time.time() == pytest.approx(before_unix_s + 3600.0)


def test_what_keeps_a_clock_as_its_default_keeps_the_virtual_one() -> None:
    defaults = inspect.signature(Lease.__init__).parameters
    assert (defaults["now"].default, defaults["unix_now"].default) == (time.monotonic, time.time)
    assert paho.time_func is time.monotonic


def test_a_wait_for_what_never_comes_fails_at_once() -> None:
    loop = VirtualLoop()
    try:
        with pytest.raises(NothingHappensError, match="nothing can happen any more: <Task pending"):
            loop.run_until_complete(asyncio.Event().wait())
    finally:
        loop.run_until_complete(_cancelled())
        loop.close()
    assert loop.time() == START_S


def test_a_wait_beside_a_timer_that_goes_on_for_ever_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "MOST_JUMPS", 100)

    async def ticks() -> None:
        while True:  # noqa: ASYNC110 - a timer that goes on
            await asyncio.sleep(1.0)

    loop = VirtualLoop()
    with pytest.raises(NothingHappensError, match=r"has not come by 1100 s: <Task pending"):
        loop.run_until_complete(ticks())
    monkeypatch.undo()
    loop.run_until_complete(_cancelled())
    loop.close()


async def _cancelled() -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
        await asyncio.wait((task,))


async def test_streams_carry_data_both_ways_to_the_end() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"wave" * 500_000)
    writer.write_eof()
    assert await reader.read() == b"WAVE" * 500_000
    writer.close()
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_who_does_not_read_holds_the_writer_up() -> None:
    one, other = socket.socketpair()
    one.setblocking(False)
    one.send(b"x" * 10_000_000)
    with pytest.raises(BlockingIOError):
        one.send(b"x")
    other.close()
    with pytest.raises(ConnectionResetError):
        one.recv(1)
    one.close()


def test_a_poll_sees_what_has_come() -> None:
    one, other = socket.socketpair()
    poller = select.poll()
    poller.register(other.fileno(), select.POLLIN)
    assert poller.poll(0) == []
    one.send(b"here")
    assert poller.poll(0) == [(other.fileno(), select.POLLIN)]
    assert other.recv(10) == b"here"
    assert poller.poll(0) == []
    one.close()
    assert poller.poll(0) == [(other.fileno(), select.POLLIN)]
    other.close()


async def test_descriptors_go_along_with_packets() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open("/proc/self/stat") as file:  # noqa: ASYNC230, PTH123 - any file
        socket.send_fds(one, [b"here"], [file.fileno()])
    data, fds, _, _ = socket.recv_fds(other, 100, 4)
    assert (data, len(fds)) == (b"here", 1)
    with open(fds[0]) as file:  # noqa: ASYNC230, PTH123 - the same
        assert file.read()
    one.close()
    assert socket.recv_fds(other, 100, 4)[0] == b""
    other.close()


async def test_a_blocking_socket_waits_in_a_function_of_the_executor_while_others_run() -> None:
    one, other = socket.socketpair()
    other.settimeout(5.0)
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    asking = asyncio.ensure_future(asyncio.to_thread(other.recv, 10))
    await asyncio.sleep(2.0)
    one.send(b"here")
    assert await asking == b"here"
    assert loop.time() - began_s == pytest.approx(2.0)
    with pytest.raises(TimeoutError, match="timed out"):
        await asyncio.to_thread(other.recv, 10)
    assert loop.time() - began_s == pytest.approx(7.0)
    with pytest.raises(AssertionError, match="would wait for ever"):
        other.recv(10)
    one.close()
    other.close()


async def test_what_is_written_beyond_the_buffers_of_both_ends_waits() -> None:
    one, other = socket.socketpair()
    one.setblocking(False)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1000)
    other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200)
    assert one.send(bytes(5000)) == 1200
    one.close()
    other.close()


async def test_an_address_of_another_machine_and_a_name_are_not_there() -> None:
    with pytest.raises(OSError, match="cannot assign requested address"):
        await asyncio.start_server(lambda *_: None, "192.0.2.1", 0)
    with pytest.raises(socket.gaierror):
        await asyncio.open_connection("no.such.invalid", 80)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("localhost", 1)


async def test_a_loop_that_stands_still_finds_all_timers_due() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    sleeping = [asyncio.create_task(asyncio.sleep(duration_s)) for duration_s in (3.0, 1.0)]
    await asyncio.sleep(0)
    loop.stand_still(3.5)
    for _ in range(3):
        await asyncio.sleep(0)
    assert all(task.done() for task in sleeping)


def test_a_test_that_sleeps_fails() -> None:
    with pytest.raises(AssertionError, match="nobody else would run"):
        time.sleep(0.001)


async def test_a_function_of_the_executor_sleeps_while_others_run() -> None:
    sleeping = asyncio.create_task(asyncio.to_thread(time.sleep, 2.0))
    await asyncio.sleep(1.0)
    assert not sleeping.done()
    await sleeping
    assert time.monotonic() == pytest.approx(START_S + 2.0)


def test_who_is_at_the_other_end_is_known() -> None:
    ours, theirs = os.getuid(), OTHER_USER
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as connecting:
        listening.bind("\0name")
        with NETWORK.as_user(theirs):
            listening.listen()
        connecting.connect("\0name")
        with listening.accept()[0] as taken:
            assert [peer_of(one) for one in (connecting, taken)] == [
                Peer(os.getpid(), theirs),
                Peer(os.getpid(), ours),
            ]


async def test_a_reset_is_a_sockets_error_once() -> None:
    one, other = socket.socketpair()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    other.close()
    seen = [one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) for _ in range(2)]
    assert seen == [errno.ECONNRESET, 0]
    assert one.recv(1) == b""
    one.close()
