"""Shows any robot of a broker as it moves, with keys to stop it."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from motiond.client import connect
from motiond.local import own_holder

from ...api import VERBS, ReportHub, RequestError
from ...config.client import brokers_of
from ...fleet.gateway import Gateway, ended_by_signals
from ..output import DONE, FAILED, report
from ..requests.stopping import stopped, stopped_here
from ..terminal import MOST_AT_ONCE, Keys, raw_keys
from .commander import Commander
from .robot_view import RobotView
from .screen import MonitorScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...api import Subject, Subscription
    from ...config.mqtt import MqttSettings
    from ..requests.broker import Client

DRAW_S = 0.2
SOON_S = 1.0
"""A lost broker is tried again so soon, as somebody waits for it."""
MOST_VIEWS = 200
"""Of so many robots it is remembered what they did; of others only while they are looked at."""
SHOWN: frozenset[Subject] = frozenset(
    {"availability", "description", "state", "result", "samples", "diagnostics", "event", "lease"}
)


async def run_monitor(mqtt: MqttSettings, robot: str | None, client: Client) -> int:
    """Show a robot until somebody ends it; return the exit code."""
    async with connect(brokers_of(mqtt)):  # a wrong broker is reported
        pass
    shown = Monitor(mqtt, robot, client)
    try:
        await shown.run()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        _forget_terminal()
    commander = shown.commander
    return DONE if commander.alarm is None else report(commander.words(commander.alarm), FAILED)


def _forget_terminal() -> None:
    """Write nothing more to a terminal that is gone, and with it whoever would read it."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


class Monitor:
    """The screen, the keys, and the reports."""

    def __init__(self, mqtt: MqttSettings, robot: str | None, client: Client) -> None:
        soon = {"reconnect_min_s": min(mqtt.reconnect_min_s, SOON_S), "reconnect_max_s": SOON_S}
        self._mqtt = mqtt
        self._client = client
        self._hub = ReportHub()
        self._gateway = Gateway(mqtt.model_copy(update=soon), self._hub, self._watched)
        self._robot = robot
        self._views: dict[str, RobotView] = {}
        self._changed, self._ended = asyncio.Event(), asyncio.Event()
        self._keys = Keys()
        self.commander = Commander(self._ask, self._changed.set)

    async def run(self) -> None:
        """Show, and heed keys, until somebody ends it; the terminal is then as it was."""
        screen = MonitorScreen(lambda: self._gateway.robots.robots, self._broker, self._view, self.commander)
        live = Live(screen, console=Console(), screen=True, auto_refresh=False)
        descriptor = sys.stdin.fileno()
        with (
            raw_keys(descriptor),
            live,
            self._hub.subscribe(SHOWN, length=10_000) as reports,
            _ended_by_signals(self._ended, self._changed),
            _logged_to(self._note),
        ):
            listening = asyncio.create_task(self._gateway.run(), name="monitor.gateway")
            asyncio.get_running_loop().add_reader(descriptor, self._read_keys, descriptor)
            try:
                while not self._ended.is_set():
                    if listening.done():
                        listening.result()
                    self._take(reports)
                    self.commander.drop_old()
                    live.refresh()
                    self.commander.note_shown()
                    await self._wait()
            finally:
                asyncio.get_running_loop().remove_reader(descriptor)
                await self.commander.finish()
                listening.cancel()
                await asyncio.wait((listening,))

    async def _wait(self) -> None:
        """Wait until it is time to draw, or there is something to show at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAW_S):
                await self._changed.wait()
        self._changed.clear()

    # -- reports -------------------------------------------------------------------------------------------

    def _broker(self) -> tuple[str, bool]:
        return self._gateway.address, self._gateway.connected.is_set()

    def _view(self) -> RobotView | None:
        """Return the robot that is looked at, once one is known."""
        if self._robot is None and (names := self._gateway.robots.robots):
            self._robot = names[0]
        return None if self._robot is None else self._view_of(self._robot)

    def _view_of(self, name: str) -> RobotView:
        if name not in self._views:
            if len(self._views) >= MOST_VIEWS:
                del self._views[next(other for other in self._views if other != self._robot)]
            self._views[name] = RobotView(name)
            for report in self._hub.latest():
                if report.robot == name:
                    self._views[name].take(report)
        return self._views[name]

    def _take(self, reports: Subscription) -> None:
        """Remember what has come; telemetry comes of the robot alone that is looked at."""
        while report := reports.get_now():
            if report.robot in self._views or len(self._views) < MOST_VIEWS:
                view = self._view_of(report.robot)
                view.take(report)
                if report.subject in {"state", "availability"}:
                    self.commander.heed(report.robot, view.state)
        self._view()

    def _watched(self) -> list[str]:
        return [] if self._robot is None else [self._robot]

    def _note(self, text: str) -> None:
        """Show a line of the log among the events."""
        if (view := self._view()) is not None:
            view.note(text)
            self._changed.set()

    # -- keys -----------------------------------------------------------------------------------------------

    def _read_keys(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, MOST_AT_ONCE)
        except OSError:
            data = b""
        if not data:  # the terminal is gone
            asyncio.get_running_loop().remove_reader(descriptor)
            self._ended.set()
        for key in self._keys.take(data):
            self.commander.press(key, self._robot)
            if key in {"q", "Q"}:
                self._ended.set()
            elif key in {"next", "back"}:
                self._switch(1 if key == "next" else -1)
        self._changed.set()

    def _switch(self, by: int) -> None:
        names = self._gateway.robots.robots
        if not names:
            return
        at = names.index(self._robot) + by if self._robot in names else 0
        self._robot = names[at % len(names)]

    async def _ask(self, robot: str, verb: str) -> dict[str, Any]:
        """Ask on the connection that there is, or on one of its own where that may reach further.

        Control is acquired as other subcommands do; a stop waits for no connection to be made again, goes
        out also to a robot that has not reported, and where nobody answers at the broker, to the daemon
        on this machine.
        """
        stops = VERBS[verb].stops
        try:
            return await self._gateway.robots.handle(robot, verb, VERBS[verb].request())
        except RequestError as error:
            is_free = error.code == "NOT_IN_CONTROL" and error.data.get("holder") is None
            unheard = error.code == "UNKNOWN_ROBOT" or not self._gateway.connected.is_set()
            if stops and not unheard and error.code in {"TIMEOUT", "OFFLINE"}:
                here = await stopped_here(self._client, robot, verb)
                if here.answers:
                    return here.answers[0]
            if not is_free and not (stops and unheard):
                raise
        if stops:
            return await stopped(self._client, self._mqtt, robot, verb)
        async with connect(brokers_of(self._mqtt), holder=own_holder(verb)) as daemon:
            return await daemon.robot(robot).request(verb)


@contextmanager
def _ended_by_signals(ended: asyncio.Event, resized: asyncio.Event) -> Iterator[None]:
    """Have signals end it, and a terminal of another size be redrawn at once."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, resized.set)
    loop.add_signal_handler(signal.SIGHUP, ended.set)
    try:
        with ended_by_signals(ended):
            yield
    finally:
        for number in (signal.SIGWINCH, signal.SIGHUP):
            loop.remove_signal_handler(number)


class _Lines(logging.Handler):
    """Hands lines of the log on, in place of stderr, which is the screen."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note(record.getMessage())


@contextmanager
def _logged_to(note: Callable[[str], None]) -> Iterator[None]:
    handler = _Lines(note)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
