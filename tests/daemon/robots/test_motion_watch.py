"""Behaviour of a robot whose motion folder is watched."""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import watchfiles
from watchfiles._rust_notify import WatchfilesRustInternalError

from motiond.daemon.robots.motions import motion_watch
from motiond.daemon.robots.motions.motion_watch import why_unwatched
from motiond.formats.io import open_regular, source
from motiond.text import printable
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, sweep, write_seq
from tests.daemon.robots.virtual_watch import virtual_awatch
from tests.daemon.robots.watch_contract import FolderWatchContract
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from motiond.daemon.planning.library import MotionLibrary
    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _on_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchfiles, "awatch", virtual_awatch)


class TestVirtualWatch(FolderWatchContract):
    """On virtual time."""


@pytest.fixture
def rig(rig: Rig) -> Rig:
    watch(rig)
    return rig


def watch(rig: Rig) -> None:
    del rig.driver["trace"]
    rig.robot["motions"] = [{"folder": "motions", "watch": True}]


@asynccontextmanager
async def watching(rig: Rig) -> AsyncIterator[tuple[RobotRegistry, MotionLibrary, Path]]:
    async with rig.running() as registry:
        await rig.until_state("idle")
        library = registry.members["arm"].robot.library
        folder = rig.folder / "motions"
        write_seq(folder / "first.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: library.get("first"))  # it is watched by now
        yield registry, library, folder


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - the library tells nobody
            await asyncio.sleep(0.01)


def frames(library: MotionLibrary, name: str) -> int:
    entry = library.get(name)
    return entry.frames if entry else 0


async def test_what_is_written_changed_and_removed_counts_without_a_reload_and_what_plays_plays_on(
    rig: Rig,
) -> None:
    async with watching(rig) as (registry, library, folder):
        goal = await ask(registry, "play", motion="long", loop="forever")
        write_seq(folder / "new.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: frames(library, "new") == 101)
        write_seq(folder / "elsewhere.txt", sweep(1.0), JOINTS, RATE_HZ)
        (folder / "elsewhere.txt").rename(folder / "new.seq")
        await until(lambda: frames(library, "new") == 201)
        (folder / "long.seq").unlink()
        await until(lambda: library.get("long") is None)
        (folder / "new.markers.yaml").write_text("markers: {go: {frame: 5}}\n")
        await until(lambda: (entry := library.get("new")) and entry.markers)
        state = registry.members["arm"].robot.state_payload()
        assert (state["goal_id"], rig.results()) == (goal["goal_id"], [])
        await ask(registry, "stop")


async def test_a_broken_file_leaves_the_motion_of_before_and_a_warning_says_why(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(rig) as (registry, library, folder):
        file = folder / "short.seq"
        text = file.read_text()
        broken = rig.folder / "broken.seq"
        broken.write_text(text.replace("num_frames: 101", "num_frames: 500"))
        broken.replace(file)  # at once: a reading that is still under way must not find it half written
        await until(lambda: any("what it held before stays" in line for line in caplog.messages))
        (warning,) = [line for line in caplog.messages if "stays" in line]
        assert warning == (
            f"{file}: the file has changed and cannot be played as it is now; short: JointDisplacement ends "
            "after 101 of the 500 frames that its file states; so does a copy that was interrupted; copy it "
            "again, correct the count, or set `allow_short_files: true`; what it held before stays"
        )
        goal = await ask(registry, "play", motion="short")
        assert (await rig.result_of(goal["goal_id"]))["code"] == "SUCCESSFUL"
        await until(lambda: not registry.members["arm"].robot.motions._reading)  # by the watch
        listed = await ask(registry, "motions/reload")
        refused = {motion["name"]: motion["ok"] for motion in listed["motions"]}
        assert refused == {"first": True, "long": True, "short": False}
        file.write_text(text)
        await until(lambda: (entry := library.get("short")) and entry.plan)


async def test_a_file_is_not_read_while_it_is_being_written(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(rig) as (_, library, folder):
        write_seq(rig.folder / "whole.seq", sweep(0.5), JOINTS, RATE_HZ)
        lines = (rig.folder / "whole.seq").read_text().splitlines(keepends=True)
        with (folder / "slow.seq").open("w") as file:
            for place in range(0, len(lines), 10):
                file.writelines(lines[place : place + 10])
                file.flush()
                if place == 20:  # others are read meanwhile
                    write_seq(folder / "other.seq", sweep(0.5), JOINTS, RATE_HZ)
                await asyncio.sleep(0.25)
                assert library.get("slow") is None
            assert frames(library, "other") == 101
        await until(lambda: frames(library, "slow") == 101)
    assert [line for line in caplog.messages if "slow" in line] == []


async def test_a_folder_that_is_exchanged_or_comes_later_is_watched_too(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(rig) as (_, library, folder):
        folder.rename(rig.folder / "before")
        lost = "No such file or directory; it is tried again"
        await until(lambda: any(lost in line for line in caplog.messages))
        folder.mkdir()
        await asyncio.sleep(3.0 * motion_watch.IDLE_S)
        write_seq(folder / "later.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: library.get("later"))
        assert library.get("short") is None
    logged = [line for line in caplog.messages if "is not watched" in line]
    where = f"arm: {folder}: is not watched; No such file or directory; it is tried again"
    assert logged == [f"{where}; make the folder"]


async def test_names_that_are_no_utf8_end_nothing_and_the_folder_is_followed_on(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(rig) as (registry, library, folder):
        goal = await ask(registry, "play", motion="long", loop="forever")
        for name in (b"b\xff.seq", b"note\xe9.txt", b"c\xff.seq"):
            file = folder / os.fsdecode(name)
            write_seq(file, sweep(0.5), JOINTS, RATE_HZ)
            if file.suffix == ".seq":
                await until(partial(library.get, printable(file.stem)))
            else:
                await asyncio.sleep(3.0 * motion_watch.TRY_AGAIN_S)
        write_seq(folder / "after.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: library.get("after"))
        state = registry.members["arm"].robot.state_payload()
        assert (state["goal_id"], rig.results()) == (goal["goal_id"], [])
        await ask(registry, "stop")
    logged = [line for line in caplog.messages if "UTF-8" in line]
    again = "each change of that file has the folder watched from the beginning; rename it"
    assert logged == [f"arm: {folder}: a name is no UTF-8; {again}"]
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_watch_that_fails_unforeseen_takes_no_robot_with_it_and_begins_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    defects = {"_identity": 3, "_settle": 3}

    def failing(name: str, good: Callable[..., object]) -> Callable[..., object]:
        def fail(*arguments: object) -> object:
            if defects[name]:
                defects[name] -= 1
                raise ArithmeticError(name)
            return good(*arguments)

        return fail

    for owner, name in ((motion_watch, "_identity"), (motion_watch.MotionWatch, "_settle")):
        monkeypatch.setattr(owner, name, failing(name, getattr(owner, name)))
    async with watching(rig) as (_, library, folder):
        await until(lambda: not any(defects.values()))  # a folder is looked at while it is not watched, too
        write_seq(folder / "after.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: library.get("after"))
    tracebacks = [record.getMessage() for record in caplog.records if record.exc_info]
    assert len(tracebacks) == 2, "one for each, however often it failed"


async def test_what_cannot_be_read_for_a_moment_stays_and_is_read_once_it_can_be(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exhausted = True

    def open_or_fail(path: Path) -> Any:
        if exhausted:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_regular(path)

    async with watching(rig) as (registry, library, folder):
        frames_before = frames(library, "first")
        monkeypatch.setattr(source, "open_regular", open_or_fail)
        write_seq(folder / "first.seq", sweep(1.0), JOINTS, RATE_HZ)
        await until(lambda: library.problems)
        assert frames(library, "first") == frames_before
        unread = f"{folder}/first.seq: cannot be read; Too many open files; check the path"
        problems = (await ask(registry, "motions/reload"))["problems"]
        assert problems == [f"{unread}; what it held before stays"]
        exhausted = False
        await until(lambda: frames(library, "first") > frames_before and not library.problems)
    logged = [message for message in caplog.messages if unread in message]
    assert logged == [f"arm: {unread}; what it held before stays"]


IN_VAIN = "it is tried again"
NO_FOLDER = f"{IN_VAIN}; name a folder that is there"
LIMIT = "OS file watch limit reached. about"
INSTANCES = "Error creating a watcher: Too many open files (os error 24)"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            OSError(errno.ELOOP, ""),
            f"Too many levels of symbolic links; {NO_FOLDER}",
        ),
        (OSError(errno.ENOTDIR, ""), f"Not a directory; {NO_FOLDER}"),
        (OSError(errno.EIO, "Input/output error"), f"Input/output error; {IN_VAIN}; look at the folder"),
        (OSError(LIMIT), f"No space left on device; {IN_VAIN}; raise fs.inotify.max_user_watches"),
        (OSError(INSTANCES), f"Too many open files; {IN_VAIN}; raise fs.inotify.max_user_instances"),
        (WatchfilesRustInternalError("what else"), f"what else; {IN_VAIN}; look at the folder"),
    ],
    ids=str,
)
def test_a_failure_to_watch_is_reported_with_its_hint(error: Exception, why: str) -> None:
    for failure in (error, ExceptionGroup("in a group", [error])):
        assert why_unwatched(failure) == f"is not watched; {why}"


def test_a_defect_is_no_reason_that_a_hint_could_be_given_for() -> None:
    assert why_unwatched(ZeroDivisionError("a defect")) == ""
