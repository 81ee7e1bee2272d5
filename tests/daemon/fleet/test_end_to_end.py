"""A group of two robots, each with a daemon of its own, at one mosquitto: by the command line and by HTTP."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import subprocess
import time
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest
import yaml

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask, watch
from motiond.daemon.config.mqtt import MqttSettings
from tests.daemon.conftest import listening, mosquitto_program
from tests.daemon.fleet.choir import until_asked
from tests.daemon.fleet.members import Members, members, until
from tests.daemon.http import contract
from tests.daemon.launched import Program
from tests.daemon.launcher import SILENCE_OF_MEMBERS
from tests.daemon.programs import background, motiond, run_here
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, started

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SOON_S = 4.0
IN_TIME = ("--in", "8")
"""The same, where the coordinator is a process of its own."""
DO = "mend what stands below and play again"


@dataclass(frozen=True, slots=True)
class Stage:
    """The two daemons; `left` has HTTP."""

    settings: MqttSettings
    http: str
    config: Path
    """Names the broker, and robots that nobody runs."""

    def ask(self, robot: str, verb: str, **body: Any) -> dict[str, Any]:
        return asyncio.run(ask(self.settings, robot, verb, body))

    def status(self, robot: str) -> dict[str, Any]:
        try:
            return self.ask(robot, "status")
        except NoAnswer as error:
            return {"state": str(error), "goal_id": None}

    def until(self, state: str, *robots: str) -> None:
        for robot in robots or ("left", "right"):
            look = partial(self.status, robot)
            eventually(f"{robot} is {state}", look, lambda seen: seen["state"] == state)

    def until_phase(self, phase: str, *robots: str) -> None:
        """Wait until both, or those that are named, are in a phase of a start."""
        for robot in robots or ("left", "right"):
            look = partial(reservation, self, robot)
            eventually(f"{robot} is {phase}", look, lambda seen: seen["phase"] == phase)


def configure(folder: Path, daemon: str, robot: str, port: int, http: str | None) -> Path:
    folder.mkdir()
    rig = Rig(folder)
    del rig.driver["trace"], rig.driver["plant"]
    write_seq(folder / "motions" / f"{robot}s_own.seq", sweep(0.5), JOINTS, RATE_HZ)
    path = folder / "motiond.yaml"
    robots = {robot: {**rig.robot, "groups": ["choir", "trio", "pair"]}}
    mqtt = {"broker": f"mqtt://127.0.0.1:{port}", "stop_when_lost_s": 10.0}
    section = None if http is None else {"listen": http}
    path.write_text(yaml.safe_dump({"id": daemon, "mqtt": mqtt, "http": section, "robots": robots}))
    return path


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, port, http = tmp_path_factory.mktemp("stage"), free_port(), f"127.0.0.1:{free_port()}"
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nuser {getpass.getuser()}\n"
    )
    configs = [
        configure(folder / "left", "d1", "left", port, http),
        configure(folder / "right", "d2", "right", port, None),
    ]
    with ExitStack() as stack:
        broker = [mosquitto_program(), "-v", "-c", str(folder / "mosquitto.conf")]
        stack.enter_context(started(broker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for config in configs:
            patient = {**os.environ, SILENCE_OF_MEMBERS: str(PATIENCE_S)}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": patient}
            stack.enter_context(background("run", "-c", config, **quiet))
        stage = Stage(MqttSettings(broker=f"mqtt://127.0.0.1:{port}"), http, configs[0])
        stage.until("idle")
        asyncio.run(both_are_asked(stage.settings))
        yield stage


async def both_are_asked(settings: MqttSettings) -> None:
    async with listening(settings, checked=False) as ear:
        for robot in ("left", "right"):
            await until_asked(ear, robot)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a busy machine time for the agreement, where the coordinator is in this process."""
    monkeypatch.setattr("motiond.daemon.fleet.appointment.MARGIN_S", SOON_S)


@pytest.fixture
def idle(stage: Stage) -> Stage:
    for robot in ("left", "right"):
        stage.ask(robot, "stop")
    stage.until("idle")
    return stage


@asynccontextmanager
async def a_third(stage: Stage, group: str, daemon: str = "d3") -> AsyncIterator[Members]:
    """Let a robot `ghost` be in a group that says nothing, and be forgotten afterwards."""
    async with members(stage.settings, daemon) as others:
        others.add("ghost", group, silent_at={"fleet/prepare", "stop"})
        await others.settle()
        try:
            yield others
        finally:
            for topic in ("ghost/description", "ghost/availability", f"bridge/{daemon}/availability"):
                await others.publish(topic, b"")


async def run(*arguments: object) -> tuple[int, str, str]:
    done = await asyncio.to_thread(motiond, *arguments)
    return done.returncode, done.stdout, done.stderr


def reservation(stage: Stage, robot: str) -> dict[str, Any]:
    async def first() -> dict[str, Any]:
        watched = watch(stage.settings, robot, ["reservation"])
        async with asyncio.timeout(PATIENCE_S), aclosing(watched) as reports:
            return (await anext(reports)).data

    return asyncio.run(first())


def rows_of(table: str) -> list[list[str]]:
    """Give the cells of a table, whose words are names, without its head."""
    return [line.split() for line in table.splitlines() if line.strip()][2:]


# -- play ---------------------------------------------------------------------------------------------------


def test_both_play_and_one_table_says_so(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "fleet", "play", "choir", "short", "-c", idle.config)
    assert (code, err) == (0, "")
    assert rows_of(out) == [
        ["left", "short", "SUCCESSFUL"],
        ["right", "short", "SUCCESSFUL"],
    ]


def test_each_plays_what_it_was_told_to(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.time()
    words = ("--motion", "left=lefts_own", "--motion", "right=rights_own", "--speed", "0.5", "--json")
    code, out, err = run_here(capsys, "fleet", "play", "choir", "short", *words, "-c", idle.config)
    told = orjson.loads(out)
    assert (code, err) == (0, "")
    assert (told["group"], before < told["start_at"] < time.time()) == ("choir", True)
    for one, motion in zip(told["robots"], ("lefts_own", "rights_own"), strict=True):
        result = one["result"]
        assert (one["motion"], result["motion"], one["code"]) == (motion, motion, "SUCCESSFUL")
        assert (result["played_s"], result["details"]["start"]) == (1.0, told["start"])


def test_an_appointed_time_is_kept(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.time()
    words = ("--in", "8", "--json")
    code, out, _ = run_here(capsys, "fleet", "play", "choir", "short", *words, "-c", idle.config)
    assert code == 0
    assert before + 8.0 <= orjson.loads(out)["start_at"] < time.time()


def test_a_time_that_is_too_early_is_refused(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "fleet", "play", "choir", "short", "--in", "0", "-c", idle.config)
    assert (code, out) == (1, "")
    assert err.startswith("choir: --start-at is ")
    assert err.endswith(" to the first row, and the agreement 0.3 s; set --start-at later\n")
    idle.until_phase("released", "left")


def test_one_that_is_busy_keeps_both_from_playing(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(capsys, "play", "right", "long", "--no-wait", "-c", idle.config)
    idle.until("playing", "right")
    code, out, err = run_here(capsys, "fleet", "play", "choir", "short", "-c", idle.config)
    why = "right: busy with long; one motion plays at a time; stop it first"
    assert (code, out) == (1, "")
    assert err == f"choir: nobody plays; right does not start; {DO}\n{why}\n"
    idle.until_phase("released", "left")
    assert idle.status("left")["goal_id"] is None
    assert run_here(capsys, "play", "left", "short", "-c", idle.config)[0] == 0


def test_a_motion_that_one_has_not_keeps_both_from_playing(
    idle: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_here(capsys, "fleet", "play", "choir", "lefts_own", "-c", idle.config)
    why = "right: no motion 'lefts_own'; there are long, rights_own, short; did you mean 'rights_own'?"
    assert (code, out) == (1, "")
    assert err == f"choir: nobody plays; right does not start; {DO}\n{why}\n"


def test_a_group_that_nobody_is_in_is_told(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    said = "chor: no robot is in this group; the groups here are choir, pair, trio; did you mean 'choir'?\n"
    for words in (("play", "chor", "short"), ("stop", "chor"), ("status", "chor")):
        assert run_here(capsys, "fleet", *words, "-c", idle.config) == (1, "", said)


@pytest.mark.parametrize(
    ("words", "why"),
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
def test_what_cannot_be_meant_is_refused_before_anybody_is_asked(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    nobody = f"mqtt://127.0.0.1:{free_port()}"
    code, out, err = run_here(capsys, "fleet", "play", "choir", "wave", *words, "--broker", nobody)
    assert (code, out, err) == (2, "", f"motiond: invalid value: {why}; see `motiond --help`\n")


def test_without_a_broker_that_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = f"mqtt://127.0.0.1:{free_port()}"
    for words in (("play", "choir", "wave"), ("stop", "choir"), ("resume", "choir"), ("status",)):
        code, out, err = run_here(capsys, "fleet", *words, "--broker", nobody)
        assert (code, out) == (3, "")
        assert err.startswith(f"{nobody}: no connection to the broker; ")


def test_ctrl_c_stops_both_softly_and_waits_for_their_results(idle: Stage) -> None:
    with background("fleet", "play", "choir", "long", *IN_TIME, "-c", idle.config) as play:
        idle.until("playing")
        play.send_signal(signal.SIGINT)
        out, err = play.communicate(timeout=PATIENCE_S)
    assert play.returncode == 1
    head, *ends = err.splitlines()
    assert head == "choir: all stop softly; Ctrl-C again stops the waiting only"
    # Who is held up hears that the other has stopped before it is asked itself.
    assert [end.partition("; ")[0] for end in ends] == [
        "left: long ended with CANCELED",
        "right: long ended with CANCELED",
    ]
    assert any(end.endswith("; stopped on request, softly, on the path") for end in ends)
    assert rows_of(out) == [
        ["left", "long", "CANCELED"],
        ["right", "long", "CANCELED"],
    ]


async def test_ctrl_c_before_the_commit_lets_all_go(idle: Stage) -> None:
    async with a_third(idle, "trio") as others:
        with background("fleet", "play", "trio", "long", "-c", idle.config) as play:
            await asyncio.to_thread(idle.until_phase, "reserved", "right")
            play.send_signal(signal.SIGINT)
            out, err = await asyncio.to_thread(play.communicate, timeout=PATIENCE_S)
        assert (play.returncode, out, err) == (130, "", "trio: interrupted; nobody plays; all were let go\n")
        await until(lambda: others.verbs("fleet") == ["release"])
    await asyncio.to_thread(idle.until_phase, "released")


async def test_a_coordinator_that_is_killed_leaves_reservations_that_expire(idle: Stage) -> None:
    async with a_third(idle, "trio") as others:
        with background("fleet", "play", "trio", "long", "-c", idle.config) as play:
            await asyncio.to_thread(idle.until_phase, "reserved", "right")
            play.kill()
            play.wait(PATIENCE_S)
        code, out, err = await run("play", "left", "short", "-c", idle.config)
        assert (code, out) == (1, "")
        assert "reserved" in err
        assert others.verbs("fleet") == []
    await asyncio.to_thread(idle.until_phase, "released")
    assert (await run("fleet", "play", "choir", "short", *IN_TIME, "-c", idle.config))[0] == 0


async def test_one_that_does_not_answer_keeps_all_from_playing(idle: Stage) -> None:
    async with a_third(idle, "trio"):
        code, out, err = await run("fleet", "play", "trio", "short", "-c", idle.config)
    why = "ghost: no answer in 5 s; its daemon says that it is online; look at the daemon's log"
    assert (code, out) == (1, "")
    assert err == f"trio: nobody plays; ghost does not start; {DO}\n{why}\n"
    assert {(await asyncio.to_thread(idle.status, robot))["goal_id"] for robot in ("left", "right")} == {None}


# -- commands -----------------------------------------------------------------------------------------------


async def test_without_one_the_others_stop_and_do_not_play(idle: Stage) -> None:
    async with a_third(idle, "pair") as others:
        others.daemon("offline")
        await others.settle()
        code, _, err = await run("fleet", "play", "pair", "short", "-c", idle.config)
        why = "start it, or take the robot out of the group; `motiond forget` clears one that is gone"
        gone = f"ghost: not there; its daemon 'd3' is offline; {why}"
        assert (code, err) == (1, f"pair: nobody plays; ghost does not start; {DO}\n{gone}\n")
        await run("play", "left", "long", "--no-wait", "-c", idle.config)
        await asyncio.to_thread(idle.until, "playing", "left")
        code, out, err = await run("fleet", "stop", "pair", "-c", idle.config)
        assert (code, out) == (1, "left: stops softly\nright: nothing plays\n")
        assert err == "ghost: no answer; its daemon 'd3' is offline; look at the robot\n"
        await until(lambda: others.verbs("ghost") == ["stop"])
    await asyncio.to_thread(idle.until, "idle", "left")


def test_both_pause_resume_and_stop(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    with background("fleet", "play", "choir", "long", *IN_TIME, "-c", idle.config) as play:
        idle.until("playing")
        said = "left: paused\nright: paused\n"
        assert run_here(capsys, "fleet", "pause", "choir", "-c", idle.config) == (0, said, "")
        said = "left: playing\nright: playing\n"
        assert run_here(capsys, "fleet", "resume", "choir", "-c", idle.config) == (0, said, "")
        code, out, err = run_here(capsys, "fleet", "stop", "choir", "-c", idle.config)
        # Who is asked late may stand by then, as it heard that the other has stopped.
        softly, stands = "stops softly", "nothing plays"
        both = ((softly, softly), (softly, stands), (stands, softly))
        assert (code, err) == (0, "")
        assert out in {f"left: {left}\nright: {right}\n" for left, right in both}
        play.communicate(timeout=PATIENCE_S)
    assert play.returncode == 1


def test_both_halt_at_once_until_reset(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "fleet", "estop", "choir", "--json", "-c", idle.config)
    assert (code, [one["data"]["latched"] for one in orjson.loads(out)]) == (0, [True, True])
    code, _, err = run_here(capsys, "fleet", "pause", "choir", "-c", idle.config)
    assert (code, [line.partition(":")[0] for line in err.splitlines()]) == (1, ["left", "right"])
    for robot in ("left", "right"):
        idle.ask(robot, "reset")
    idle.until("idle")


def test_all_robots_are_shown_with_who_tells_of_them(idle: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    def shown() -> list[tuple[str, str, str, bool]]:
        code, out, err = run_here(capsys, "fleet", "status", "choir", "--json", "-c", idle.config)
        assert (code, err) == (0, "")
        return [(row["robot"], row["daemon"], row["state"], row["online"]) for row in orjson.loads(out)]

    # It shows what the broker keeps, which may be older than what a robot answers.
    both = [("left", "d1", "idle", True), ("right", "d2", "idle", True)]
    eventually("both are shown as idle", shown, lambda seen: seen == both)
    code, out, _ = run_here(capsys, "fleet", "status", "-c", idle.config)
    assert (code, "left" in out, "right" in out) == (0, True, True)


# -- by HTTP ------------------------------------------------------------------------------------------------


async def post(stage: Stage, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    patience = aiohttp.ClientTimeout(PATIENCE_S)
    async with (
        aiohttp.ClientSession(timeout=patience) as session,
        session.post(f"http://{stage.http}{path}", json=body) as response,
    ):
        told = await response.json()
    contract.check("POST", path, response.status, told, sent=body)
    return response.status, told


async def test_one_daemon_starts_and_stops_the_robots_of_all(idle: Stage) -> None:
    asked = {"motion": "long", "start_at": time.time() + 8.0, "transaction": "t1"}
    status, told = await post(idle, "/api/fleet/choir/play", asked)
    assert (status, told["data"]["robots"], told["transaction"]) == (200, ["left", "right"], "t1")
    await asyncio.to_thread(idle.until, "playing")
    status, told = await post(idle, "/api/fleet/choir/stop", {})
    assert (status, [one["ok"] for one in told["data"]["robots"]]) == (200, [True, True])
    await asyncio.to_thread(idle.until, "idle")


async def test_by_http_too_one_refusal_keeps_both_from_playing(idle: Stage) -> None:
    status, told = await post(idle, "/api/fleet/choir/play", {"motion": "lefts_own"})
    assert (status, told["code"], [*told["data"]["members"]]) == (409, "MEMBER_REFUSED", ["right"])
    status, told = await post(idle, "/api/fleet/chor/play", {"motion": "short"})
    assert (status, told["code"]) == (404, "UNKNOWN_GROUP")


def test_subcommands_for_groups_complete() -> None:
    environment = {"_MOTIOND_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    asking = Program(
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment | {"_TYPER_COMPLETE_ARGS": "motiond fleet "},
    )
    with asking as asked:
        said, _ = asked.communicate(PATIENCE_S)
    offered = {line.split("\t")[0] for line in said.splitlines()}
    assert offered >= {"play", "stop", "estop", "pause", "resume", "status"}
