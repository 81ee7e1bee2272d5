"""What becomes of a recording when its disk is in trouble or too slow, and of the robot meanwhile."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from motiond.daemon.recording import RecordingFiles, RecordingFolder, RecordingWriter, locked
from motiond.daemon.recording import files as module
from tests.daemon.recording.recordings import read
from tests.daemon.recording.test_recorder import files, is_whole, only, play
from tests.daemon.rig import ask, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str, int], None]:
    """Let a method fail from now on as the system does."""

    def let(kind: type, method: str, number: int) -> None:
        def fails(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(kind, method, fails)

    return let


def problems(rig: Rig) -> list[str]:
    return [event["message"] for event in rig.reports_on("event") if event["kind"] == "recording"]


def recorded_no_further(rig: Rig, reason: str) -> str:
    return f"it is recorded no further; {rig.folder / 'recordings'}: {reason}"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space left on device; make room on that disk, or lower recording.keep"),
        (errno.EROFS, "read-only file system; let motiond write there, or set recording.folder"),
        (errno.EIO, "input/output error; look at that disk, or set recording.folder"),
    ],
)
async def test_the_disk_fails_in_the_middle_and_the_motion_plays_on(
    rig: Rig, breaks: Callable[[type, str, int], None], number: int, reason: str
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        await rig.until("recording", lambda report: report["bytes"] > 0)
        breaks(RecordingWriter, "cut", number)
        await rig.until("event", lambda event: event["kind"] == "recording")
        report = rig.reports_on("recording")[-1]
        result = await rig.result_of(goal_id)
        assert await refused(registry, "record/stop") == (
            "NOT_RECORDING",
            "arm: it is not recorded; start it by `record/start`",
        )
    assert result["code"] == "SUCCESSFUL"
    assert problems(rig) == [recorded_no_further(rig, reason)]
    assert (report["recording"], report["problem"]) == (False, f"arm: {recorded_no_further(rig, reason)}")
    assert [path.name for path in files(rig)] == [started["file"]]
    assert is_whole(only(rig))


async def test_a_folder_that_is_removed_ends_the_recording_and_the_next_one_makes_it_again(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        shutil.rmtree(rig.folder / "recordings")
        await rig.until("event", lambda event: event["kind"] == "recording")
        await ask(registry, "record/start")
        result = await rig.result_of(goal_id)
        await ask(registry, "record/stop")
        report = rig.reports_on("recording")[-1]
    assert result["code"] == "SUCCESSFUL"
    assert problems(rig) == [
        recorded_no_further(rig, "it was removed while it was written; set recording.folder")
    ]
    assert report["problem"] is None
    assert result["recording"] == files(rig)[0].name
    assert is_whole(only(rig))


async def test_a_folder_in_which_nothing_may_be_written_refuses_a_recording(
    rig: Rig, breaks: Callable[[type, str, int], None]
) -> None:
    breaks(RecordingFolder, "new_path", errno.EACCES)
    folder, hint = rig.folder / "recordings", "let motiond write there, or set recording.folder"
    message = f"arm: it cannot be recorded; {folder}: permission denied; {hint}"
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(2):
            assert await refused(registry, "record/start") == ("DISK_TROUBLE", message)
        assert (await play(rig, registry))["recording"] is None
    assert problems(rig) == [message.removeprefix("arm: ")] * 2


async def test_a_name_that_another_daemon_takes_meanwhile_gets_a_number(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_path, mine = RecordingFolder.new_path, list[Path]()

    def new_path_too_early(folder: RecordingFolder, file: str) -> Path:
        path = new_path(folder, file)
        if not mine:
            mine.append(path.with_name(f"{path.name}.part"))
            mine[0].write_bytes(b"another daemon's")
        return path

    monkeypatch.setattr(RecordingFolder, "new_path", new_path_too_early)
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start")
        assert (await ask(registry, "record/stop"))["file"] == started["file"]
    assert mine[0].read_bytes() == b"another daemon's"
    assert started["file"] == mine[0].name.replace(".mcap.part", "-2.mcap")
    assert problems(rig) == []


async def test_a_file_that_another_daemon_takes_for_one_of_a_crash_is_begun_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    repaired = list[Path]()

    def lock_too_late(path: Path, *given: Any) -> BinaryIO:
        if not repaired:
            repaired.append(path)
            RecordingFolder("arm", path.parent, 10**9).repair(path)
        return locked(path, *given)

    async with rig.running() as registry:
        await rig.until_state("idle")
        monkeypatch.setattr(module, "locked", lock_too_late)
        await ask(registry, "record/start")
        await play(rig, registry)
        await ask(registry, "record/stop")
    assert is_whole(only(rig))
    assert (repaired[0].exists(), problems(rig)) == (False, [])


async def test_a_place_that_is_no_folder_refuses_a_recording(rig: Rig) -> None:
    (rig.folder / "recordings").write_text("not a folder")
    async with rig.running() as registry:
        await rig.until_state("idle")
        code, message = await refused(registry, "record/start")
    assert code == "DISK_TROUBLE"
    assert message == (
        f"arm: it cannot be recorded; {rig.folder / 'recordings'}: not a directory; "
        "look at that disk, or set recording.folder"
    )


async def test_each_motion_is_tried_again_and_recorded_once_the_disk_is_well(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.robot["recording"]["when"] = "motion"

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with rig.running() as registry:
        await rig.until_state("idle")
        with monkeypatch.context() as patch:
            patch.setattr(RecordingWriter, "finish", full)
            lost = await play(rig, registry)
            await rig.until("event", lambda event: event["kind"] == "recording")
        since = len(rig.reports)
        well = await play(rig, registry)
        await rig.until("recording", lambda report: report["problem"] is None, since)
    assert len(problems(rig)) == 1
    assert well["recording"] in {path.name for path in files(rig)}
    assert lost["recording"] != well["recording"]
    assert all(is_whole(read(path)) for path in files(rig))


async def test_what_is_recorded_all_the_time_is_tried_again_after_half_a_minute(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.robot["recording"]["when"] = "always"
    tried: list[float] = []

    def full(*_: Any) -> None:
        tried.append(registry.members["arm"].robot.recorder._tick_s)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with rig.running() as registry:
        with monkeypatch.context() as patch:
            patch.setattr(RecordingFolder, "new_path", full)
            await rig.until_state("idle")
            while len(tried) < 3:
                await play(rig, registry)
        await rig.until("recording", lambda report: report["ticks"] > 0)
    assert [round(after - before) for before, after in pairwise(tried)] == [30, 30]
    assert len(problems(rig)) == 1
    assert rig.reports_on("recording")[-1]["problem"] is None


async def test_the_quota_of_two_files_is_kept_while_motions_play(rig: Rig) -> None:
    rig.robot["recording"]["when"] = "motion"
    async with rig.running() as registry:
        folder = registry.members["arm"].robot.recorder.folder
        await rig.until_state("idle")
        results = [await play(rig, registry) for _ in range(2)]
        await ask(registry, "recordings/keep", name=results[0]["recording"], keep=True)
        folder.keep_bytes = round(1.1 * sum(path.stat().st_size for path in files(rig)))
        results += [await play(rig, registry) for _ in range(2)]
        listed = (await ask(registry, "recordings"))["recordings"]
    kept = {results[0]["recording"], results[-1]["recording"]}
    assert {one["file"] for one in listed} == kept
    assert {path.name for path in files(rig)} == {*kept, f"{results[0]['recording']}.keep"}


async def test_a_quota_that_is_filled_by_what_is_kept_ends_the_recording(rig: Rig) -> None:
    async with rig.running() as registry:
        folder = registry.members["arm"].robot.recorder.folder
        await rig.until_state("idle")
        first = await ask(registry, "record/start")
        await play(rig, registry)
        size = (await ask(registry, "record/stop"))["bytes"]
        await ask(registry, "recordings/keep", name=first["file"], keep=True)
        folder.keep_bytes = size + 40_000
        second = await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        await rig.until("event", lambda event: event["kind"] == "recording")
        result = await rig.result_of(goal_id)
    reason = f"the recordings that are left fill {folder.keep_bytes / 1000:g} kB"
    hint = "delete some that are marked to be kept, or raise recording.keep"
    assert problems(rig) == [recorded_no_further(rig, f"{reason}; {hint}")]
    assert result["code"] == "SUCCESSFUL"
    assert is_whole(read(rig.folder / "recordings" / second["file"]))


LATE, IN_TIME = {"kind": "warning", "message": "late"}, {"kind": "warning", "message": "in time"}


async def test_what_a_disk_is_too_slow_for_is_a_gap_and_holds_up_nobody(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        recorder = registry.members["arm"].robot.recorder
        goal_id = await rig.swings(registry)
        with monkeypatch.context() as patch:
            patch.setattr("motiond.daemon.recording.recorder.MOST_WAITING", -1)
            recorder.note("event", LATE)
            await until_ticks(rig, recorder, 100)
        recorder.note("event", IN_TIME)
        result = await rig.result_of(goal_id)
        stopped = await ask(registry, "record/stop")
    recording = only(rig)
    (gap,) = recording.messages["/motiond/gap"]
    ticks = recording.numbers["/reference"]
    missing = set(range(ticks[0], ticks[-1] + 1)) - set(ticks)
    assert gap["reason"] == "the disk was too slow"
    assert missing == set(range(gap["first_tick"], gap["first_tick"] + gap["ticks"]))
    assert len(missing) >= 100
    events = recording.messages["/motiond/event"]
    assert (IN_TIME in events, LATE in events) == (True, False)
    assert stopped["gaps"] == 1
    assert result["code"] == "SUCCESSFUL"


async def until_ticks(rig: Rig, recorder: Any, count: int) -> None:
    begun_s = recorder._tick_s
    await rig.until("telemetry", lambda _: recorder._tick_s - begun_s > count / 200, len(rig.reports))


@pytest.mark.parametrize(
    ("kind", "method", "begun"),
    [(RecordingFiles, "write", "cannot be recorded"), (RecordingWriter, "cut", "is recorded no further")],
)
async def test_a_defect_of_recording_ends_the_recording_alone(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, kind: type, method: str, begun: str
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(kind, method, fail)
    rig.robot["recording"]["when"] = "always"
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.until("event", lambda event: event["kind"] == "recording")
        result = await play(rig, registry)
    assert result["code"] == "SUCCESSFUL"
    assert problems(rig) == [f"it {begun}; it failed inside motiond; the daemon's log says more"]


async def test_a_folder_that_hangs_is_said_to(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "run_in_executor", lambda *_: loop.create_future())
        assert await refused(registry, "recordings") == (
            "TIMEOUT",
            "arm: not done in 4 s; the disk does not answer; ask again",
        )
        monkeypatch.undo()


async def test_all_that_waits_is_in_the_file_when_the_daemon_ends(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        await rig.swings(registry)
        registry.leave()
        result = await rig.until("result", lambda _: True)
    recording = only(rig)
    assert is_whole(recording)
    assert recording.metadata["motiond-end"]["reason"] == "the daemon shuts down"
    assert recording.messages["/motiond/result"] == [result]
    assert recording.messages["/motiond/phase"][-1]["state"] == "idle"
    assert rig.reports_on("recording")[-1]["recording"] is False
