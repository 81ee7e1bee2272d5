"""The processes that the tests of one worker share, and all processes below others."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LASTING: dict[int, bool] = {}
"""Their ids, and whether what they start is their own; else a test may leave it behind."""


def processes_below(parent: int | str, owners: Collection[int] = ()) -> Iterator[int]:
    """Yield the processes below one, but none below `owners`; psutil would look through all there are."""
    for child in _children_of(parent):
        if child not in LASTING:
            yield child
        if child not in owners and not LASTING.get(child, False):
            yield from processes_below(child, owners)


def _children_of(parent: int | str) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it may end meanwhile
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - before and after each test
            with suppress(OSError):  # and so may a thread; what others started counts
                found += map(int, read(f"/proc/{parent}/task/{thread}/children").split())
    return found


def read(file: str) -> str:
    """Read a file of `/proc`."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return os.read(descriptor, 1_000_000).decode()
    finally:
        os.close(descriptor)
