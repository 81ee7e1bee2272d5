"""Work on many files, one after the other or in several processes, with progress on a terminal.

Exception
└── ReaderDied       a process that read files ended by itself
"""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    Work = Callable[[Path], "R"]

R = TypeVar("R")

QUIET_S = 1.0


class ReaderDied(Exception):
    """A process that read files ended by itself."""

    exit_code: ClassVar[int] = 1


def for_each_file(work: Work[R], files: Sequence[Path], jobs: int, console: Console) -> list[R]:
    """Do the same with each of many files; raise ReaderDied if a process ended by itself."""
    results = []
    with progress_if_slow(console, "reading", len(files) if len(files) > 1 else None) as done:
        for result in _results(work, files, min(jobs, len(files))):
            results.append(result)
            done()
    return results


def _results(work: Work[R], files: Sequence[Path], jobs: int) -> Iterable[R]:
    if jobs <= 1:
        yield from map(work, files)
        return
    # A fork would copy the thread that draws the progress, and its locks.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(work, files)
        except BrokenExecutor as error:
            reason, hint = "the system may be short of memory", "try again with fewer --jobs"
            message = f"motiond: a process that read files ended by itself; {reason}; {hint}"
            raise ReaderDied(message) from error


@contextmanager
def progress_if_slow(console: Console, what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show progress on a terminal once something has taken a second."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    shown = columns if total else (columns[0], columns[1], columns[3])
    progress = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(what, total=total)
    starter = threading.Timer(QUIET_S, progress.start)
    starter.start()
    try:
        yield partial(progress.advance, task)
    finally:
        starter.cancel()
        starter.join()
        progress.stop()
