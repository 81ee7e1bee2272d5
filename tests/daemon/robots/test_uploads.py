"""What a daemon that was killed in an upload leaves in the folder, and what the next one removes of it."""

from __future__ import annotations

import asyncio
import fcntl
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.robots.motions.uploads import Uploads
from tests.daemon.rig import Rig
from tests.waiting import eventually

if TYPE_CHECKING:
    from motiond.daemon.planning.library import MotionLibrary


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    return rig


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def remove_leftovers(folder: Path, library: MotionLibrary | None = None) -> None:
    Uploads("arm", folder, library).remove_leftovers()  # type: ignore[arg-type] # it is not asked


async def test_a_robot_that_starts_removes_what_was_left(rig: Rig) -> None:
    left = rig.folder / "new" / ".upload-a1b2_c3d"
    left.mkdir()
    (left / "wave.seq").write_bytes(b"type: ")
    (rig.folder / "new" / ".upload-00000000").mkdir()
    async with rig.running():
        await rig.until_state("idle")
        await asyncio.to_thread(
            eventually, "it is empty", lambda: inside(rig.folder / "new"), lambda now: not now
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
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    remove_leftovers(tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "not there"
    remove_leftovers(folder)
    reason = "cannot be cleared of interrupted uploads; No such file or directory"
    assert caplog.messages == [f"arm: {folder}: {reason}"]


def test_a_folder_that_another_daemon_takes_for_a_leftover_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, is_first = fcntl.flock, [True]

    def lose(lock: int, operation: int) -> None:
        if is_first and is_first.pop():
            Path(f"/proc/self/fd/{lock}").readlink().rmdir()
        usual(lock, operation)

    class Library:
        def check(self, file: Path) -> tuple[()]:
            assert file.read_bytes() == b"x"
            raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", lose)
    with pytest.raises(KeyboardInterrupt):
        Uploads("arm", tmp_path, Library()).take("wave.seq", b"x")  # type: ignore[arg-type] # a stand-in
    assert inside(tmp_path) == []
