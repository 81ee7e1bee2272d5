"""What every test is held to: it leaves no thread, process, nameless memory or asyncio task behind.

Tests outside `tests/system` run in this process, on virtual time, with sockets in memory. One that starts a
process, opens a socket of the system or sleeps fails.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import pwd
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.testing  # noqa: F401 - it asks a program for the processor, so no test may be the first to load it
import pytest
import pytest_asyncio
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import HealthCheck, settings

from tests import virtual
from tests.lasting import processes_below, read
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping

SYSTEM = Path(__file__).parent / "system"
OF_THE_SYSTEM = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "socket.__new__", "subprocess.Popen"})
"""Audit events of what a test outside `tests/system` does not do."""

HANGING_S = 3600.0
"""How long a file of tests may take; see docs/decisions/pytest-timeout.md."""
SETTLE_S = 20.0
sleep = time.sleep


def uses_the_system(path: Path) -> bool:
    """Whether the tests of a file may start processes, open sockets and wait."""
    return path.is_relative_to(SYSTEM)


class Guard:
    """Keeps a test from the system, and fails what uses it all the same."""

    def __init__(self) -> None:
        self._test = ""
        self._until_its_end = ExitStack()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._test and event in OF_THE_SYSTEM:
            raise AssertionError(
                f"{self._test}: {event}{arguments}: only tests in tests/system use the system"
            )

    def keep(self, test: str) -> None:
        """Keep a test from the system."""
        self._test = test
        self._until_its_end.enter_context(virtual.in_memory())
        self._until_its_end.callback(virtual.NETWORK.close)

    def release(self) -> None:
        """Let the system be used again."""
        self._test = ""
        self._until_its_end.close()


GUARD = Guard()
sys.addaudithook(GUARD)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keep a test from the system, unless it is there to use it."""
    if not uses_the_system(item.path):
        GUARD.keep(item.nodeid)
    try:
        return (yield)
    finally:
        GUARD.release()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Let what several tests had end in the system, after what the last one had."""
    if nextitem is None and item.parent is not None:
        item.parent.addfinalizer(GUARD.release)


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Let asynchronous tests run on virtual time, unless they use the system."""
    if uses_the_system(item.path):
        return {"system": asyncio.new_event_loop}
    return {"virtual": virtual.VirtualLoop}


# A busy machine may hold up any example. `make properties` tries more, others each time.
ON_ANY_MACHINE: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", max_examples=25, derandomize=True, database=None, **ON_ANY_MACHINE)
settings.register_profile("many", max_examples=int(os.environ.get("EXAMPLES", "2000")), **ON_ANY_MACHINE)
settings.load_profile("few")


def _leftovers(*, is_in_memory: bool, owners: Collection[int] = ()) -> set[str]:
    """Return what a test may leave behind; processes that `owners` start are theirs."""
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    if is_in_memory:
        listening = {f"{one!r} that listens" for one in virtual.NETWORK.listening.values()}
        return threads | listening | _memory()
    return threads | {f"process {pid}" for pid in processes_below("self", owners)} | _memory()


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
    """Begin with tests that wait for programs, beside which others run."""
    items.sort(key=lambda item: not uses_the_system(item.path))


def pytest_configure() -> None:
    """Look for no garbage while tests are collected, of which there is none: a fifth of what that takes."""
    gc.disable()


def pytest_unconfigure() -> None:
    """Free what the daemon has frozen here: bindings in C++ report what outlives them as leaked."""
    gc.unfreeze()
    gc.collect()


def pytest_collection_finish() -> None:
    """Keep what is loaded by now out of the garbage collector's way: it stays to the end."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # the heap is large, and tests leave little in it
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _ends_the_worker_if_it_hangs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write all stacks and end this process where no signal comes through, as in C."""
    stderr = request.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(HANGING_S, exit=True, file=stderr)
    yield
    faulthandler.cancel_dump_traceback_later()


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
    is_in_memory = not uses_the_system(request.path)
    if not is_in_memory:
        with suppress(pytest.FixtureLookupError):
            request.getfixturevalue("_forks")  # is to last
    before = _leftovers(is_in_memory=is_in_memory)
    owners = () if is_in_memory else frozenset(processes_below("self"))

    def left_behind() -> set[str]:
        return _leftovers(is_in_memory=is_in_memory, owners=owners) - before

    yield
    for thread in threading.enumerate():
        if f"thread {thread.name}" not in before:
            thread.join(PATIENCE_S)  # one that drew progress is ending, and has ended in a moment
    deadline_s = time.monotonic() + PATIENCE_S
    if left_behind():
        gc.collect()
    while left := left_behind():
        if is_in_memory or time.monotonic() > deadline_s:
            pytest.fail("left behind: " + ", ".join(sorted(map(_with_name, left))))
        sleep(0.02)
        gc.collect()


@pytest_asyncio.fixture
async def _leaves_no_task_behind() -> AsyncIterator[None]:
    yield
    current = asyncio.current_task()
    on_virtual_time = isinstance(asyncio.get_running_loop(), virtual.VirtualLoop)
    for _ in range(10):
        await asyncio.sleep(SETTLE_S if on_virtual_time else 0.0)
    left = [task.get_name() for task in asyncio.all_tasks() if task is not current and not task.done()]
    if left:
        pytest.fail("tasks left behind: " + ", ".join(sorted(left)))
