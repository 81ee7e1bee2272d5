"""A stand-in for `watchfiles.awatch` that looks at a folder on the loop's time, and has no thread."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from watchfiles import Change
from watchfiles._rust_notify import WatchfilesRustInternalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LOOK_S = 0.05


async def virtual_awatch(
    folder: Path, *, rust_timeout: int, **_: object
) -> AsyncIterator[set[tuple[Change, str]]]:
    """Yield what has changed in a folder, under whatever name that has meanwhile; nothing after a timeout."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        before = _inside(descriptor)
        looks = 0
        while True:
            await asyncio.sleep(LOOK_S)
            now, looks = _inside(descriptor), looks + 1
            changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
            if any("\udc80" <= letter <= "\udcff" for letter in "".join(changed)):
                error = WatchfilesRustInternalError(f"Unable to decode path {changed} to string")
                raise ExceptionGroup("unhandled errors in a TaskGroup", [error])
            if changed or looks * LOOK_S * 1000 >= rust_timeout:
                yield {(_change(name, before, now), str(Path(folder) / name)) for name in changed}
                before, looks = now, 0
    finally:
        os.close(descriptor)


def _inside(descriptor: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for entry in os.scandir(descriptor):
        status = entry.stat(follow_symlinks=False)
        found[entry.name] = status.st_mtime_ns, status.st_size, status.st_ino
    return found


def _change(name: str, before: dict[str, tuple[int, ...]], now: dict[str, tuple[int, ...]]) -> Change:
    if name not in now:
        return Change.deleted
    return Change.modified if name in before else Change.added
