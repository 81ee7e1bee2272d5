"""What every test is held to: it leaves no thread, process, nameless memory or asyncio task behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SETTLE_S = 20.0


def _leftovers() -> set[str]:
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    return threads | set(_processes("self")) | _memory()


def _processes(parent: str) -> Iterator[str]:
    """Yield the processes below one; psutil would look through all there are."""
    with suppress(OSError):  # it may end meanwhile
        for thread in Path("/proc", parent, "task").iterdir():
            for child in (thread / "children").read_text().split():
                yield f"process {child} {Path('/proc', child, 'comm').read_text().strip()}"
                yield from _processes(child)


def _memory() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue  # the descriptor of the listing itself
        if target.startswith("/memfd:motiond"):
            found.add(f"descriptor {entry.name} {target}")
    return found


@pytest.fixture(autouse=True)
def _leaves_nothing_behind() -> Iterator[None]:
    before = _leftovers()
    yield
    deadline_s = time.monotonic() + SETTLE_S
    while left := _leftovers() - before:
        gc.collect()
        if time.monotonic() > deadline_s:
            pytest.fail("left behind: " + ", ".join(sorted(left)))
        time.sleep(0.02)


@pytest_asyncio.fixture(autouse=True)
async def _leaves_no_task_behind(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    yield
    if request.node.get_closest_marker("asyncio") is None:
        return
    current = asyncio.current_task()
    for _ in range(10):
        await asyncio.sleep(0)
    left = [task.get_name() for task in asyncio.all_tasks() if task is not current and not task.done()]
    if left:
        pytest.fail("tasks left behind: " + ", ".join(sorted(left)))
