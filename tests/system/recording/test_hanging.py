"""A disk that does not answer holds up neither the robot nor, for long, the end of its daemon."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.recording import Recording, RecordingFiles, RecordingFolder
from tests.daemon.rig import Rig, ask, refused
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let the disk hang until this is set."""
    answers, write = threading.Event(), RecordingFiles.write

    def hang(*given: object) -> None:
        answers.wait()
        write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(RecordingFiles, "write", hang)
    monkeypatch.setattr("motiond.daemon.recording.recorder.ANSWER_S", 0.2)
    monkeypatch.setattr("motiond.daemon.recording.recorder.END_S", 0.2)
    yield answers
    answers.set()


async def test_a_disk_that_hangs_holds_up_nobody(
    rig: Rig, answers: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    hangs = "the disk does not answer; the report `recording` shows it"
    async with rig.running() as registry:
        await rig.until_state("idle")
        files = registry.members["arm"].robot.recorder._files
        assert await refused(registry, "record/start") == ("TIMEOUT", f"arm: not done in 0.2 s; {hangs}")
        result = await rig.result_of((await ask(registry, "play", motion="short"))["goal_id"])
        assert await refused(registry, "record/stop") == ("TIMEOUT", f"arm: not done in 0.2 s; {hangs}")
    assert result["code"] == "SUCCESSFUL"
    assert "arm: the recording is not ended after 0.2 s; the disk hangs" in caplog.messages
    assert "arm.recording" in {thread.name for thread in threading.enumerate()}
    answers.set()
    await asyncio.to_thread(_ended, "arm.recording")
    files._give_up(Recording("request", "", 0.0, 0.0, ""), OSError())  # the end of a process closes its files


def _ended(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


async def test_a_daemon_that_ends_while_recordings_are_repaired_leaves_that_to_its_thread(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(RecordingFolder, "repair_all", lambda _: goes_on.wait())
    async with rig.running():
        await rig.until_state("idle")
    assert "arm.recordings" in {thread.name for thread in threading.enumerate()}
    goes_on.set()
    await asyncio.to_thread(_ended, "arm.recordings")
