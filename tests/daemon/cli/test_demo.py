"""Behaviour of the demonstration."""

from __future__ import annotations

import shlex
import signal
import socket
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

from motiond.daemon.api import Report
from motiond.daemon.cli import demo as demo_module
from motiond.daemon.cli.demo import LiveTable, on_free_port, trigger_lines
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import Settings, load_settings
from motiond.daemon.tools.example import example_config
from tests.daemon.cli.program import OnTerminal, Program, motiond
from tests.daemon.conftest import data_of, listening
from tests.daemon.rig import make_clock
from tests.daemon.virtual_forks import VirtualForks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from motiond.daemon.api import Subject

pytestmark = pytest.mark.slow

STATE, RESULT = "motiond/arm/state", "motiond/arm/result"
STOPPED = "arm has stopped softly; its process and the broker have ended"
PORT = 1886


class Forks(VirtualForks):
    """Forks that need no server to be started first."""

    def start(self) -> socket.socket:
        return socket.socketpair()[0]


@contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        yield


@pytest.fixture
def forks(terminals: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the demonstration's stream processes in this process."""
    del terminals
    monkeypatch.setattr(demo_module, "StreamForks", Forks)
    monkeypatch.setattr("motiond.daemon.robots.assembly.ClockMonitor", lambda _: make_clock())


@asynccontextmanager
async def running() -> AsyncIterator[Program]:
    demo = Program("demo")
    await demo.writes("Ctrl-C")
    yield demo
    demo.send_signal(signal.SIGINT)
    code, out, err = await demo.end()
    assert (code, out.splitlines()[-1], err) == (0, STOPPED, "")


def commands(demo: Program) -> list[list[str]]:
    """Return the lines to paste."""
    return [shlex.split(line) for line in demo.stdout.getvalue().splitlines() if line.startswith("  ")]


@pytest.mark.usefixtures("forks")
async def test_the_first_line_to_paste_takes_the_robot_until_its_motion_has_ended() -> None:
    async with running() as demo, listening(MqttSettings()) as observer:
        (_, *by_motiond), _ = commands(demo)
        await demo.writes("playing")
        told = "arm: nod ended with SUCCESSFUL; the last row is out and held\n"
        assert await motiond(*by_motiond) == (0, told, "")
        # The demonstration's own requests have no transaction.
        result = data_of(await observer.until(RESULT, lambda data: data["transaction"] is not None))
        observer.received.clear()  # all of it came before
        await observer.until(
            STATE,
            lambda state: state["state"] == "playing" and state["goal_id"] not in {None, result["goal_id"]},
        )
    assert (result["motion"], result["code"]) == ("nod", "SUCCESSFUL")


@pytest.mark.usefixtures("forks")
async def test_the_second_line_to_paste_is_a_request_to_any_mqtt_client() -> None:
    async with running() as demo, listening(MqttSettings()) as observer:
        _, (program, *options) = commands(demo)
        given = dict(zip(options[::2], options[1::2], strict=True))
        assert (program, given["-h"], given["-p"]) == ("mosquitto_pub", "127.0.0.1", "1883")
        goal_id = (await observer.ask(given["-t"], given["-m"].encode()))["data"]["goal_id"]
        result = data_of(await observer.until(RESULT, lambda data: data["goal_id"] == goal_id))
    assert (result["motion"], result["code"]) == ("wave", "SUCCESSFUL")


@pytest.mark.usefixtures("forks")
async def test_ctrl_c_stops_softly_and_leaves_no_port_behind() -> None:
    async with running() as demo:
        await demo.writes("playing")
    with taken(1883), taken(8080):
        pass


@pytest.mark.usefixtures("forks")
async def test_it_ends_by_itself_after_the_seconds_it_was_given() -> None:
    code, out, err = await motiond("demo", "--seconds", "2")
    assert (code, out.splitlines()[-1], err) == (0, STOPPED, "")


@pytest.mark.usefixtures("forks")
async def test_on_a_terminal_it_shows_a_table_of_every_joint() -> None:
    demo = OnTerminal("demo")
    await demo.shows("joint", "reference", "feedback", "error", "shoulder", "wrist3", "lateness in ms p50")
    demo.send_signal(signal.SIGINT)
    assert (await demo.end()).code == 0
    assert STOPPED in demo.screen


@pytest.mark.parametrize("section", ["mqtt", "http"])
def test_what_listens_moves_to_another_port_where_its_own_is_taken(section: str) -> None:
    robots = {"arm": {"model": "arm.hrdf", "driver": {"type": "sim"}}}
    listens = {"mqtt": {"broker": "mqtt://127.0.0.1"}, "http": None} | {
        section: {"listen": f"127.0.0.1:{PORT}"}
    }
    settings = Settings.model_validate({**listens, "robots": robots})
    assert on_free_port(settings) == settings
    with taken(PORT):
        moved = on_free_port(settings)
    host, _, port = getattr(moved, section).listen.rpartition(":")
    assert (host, port != str(PORT)) == ("127.0.0.1", True)
    with taken(int(port)):
        pass


def test_the_lines_to_paste_name_a_broker_that_has_moved() -> None:
    mqtt = MqttSettings(listen=f"127.0.0.1:{PORT}")
    assert list(trigger_lines(mqtt, "arm", ["nod", "wave"], "/opt/my arm/motiond")) == [
        f"'/opt/my arm/motiond' play arm nod --replace --broker mqtt://127.0.0.1:{PORT}",
        (
            f"mosquitto_pub -h 127.0.0.1 -p {PORT} -t motiond/arm/request/play "
            '-m \'{"motion":"wave","on_busy":"replace"}\''
        ),
    ]


@pytest.mark.usefixtures("forks")
async def test_it_moves_to_another_port_where_its_own_is_taken_after_it_has_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def first_look_deceives(host: str, port: int) -> int | None:
        looked.append(port)
        return port if len(looked) == 1 else look(host, port)

    look = demo_module._free_port
    monkeypatch.setattr(demo_module, "_free_port", first_look_deceives)
    settings = load_settings(example_config())
    there = settings.mqtt.model_copy(update={"listen": f"127.0.0.1:{PORT}"})
    settings = settings.model_copy(update={"mqtt": there, "http": None})

    def run(_: object) -> int:
        demo_module.run_demo(settings, Console(), "motiond", seconds=0.0)
        return 0

    with taken(PORT):
        _, out, _ = await Program("demo", run=run).end()
    assert looked == [PORT, PORT, 0]
    assert out.splitlines()[-1] == STOPPED


def test_a_robot_that_follows_targets_has_no_time_in_the_line() -> None:
    table = LiveTable("arm")
    table.take(Report("arm", "state", {"state": "following", "motion": "follow", "follow": {}}))
    assert table.line() == "arm: following; no tick yet; no motion has ended yet"


def test_one_line_says_what_the_robot_does() -> None:
    table = LiveTable("arm")
    assert table.line() == "arm: starting; no tick yet; no motion has ended yet"
    timing = {
        "tick_rate_hz": 499.9,
        "lateness_s": {"p50": 4e-5, "p99": 1e-4, "max": 5.15e-4},
        "missed_deadlines": 0,
        "missed_deadlines_total": 1,
    }
    error = {"position": np.array([0.001, -0.002, np.nan])}
    reports: dict[Subject, dict[str, Any]] = {
        "state": {"state": "playing", "motion": "nod", "time": 0.86, "duration": 4.0, "message": ""},
        "telemetry": {"error": error},
        "diagnostics": timing,
        "result": {"motion": "wave", "code": "SUCCESSFUL"},
    }
    for subject, data in reports.items():
        table.take(Report("arm", subject, data))
    assert table.line() == (
        "arm: playing nod, 0.9 of 4.0 s; largest error 0.0020; 500 ticks/s, lateness in ms p50 0.040, "
        "p99 0.100, max 0.515, missed deadlines 1; last result: wave SUCCESSFUL"
    )
