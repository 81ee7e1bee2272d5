"""What every test is held to: it leaves no thread, process, nameless memory or asyncio task behind."""

from __future__ import annotations

import asyncio
import gc
import os
import pwd
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.lasting import processes_below, read

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SETTLE_S = 20.0
LONGEST = (
    "tests/docs/test_first_steps.py",
    "tests/daemon/mqtt/test_connection_log.py",
    "tests/daemon/fleet/test_group_start.py",
    "tests/daemon/mqtt/test_bridge.py",
    "tests/daemon/mqtt/test_brokers.py",
    "tests/page/test_page.py",
    "tests/docs/",
    "tests/test_package.py",
    "tests/daemon/fleet/test_end_to_end.py",
    "tests/daemon/tools/test_plot.py",
    "tests/daemon/test_engine_properties.py",
    "tests/page/",
    "tests/daemon/fleet/",
    "tests/daemon/http/",
    "tests/daemon/test_",
    "tests/daemon/client/",
    "tests/daemon/cli/",
    "tests/drivers/testing/",
    "tests/daemon/testing/",
    "tests/daemon/robots/test_robot.py",
    "tests/daemon/mqtt/test_roles.py",
    "tests/formats/seq/test_layouts.py",
    "tests/formats/sdf/test_include.py",
    "tests/formats/test_",
    "tests/formats/hrdf/",
    "tests/test_",
    "tests/scripts/",
    "tests/daemon/",
)
"""What begins first, in this order, so that no worker is left with it at the end."""

settings.register_profile("patient", deadline=None)  # a busy machine may hold up any example
settings.load_profile("patient")


def _leftovers() -> set[str]:
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    return threads | {f"process {pid}" for pid in processes_below("self")} | _memory()


def _with_name(leftover: str) -> str:
    """Add the name of what is a process; it may have got it meanwhile."""
    kind, _, pid = leftover.partition(" ")
    with suppress(OSError):
        return f"{leftover} {read(f'/proc/{pid}/comm').strip()}" if kind == "process" else leftover
    return leftover


def _memory() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the same
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - the same
        except OSError:
            continue  # the descriptor of the listing itself
        if target.startswith("/memfd:motiond"):
            found.add(f"descriptor {descriptor} {target}")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(test: str) -> int:
    return next((place for place, first in enumerate(LONGEST) if test.startswith(first)), len(LONGEST))


def pytest_configure() -> None:
    """Look for no garbage while tests are collected, of which there is none: a fifth of what that takes."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep what is loaded by now out of the garbage collector's way: it stays to the end."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what daemons store for the next one out of the user's folder, and of other workers' ports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user whom the machine has no name and no home for, as in a container run by a number."""

    def unknown(user: int) -> object:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def runs_on_a_loop(request: pytest.FixtureRequest) -> bool:
    """Whether a test is asynchronous; an event loop for each that is not would cost more than most."""
    return request.node.get_closest_marker("asyncio") is not None


@pytest.fixture(autouse=True)
def _leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    if runs_on_a_loop(request):
        request.getfixturevalue("_leaves_no_task_behind")
    before = _leftovers()
    yield
    deadline_s = time.monotonic() + SETTLE_S
    while left := _leftovers() - before:
        gc.collect()
        if time.monotonic() > deadline_s:
            pytest.fail("left behind: " + ", ".join(sorted(map(_with_name, left))))
        time.sleep(0.02)


@pytest_asyncio.fixture
async def _leaves_no_task_behind() -> AsyncIterator[None]:
    yield
    current = asyncio.current_task()
    for _ in range(10):
        await asyncio.sleep(0)
    left = [task.get_name() for task in asyncio.all_tasks() if task is not current and not task.done()]
    if left:
        pytest.fail("tasks left behind: " + ", ".join(sorted(left)))
