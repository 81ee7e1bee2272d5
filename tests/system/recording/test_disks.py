"""Recordings on real disks that are full, read-only or gone."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.daemon.recording.recordings import read
from tests.daemon.recording.test_recorder import is_whole
from tests.daemon.recording.test_trouble import problems, recorded_no_further
from tests.daemon.rig import Rig, ask, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def mount(rig: Rig) -> Iterator[Callable[[str], Path]]:
    """Mount a small file system where recordings go, where this user may."""
    folder = rig.folder / "recordings"
    folder.mkdir()

    def mounted(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "motiond-test", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        return folder

    yield mounted
    if folder.is_mount():
        unmount(folder)


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_disk_that_becomes_full_ends_the_recording_and_the_next_begins_once_there_is_room(
    rig: Rig, mount: Callable[[str], Path]
) -> None:
    folder = mount("size=1m")
    hint = "make room on that disk, or lower recording.keep"
    full = recorded_no_further(rig, f"no space left on device; {hint}")
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "record/start"))["file"]
        goal_id = await rig.swings(registry)
        (folder / "filler").write_bytes(bytes(folder_room(folder) - 40_000))
        await rig.until("event", lambda event: event["kind"] == "recording")
        (folder / "filler").unlink()
        second = (await ask(registry, "record/start"))["file"]
        await rig.until("recording", lambda report: report["file"] == second and report["bytes"] > 0)
        await ask(registry, "record/stop")
        await ask(registry, "stop")
        result = await rig.result_of(goal_id)
    assert problems(rig) == [full]
    assert result["code"] == "CANCELED"
    assert sorted(path.name for path in folder.iterdir()) == sorted([first, second])
    for file in (first, second):
        assert is_whole(read(folder / file))


def folder_room(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_bsize


async def test_a_read_only_disk_refuses_a_recording(rig: Rig, mount: Callable[[str], Path]) -> None:
    folder = mount("size=256k,ro")
    async with rig.running() as registry:
        await rig.until_state("idle")
        hint = "let motiond write there, or set recording.folder"
        assert await refused(registry, "record/start") == (
            "DISK_TROUBLE",
            f"arm: it cannot be recorded; {folder}: read-only file system; {hint}",
        )


async def test_a_disk_that_is_unmounted_ends_the_recording(rig: Rig, mount: Callable[[str], Path]) -> None:
    folder = mount("size=4m")
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        goal_id = await rig.swings(registry)
        unmount(folder)
        await rig.until("event", lambda event: event["kind"] == "recording")
        await ask(registry, "stop")
        result = await rig.result_of(goal_id)
    assert result["code"] == "CANCELED"
    assert problems(rig) == [
        recorded_no_further(rig, "it was removed while it was written; set recording.folder")
    ]
