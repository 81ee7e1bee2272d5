"""A group of two robots, each with a daemon of its own, at one broker: all that a start goes through."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import yaml

from motiond.daemon.fleet.member import SEEN_WITHIN_S
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.asking import ask
from tests.daemon.cli.program import Daemon, Ended, Program
from tests.daemon.conftest import data_of, listening
from tests.daemon.http import contract
from tests.daemon.link import Link
from tests.daemon.programs import run_here
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.ports import free_port
from tests.virtual import START_S, UNIX_AT_START_S
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.conftest import MqttObserver
    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

BOTH = ("left", "right")
FIRST_ROW = 0.1
"""Where the motions begin; the robots stand at 0."""
BEFORE_THE_END = [None, "reserved", "committed", "ready", "playing"]


class Stage:
    """The two daemons; `left` has HTTP.

    Attributes
    ----------
    config : Path
        Names the broker.
    """

    def __init__(self, settings: MqttSettings, http: str, observer: MqttObserver, config: Path) -> None:
        self.settings, self.http, self.observer, self.config = settings, http, observer, config

    def program(self, *arguments: object) -> Program:
        """Begin a program with the configuration."""
        return Program(*arguments, "-c", self.config)

    async def cli(self, *arguments: object) -> Ended:
        """Run motiond with the configuration."""
        return await self.program(*arguments).end()

    async def ask(self, robot: str, verb: str, **body: Any) -> dict[str, Any]:
        return await ask(self.settings, robot, verb, body)

    async def until_phase(self, phase: str, *robots: str) -> None:
        """Wait until both, or those that are named, come to a phase of a start."""
        for robot in robots or BOTH:
            await self.observer.until(f"motiond/{robot}/reservation", lambda data: data["phase"] == phase)

    async def result(self, robot: str) -> dict[str, Any]:
        """Wait for the result of a robot's part in a start, of which it has one."""
        message = await self.observer.until(
            f"motiond/{robot}/result", lambda data: "start" in data["details"]
        )
        result: dict[str, Any] = data_of(message)
        return result

    def trace(self, robot: str) -> NDArray[Any]:
        """Return what was written to a robot's actuators; it is there once the robot has ended."""
        return read_trace(self.config.parents[1] / robot / "trace.npy")

    async def play(self, *arguments: object) -> Program:
        """Start the group, and wait until it plays."""
        play = self.program("fleet", "play", *arguments)
        for robot in BOTH:
            await self.observer.until(f"motiond/{robot}/state", lambda data: data["state"] == "playing")
        return play


def configure(folder: Path, daemon: str, robot: str, broker: str, http: str | None) -> Path:
    folder.mkdir()
    rig = Rig(folder)
    del rig.driver["plant"]
    write_seq(folder / "motions" / f"{robot}s_own.seq", sweep(0.5), JOINTS, RATE_HZ)
    path = folder / "motiond.yaml"
    robots = {robot: {**rig.robot, "groups": ["choir"], "idle_rate_hz": 20}}
    section = None if http is None else {"listen": http}
    mqtt = {"broker": broker, "telemetry_hz": 0, "stop_when_lost_s": 10.0}
    path.write_text(yaml.safe_dump({"id": daemon, "mqtt": mqtt, "http": section, "robots": robots}))
    return path


@pytest.fixture
async def link(mosquitto: StandIn) -> Link:
    """The network of `right`."""
    link = Link(mosquitto.port)
    await link.repair()
    return link


@pytest.fixture
async def stage(tmp_path: Path, programs: None, mosquitto: StandIn, link: Link) -> AsyncIterator[Stage]:
    del programs
    http = f"127.0.0.1:{free_port()}"
    configs = [
        configure(tmp_path / "left", "d1", "left", mosquitto.settings.url, http),
        configure(tmp_path / "right", "d2", "right", f"mqtt://127.0.0.1:{link.port}", None),
    ]
    async with AsyncExitStack() as stack:
        observer = await stack.enter_async_context(listening(mosquitto.settings, checked=False))
        stage = Stage(mosquitto.settings, http, observer, configs[0])
        for config in configs:
            await stack.enter_async_context(running(Daemon(config)))
        for robot in BOTH:
            await observer.until(f"motiond/{robot}/state", lambda data: data["state"] == "idle")
        yield stage
    await link.cut()


@asynccontextmanager
async def running(daemon: Daemon) -> AsyncIterator[None]:
    yield
    daemon.send_signal(signal.SIGTERM)
    assert (await daemon.end()).code == 0


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of a table without its head."""
    return [line.split() for line in table.splitlines() if line.strip()][2:]


# -- play ---------------------------------------------------------------------------------------------------


async def test_both_play_from_the_appointed_time_on_and_one_table_shows_it(stage: Stage) -> None:
    code, out, err = await stage.cli("fleet", "play", "choir", "short")
    assert (code, err) == (0, "")
    assert rows_of(out) == [
        ["left", "short", "SUCCESSFUL"],
        ["right", "short", "SUCCESSFUL"],
    ]
    await stage.until_phase("ended")
    start_ats: set[float] = set()
    for robot in BOTH:
        reports = [
            data_of(one)
            for one in stage.observer.received
            if one.topic.value.endswith(f"{robot}/reservation")
        ]
        assert [report["phase"] for report in reports] == BEFORE_THE_END
        start_ats |= {report["start_at"] for report in reports if report["phase"] == "playing"}
        rows = stage.trace(robot)
        at = rows["position"][:, 0]
        (leaves,) = ((at[:-1] == FIRST_ROW) & (at[1:] > FIRST_ROW)).nonzero()
        unix_s = rows["time"][leaves[0]] + UNIX_AT_START_S - START_S
        (start_at,) = start_ats
        assert unix_s == pytest.approx(start_at, abs=1.0 / RATE_HZ)


async def test_one_that_ends_well_before_the_other_does_not_stop_it(stage: Stage) -> None:
    code, out, _ = await stage.cli("fleet", "play", "choir", "long", "--motion", "left=short")
    assert (code, rows_of(out)) == (0, [["left", "short", "SUCCESSFUL"], ["right", "long", "SUCCESSFUL"]])


@pytest.mark.parametrize("verb", ["stop", "estop"])
async def test_one_that_is_stopped_before_the_first_row_keeps_all_from_it(stage: Stage, verb: str) -> None:
    play = stage.program("fleet", "play", "choir", "short", "--in", "4")
    await stage.until_phase("ready")
    await stage.ask("right", verb)
    result = await stage.result("left")
    assert (result["code"], result["played_s"]) == ("CANCELED", 0.0)
    assert result["details"]["member"] == "right"
    assert (await play.end()).code == 1
    highest = [float(stage.trace(robot)["position"][:, 0].max()) for robot in BOTH]
    assert highest == pytest.approx([FIRST_ROW, FIRST_ROW])


@pytest.mark.parametrize("then", ["stop", "continue"])
async def test_one_that_fails_in_mid_motion_stops_the_others_or_not(stage: Stage, then: str) -> None:
    play = await stage.play("choir", "long", "--on-member-failure", then)
    await asyncio.sleep(1.0)
    await stage.ask("right", "stop")
    result = await stage.result("left")
    reason = "right: long ended with CANCELED; stopped on request, softly, on the path"
    stopped, plays_on = ("CANCELED", reason), ("SUCCESSFUL", "the last row is out and held")
    assert (result["code"], result["message"]) == (plays_on if then == "continue" else stopped)
    assert (await play.end()).code == 1


async def test_who_is_cut_off_before_the_first_row_keeps_the_others_from_it_and_stops(
    stage: Stage, link: Link
) -> None:
    play = stage.program("fleet", "play", "choir", "long", "--in", "4")
    await stage.until_phase("ready")
    await link.cut()
    result = await stage.result("left")
    assert (result["code"], result["message"], result["played_s"]) == (
        "CANCELED",
        "right: its daemon 'd2' has crashed, or has lost the broker",
        0.0,
    )
    await asyncio.sleep(4.0 + SEEN_WITHIN_S)
    await link.repair()
    result = await stage.result("right")
    lost = "not seen playing 2 s after the first row: left; left: the connection to the broker is lost"
    assert (result["code"], result["message"]) == ("CANCELED", lost)
    assert 0.0 < result["played_s"] < SEEN_WITHIN_S + 1.0
    assert (await play.end()).code == 1


async def test_what_fails_inside_stops_the_robots_and_the_next_start_is_watched(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("motiond.daemon.fleet.member.group_member._Start.look", fail)
        code, _, err = await stage.cli("fleet", "play", "choir", "short")
    assert (code, "it failed inside motiond; see the daemon's log" in err) == (1, True)
    assert (await stage.cli("fleet", "play", "choir", "short")).code == 0


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
    await stage.until_phase("playing")
    status, answer = await post(stage, "/api/fleet/choir/stop", {})
    assert (status, [one["ok"] for one in answer["data"]["robots"]]) == (200, [True, True])
    assert [(await stage.result(robot))["code"] for robot in BOTH] == ["CANCELED", "CANCELED"]
