"""Behaviour of a stream process that cannot be started: nothing of it stays, and the daemon lives on."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from motiond.daemon.robots.stream_process import StreamProcess
from tests.daemon.rig import Rig, ask
from tests.daemon.stream.test_loop import setup_of

if TYPE_CHECKING:
    from collections.abc import Callable

FAILING: dict[str, tuple[object, str]] = {
    "a socket": (socket, "socketpair"),
    "shared memory": (os, "memfd_create"),
    "its size": (os, "ftruncate"),
    "a process": (subprocess, "Popen"),
    "its descriptor": (os, "pidfd_open"),
}


def fail(number: int, *_: Any, **__: Any) -> None:
    raise OSError(number, os.strerror(number))


def open_files() -> set[str]:
    files = Path("/proc/self/fd").iterdir()
    return {f"{file.name} {file.readlink()}" for file in files if file.exists()}


def open_children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.mark.parametrize("what", FAILING)
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN, errno.ENOMEM])
async def test_nothing_stays_of_a_process_for_which_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, what: str, number: int
) -> None:
    before = open_files(), open_children()
    owner, name = FAILING[what]
    monkeypatch.setattr(owner, name, partial(fail, number))
    with pytest.raises(OSError, match=os.strerror(number)):
        StreamProcess(setup_of())
    monkeypatch.undo()
    assert (open_files(), open_children()) == before


@pytest.mark.parametrize("earlier", [0, 1])
async def test_nothing_stays_of_a_process_that_the_loop_cannot_listen_to(
    monkeypatch: pytest.MonkeyPatch, earlier: int
) -> None:
    before = open_files(), open_children()
    loop = asyncio.get_running_loop()
    add: Callable[..., None] = loop.add_reader
    added: list[int] = []

    def add_some(fd: int, *act: Any) -> None:
        if len(added) == earlier:
            fail(errno.ENOSPC)
        added.append(fd)
        add(fd, *act)

    monkeypatch.setattr(loop, "add_reader", add_some)
    with pytest.raises(OSError, match="No space left on device"):
        StreamProcess(setup_of())
    monkeypatch.undo()
    assert (open_files(), open_children()) == before
    assert [loop.remove_reader(fd) for fd in added] == [False] * earlier


async def test_a_stream_process_has_one_thread(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    async with rig.running():
        await rig.until_state("idle")
        (stream,) = open_children()
        assert stream.num_threads() == 1


@pytest.mark.parametrize("what", FAILING)
async def test_a_robot_comes_on_line_once_the_system_lets_its_process_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    rig = Rig(tmp_path)
    owner, name = FAILING[what]
    with monkeypatch.context() as missing:
        missing.setattr(owner, name, partial(fail, errno.EMFILE))
        async with rig.running() as registry:
            lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
            missing.undo()
            await rig.until_state("idle")
            goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
            assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"
    assert lost["message"] == (
        "the stream process cannot be started; Too many open files; tried again; "
        "check how many descriptors, processes and how much memory the daemon may have"
    )
