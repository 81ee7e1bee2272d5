"""The last results of each robot in a SQLite file, or in memory where that cannot be used.

A result that was added is there also after a SIGKILL: each is a transaction of a write-ahead log
(https://www.sqlite.org/wal.html). Two daemons may use one file.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from contextlib import closing, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from motiond.text import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ..api import PastResult

    Answer = TypeVar("Answer")

log = logging.getLogger(__name__)

MOST_KEPT = 1000
"""Results of each robot."""
VERSION = 1
"""Of the table."""
LOCKED_S = 1.0
"""So long another program may keep the file locked."""
RETRY_S = 30.0
LONGEST_DETAILS = 4096
"""In bytes, as JSON; what is longer is left out."""
LONGEST_TEXT = 2000
NEWEST_OF_ALL = 2**63 - 1
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

PLAIN = ("ended_utc", "goal_id", "motion", "code", "message", "asked_by", "played_s", "missed_deadlines")
OBJECTS = ("worst_error", "peak_effort", "recording", "details")
"""Columns that hold JSON."""
COLUMNS = ", ".join(PLAIN + OBJECTS)
TABLE = f"""
    CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY AUTOINCREMENT, robot TEXT NOT NULL, {COLUMNS});
    CREATE INDEX IF NOT EXISTS results_of_robot ON results (robot, id);
    PRAGMA user_version = {VERSION};
"""
PLACES = ", ".join("?" * (1 + len(PLAIN + OBJECTS)))
# Names of columns cannot be parameters; all of these are constants.
ADD = f"INSERT INTO results (robot, {COLUMNS}) VALUES ({PLACES})"  # noqa: S608
NEWEST = f"SELECT id, {COLUMNS} FROM results WHERE robot = ? AND id < ? ORDER BY id DESC LIMIT ?"  # noqa: S608
ALL = f"SELECT robot, {COLUMNS} FROM results ORDER BY id"  # noqa: S608
PRUNE = """
    DELETE FROM results WHERE robot = ?1 AND id <= (
        SELECT id FROM results WHERE robot = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
    )
"""


class UnusableError(Exception):
    """A file that is sound, and not for this motiond."""


class Store:
    """The results of all robots of a daemon, for one thread at a time.

    What the file does not take goes to memory, and to the file once it can be used again.

    - `file`: None keeps results in memory alone
    - `now`: the time in s by which a file is tried again

    - `problem`: why results may be missing; None where all are there
    """

    def __init__(self, file: Path | None, now: Callable[[], float] = time.monotonic) -> None:
        self.problem: str | None = None
        self._file = file
        self._now = now
        self._database: sqlite3.Connection | None = None
        self._in_file = False
        self._identity: tuple[int, int] | None = None
        self._retry_s = -math.inf

    def add(self, robot: str, result: Mapping[str, Any]) -> None:
        """Add a result as it was reported, and forget the oldest of its robot beyond `MOST_KEPT`."""
        self._do(lambda database: _add(database, [(robot, *_values(result))]))

    def newest(self, robot: str, limit: int, before: int | None = None) -> list[PastResult]:
        """Return the last results of a robot, or the last before one, newest first."""
        asked = (robot, NEWEST_OF_ALL if before is None else before, limit)
        return self._do(lambda database: [_result(*row) for row in database.execute(NEWEST, asked)])

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database, self._in_file = None, False

    def _do(self, act: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Act on the file, or on memory where the file fails."""
        database = self._opened()
        try:
            return act(database)
        except sqlite3.Error as error:
            if not self._in_file:
                raise
            self.close()
            if self._file is not None and _is_damage(error):
                self._put_aside(self._file, error)
            else:
                self._note(error)
            return act(self._opened())

    def _opened(self) -> sqlite3.Connection:
        """Return what is open; a file that failed is tried again after a while."""
        if self._file is not None and self._in_file:
            identity = _identity_of(self._file)
            if identity is None or identity != self._identity:
                self._leave(self._file)
        if self._file is not None and not self._in_file and self._now() >= self._retry_s:
            try:
                self._take(self._file, _open_file(self._file))
            except (sqlite3.Error, OSError, UnusableError) as error:
                if _is_damage(error):
                    self._put_aside(self._file, error)
                    return self._opened()
                self._note(error)
        if self._database is None:
            self._database = _memory()
        return self._database

    def _take(self, path: Path, file: sqlite3.Connection) -> None:
        """Go on with the file, and add to it what is in memory."""
        memory, self._database, self._in_file = self._database, file, True
        self._identity = _identity_of(path)
        if memory is not None:
            with closing(memory):
                _add(file, memory.execute(ALL))
            log.info("%s: it can be used again; the results of meanwhile are in it", path)
            self.problem = None

    def _leave(self, file: Path) -> None:
        """Leave a file that is not at its place any more, for one that was put there, or for memory.

        One that was removed can still be read: what was in it goes to memory.
        """
        is_replaced = _identity_of(file) is not None
        log.warning("history: %s was %s while it was open", file, "replaced" if is_replaced else "removed")
        left, self._database, self._in_file = self._database, None, False
        self._retry_s = -math.inf
        if left is not None:
            with closing(left):
                if not is_replaced:
                    self._database = _memory()
                    _add(self._database, left.execute(ALL))

    def _note(self, error: Exception) -> None:
        """Keep results in memory for a while, and log why, once."""
        self._retry_s = self._now() + RETRY_S
        problem = f"{self._file} cannot be used; {error}; results are kept in memory, and it is tried again"
        if problem != self.problem:
            log.warning("history: %s", problem)
        self.problem = problem

    def _put_aside(self, file: Path, error: Exception) -> None:
        """Keep a damaged file by another name, so that the next one begins anew."""
        names = (f"{file.name}.damaged{f'-{number}' if number > 1 else ''}" for number in count(1))
        aside = next(path for path in map(file.with_name, names) if not path.exists())
        self._retry_s = -math.inf
        try:
            for ending in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    file.with_name(file.name + ending).replace(f"{aside}{ending}")
        except OSError as failure:
            self._note(failure)
            return
        self.problem = f"{file} was damaged ({error}) and is now {aside.name}; the history has begun anew"
        log.warning("history: %s", self.problem)


def _open_file(file: Path) -> sqlite3.Connection:
    """Open a file of results, which is made where there is none.

    Raises OSError and sqlite3.Error where it cannot be used, and UnusableError where a newer motiond has it.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(file, timeout=LOCKED_S, check_same_thread=False)
    try:
        _refuse_newer(database)
        # Committed pages are the system's at once: only a loss of power can cost the last results.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        return _prepared(database)
    except BaseException:
        database.close()
        raise


def _memory() -> sqlite3.Connection:
    return _prepared(sqlite3.connect(":memory:", check_same_thread=False))


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Return which file has a name; None where there is none. What is open keeps its number from others."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_newer(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise UnusableError(f"a newer motiond has written it (version {version}, here {VERSION})")


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    database.executescript(TABLE)
    return database


def _is_damage(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED


def _add(database: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    with database:
        for row in rows:
            database.execute(ADD, row)
            database.execute(PRUNE, (row[0], MOST_KEPT))


def _values(result: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what is kept of a result, in the order of the columns."""
    timing, details = result["timing"], orjson.dumps(result["details"], option=orjson.OPT_SERIALIZE_NUMPY)
    kept = {
        **result,
        "ended_utc": result["stamp_utc"],
        "message": shortened(result["message"], LONGEST_TEXT),
        "missed_deadlines": timing and timing["missed_deadlines"],
    }
    objects = [orjson.dumps(result.get(key)).decode() for key in OBJECTS[:-1]]
    return (
        *(kept[key] for key in PLAIN),
        *objects,
        details.decode() if len(details) <= LONGEST_DETAILS else "null",
    )


def _result(number: int, *values: Any) -> PastResult:
    """Return a result as it is answered."""
    plain, objects = values[: len(PLAIN)], map(orjson.loads, values[len(PLAIN) :])
    keys = zip(PLAIN + OBJECTS, (*plain, *objects), strict=True)
    return cast("PastResult", {"id": number, **dict(keys)})
