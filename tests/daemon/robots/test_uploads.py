"""What a daemon that was killed in an upload leaves in the folder, and what the next one removes of it."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.robots.motions.uploads import Uploads
from tests.daemon.rig import Rig
from tests.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.planning.library import MotionLibrary


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    return rig


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def old(folder: Path) -> None:
    """Let a folder look as if an upload had begun two hours ago."""
    os.utime(folder, times=(time.time() - 7200.0,) * 2)


def remove_leftovers(folder: Path, library: MotionLibrary | None = None) -> None:
    Uploads("arm", folder, library).remove_leftovers()  # type: ignore[arg-type] # it is not asked


async def test_a_robot_that_starts_removes_what_was_left_and_no_upload_under_way(
    rig: Rig,
) -> None:
    for name in (".upload-a1b2_c3d", ".upload-under_wa", ".upload-00000000"):
        (rig.folder / "new" / name).mkdir()
    for name in (".upload-a1b2_c3d", ".upload-under_wa"):
        (rig.folder / "new" / name / "wave.seq").write_bytes(b"type: ")
    for name in (".upload-a1b2_c3d", ".upload-00000000"):
        old(rig.folder / "new" / name)
    async with rig.running():
        await rig.until_state("idle")
        left = [".upload-under_wa"]
        await asyncio.to_thread(
            eventually, "others are gone", lambda: inside(rig.folder / "new"), lambda now: now == left
        )


def test_nothing_else_is_removed(tmp_path: Path) -> None:
    kept = [".upload-", ".upload-mine", ".upload-a1b2c3d4e", ".upload-A1B2C3D4", "upload-a1b2c3d4"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".upload-file1234").write_text("")
    (tmp_path / ".upload-link1234").symlink_to(tmp_path / ".upload-")
    for name, files in ((".upload-two12345", ("a", "b")), (".upload-deep1234", ("c/d",))):
        for file in files:
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text("")
    for path in tmp_path.iterdir():
        if path.is_dir() and not path.is_symlink():
            old(path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    remove_leftovers(tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
def test_nothing_but_a_file_is_replaced(tmp_path: Path, what: str) -> None:
    place = tmp_path / "wave.seq"
    if what == "pipe":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
    uploads = Uploads("arm", tmp_path, None)  # type: ignore[arg-type] # it is not asked
    with pytest.raises(RequestError) as refusal:
        uploads.refuse("wave.seq", replaces=True)
    exists = "wave.seq is there already; an upload replaces nothing; rename it, or delete that one first"
    assert str(refusal.value) == f"arm: {exists}"
    assert inside(tmp_path) == ["wave.seq"]


def test_what_is_no_folder_is_told_and_one_that_is_not_made_yet_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remove_leftovers(tmp_path / "not there")
    file = tmp_path / "file"
    file.touch()
    remove_leftovers(file)
    reason = "cannot be cleared of interrupted uploads; Not a directory"
    assert caplog.messages == [f"arm: {file}: {reason}"]
