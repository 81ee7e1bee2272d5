"""Recordings in a folder: listed, kept, removed, and repaired."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.recording import (
    RecordingFolder,
    RecordingSummary,
    RecordingWriter,
    locked,
    read_summary,
)
from motiond.daemon.recording.folder import MOST_LISTED, NoRoom
from tests.daemon.recording.recordings import about, read, records

if TYPE_CHECKING:
    from pathlib import Path

BEGAN_S = 1_795_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> RecordingFolder:
    return RecordingFolder("arm", tmp_path / "recordings", 1_000_000)


def record(folder: RecordingFolder, name: str, began_s: float = BEGAN_S, ticks: int = 10) -> Path:
    """Write a whole recording."""
    writer = RecordingWriter(
        folder.new_path(folder.file_name(name, began_s)), about(name=name, began_unix_s=began_s)
    )
    writer.add(records(ticks))
    return writer.finish("it was stopped on request")


def left(folder: RecordingFolder) -> list[str]:
    assert folder.folder is not None
    return sorted(re.sub(r"arm_\w+Z_", "", path.name) for path in folder.folder.iterdir())


def refusal(act: object, *given: object, **keys: object) -> tuple[str, str]:
    with pytest.raises(RequestError) as refused:
        act(*given, **keys)  # type: ignore[operator]
    return refused.value.code, str(refused.value)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("wave", "wave"),
        ("", "recording"),
        ("a/b c", "a-b-c"),
        ("../../etc", "etc"),
        ("größe", "größe"),
        ("gro\u0308ße", "größe"),
        ("歩く 2", "歩く-2"),
        ("नमस्ते", "नमस्ते"),
        ("…", "recording"),
        ("\u202e\ud800\n", "recording"),
        ("x" * 300, "x" * 96),
        ("é" * 300, "é" * 48),
        ("歩" * 300, "歩" * 32),
        ("x" + "歩" * 300, "x" + "歩" * 31),
    ],
)
def test_a_file_has_robot_time_and_name_in_its_name(folder: RecordingFolder, name: str, file: str) -> None:
    assert folder.file_name(name, BEGAN_S) == f"arm_20261118T110640Z_{file}.mcap"


def test_a_name_that_is_taken_gets_a_number_also_after_a_restart_in_the_same_second(
    folder: RecordingFolder,
) -> None:
    again = RecordingFolder("arm", folder.folder, folder.keep_bytes)
    names = [record(one, "wave").name for one in (folder, folder, again)]
    assert names == [f"arm_20261118T110640Z_wave{number}.mcap" for number in ("", "-2", "-3")]


def test_recordings_are_listed_newest_first_with_what_they_say_of_themselves(folder: RecordingFolder) -> None:
    old = record(folder, "wave")
    new = record(folder, "nod", BEGAN_S + 60.0, ticks=20)
    (folder.folder / "arm_20261118T110640Z_bad.mcap").write_bytes(b"no recording")  # type: ignore[operator]
    (folder.folder / "arm_left_20261118T110640Z_wave.mcap").write_bytes(b"another robot's")  # type: ignore[operator]
    (folder.folder / "notes.txt").write_text("the user's own")  # type: ignore[operator]
    folder.keep("arm_20261118T110640Z_wave", True)
    listed, count, size = folder.listed()
    assert count == 3
    assert size == old.stat().st_size + new.stat().st_size + len(b"no recording")
    assert listed[0] == {
        "name": "arm_20261118T110740Z_nod",
        "file": "arm_20261118T110740Z_nod.mcap",
        "bytes": new.stat().st_size,
        "began_utc": "2026-11-18T11:07:40.000Z",
        "duration_s": 0.019,
        "ticks": 20,
        "gaps": 0,
        "why": "request",
        "motions": [],
        "codes": [],
        "kept": False,
        "is_written": False,
    }
    assert [one["kept"] for one in listed if "wave" in one["name"]] == [True]
    assert [one["ticks"] for one in listed if "bad" in one["name"]] == [None]


def test_a_file_is_read_again_only_if_it_looks_different(
    folder: RecordingFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(folder, "wave")
    first, *_ = folder.listed()
    with monkeypatch.context() as patch:
        patch.setattr("motiond.daemon.recording.folder.read_summary", None)
        assert folder.listed()[0] == first
    path.write_bytes(b"")
    assert folder.listed()[0][0]["ticks"] is None


def not_regular(folder: Path, ending: str = "") -> list[Path]:
    """Make what is no regular file, under names of recordings."""
    pipe, link, inside, nothing = (
        folder / f"arm_20261118T110640Z_{name}.mcap{ending}" for name in ("pipe", "link", "folder", "nothing")
    )
    os.mkfifo(pipe)
    link.symlink_to("notes.txt")
    nothing.symlink_to("nothing")
    inside.mkdir()
    return [pipe, link, inside, nothing]


def test_only_regular_files_are_recordings(folder: RecordingFolder, caplog: pytest.LogCaptureFixture) -> None:
    whole = record(folder, "wave")
    (whole.parent / "notes.txt").write_text("the user's own")
    others = [*not_regular(whole.parent), *not_regular(whole.parent, ".part")]
    listed, count, size = folder.listed()
    assert ([one["file"] for one in listed], count, size) == ([whole.name], 1, whole.stat().st_size)
    for path in others:
        for act in (folder.delete, folder.place):
            assert refusal(act, path.name.removesuffix(".part"))[0] == "UNKNOWN_RECORDING"
    folder.repair_all()
    folder.keep_bytes = 0
    folder.make_room(0, 0)
    assert (caplog.messages, whole.exists()) == ([], False)
    assert all(os.path.lexists(path) for path in others)
    for path in others:
        new = folder.new_path(path.name.removesuffix(".part"))
        assert new.name == path.name.replace(".mcap", "-2.mcap").removesuffix(".part")


def test_what_is_no_regular_file_is_not_opened(folder: RecordingFolder) -> None:
    pipe, link, *_ = not_regular(record(folder, "wave").parent)
    assert read_summary(pipe) == RecordingSummary()
    with pytest.raises(OSError, match="it is a pipe"):
        locked(pipe)
    (link.parent / "notes.txt").touch()
    locked(link).close()
    with pytest.raises(OSError, match="it is a link"):
        locked(link, follows=False)


def test_the_oldest_are_removed_at_the_quota_of_two_files(folder: RecordingFolder) -> None:
    sizes = [record(folder, name, BEGAN_S + number).stat().st_size for number, name in enumerate("abcd")]
    folder.keep_bytes = sum(sizes[2:])
    assert folder.make_room(0, 0) == 0
    assert left(folder) == ["c.mcap", "d.mcap"]


def test_what_is_kept_or_read_or_written_is_not_removed_at_the_quota(folder: RecordingFolder) -> None:
    paths = [record(folder, name, BEGAN_S + number) for number, name in enumerate("abcd")]
    folder.keep("arm_20261118T110640Z_a.mcap", True)
    part = RecordingWriter(folder.new_path(folder.file_name("e", BEGAN_S - 9.0)), about())
    folder.keep_bytes = 1
    with locked(paths[1]), pytest.raises(NoRoom) as reason:
        folder.make_room(1, 1)
    part.abandon()
    assert left(folder) == ["a.mcap", "a.mcap.keep", "b.mcap", "e.mcap.part"]
    assert folder.trouble(reason.value, has_begun=False) == (
        f"arm: it cannot be recorded; {folder.folder}: the recordings that are left fill 0.001 kB; "
        "delete some that are marked to be kept, or raise recording.keep"
    )


def test_one_that_is_kept_or_read_is_not_deleted_on_request_either(folder: RecordingFolder) -> None:
    path = record(folder, "wave")
    name = path.stem
    assert folder.keep(name, keep=True) == path.name
    assert refusal(folder.delete, name) == (
        "NOT_ALLOWED",
        f"arm: {path.name} cannot be removed; it is marked to be kept; take the mark off first",
    )
    folder.keep(name, False)
    with locked(path):
        assert refusal(folder.delete, path.name) == (
            "BUSY",
            f"arm: {path.name} cannot be removed; it is being read; try again",
        )
    assert folder.delete(name) == path.name
    assert left(folder) == []


def test_a_file_in_place_of_the_folder_is_named(folder: RecordingFolder) -> None:
    assert folder.folder is not None
    folder.folder.touch()
    reason, hint = f"{folder.folder}: not a directory", "look at that disk, or set recording.folder"
    expected = f"arm: its recordings cannot be listed; {reason}; {hint}"
    assert refusal(folder.listed) == ("DISK_TROUBLE", expected)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_will_do(
    folder: RecordingFolder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)
    path = record(folder, "wave")
    with locked(path):
        assert folder.delete(path.name) == path.name


@pytest.mark.parametrize(
    "name", ["nothing", "../arm_20261118T110640Z_a", "notes.txt", "arm_left_20261118T110640Z_a"]
)
def test_there_is_no_recording_of_another_name(folder: RecordingFolder, name: str) -> None:
    record(folder, "a")
    (folder.folder / "notes.txt").touch()  # type: ignore[operator]
    (folder.folder / "arm_left_20261118T110640Z_a.mcap").touch()  # type: ignore[operator]
    for act in (folder.delete, folder.place):
        assert refusal(act, name) == (
            "UNKNOWN_RECORDING",
            f"arm: no recording '{name}'; list them by `recordings`",
        )


def test_one_that_is_being_written_is_not_deleted(folder: RecordingFolder) -> None:
    writer = RecordingWriter(folder.new_path(folder.file_name("wave", BEGAN_S)), about())
    assert refusal(folder.delete, writer.path.name) == (
        "BUSY",
        f"arm: {writer.path.name} is being written; wait for its end",
    )
    writer.abandon()


def test_what_a_crash_has_left_is_made_whole_unless_somebody_writes_it(
    folder: RecordingFolder, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("crashed", "running", "empty"):
        writer = RecordingWriter(folder.new_path(folder.file_name(name, BEGAN_S)), about())
        if name != "empty":
            writer.add(records(10))
            writer.cut()
        writer.abandon()
    strange = folder.new_path("arm_20261118T110640Z_strange.mcap").with_suffix(".mcap.part")
    strange.write_bytes(b"something else" * 100)
    with locked(strange.with_name("arm_20261118T110640Z_running.mcap.part")):
        folder.repair_all()
    assert left(folder) == ["crashed.mcap", "running.mcap.part", "strange.mcap.part"]
    (whole,) = (path for path in strange.parent.iterdir() if path.suffix == ".mcap")
    assert read(whole).numbers["/reference"] == list(range(9))
    assert f"arm: {whole.name}.part was not finished; {whole.name} is what was whole" in caplog.text


def test_those_that_are_not_listed_are_counted(folder: RecordingFolder) -> None:
    whole = record(folder, "wave")
    for number in range(MOST_LISTED + 2):
        shutil.copy(whole, whole.with_name(f"arm_20261118T110641Z_{number}.mcap"))
    listed, count, size = folder.listed()
    assert (len(listed), count) == (MOST_LISTED, MOST_LISTED + 3)
    assert size == count * whole.stat().st_size
