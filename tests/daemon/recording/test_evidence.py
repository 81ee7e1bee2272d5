"""Evidence that is left beside each recording that is finished."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.recording import RecordingFolder, leave_evidence
from motiond.daemon.recording.folder import evidence_files
from tests.daemon.recording.test_folder import record
from tests.daemon.rig import ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.daemon.rig import Rig


def test_a_process_writes_it_beside_the_recording_which_is_not_removed_meanwhile(tmp_path: Path) -> None:
    folder = RecordingFolder("arm", tmp_path, 1_000_000)
    path = record(folder, "wave")
    commands = []

    def run(command: Sequence[str]) -> tuple[int, str]:
        commands.append([*command])
        folder.make_room(1_000_000, 0)
        return 1, "its verdict is no trouble"

    leave_evidence(path, run).join(10)
    assert path.exists()
    program = [sys.executable, "-P", "-m", "motiond.daemon.cli", "recording", "evidence"]
    targets = ["--json", f"{path}.json", "--junit", f"{path}.xml", "--force"]
    assert commands == [[*program, str(path), *targets]]


def test_what_keeps_it_from_being_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = record(RecordingFolder("arm", tmp_path, 1_000_000), "wave")
    leave_evidence(path, lambda _: (2, "run.mcap: is damaged\n")).join(10)
    leave_evidence(tmp_path / "gone.mcap", lambda _: (0, "")).join(10)
    assert [message.split("; ", 1)[1] for message in caplog.messages] == [
        "run.mcap: is damaged",
        f"[Errno 2] No such file or directory: '{tmp_path}/gone.mcap'",
    ]


def test_it_is_removed_with_its_recording(tmp_path: Path) -> None:
    folder = RecordingFolder("arm", tmp_path, 1_000_000)
    path = record(folder, "wave")
    for evidence in evidence_files(path):
        evidence.touch()
    assert [one["file"] for one in folder.listed()[0]] == [path.name]
    folder.delete(path.name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [True, False])
async def test_each_file_that_is_finished_gets_evidence_where_that_is_configured(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, *, wanted: bool
) -> None:
    left: list[str] = []
    monkeypatch.setattr(
        "motiond.daemon.robots.recordings.leave_evidence", lambda path: left.append(path.name)
    )
    rig.robot["recording"] |= {"when": "motion", "evidence": wanted}
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(2):
            await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
    files = sorted(path.name for path in (rig.folder / "recordings").iterdir())
    assert (len(files), sorted(left)) == (2, files if wanted else [])
