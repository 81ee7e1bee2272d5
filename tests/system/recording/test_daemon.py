"""A real daemon that records, asked through a real mosquitto."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
import pytest

from motiond.daemon.recording.evidence import LONGEST_S
from motiond.daemon.recording.folder import evidence_files
from tests.daemon.conftest import data_of, listening
from tests.daemon.programs import running, use
from tests.daemon.recording.recordings import read
from tests.daemon.recording.test_recorder import is_whole
from tests.daemon.rig import Rig, sweep, write_seq
from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.daemon.conftest import Mosquitto

JOINTS = tuple(f"joint{number}" for number in range(30))
RATE_HZ = 1000


async def test_two_robots_of_30_joints_at_1_khz_are_recorded_whole_while_motions_are_read(
    mosquitto: Mosquitto, rig: Rig
) -> None:
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0}
    rig.driver = {"type": "sim", "command_lifetime_s": 5.0}
    rig.robot |= {"joints": {name: {"limits": limits} for name in JOINTS}, "driver": rig.driver}
    rig.others["leg"] = rig.robot
    write_seq(rig.folder / "motions" / "fast.seq", sweep(3.0, RATE_HZ, len(JOINTS)), JOINTS, RATE_HZ)
    use(rig, mosquitto.settings)
    rig.daemon["mqtt"]["telemetry_hz"] = 1.0  # a busy machine checks no more of 60 joints in time
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        results = {}
        for robot in ("arm", "leg"):
            topic = f"motiond/{robot}"
            await observer.until(f"{topic}/state", lambda data: data["state"] == "idle")
            started = await observer.ask(f"{topic}/request/record/start", b'{"name": "fast"}')
            await observer.until(f"{topic}/recording", lambda data: data["recording"])
            assert (await observer.ask(f"{topic}/request/play", b'{"motion": "fast"}'))["status"] == "ok"
            results[robot] = started["data"]["file"]
        for _ in range(3):
            await observer.ask("motiond/arm/request/motions/reload", b"")
        for robot, file in results.items():
            result = data_of(await observer.until(f"motiond/{robot}/result"))
            assert (result["code"], result["recording"]) == ("SUCCESSFUL", file)
        stopped = await observer.ask("motiond/arm/request/record/stop", b"")
        listed = await observer.ask("motiond/arm/request/recordings", b"")
        assert await daemon.end() == 0
    async with listening(mosquitto.settings) as observer:
        retained = data_of(await observer.until("motiond/leg/recording"))
    assert (retained["recording"], retained["problem"]) == (False, None)
    assert (stopped["data"]["file"], stopped["data"]["gaps"]) == (results["arm"], 0)
    assert [one["codes"] for one in listed["data"]["recordings"]] == [["SUCCESSFUL"]]
    for robot, file in results.items():
        recording = read(rig.folder / "recordings" / file)
        assert is_whole(recording), robot
        assert "/motiond/gap" not in recording.messages
        assert len(recording.numbers["/reference"]) > 2500
    assert recording.metadata["motiond-end"]["reason"] == "the daemon shuts down"
    assert orjson.loads(recording.metadata["motiond-end"]["codes"]) == ["SUCCESSFUL"]


async def test_what_a_killed_daemon_has_recorded_is_whole_after_the_next_start(
    mosquitto: Mosquitto, rig: Rig
) -> None:
    rig.robot["recording"]["when"] = "always"
    use(rig, mosquitto.settings)
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        written = data_of(
            await observer.until(
                "motiond/arm/recording", lambda data: data["bytes"] > 0 and data["ticks"] > 300
            )
        )
        await daemon.kill()
    (part,) = (rig.folder / "recordings").iterdir()
    assert part.name == f"{written['file']}.part"
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        await observer.until(
            "motiond/arm/recording", lambda data: data["ticks"] > 0 and data["file"] != written["file"]
        )
        listed = (await observer.ask("motiond/arm/request/recordings", b""))["data"]["recordings"]
        assert await daemon.end() == 0
    assert [one["file"] for one in listed][1:] == [written["file"]]
    assert listed[1]["ticks"] > 200
    assert is_whole(read(rig.folder / "recordings" / written["file"]))
    assert [path.suffix for path in (rig.folder / "recordings").iterdir()] == [".mcap", ".mcap"]


@pytest.mark.timeout(2 * LONGEST_S)  # what writes it comes last: on a busy machine it hardly ever runs
async def test_evidence_is_left_beside_a_recording(mosquitto: Mosquitto, rig: Rig) -> None:
    rig.robot["recording"] |= {"when": "motion", "evidence": True}
    use(rig, mosquitto.settings)
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        await observer.ask("motiond/arm/request/play", b'{"motion": "short"}')
        result = data_of(await observer.until("motiond/arm/result"))
        path = rig.folder / "recordings" / result["recording"]
        as_json, as_junit = evidence_files(path)
        await asyncio.to_thread(eventually, "evidence", as_junit.exists, bool, LONGEST_S)
        assert await daemon.end() == 0
    evidence = orjson.loads(as_json.read_bytes())
    assert (evidence["verdict"], evidence["recording"]) == ("passed", path.name)
    assert evidence["runs"][0]["result"].items() >= result.items()
    assert evidence["limits"][0]["name"] == "shoulder"
    assert b'<testcase classname="arm" name="short"' in as_junit.read_bytes()
