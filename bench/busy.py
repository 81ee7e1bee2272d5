"""Processes that do nothing but compute, so that others have to be on time beside them."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes computing."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, args=(os.getpid(),)) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(parent: int) -> None:
    while os.getppid() == parent:
        sum(range(100_000))
