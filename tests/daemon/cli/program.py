"""motiond in this process, on a virtual loop: beside the test, a daemon, and others of its kind.

A program is a coroutine of its own (a greenlet). Where it would wait, in `asyncio.run` or in a socket that
blocks, the loop of the test goes on. It has its own stdout, stderr and signals.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

import pyte
from greenlet import getcurrent, greenlet

from motiond.client import NoAnswer
from motiond.daemon.api import ReportHub
from motiond.daemon.cli.main import main
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.service.daemon import serve
from tests.daemon.asking import ask
from tests.daemon.rig import make_clock
from tests.daemon.virtual_forks import VirtualForks
from tests.virtual import OWNER
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.daemon.rig import Rig

LOOK_S = 0.02
STREAMS = ("stdin", "stdout", "stderr")
COLUMNS, LINES = 100, 30


class Ended(NamedTuple):
    """How a program has ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str


class Program:
    """A program that runs from now on; the fixture `programs` has to last as long.

    Parameters
    ----------
    *arguments : object
        Of motiond.
    run : callable, optional
        What it does with them, in place of motiond; it returns the exit code, or exits.

    Attributes
    ----------
    stdout, stderr : StringIO
        What it has written.
    """

    def __init__(self, *arguments: object, run: Callable[[list[str]], int] = main) -> None:
        Stream.put_in_place()
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self._arguments = [str(argument) for argument in arguments]
        self._handlers: dict[int, Callable[[], object]] = {}
        self._main: asyncio.Task[Any] | None = None
        self._is_interrupted = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.get_running_loop()
        self._life = asyncio.create_task(self._live(run), name=" ".join(self._arguments))

    @property
    def has_ended(self) -> bool:
        return self._life.done()

    async def end(self) -> Ended:
        """Wait until it has ended."""
        async with asyncio.timeout(PATIENCE_S):
            code = await self._life
        return Ended(code, self.stdout.getvalue(), self.stderr.getvalue())

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, as `os.kill` does."""
        if handler := self._handlers.get(number):
            handler()
            return
        assert number == signal.SIGINT, "nothing but Ctrl-C has a default here"
        assert self._main is not None, "it has not begun"
        self._is_interrupted = True
        self._main.cancel()

    async def writes(self, text: str) -> None:
        """Wait until it has written something to stdout or stderr."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.stdout.getvalue() + self.stderr.getvalue():
                assert not self.has_ended, f"no '{text}' up to the end: {await self.end()}"
                await asyncio.sleep(0.01)

    # -- what stands in for the system ----------------------------------------------------------------------

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine as `asyncio.run` does, on the loop of the test."""
        self._main = self._loop.create_task(main, context=copy_context())
        try:
            return self.wait_for(self._main)
        except asyncio.CancelledError:
            if self._is_interrupted:
                raise KeyboardInterrupt from None
            raise
        finally:
            self.wait_for(self._end_tasks())

    async def _end_tasks(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Let the loop go on until something has come."""
        return getcurrent().parent.switch(awaitable)

    def own(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task with the program's end, as `asyncio.run` does."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def handle(self, number: int, act: Callable[[], object]) -> None:
        """Do something on a signal."""
        self._handlers[number] = act

    def default(self, number: int) -> bool:
        """Do nothing on a signal any more; return whether something was done."""
        return self._handlers.pop(number, None) is not None

    # -- its life -------------------------------------------------------------------------------------------

    async def _live(self, run: Callable[[list[str]], int]) -> int:
        body = greenlet(lambda: self._exit_code(run))
        body.gr_context = copy_context()
        body.gr_context.run(OWNER.set, self)
        result = body.switch()
        while not body.dead:
            try:
                value = await result
            except BaseException as error:  # noqa: BLE001 - it is the program's
                result = body.throw(error)
            else:
                result = body.switch(value)
        assert isinstance(result, int)
        return result

    def _exit_code(self, run: Callable[[list[str]], int]) -> int:
        try:
            return run(self._arguments)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1


class OnTerminal(Program):
    """A program on a terminal, whose screen is read as a person reads it.

    The fixture `terminals` has to last as long: what is typed comes through a pipe.
    """

    def __init__(self, *arguments: object) -> None:
        self._keys, self._typed = os.pipe()
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.Stream(self._screen)
        self._shown = 0
        super().__init__(*arguments)

    @property
    def stdin(self) -> int:
        return self._keys

    def type(self, keys: str) -> None:
        os.write(self._typed, keys.encode())

    @property
    def screen(self) -> str:
        """What stands on the screen."""
        written = self.stdout.getvalue()
        self._stream.feed(written[self._shown :].replace("\n", "\r\n"))
        self._shown = len(written)
        return "\n".join(line.rstrip() for line in self._screen.display)

    async def until(self, holds: Callable[[str], object], what: str = "what is waited for") -> str:
        """Wait until what stands on the screen holds, and return it."""
        deadline_s = self._loop.time() + PATIENCE_S
        while not holds(shown := self.screen):
            assert not self.has_ended, f"no {what} up to the end: {await self.end()}"
            assert self._loop.time() < deadline_s, f"no {what}; the screen:\n{shown}"
            await asyncio.sleep(LOOK_S)
        return shown

    async def shows(self, *texts: str) -> str:
        """Wait until all of these stand on the screen."""
        return await self.until(lambda shown: all(text in shown for text in texts), f"'{', '.join(texts)}'")

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._typed)
        self._typed = -1

    async def end(self) -> Ended:
        """Wait until it has ended."""
        ended = await super().end()
        for descriptor in {self._keys, self._typed} - {-1}:
            os.close(descriptor)
        self._keys = self._typed = -1
        return ended


class Stream(io.TextIOBase):
    """The stdin, stdout or stderr of whichever program runs.

    Parameters
    ----------
    name : {'stdin', 'stdout', 'stderr'}
    """

    encoding = "utf-8"
    errors = "strict"

    def __init__(self, name: str) -> None:
        self.buffer = BytesOf(self)
        self._name = name
        self._of_the_test = getattr(sys, name)

    @classmethod
    def put_in_place(cls) -> None:
        """Stand in for all; pytest exchanges them before each part of a test."""
        for name in STREAMS:
            if not isinstance(getattr(sys, name), Stream):
                setattr(sys, name, cls(name))

    @staticmethod
    def remove() -> None:
        """Leave them to the tests."""
        for name in STREAMS:
            if isinstance(stream := getattr(sys, name), Stream):
                setattr(sys, name, stream._of_the_test)

    def write(self, text: str, /) -> int:
        owner = OWNER.get()
        stream = getattr(owner, self._name) if isinstance(owner, Program) else self._of_the_test
        return int(stream.write(text))

    def isatty(self) -> bool:
        return isinstance(OWNER.get(), OnTerminal)

    def fileno(self) -> int:
        owner = OWNER.get()
        if self._name == "stdin" and isinstance(owner, OnTerminal):
            return owner.stdin
        raise io.UnsupportedOperation("fileno")

    def writable(self) -> bool:
        return True


class BytesOf(io.RawIOBase):
    """What takes a stream's text as bytes."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, data: Any, /) -> int:
        self._stream.write(bytes(data).decode())
        return len(data)

    def writable(self) -> bool:
        return True


async def motiond(*arguments: object) -> Ended:
    """Run motiond to its end."""
    return await Program(*arguments).end()


class Daemon(Program):
    """`motiond run`, but with stream processes in this process, and a log that is the test's.

    Parameters
    ----------
    config : Path
    """

    def __init__(self, config: Path) -> None:
        super().__init__("run", "-c", config, run=lambda _: self._serve())
        self.config = config
        self.forks = VirtualForks()
        self.mqtt = load_mqtt_settings(config)

    def _serve(self) -> int:
        settings, hub = load_settings(self.config), ReportHub()
        with self.forks:
            registry = make_registry(settings, hub, self.forks, make_clock())
            asyncio.run(serve(settings, hub, registry, self.config))
        return 0

    @property
    def broker(self) -> str:
        """The address of its broker."""
        return f"mqtt://{self.mqtt.listen}"

    async def cli(self, *arguments: object) -> Ended:
        """Run motiond with its configuration."""
        return await motiond(*arguments, "-c", self.config)

    def start(self, *arguments: object) -> Program:
        """Run motiond with its configuration beside the test."""
        return Program(*arguments, "-c", self.config)

    async def ask(self, verb: str, robot: str = "arm", **body: Any) -> dict[str, Any]:
        """Ask it over MQTT."""
        return await ask(self.mqtt, robot, verb, body)

    async def until(self, state: str, robot: str = "arm") -> dict[str, Any]:
        """Wait until a robot is in a state, and without a goal where that is `idle`."""
        return await self.until_status(
            lambda told: told["state"] == state and (state != "idle" or told["goal_id"] is None), robot
        )

    async def until_status(
        self, holds: Callable[[dict[str, Any]], bool], robot: str = "arm"
    ) -> dict[str, Any]:
        """Wait until the status of a robot holds."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                assert not self.has_ended, f"the daemon has ended: {await self.end()}"
                with suppress(NoAnswer):
                    if holds(told := await self.ask("status", robot)):
                        return told
                await asyncio.sleep(LOOK_S)


def daemon_of(rig: Rig, *, state: str = "idle") -> AbstractAsyncContextManager[Daemon]:
    """Run a rig's daemon, from when its robots are in a state until it has ended by a signal."""
    return running(rig.config, ("arm", *rig.others), state)


@asynccontextmanager
async def running(
    config: Path, robots: Sequence[str] = ("arm",), state: str = "idle"
) -> AsyncIterator[Daemon]:
    """Run the daemon of a configuration as `daemon_of` does."""
    daemon = Daemon(config)
    try:
        for robot in robots:
            await daemon.until(state, robot)
        yield daemon
    finally:
        if not daemon.has_ended:
            daemon.send_signal(signal.SIGTERM)
            assert (await daemon.end()).code == 0
