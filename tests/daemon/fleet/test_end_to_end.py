"""A group of two robots, each with a daemon of its own, at one broker: by the command line and by HTTP."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import yaml

from motiond.client import NoAnswer
from tests.daemon.asking import ask
from tests.daemon.cli.program import Daemon, Ended, Program
from tests.daemon.conftest import listening
from tests.daemon.fleet.members import Members, members
from tests.daemon.http import contract
from tests.daemon.link import Link
from tests.daemon.programs import run_here
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.conftest import MqttObserver
    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

BOTH = ("left", "right")


class Stage:
    """The two daemons; `left` has HTTP.

    Attributes
    ----------
    config : Path
        Names the broker.
    """

    def __init__(self, settings: MqttSettings, http: str, observer: MqttObserver, config: Path) -> None:
        self.settings, self.http, self.observer, self.config = settings, http, observer, config

    @property
    def port(self) -> int:
        """The broker's."""
        return int(self.settings.url.rpartition(":")[2])

    def program(self, *arguments: object) -> Program:
        """Begin a program with the configuration."""
        return Program(*arguments, "-c", self.config)

    async def cli(self, *arguments: object) -> Ended:
        """Run motiond with the configuration."""
        return await self.program(*arguments).end()

    async def ask(self, robot: str, verb: str, **body: Any) -> dict[str, Any]:
        return await ask(self.settings, robot, verb, body)

    async def until(self, state: str, *robots: str) -> None:
        """Wait until both, or those that are named, are in a state."""
        for robot in robots or BOTH:
            async with asyncio.timeout(PATIENCE_S):
                while await self._state(robot) != state:  # noqa: ASYNC110 - it is polled
                    await asyncio.sleep(0.02)

    async def _state(self, robot: str) -> str:
        with suppress(NoAnswer):
            return str((await self.ask(robot, "status"))["state"])
        return ""

    async def until_phase(self, phase: str, *robots: str) -> None:
        """Wait until both, or those that are named, come to a phase of a start."""
        for robot in robots or BOTH:
            await self.observer.until(f"motiond/{robot}/reservation", lambda data: data["phase"] == phase)

    async def play(self, *arguments: object) -> Program:
        """Start the group, and wait until it plays."""
        play = self.program("fleet", "play", *arguments)
        for robot in BOTH:
            await self.observer.until(f"motiond/{robot}/state", lambda data: data["state"] == "playing")
        return play


def configure(folder: Path, daemon: str, robot: str, broker: str, http: str | None) -> Path:
    folder.mkdir()
    rig = Rig(folder)
    del rig.driver["trace"], rig.driver["plant"]
    write_seq(folder / "motions" / f"{robot}s_own.seq", sweep(0.5), JOINTS, RATE_HZ)
    path = folder / "motiond.yaml"
    robots = {robot: {**rig.robot, "groups": ["choir", "trio", "pair"], "idle_rate_hz": 20}}
    section = None if http is None else {"listen": http}
    mqtt = {"broker": broker, "telemetry_hz": 0}
    path.write_text(yaml.safe_dump({"id": daemon, "mqtt": mqtt, "http": section, "robots": robots}))
    return path


@pytest.fixture
async def stage(tmp_path: Path, programs: None, mosquitto: StandIn) -> AsyncIterator[Stage]:
    del programs
    http, broker = f"127.0.0.1:{free_port()}", mosquitto.settings.url
    configs = [
        configure(tmp_path / "left", "d1", "left", broker, http),
        configure(tmp_path / "right", "d2", "right", broker, None),
    ]
    async with AsyncExitStack() as stack:
        observer = await stack.enter_async_context(listening(mosquitto.settings, checked=False))
        stage = Stage(mosquitto.settings, http, observer, configs[0])
        for config in configs:
            await stack.enter_async_context(running(Daemon(config)))
        for robot in BOTH:
            await observer.until(f"motiond/{robot}/state", lambda data: data["state"] == "idle")
        yield stage


@asynccontextmanager
async def running(daemon: Daemon) -> AsyncIterator[None]:
    yield
    daemon.send_signal(signal.SIGTERM)
    assert (await daemon.end()).code == 0


@asynccontextmanager
async def a_third(stage: Stage, group: str) -> AsyncIterator[Members]:
    """Add a robot `ghost` to a group, which does not answer."""
    async with members(stage.settings, "d3") as others:
        others.add("ghost", group, silent_at={"fleet/prepare", "stop"})
        await others.settle()
        yield others


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of a table without its head."""
    return [line.split() for line in table.splitlines() if line.strip()][2:]


# -- play ---------------------------------------------------------------------------------------------------


async def test_both_play_and_one_table_shows_it(stage: Stage) -> None:
    code, out, err = await stage.cli("fleet", "play", "choir", "short")
    assert (code, err) == (0, "")
    assert rows_of(out) == [
        ["left", "short", "SUCCESSFUL"],
        ["right", "short", "SUCCESSFUL"],
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--motion", "left"), "'left' names no robot and motion; write --motion left=wave"),
        (("--motion", "=wave"), "'=wave' names no robot and motion; write --motion left=wave"),
        (
            ("--motion", "left=a", "--motion", "left=b"),
            "'left' stands twice; a robot plays one motion; leave one out",
        ),
        (("--start-at", "1", "--in", "1"), "--start-at and --in exclude each other; choose one"),
    ],
)
def test_invalid_options_are_refused_before_a_robot_is_asked(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], reason: str
) -> None:
    unused = f"mqtt://127.0.0.1:{free_port()}"
    code, out, err = run_here(capsys, "fleet", "play", "choir", "wave", *options, "--broker", unused)
    assert (code, out, err) == (2, "", f"motiond: invalid value: {reason}; see `motiond --help`\n")


async def test_ctrl_c_stops_both_softly_and_waits_for_their_results(stage: Stage) -> None:
    play = await stage.play("choir", "long")
    play.send_signal(signal.SIGINT)
    code, out, err = await play.end()
    assert code == 1
    head, *ends = err.splitlines()
    assert head == "choir: all stop softly; Ctrl-C again stops the waiting only"
    # A robot that is slow may receive that the other has stopped before it is asked itself.
    assert [end.partition("; ")[0] for end in ends] == [
        "left: long ended with CANCELED",
        "right: long ended with CANCELED",
    ]
    assert any(end.endswith("; stopped on request, softly, on the path") for end in ends)
    assert rows_of(out) == [
        ["left", "long", "CANCELED"],
        ["right", "long", "CANCELED"],
    ]


async def test_a_coordinator_that_is_cut_off_leaves_reservations_that_expire(stage: Stage) -> None:
    link = Link(stage.port)
    await link.repair()
    async with a_third(stage, "trio") as others:
        play = Program("fleet", "play", "trio", "long", "--broker", f"mqtt://127.0.0.1:{link.port}")
        await stage.until_phase("reserved", "right")
        await link.cut()
        code, out, err = await stage.cli("play", "left", "short")
        assert (code, out) == (1, "")
        assert "reserved" in err
        code, out, err = await play.end()
        assert (code, out, err.partition("; ")[0]) == (1, "", "trio: no robot plays")
        assert "fleet/release" not in others.verbs("ghost")
    await stage.until_phase("released")
    assert (await stage.cli("fleet", "play", "choir", "short")).code == 0


# -- commands -----------------------------------------------------------------------------------------------


async def test_both_pause_resume_and_stop(stage: Stage) -> None:
    play = await stage.play("choir", "long")
    lines = "left: paused\nright: paused\n"
    assert await stage.cli("fleet", "pause", "choir") == (0, lines, "")
    lines = "left: playing\nright: playing\n"
    assert await stage.cli("fleet", "resume", "choir") == (0, lines, "")
    lines = "left: stops softly\nright: stops softly\n"
    assert await stage.cli("fleet", "stop", "choir") == (0, lines, "")
    assert (await play.end()).code == 1


# -- by HTTP ------------------------------------------------------------------------------------------------


async def post(stage: Stage, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    patience = aiohttp.ClientTimeout(PATIENCE_S)
    async with (
        aiohttp.ClientSession(timeout=patience) as session,
        session.post(f"http://{stage.http}{path}", json=body) as response,
    ):
        answer = await response.json()
    contract.check("POST", path, response.status, answer, sent=body)
    return response.status, answer


async def test_one_daemon_starts_and_stops_the_robots_of_all(stage: Stage) -> None:
    asked = {"motion": "long", "start_at": time.time() + 3.0, "transaction": "t1"}
    status, answer = await post(stage, "/api/fleet/choir/play", asked)
    assert (status, answer["data"]["robots"], answer["transaction"]) == (200, ["left", "right"], "t1")
    await stage.until("playing")
    status, answer = await post(stage, "/api/fleet/choir/stop", {})
    assert (status, [one["ok"] for one in answer["data"]["robots"]]) == (200, [True, True])
    await stage.until("idle")
