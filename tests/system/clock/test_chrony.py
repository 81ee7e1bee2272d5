"""chronyc is asked as a program: answers, failures, and what hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.clock import chrony
from tests.daemon.clock.test_state import SERVER
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from pathlib import Path


def program(folder: Path, script: str) -> str:
    path = folder / "chronyc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_chrony_is_asked_without_names_to_look_up_and_where_there_is_none_nothing_fails(
    tmp_path: Path,
) -> None:
    said = program(tmp_path, f'[ "$*" = "-n -c tracking" ] && echo "{SERVER}"')
    assert await chrony.ask_chrony(said, PATIENCE_S) == chrony.parse(SERVER)
    (tmp_path / "chronyc").unlink()
    assert await chrony.ask_chrony(str(tmp_path / "chronyc")) is None
    assert (
        await chrony.ask_chrony(program(tmp_path, "echo 506 Cannot talk to daemon; exit 1"), PATIENCE_S)
        is None
    )
    (tmp_path / "chronyc").write_text("neither a script nor a program")
    assert await chrony.ask_chrony(str(tmp_path / "chronyc")) is None
    assert (
        await chrony.ask_chrony(program(tmp_path, "head -c 100000 /dev/zero | tr '\\0' x"), PATIENCE_S)
        is None
    )


async def test_a_chrony_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    began_s = time.monotonic()
    assert await chrony.ask_chrony(program(tmp_path, "sleep 300 & sleep 300"), 0.2) is None
    assert time.monotonic() - began_s < PATIENCE_S


async def test_asking_can_be_cancelled_and_leaves_no_process(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    script = f"echo $$ > {noted}.new; mv {noted}.new {noted}; sleep 300"
    asking = asyncio.create_task(chrony.ask_chrony(program(tmp_path, script), 300.0))
    await asyncio.to_thread(eventually, "it runs", noted.exists, bool)
    async with asyncio.timeout(PATIENCE_S):
        asking.cancel()
        await asyncio.wait((asking,))
    assert asking.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


async def test_asking_that_is_cancelled_while_it_starts_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = asyncio.create_subprocess_exec, []

    async def start_and_be_cancelled(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*arguments, **options))
        asking.cancel()
        await asyncio.sleep(0.01)
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_be_cancelled)
    asking = asyncio.create_task(chrony.ask_chrony(program(tmp_path, "sleep 300"), 300.0))
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait((asking,))
    assert asking.cancelled()
    assert [process.returncode for process in started] == [-signal.SIGKILL]
