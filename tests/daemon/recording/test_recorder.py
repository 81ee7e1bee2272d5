"""What is recorded of a robot with its real stream process, and when."""

from __future__ import annotations

import asyncio
import hashlib
import math
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from mcap.reader import make_reader

from motiond.daemon.ipc.messages import Play
from motiond.daemon.ipc.ring import RECORDS
from motiond.daemon.recording.recorder import WRITE_S
from motiond.daemon.robots.process.stream_supervisor import StreamSupervisor
from motiond.drivers.sim.command_log import read_trace
from motiond.formats import load_motions
from tests.daemon.recording.recordings import Read, read
from tests.daemon.rig import RATE_HZ, ask, refused, sweep, write_seq
from tests.daemon.virtual_forks import VirtualForks

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.ipc.messages import Command
    from motiond.daemon.robots.process import Listener
    from motiond.daemon.robots.registry import RobotRegistry
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow


def files(rig: Rig) -> list[Path]:
    """Return the recordings, which are all that is left in their folder."""
    folder = rig.folder / "recordings"
    return sorted(folder.iterdir()) if folder.exists() else []


def only(rig: Rig) -> Read:
    (path,) = files(rig)
    return read(path)


def is_whole(*recordings: Read) -> bool:
    """Whether every tick is there, as what was commanded and as what was measured, also between two files."""
    numbers = [number for one in recordings for number in one.numbers["/joint_states"]]
    is_paired = [number for one in recordings for number in one.numbers["/reference"]] == numbers
    return is_paired and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def play(rig: Rig, registry: RobotRegistry, motion: str = "short") -> dict[str, object]:
    return await rig.rest_after((await ask(registry, "play", motion=motion))["goal_id"])


async def test_every_tick_between_start_and_stop_is_in_the_file(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start", name="a run")
        result = await play(rig, registry)
        stopped = await ask(registry, "record/stop")
    (path,) = files(rig)
    recording = read(path)
    assert is_whole(recording)
    assert "/motiond/gap" not in recording.messages
    assert path.name.endswith("Z_a-run.mcap")
    assert started == {"file": path.name}
    stamps = recording.stamps["/reference"]
    assert stopped == {
        "file": path.name,
        "ticks": len(stamps),
        "gaps": 0,
        "duration_s": pytest.approx((stamps[-1] - stamps[0]) / 1e9),
        "bytes": path.stat().st_size,
    }
    assert result["recording"] == path.name
    assert recording.messages["/motiond/result"] == [result]
    played = [message.position[0] for message in recording.messages["/reference"]]
    played = [position for position in played if not math.isnan(position)]
    sent = read_trace(rig.folder / "trace.npy")["position"][:, 0].tolist()
    assert played == sent[: len(played)]
    assert len(played) > 150


async def test_a_recording_begins_with_the_next_tick(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.has_held()
        robot = registry.members["arm"].robot
        robot.read_records()
        assert robot.stream.observer is not None
        last = robot.stream.observer.sample
        await ask(registry, "record/start")
        await rig.has_held()
    assert last is not None
    assert only(rig).numbers["/reference"][0] == last.scalar("sequence") + 1
    assert "/motiond/gap" not in only(rig).messages


async def test_a_robot_that_fails_inside_motiond_ends_its_recording_with_the_result(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, failing = StreamSupervisor.run, asyncio.Event()

    async def fail_once(stream: StreamSupervisor, listener: Listener) -> None:
        if not failing.is_set():
            running = asyncio.create_task(usual(stream, listener))
            await failing.wait()
            running.cancel()
            await asyncio.wait((running,))
            raise ZeroDivisionError
        await usual(stream, listener)

    monkeypatch.setattr(StreamSupervisor, "run", fail_once)
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        failing.set()
        result = await rig.result_of(goal_id)
        await rig.until_state("idle", rig.place_of(result))
        again = await ask(registry, "record/start")
        await rig.has_held()
    first, second = (read(rig.folder / "recordings" / one["file"]) for one in (started, again))
    assert is_whole(first)
    assert is_whole(second)
    assert first.metadata["motiond-end"]["reason"] == "the robot failed inside motiond"
    assert first.messages["/motiond/result"] == [result]


async def test_a_recording_begins_with_the_state_and_names_what_it_is_of(rig: Rig) -> None:
    rig.daemon["mqtt"] = {"broker": "mqtt://ana:geheim@broker.example"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        await play(rig, registry)
    recording = only(rig)
    about, end = recording.metadata["motiond"], recording.metadata["motiond-end"]
    begins = recording.messages["/motiond/state"][0]
    assert (begins["state"], begins["torque"]) == ("idle", False)  # as it was before it played
    assert (about["robot"], about["driver"], about["why"], about["name"]) == ("arm", "sim", "request", "")
    assert int(about["first_tick"]) == recording.numbers["/reference"][0]
    assert (about["unit shoulder"], about["unit elbow"]) == ("rad", "rad")
    assert (end["reason"], end["motions"], end["codes"]) == (
        "the daemon shuts down",
        '["short"]',
        '["SUCCESSFUL"]',
    )
    assert int(end["ticks"]) == len(recording.numbers["/reference"])
    configuration = orjson.loads(recording.attachments["motiond.json"])
    described = orjson.loads(recording.attachments["description.json"])
    assert [joint["name"] for joint in described["joints"]] == ["shoulder", "elbow"]
    assert configuration["mqtt"]["broker"] == "mqtt://…@broker.example"
    assert list(configuration["robots"]) == ["arm"]
    assert recording.attachments["short.seq"] == (rig.folder / "motions" / "short.seq").read_bytes()
    assert {end[f"sha256 {name}"] for name in recording.attachments} == {
        hashlib.sha256(data).hexdigest() for data in recording.attachments.values()
    }


async def test_a_motion_that_plays_twice_is_attached_once_and_one_that_is_too_long_is_not(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("motiond.daemon.recording.files.MOST_ATTACHED", 20_000)
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        for motion in ("short", "short", "long"):
            goal_id = (await ask(registry, "play", motion=motion))["goal_id"]
            if motion == "long":
                await ask(registry, "stop")
            await rig.rest_after(goal_id)
        await ask(registry, "record/stop")
    assert sorted(only(rig).attachments) == ["description.json", "motiond.json", "short.seq"]
    size = (rig.folder / "motions" / "long.seq").stat().st_size
    assert f"{started['file']}: long.seq is not attached; it has {size} bytes" in caplog.messages


async def test_each_chunk_has_a_second_so_that_a_crash_loses_no_more(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        await play(rig, registry, "long")
        await ask(registry, "record/stop")
    with (rig.folder / "recordings" / started["file"]).open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    chunks = summary.chunk_indexes
    spans_s = [(one.message_end_time - one.message_start_time) / 1e9 for one in chunks]
    assert len(chunks) > 15
    assert max(spans_s) <= 1.0 + WRITE_S


async def test_a_recording_has_the_motions_that_play_in_it_alone(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start", name="first")
        await play(rig, registry)
        await ask(registry, "record/stop")
        await ask(registry, "record/start", name="second")
        await rig.has_held()
        await ask(registry, "record/stop")
    first, second = ({"short.seq"} & set(read(path).attachments) for path in files(rig))
    assert (first, second) == ({"short.seq"}, set())


async def test_each_file_has_all_motions_that_play_at_once_in_it(rig: Rig) -> None:
    rig.robot["recording"] |= {"when": "always", "minutes": 0.1}
    for name, joint, duration_s in (("wave", "shoulder", 20.0), ("grip", "elbow", 10.0)):
        rows = sweep(duration_s, joints=1)
        write_seq(rig.folder / "motions" / f"{name}.seq", rows, (joint,), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        wave = (await ask(registry, "play", motion="wave"))["goal_id"]
        await rig.until_state("playing")
        await ask(registry, "play", motion="grip", on_busy="beside")
        await rig.rest_after(wave)
    attached = [{"wave.seq", "grip.seq"} & set(read(path).attachments) for path in files(rig)]
    assert attached[:2] == [{"wave.seq", "grip.seq"}] * 2
    assert attached[-1] == {"wave.seq"}


async def test_each_motion_has_a_file_of_its_own_from_its_beginning_to_its_result(rig: Rig) -> None:
    rig.robot["recording"]["when"] = "motion"
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "play", motion="short"))["goal_id"]
        second = (await ask(registry, "play", motion="long", on_busy="queue"))["goal_id"]
        results = [await rig.result_of(goal_id) for goal_id in (first, second)]
        await rig.until_state("idle", rig.place_of(results[1]))
    recordings = [read(rig.folder / "recordings" / result["recording"]) for result in results]
    assert {path.name for path in files(rig)} == {result["recording"] for result in results}
    for recording, result in zip(recordings, results, strict=True):
        assert is_whole(recording)
        assert recording.messages["/motiond/result"] == [result]
        assert recording.metadata["motiond"]["name"] == result["motion"]
        assert recording.metadata["motiond-end"]["reason"] == "SUCCESSFUL"
        assert [phase["state"] for phase in recording.messages["/motiond/phase"]][-1] == "idle"
    assert recordings[0].messages["/motiond/phase"][0]["state"] == "approaching"
    assert len(recordings[1].numbers["/reference"]) > 4000
    reports = rig.reports_on("recording")
    assert next(report["recording"] for report in reports) is False
    assert {report["file"] for report in reports} == {None, *(result["recording"] for result in results)}


async def test_a_first_row_that_is_put_out_before_the_daemon_goes_on_is_recorded_and_counted(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.robot["recording"]["when"] = "motion"
    usual = StreamSupervisor.send

    def send_and_let_go_first(stream: StreamSupervisor, command: Command, fds: tuple[int, ...] = ()) -> int:
        number = usual(stream, command, fds)
        if isinstance(command, Play):
            assert isinstance(rig.forks, VirtualForks)
            assert stream.pid is not None
            rig.forks.processes[stream.pid].run_first()
        return number

    async with rig.running() as registry:
        await rig.until_state("idle")
        await play(rig, registry)
        monkeypatch.setattr(StreamSupervisor, "send", send_and_let_go_first)
        result = await play(rig, registry)
    (motion,) = load_motions(rig.folder / "recordings" / str(result["recording"]))
    np.testing.assert_array_equal(motion.positions, sweep(0.5))
    timing: Any = result["timing"]
    assert timing["ticks"] + 1 == len(motion.positions)


async def test_a_motion_of_which_nothing_moved_leaves_no_file(rig: Rig) -> None:
    rig.robot["recording"]["when"] = "motion"
    async with rig.running() as registry:
        await rig.until_state("idle")
        recorder = registry.members["arm"].robot.recorder
        recorder.play("g1", "short", None)
        assert recorder.file is None
        recorder.played("g1", "INVALID_GOAL")
        await play(rig, registry)
    assert [path.name for path in files(rig)] == [rig.reports_on("result")[0]["recording"]]


async def test_all_is_recorded_over_several_files_without_a_tick_lost_between_them(rig: Rig) -> None:
    rig.robot["recording"] |= {"when": "always", "minutes": 0.1}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await play(rig, registry, "long")
    recordings = [read(path) for path in files(rig)]
    assert len(recordings) >= 4
    assert is_whole(*recordings)
    assert recordings[0].numbers["/reference"][0] == 0
    spans = [(one.stamps["/reference"][-1] - one.stamps["/reference"][0]) / 1e9 for one in recordings]
    assert max(spans) <= 6.0
    assert {one.metadata["motiond-end"]["reason"] for one in recordings[:-1]} == {
        "it goes on in another file"
    }
    assert ["long.seq" in one.attachments for one in recordings] == [True] * len(recordings)


async def test_what_is_asked_for_takes_the_place_of_what_is_recorded_by_itself(rig: Rig) -> None:
    rig.robot["recording"]["when"] = "always"
    async with rig.running() as registry:
        await rig.until_state("idle")
        await play(rig, registry)
        started = await ask(registry, "record/start", name="mine")
        reason = f"{started['file']} is being written"
        assert await refused(registry, "record/start") == (
            "BUSY",
            f"arm: it is recorded already; {reason}; stop it first, by `record/stop`",
        )
        result = await play(rig, registry)
        await ask(registry, "record/stop")
        await rig.has_held()
    recordings = [read(path) for path in sorted(files(rig), key=lambda path: path.stat().st_mtime_ns)]
    assert is_whole(*recordings)
    assert [one.metadata["motiond"]["why"] for one in recordings] == ["always", "request", "always"]
    assert result["recording"] == started["file"]
    assert recordings[1].messages["/motiond/result"] == [result]


async def test_a_motion_has_no_file_of_its_own_while_something_is_recorded_that_was_asked_for(
    rig: Rig,
) -> None:
    rig.robot["recording"]["when"] = "motion"
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        result = await play(rig, registry)
        await rig.has_held()
        await ask(registry, "record/stop")
    assert [path.name for path in files(rig)] == [started["file"]] == [result["recording"]]
    assert is_whole(only(rig))


async def test_there_is_nothing_to_stop_where_nothing_is_recorded(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await refused(registry, "record/stop") == (
            "NOT_RECORDING",
            "arm: it is not recorded; start it by `record/start`",
        )
        assert (await play(rig, registry))["recording"] is None
    assert files(rig) == []


async def test_a_stream_process_that_was_restarted_leaves_a_gap_and_loses_no_tick_before_it(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        rig.send_signal(registry.members["arm"].robot.stream.pid, SIGKILL)
        result = await rig.result_of(goal_id)
        await rig.until_state("idle", rig.place_of(result))
        await rig.has_held()
        stopped = await ask(registry, "record/stop")
    recording = only(rig)
    ticks = recording.numbers["/reference"]
    again = ticks.index(0, 1)
    assert ticks == [*range(ticks[0], ticks[again - 1] + 1), *range(len(ticks) - again)]
    assert recording.messages["/motiond/gap"] == [
        {"first_tick": ticks[again - 1] + 1, "ticks": 0, "reason": "the stream process was restarted"}
    ]
    assert stopped["gaps"] == 1
    trace = read_trace(rig.folder / "trace.npy")["position"][:, 0].tolist()
    assert recording.messages["/reference"][again - 1].position[0] in trace


async def test_a_robot_on_a_virtual_clock_is_recorded_whole_though_its_time_runs_ahead(rig: Rig) -> None:
    rig.robot |= {"clock": "virtual", "recording": {"folder": "recordings", "when": "motion"}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.rest_after((await ask(registry, "play", motion="long", loop=3))["goal_id"])
    recording = only(rig)
    assert is_whole(recording)
    assert "/motiond/gap" not in recording.messages
    assert len(recording.numbers["/reference"]) > 12_000 > RECORDS
    stamps = recording.stamps["/reference"]
    assert (stamps[-1] - stamps[0]) / 1e9 > 60.0
    assert abs(recording.stamps["/motiond/result"][0] - stamps[-1]) / 1e9 < 0.05


async def test_ticks_for_which_the_daemon_came_too_late_are_a_gap(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiond.daemon.robots.assembly.AHEAD_PERIOD_S", 0.05)
    rig.robot |= {"clock": "virtual", "recording": {"folder": "recordings", "when": "motion"}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.rest_after((await ask(registry, "play", motion="long", loop=3))["goal_id"])
    recording = only(rig)
    ticks = recording.numbers["/reference"]
    (gap,) = recording.messages["/motiond/gap"]
    missing = set(range(ticks[0], ticks[-1] + 1)) - set(ticks)
    assert missing == set(range(gap["first_tick"], gap["first_tick"] + gap["ticks"]))
    assert len(missing) > 1000
    assert gap["reason"] == "the daemon came too late to read them"
    assert recording.metadata["motiond-end"]["gaps"] == "1"


async def test_virtual_time_that_begins_again_begins_another_file(rig: Rig) -> None:
    rig.robot |= {"clock": "virtual", "recording": {"folder": "recordings", "when": "always"}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await play(rig, registry)
        rig.send_signal(registry.members["arm"].robot.stream.pid, SIGKILL)
        offline = await rig.until_state("offline", len(rig.reports))
        await rig.until_state("idle", rig.place_of(offline))
        result = await play(rig, registry)
    first, second = (read(path) for path in sorted(files(rig), key=lambda path: path.stat().st_mtime_ns))
    assert is_whole(first)
    assert is_whole(second)
    assert second.numbers["/reference"][0] == 0
    assert second.messages["/motiond/result"] == [result]
    assert first.metadata["motiond-end"]["reason"] == (
        "the stream process was restarted, and its time began again"
    )
    assert first.stamps["/reference"][0] < second.stamps["/reference"][0]
