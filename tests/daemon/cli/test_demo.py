"""Behaviour of the demonstration, run as a newcomer runs it."""

from __future__ import annotations

import asyncio
import os
import pty
import shlex
import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np
import pytest
from rich.console import Console

from motiond.daemon.api.reports import Report
from motiond.daemon.cli import demo as demo_module
from motiond.daemon.cli.demo import on_free_port, trigger_lines
from motiond.daemon.cli.live_table import LiveTable
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import Settings, load_settings
from motiond.daemon.tools.example import example_config
from tests.daemon.conftest import listening, said
from tests.daemon.programs import background, motiond, streams_of
from tests.waiting import PATIENCE_S, eventually, lines_until, output_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.daemon.api.reports import Subject
    from tests.daemon.conftest import Ear

STATE, RESULT = "motiond/arm/state", "motiond/arm/result"
AVAILABILITY = "motiond/arm/availability"
ANSWER = "motiond/arm/response/play"
TRIES, TOO_LATE = 3, "DEADLINE_MISSED"
"""How often a motion is played anew that a busy machine has stopped, as the example bears no late tick."""
STOPPED = "arm has stopped softly; its process and the broker have ended"


def commands(lines: list[str]) -> list[list[str]]:
    return [shlex.split(line) for line in lines if line.startswith("  ")]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        yield


def broker_of(by_mosquitto: list[str]) -> MqttSettings:
    port = by_mosquitto[by_mosquitto.index("-p") + 1]
    return MqttSettings(listen=f"127.0.0.1:{port}")


async def until_asked_by_mqtt(ear: Ear) -> None:
    """Wait until requests are heard, as they are once it is told to be online; it may play before."""
    await ear.until(AVAILABILITY, lambda data: data["state"] == "online")


def plays_after(result: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Hold for the state of another goal that plays; an approach before it may take no time at all."""
    return lambda state: state["state"] == "playing" and state["goal_id"] not in {None, result["goal_id"]}


async def test_the_first_line_to_paste_takes_the_robot_until_its_motion_has_ended() -> None:
    with background("demo") as demo:
        by_motiond, by_mosquitto = commands(lines_until(demo.stdout, "Ctrl-C"))
        lines_until(demo.stdout, "playing")
        async with listening(broker_of(by_mosquitto)) as ear:
            await until_asked_by_mqtt(ear)
            run = partial(subprocess.run, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            for _ in range(TRIES):
                played = await asyncio.to_thread(run, by_motiond)
                if TOO_LATE not in played.stderr:
                    break
            assert (played.returncode, played.stderr) == (0, "")
            assert played.stdout == "arm: nod ended with SUCCESSFUL; the last row is out and held\n"
            # the demonstration's own requests have no transaction
            ours = await ear.until(
                RESULT, lambda data: data["transaction"] is not None and data["code"] != TOO_LATE
            )
            result = said(ours)
            ear.heard.clear()  # all of it came before
            await ear.until(STATE, plays_after(result))
    assert (result["motion"], result["code"]) == ("nod", "SUCCESSFUL")


async def result_of(by_mosquitto: list[str], ear: Ear) -> dict[str, Any]:
    await asyncio.to_thread(subprocess.run, by_mosquitto, timeout=PATIENCE_S, check=True)
    answer = said(await ear.until(ANSWER))  # the demonstration itself asks without MQTT
    result: dict[str, Any] = said(
        await ear.until(RESULT, lambda data: data["goal_id"] == answer["data"]["goal_id"])
    )
    return result


async def test_the_second_line_to_paste_works_with_any_mqtt_client() -> None:
    if not shutil.which("mosquitto_pub"):
        pytest.skip("mosquitto_pub is not installed")
    with background("demo") as demo:
        _, by_mosquitto = commands(lines_until(demo.stdout, "Ctrl-C"))
        async with listening(broker_of(by_mosquitto)) as ear:
            await until_asked_by_mqtt(ear)
            for _ in range(TRIES):
                result = await result_of(by_mosquitto, ear)
                if result["code"] != TOO_LATE:
                    break
        lines_until(demo.stdout, "playing wave")
    assert (result["motion"], result["code"]) == ("wave", "SUCCESSFUL")


def test_ctrl_c_stops_softly_and_leaves_no_process_and_no_port_behind() -> None:
    with ExitStack() as stack:
        with suppress(OSError):  # others may have it; then the demonstration takes another one, too
            stack.enter_context(taken(1883))
        demo = stack.enter_context(background("demo"))
        _, by_mosquitto = commands(lines_until(demo.stdout, "Ctrl-C"))
        lines_until(demo.stdout, "playing")
        streams = streams_of(demo)
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate(timeout=PATIENCE_S)
    assert (demo.returncode, out.splitlines()[-1]) == (0, STOPPED)
    assert "Traceback" not in err
    assert streams
    assert not any(stream.is_running() for stream in streams)
    port = int(by_mosquitto[by_mosquitto.index("-p") + 1])
    # It is one that the system hands out, so others may have it for a moment.
    eventually("its port is free", lambda: is_free(port), bool)


def test_it_ends_by_itself_after_the_seconds_it_was_given() -> None:
    done = motiond("demo", "--seconds", "2")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, STOPPED)


def test_on_a_terminal_it_shows_a_table_of_every_joint() -> None:
    ours, theirs = pty.openpty()
    table = ("joint", "reference", "feedback", "error", "shoulder", "wrist3", "lateness in ms p50")
    with background("demo", stdout=theirs, env=os.environ | {"TERM": "xterm"}) as demo:
        os.close(theirs)
        output_until(ours, lambda shown: all(word in shown for word in table), f"all of {table}")
        demo.send_signal(signal.SIGINT)
        output_until(ours, lambda shown: STOPPED in shown, f"'{STOPPED}'")
        assert demo.wait(PATIENCE_S) == 0
    os.close(ours)


def test_it_moves_to_another_port_where_its_own_is_taken(free_port: int) -> None:
    settings = Settings.model_validate(
        {
            "mqtt": {"listen": f"127.0.0.1:{free_port}"},
            "http": None,
            "robots": {"arm": {"model": "arm.hrdf", "driver": {"type": "sim"}}},
        }
    )
    assert on_free_port(settings) == settings
    with taken(free_port):
        moved = on_free_port(settings).mqtt
    assert moved.listen != settings.mqtt.listen
    port = moved.listen.rpartition(":")[2]
    assert list(trigger_lines(moved, "arm", ["nod", "wave"], "/opt/my arm/motiond")) == [
        f"'/opt/my arm/motiond' play arm nod --replace --broker mqtt://127.0.0.1:{port}",
        (
            f"mosquitto_pub -h 127.0.0.1 -p {port} -t motiond/arm/request/play "
            '-m \'{"motion":"wave","on_busy":"replace"}\''
        ),
    ]


def test_the_page_moves_to_another_port_where_its_own_is_taken(free_port: int) -> None:
    robots = {"arm": {"model": "arm.hrdf", "driver": {"type": "sim"}}}
    mqtt, http = {"broker": "mqtt://127.0.0.1"}, {"listen": f"127.0.0.1:{free_port}"}
    settings = Settings.model_validate({"mqtt": mqtt, "http": http, "robots": robots})
    assert on_free_port(settings) == settings
    with taken(free_port):
        moved = on_free_port(settings)
    assert moved.mqtt == settings.mqtt
    assert moved.http is not None
    assert moved.http.address[0] == "127.0.0.1"
    assert moved.http.address[1] != free_port
    assert is_free(moved.http.address[1])


def test_it_prints_the_pages_address_first_and_the_page_is_there() -> None:
    with background("demo") as demo:
        first, *_ = lines_until(demo.stdout, "Ctrl-C")
        assert first.startswith("See it: http://127.0.0.1:")
        with urlopen(first.removeprefix("See it: "), timeout=PATIENCE_S) as page:  # noqa: S310 - http alone
            assert (page.status, page.headers.get_content_type()) == (200, "text/html")


def test_it_moves_to_another_port_where_its_own_is_taken_after_it_has_looked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], free_port: int
) -> None:
    looked: list[int] = []

    def first_look_deceives(host: str, port: int) -> int | None:
        looked.append(port)
        return port if len(looked) == 1 else look(host, port)

    look = demo_module._free_port
    monkeypatch.setattr(demo_module, "_free_port", first_look_deceives)
    settings = load_settings(example_config())
    there = settings.mqtt.model_copy(update={"listen": f"127.0.0.1:{free_port}"})
    settings = settings.model_copy(update={"mqtt": there, "http": None})
    with taken(free_port):
        demo_module.run_demo(settings, Console(), "motiond", seconds=0.0)
    said = capsys.readouterr().out
    assert looked == [free_port, free_port, 0]
    assert said.splitlines()[-1] == STOPPED


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
