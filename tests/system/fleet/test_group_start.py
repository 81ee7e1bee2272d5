"""Three daemons of one group at a real mosquitto: started together, killed, and shown on the fleet's page."""

from __future__ import annotations

import asyncio
import getpass
import subprocess
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from bench.machines import GROUP, MOTION, RATE_HZ, Machine, machines, until_online
from bench.programs import MOTIOND
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.fleet.coordinator import GroupPlay, coordinating
from tests.daemon.conftest import listening, mosquitto_program
from tests.lasting import LASTING
from tests.ports import free_port
from tests.waiting import PATIENCE_S, lines_until, started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.daemon.conftest import MqttObserver

MOTION_S = 3.0
TOGETHER_S = 0.1
START_IN_S = 6.0
"""Longer than a busy machine takes to tell all robots when they start."""
ROBOTS = ("robot0x0", "robot1x0", "robot2x0")


class Stage:
    """Three machines, each with a daemon and a robot, and their broker."""

    def __init__(self, settings: MqttSettings, made: list[Machine]) -> None:
        self.settings, self.machines = settings, made

    async def until_at_rest(self) -> None:
        """Start every daemon, and wait until each is online."""
        for machine in self.machines:
            machine.start()
            LASTING[machine.pid] = True  # all end together
        await until_online(self.settings, list(ROBOTS))

    def first_rows(self, since_s: float) -> dict[str, list[float]]:
        """Return when each robot has left the first row since a time, in monotonic s."""
        return {
            robot: [at_s for at_s in machine.first_rows(robot).tolist() if at_s >= since_s]
            for machine, robot in zip(self.machines, ROBOTS, strict=True)
        }

    async def motiond(self, *arguments: str) -> tuple[int, str, str]:
        """Run a subcommand to its end."""
        program = await asyncio.create_subprocess_exec(
            MOTIOND, *arguments, "--broker", self.settings.url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await program.communicate()
        finally:
            if program.returncode is None:
                program.kill()
                await program.communicate()
        assert program.returncode is not None
        return program.returncode, out.decode(), err.decode()

    async def status(self) -> list[dict[str, Any]]:
        """Return the status of the group, once it has all clocks: a busy machine may send them too late."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                code, out, err = await self.motiond("fleet", "status", GROUP, "--json")
                assert (code, err) == (0, "")
                rows: list[dict[str, Any]] = orjson.loads(out)
                if all(row["clock"] for row in rows):
                    return rows


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, port = tmp_path_factory.mktemp("stage"), free_port()
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser {getpass.getuser()}\n")
    settings = MqttSettings(broker=f"mqtt://127.0.0.1:{port}")
    rows = round(MOTION_S * RATE_HZ) + 1
    with (
        started([mosquitto_program(), "-c", config], stderr=subprocess.PIPE) as broker,
        machines(folder, 3, 1, [settings.url], rows) as made,
    ):
        lines_until(broker.stderr, "running")
        yield Stage(settings, made)


async def test_they_start_together_and_report_their_clocks(stage: Stage) -> None:
    await stage.until_at_rest()
    begun_s, unix_ahead_s = time.monotonic(), time.time() - time.monotonic()
    code, out, err = await stage.motiond("fleet", "play", GROUP, MOTION, "--json")
    outcome = orjson.loads(out)
    assert (code, err) == (0, "")
    assert [(one["robot"], one["code"]) for one in outcome["robots"]] == [(it, "SUCCESSFUL") for it in ROBOTS]
    late_s = {one["robot"]: one["result"]["timing"]["lateness_s"]["max"] for one in outcome["robots"]}
    for robot, rows_s in stage.first_rows(begun_s).items():
        due_s = outcome["start_at"] - unix_ahead_s
        assert rows_s == pytest.approx([due_s], abs=TOGETHER_S + late_s[robot]), robot
    rows = await stage.status()
    assert [row["robot"] for row in rows] == list(ROBOTS)
    assert len({row["clock"]["machine"] for row in rows}) == 1


@pytest.mark.parametrize("phase", ["ready", "playing"])
async def test_where_a_daemon_is_killed_the_others_stop(stage: Stage, phase: str) -> None:
    await stage.until_at_rest()
    left, *others = ROBOTS
    play = GroupPlay(GROUP, MOTION, {"loop": "forever"}, start_in=START_IN_S)
    async with (
        listening(stage.settings, checked=False) as observer,
        coordinating(stage.settings, play) as start,
    ):
        await start.begin()
        for robot in ROBOTS:
            await observer.until(f"motiond/{robot}/reservation", lambda data: data["phase"] == phase)
        await asyncio.to_thread(stage.machines[0].kill)
        for robot in others:
            result = await result_of(observer, robot, start.id)
            assert result["code"] == "CANCELED"
            ended_s = datetime.fromisoformat(result["stamp_utc"]).timestamp()
            may_play = phase == "playing" or ended_s > (start.start_at or 0.0)  # robots wait for about 1 s
            assert result["played_s"] == 0.0 or may_play
            assert result["played_s"] > 0.0 or phase == "ready"
            assert result["details"]["member"] in ROBOTS
            assert left in result["message"]
    await stage.until_at_rest()


async def result_of(observer: MqttObserver, robot: str, start: str) -> dict[str, Any]:
    """Wait for a robot's result of a start."""
    message = await observer.until(
        f"motiond/{robot}/result", lambda data: data["details"].get("start") == start
    )
    assert isinstance(message.payload, bytes)
    result: dict[str, Any] = orjson.loads(message.payload)
    return result
