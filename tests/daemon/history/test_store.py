"""The file of results: what is kept, and what becomes of it where the file cannot be used."""

from __future__ import annotations

import logging
import resource
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.history import store as module
from motiond.daemon.history.store import MOST_KEPT, RETRY_S, Store
from tests.daemon import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.daemon.api import PastResult


def ended(goal_id: str = "g1", **keys: Any) -> dict[str, Any]:
    return answers.result(goal_id) | keys


def goals(results: list[PastResult]) -> list[str]:
    return [result["goal_id"] for result in results]


class Clock:
    """A clock that the test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history-d1.sqlite3"


@pytest.fixture(params=["a file", "memory"])
def store(request: pytest.FixtureRequest, file: Path) -> Iterator[Store]:
    with closing(Store(file if request.param == "a file" else None)) as store:
        yield store


def test_a_result_comes_back_as_it_was_reported(store: Store) -> None:
    error = {"joint": "elbow", "value": 0.25, "unit": "rad"}
    effort = {"joint": "wrist", "value": 3.0, "unit": "N·m"}
    details = {"reached_goal": False}
    timing = {"missed_deadlines": 3}
    facts: dict[str, Any] = {"worst_error": error, "peak_effort": effort, "details": details, "played_s": 1.5}
    store.add("arm", ended(asked_by="ana", code="CANCELED", message="stopped", timing=timing, **facts))
    assert store.newest("arm", 10) == [
        {
            "id": 1,
            "ended_utc": "2026-11-22T12:00:00.000Z",
            "goal_id": "g1",
            "motion": "wave",
            "code": "CANCELED",
            "message": "stopped",
            "asked_by": "ana",
            "missed_deadlines": 3,
            "recording": None,
            **facts,
        }
    ]


def test_what_had_not_begun_has_missed_no_deadline(store: Store) -> None:
    store.add("arm", ended())
    assert store.newest("arm", 1)[0]["missed_deadlines"] is None


def test_texts_and_details_are_bounded(store: Store) -> None:
    store.add("arm", ended(message="m" * 9000, details={"reason": "r" * 9000}))
    (result,) = store.newest("arm", 1)
    assert (len(result["message"]), result["message"][-1], result["details"]) == (2000, "…", None)


def test_each_robot_has_its_own_results_newest_first_page_by_page(store: Store) -> None:
    for number in range(5):
        store.add("arm", ended(f"a{number}"))
        store.add("hand", ended(f"h{number}"))
    first = store.newest("arm", 3)
    assert goals(first) == ["a4", "a3", "a2"]
    assert goals(store.newest("arm", 3, first[-1]["id"])) == ["a1", "a0"]
    assert store.newest("leg", 3) == []


def test_the_oldest_of_a_robot_go_and_no_other_s(store: Store) -> None:
    store.add("hand", ended("first"))
    for number in range(MOST_KEPT + 3):
        store.add("arm", ended(f"g{number}"))
    kept = goals(store.newest("arm", MOST_KEPT + 10))
    assert (len(kept), kept[0], kept[-1]) == (MOST_KEPT, f"g{MOST_KEPT + 2}", "g3")
    assert goals(store.newest("hand", 10)) == ["first"]


def test_results_are_there_for_the_next_daemon_also_of_one_that_was_killed(file: Path) -> None:
    with closing(Store(file)) as killed:
        killed.add("arm", ended("g1"))  # and is not closed before the next one reads
        with closing(Store(file)) as next_one:
            assert goals(next_one.newest("arm", 10)) == ["g1"]
            assert next_one.problem is None


def test_two_daemons_of_one_file_see_each_other_s_results(file: Path) -> None:
    with closing(Store(file)) as one, closing(Store(file)) as other:
        for number in range(20):
            one.add("arm", ended(f"one{number}"))
            other.add("arm", ended(f"other{number}"))
        assert len(one.newest("arm", 100)) == len(other.newest("arm", 100)) == 40


# -- what is wrong with the file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sound", "reason"), [(0, "file is not a database"), (4096, "database disk image is malformed")]
)
def test_a_damaged_file_is_put_aside_and_the_history_begins_anew(
    file: Path, sound: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Store(file)) as before:
        for number in range(200):
            before.add("arm", ended(f"g{number}"))
    content = file.read_bytes()
    damaged = b"\xa5" * (len(content) - sound)
    file.write_bytes(content[:sound] + damaged)
    with closing(Store(file)) as store:
        store.add("arm", ended("new"))
        assert goals(store.newest("arm", 500)) == ["new"]
        aside = file.with_name("history-d1.sqlite3.damaged")
        problem = f"{file} was damaged ({reason}) and is now {aside.name}; the history has begun anew"
        assert (store.problem, caplog.messages) == (problem, [f"history: {problem}"])
        assert aside.read_bytes()[sound:] == damaged
    with closing(Store(file)) as store:
        assert goals(store.newest("arm", 500)) == ["new"]
        assert store.problem is None


def test_each_damaged_file_is_kept(file: Path) -> None:
    file.parent.mkdir()
    names = ["history-d1.sqlite3.damaged", "history-d1.sqlite3.damaged-2", "history-d1.sqlite3.damaged-3"]
    for damage in names:
        file.write_bytes(damage.encode() * 100)
        with closing(Store(file)) as store:
            store.add("arm", ended("new"))
            assert f" and is now {damage}; " in str(store.problem)
    assert [file.with_name(name).read_bytes() for name in names] == [name.encode() * 100 for name in names]


def remove(file: Path) -> None:
    for path in file.parent.iterdir():
        path.unlink()


@pytest.mark.parametrize("remove", [remove, Path.unlink])
def test_a_file_that_is_removed_is_made_again_with_what_was_in_it(
    file: Path, remove: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Store(file)) as store:
        store.add("arm", ended("before"))
        remove(file)
        store.add("arm", ended("after"))
        remove(file)
        assert goals(store.newest("arm", 10)) == ["after", "before"]
        assert store.problem is None
        with closing(Store(file)) as next_one:
            assert goals(next_one.newest("arm", 10)) == ["after", "before"]
    assert caplog.messages == [f"history: {file} was removed while it was open"] * 2


def test_a_file_that_is_removed_with_its_folder_is_made_again_once_it_can_be(file: Path) -> None:
    clock = Clock()
    with closing(Store(file, clock)) as store:
        store.add("arm", ended("before"))
        remove(file)
        file.parent.rmdir()
        with no_folder(file) as reason:
            store.add("arm", ended("meanwhile"))
            assert goals(store.newest("arm", 10)) == ["meanwhile", "before"]
            problem = f"{file} cannot be used; {reason}; results are kept in memory, and it is tried again"
            assert store.problem == problem
        clock.now_s += RETRY_S
        assert goals(store.newest("arm", 10)) == ["meanwhile", "before"]
        assert not store.problem
    with closing(Store(file)) as store:
        assert goals(store.newest("arm", 10)) == ["meanwhile", "before"]


def test_a_file_that_another_is_put_in_place_of_is_left_for_it(
    file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other.sqlite3"
    with closing(Store(other)) as store:
        store.add("arm", ended("restored"))
    with closing(Store(file)) as store:
        store.add("arm", ended("before"))
        remove(file)
        other.rename(file)
        store.add("arm", ended("after"))
        assert goals(store.newest("arm", 10)) == ["after", "restored"]
    assert caplog.messages == [f"history: {file} was replaced while it was open"]


@contextmanager
def newer(file: Path) -> Iterator[str]:
    """Let a newer motiond have written the file."""
    Store(file).add("arm", ended("old"))
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 2")
    yield "a newer motiond has written it (version 2, here 1)"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 1")


@contextmanager
def locked(file: Path) -> Iterator[str]:
    """Let another program lock the file and keep it so."""
    file.parent.mkdir()
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield "database is locked"
        database.execute("ROLLBACK")


@contextmanager
def read_only(file: Path) -> Iterator[str]:
    """Let the file be opened as one that nobody may write."""
    Store(file).add("arm", ended("old"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(_connect_read_only, sqlite3.connect))
        yield "attempt to write a readonly database"


def _connect_read_only(connect: Callable[..., Any], file: Path | str, **options: Any) -> Any:
    return connect(file if file == ":memory:" else f"file:{file}?mode=ro", uri=True, **options)


@contextmanager
def full(file: Path) -> Iterator[str]:
    """Let the system refuse to make any file longer."""
    file.parent.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield "disk I/O error"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextmanager
def no_folder(file: Path) -> Iterator[str]:
    """Let a file stand where the folder should be."""
    file.parent.touch()
    yield f"[Errno 17] File exists: '{file.parent}'"
    file.parent.unlink()


@pytest.mark.parametrize("trouble", [newer, locked, read_only, full, no_folder])
def test_what_the_file_does_not_take_is_kept_in_memory_until_it_does(
    file: Path, trouble: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCKED_S", 0.0)
    caplog.set_level(logging.INFO, "motiond")
    clock = Clock()
    with closing(Store(file, clock)) as store:
        with trouble(file) as reason:
            for number in range(3):
                store.add("arm", ended(f"g{number}"))
                clock.now_s += RETRY_S
            assert goals(store.newest("arm", 10)) == ["g2", "g1", "g0"]
            problem = f"{file} cannot be used; {reason}; results are kept in memory, and it is tried again"
            assert store.problem == problem
            assert caplog.messages == [f"history: {problem}"]
        clock.now_s += RETRY_S
        store.add("arm", ended("last"))
        kept = ["last", "g2", "g1", "g0"] + (["old"] if trouble in {newer, read_only} else [])
        assert goals(store.newest("arm", 10)) == kept
        again = f"{file}: it can be used again; the results of meanwhile are in it"
        assert not store.problem
        assert caplog.messages[1:] == [again]
    with closing(Store(file)) as store:
        assert goals(store.newest("arm", 10)) == kept


def test_a_file_that_fails_in_use_is_left_for_memory(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    with closing(Store(file, clock)) as store:
        store.add("arm", ended("before"))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        try:
            store.add("arm", ended("meanwhile"))
            assert goals(store.newest("arm", 10)) == ["meanwhile"]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert len(caplog.messages) == 1
        clock.now_s += RETRY_S
        assert goals(store.newest("arm", 10)) == ["meanwhile", "before"]
