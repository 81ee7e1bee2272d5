"""The demonstration: the whole daemon with its own broker, playing by itself until it is stopped.

Other clients may take the robot at any time; the demonstration goes on when it is idle again.
"""

from __future__ import annotations

import asyncio
import shlex
import socket
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
import orjson
from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..api import PlayRequest, ReportHub, RequestError, StatusRequest
from ..broker import BrokerError
from ..config.types import place, split_place
from ..ipc.states import State
from ..ipc.stream_forks import StreamForks
from ..mqtt.client import address_of
from ..mqtt.topics import Topics
from ..robots import make_registry
from ..service import serve
from .output import STATE_STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from ..api import Report, Subject, Subscription
    from ..config.http import HttpSettings
    from ..config.mqtt import MqttSettings
    from ..config.settings import Settings
    from ..robots import RobotRegistry

    Moved = TypeVar("Moved", MqttSettings, HttpSettings)

SHOWN: frozenset[Subject] = frozenset({"description", "state", "result", "telemetry", "diagnostics"})
COLUMNS = ("joint", "reference", "feedback", "error", "unit")

PAUSE_S = 1.0
LOOK_S = 0.1
LINE_S = 1.0
PORT_TRIES = 5


def run_demo(settings: Settings, console: Console, program: str, seconds: float | None) -> None:
    """Run the demonstration, on another port where its own is taken, or is taken meanwhile.

    Raises
    ------
    BrokerError
        If the broker cannot listen on any.
    """
    with StreamForks() as forks:
        forks.start()
        for _ in range(PORT_TRIES - 1):
            settings = on_free_port(settings)
            with suppress(BrokerError):  # between looking and listening, another program was faster
                asyncio.run(Demo(settings, console, program, forks).run(seconds))
                return
        asyncio.run(Demo(on_free_port(settings), console, program, forks).run(seconds))


def on_free_port(settings: Settings) -> Settings:
    """Move the embedded broker and the page to free ports where their own are taken."""
    changed: dict[str, Any] = {}
    if settings.mqtt.broker == "embedded":
        changed["mqtt"] = _moved(settings.mqtt, *split_place(settings.mqtt.listen))
    if settings.http is not None:
        changed["http"] = _moved(settings.http, *settings.http.address)
    return settings.model_copy(update=changed)


def _moved(section: Moved, host: str, port: int) -> Moved:
    """Return a section that listens on a free port: its own, or any."""
    if _free_port(host, port) is not None:
        return section
    return section.model_copy(update={"listen": place(host, _free_port(host, 0) or 0)})


def _free_port(host: str, port: int) -> int | None:
    """Try a port (0: any) as the broker will; None if it is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return None
        found: int = probe.getsockname()[1]
        return found


def trigger_lines(mqtt: MqttSettings, robot: str, motions: list[str], program: str) -> Iterator[str]:
    """Yield two commands for another terminal: by the command line, and by any MQTT client."""
    address = address_of(mqtt)
    options = "" if mqtt.listen == type(mqtt)().listen else f" --broker {address}"
    yield f"{shlex.quote(program)} play {robot} {shlex.quote(motions[0])} --replace{options}"
    topic = Topics(mqtt.base).request(robot, "play")
    request = orjson.dumps({"motion": motions[-1], "on_busy": "replace"}).decode()
    yield f"mosquitto_pub -h {address.host} -p {address.port} -t {topic} -m {shlex.quote(request)}"


class Demo:
    """One run of the demonstration, on the first robot of the configuration."""

    def __init__(self, settings: Settings, console: Console, program: str, forks: StreamForks) -> None:
        self._mqtt = settings.mqtt
        self._settings = settings
        self._console = console
        self._program = program
        self._robot = next(iter(settings.robots))
        self._hub = ReportHub()
        self._robots = make_registry(settings, self._hub, forks)

    async def run(self, seconds: float | None) -> None:
        """Play until SIGINT or SIGTERM, or for so many seconds, then stop softly.

        Raises
        ------
        BrokerError
            If the broker cannot listen.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                helpers = [tasks.create_task(self._play_and_show(), name="demo")]
                if seconds is not None:
                    helpers.append(tasks.create_task(self._leave_after(seconds), name="demo.end"))
                await serve(self._settings, self._hub, self._robots)
                for helper in helpers:
                    helper.cancel()
        except ExceptionGroup as errors:  # what is raised in `except*` comes in a group before Python 3.11.4
            broker = errors.subgroup(BrokerError)
            if broker is None:
                raise
            raise broker.exceptions[0] from None
        self._say(f"{self._robot} has stopped softly; its process and the broker have ended")

    async def _leave_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._robots.leave()

    async def _play_and_show(self) -> None:
        with self._hub.subscribe(SHOWN) as reports:
            await until_idle(self._robots, self._robot)
            motions = self._playable()
            self._introduce(motions)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(play_for_ever(self._robots, self._robot, motions), name="demo.play")
                tasks.create_task(self._show(reports), name="demo.show")

    def _playable(self) -> list[str]:
        motions: list[dict[str, Any]] = next(
            report.data["motions"]
            for report in self._hub.latest()
            if report.robot == self._robot and report.subject == "motions"
        )
        return [motion["name"] for motion in motions if motion["ok"]]

    def _introduce(self, motions: list[str]) -> None:
        if self._settings.http is not None:
            self._say(f"See it: {self._settings.http.url}")
        self._say(
            f"{self._robot} plays {', '.join(motions)} over and over; broker at {address_of(self._mqtt)}"
        )
        self._say("Take over from another terminal with either of these:")
        for line in trigger_lines(self._mqtt, self._robot, motions, self._program):
            self._say(f"  {line}")
        self._say("Ctrl-C stops softly.")

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    async def _show(self, reports: Subscription) -> NoReturn:
        table = LiveTable(self._robot)
        if not self._console.is_terminal:
            while True:
                await asyncio.sleep(LINE_S)
                table.take_all(reports)
                self._say(table.line())
        with Live(table, console=self._console, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(LOOK_S)
                table.take_all(reports)
                live.refresh()


async def until_idle(robots: RobotRegistry, robot: str) -> None:
    """Wait until a robot holds or rests and no goal is active."""
    while True:
        status = await robots.handle(robot, "status", StatusRequest())
        if status["state"] == State.IDLE and status["goal_id"] is None:
            return
        await asyncio.sleep(LOOK_S)


async def play_for_ever(robots: RobotRegistry, robot: str, motions: list[str]) -> None:
    """Play one motion after the other, with a pause between, whenever nobody else has the robot."""
    for motion in cycle(motions):
        await asyncio.sleep(PAUSE_S)
        await until_idle(robots, robot)
        with suppress(RequestError):  # somebody was faster, or has stopped the robot
            await robots.handle(robot, "play", PlayRequest(motion=motion), "the demonstration")


class LiveTable:
    """The latest reports of one robot, as a renderable of rich."""

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self._latest: dict[Subject, dict[str, Any]] = {}

    def take(self, report: Report) -> None:
        """Remember a report."""
        self._latest[report.subject] = report.data

    def take_all(self, reports: Subscription) -> None:
        """Remember every report that has come."""
        while report := reports.get_now():
            if report.robot == self._robot:
                self.take(report)

    def __rich__(self) -> Group:
        return Group(Text(self._doing(), style=self._style()), self._joints(), self._timing(), self._result())

    def line(self) -> str:
        """Return everything in one line, for where there is no terminal."""
        telemetry = self._latest.get("telemetry")
        parts = [self._doing(), self._timing()]
        if telemetry is not None:
            errors = np.abs(telemetry["error"]["position"])
            worst = f"{np.nanmax(errors):.4f}" if np.isfinite(errors).any() else "-"
            parts.insert(1, f"largest error {worst}")
        return "; ".join((*parts, self._result()))

    def _style(self) -> str:
        return "bold " + STATE_STYLES.get(self._latest.get("state", {}).get("state", ""), "")

    def _doing(self) -> str:
        state = self._latest.get("state", {"state": "starting"})
        text = f"{self._robot}: {state['state']}"
        if "time" in state:
            text += f" {state['motion']}, {state['time']:.1f} of {state['duration']:.1f} s"
        return f"{text}; {state['message']}" if state.get("message") else text

    def _joints(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column, justify="right" if column in COLUMNS[1:4] else "left", min_width=9)
        telemetry = self._latest.get("telemetry", {})
        for index, joint in enumerate(self._latest.get("description", {}).get("joints", [])):
            values = (telemetry[kind]["position"][index] if telemetry else np.nan for kind in COLUMNS[1:4])
            table.add_row(joint["name"], *(_number(value) for value in values), joint["unit"])
        return table

    def _timing(self) -> str:
        timing = self._latest.get("diagnostics")
        if timing is None:
            return "no tick yet"
        late = ", ".join(f"{name} {value * 1e3:.3f}" for name, value in timing["lateness_s"].items())
        missed = timing.get("missed_deadlines_total", timing["missed_deadlines"])
        return f"{timing['tick_rate_hz']:.0f} ticks/s, lateness in ms {late}, missed deadlines {missed}"

    def _result(self) -> str:
        result = self._latest.get("result")
        if result is None:
            return "no motion has ended yet"
        return f"last result: {result['motion']} {result['code']}"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+.4f}"
