"""What holds for whatever reports changes in a folder, watchfiles or in memory: one suite that both pass."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import watchfiles

from motiond.daemon.robots.motions.motion_watch import why_unwatched
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


class Watched:
    """A folder, and what is reported of it."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        self._changes = watchfiles.awatch(
            folder,
            watch_filter=None,
            debounce=50,
            step=50,
            rust_timeout=round(1000 * timeout_s),
            yield_on_timeout=True,
            recursive=False,
        )
        self._coming: asyncio.Future[Any] = asyncio.ensure_future(anext(self._changes))

    async def next(self) -> set[str]:
        """Wait for what is reported next."""
        async with asyncio.timeout(PATIENCE_S):
            changes = await self._coming
        self._coming = asyncio.ensure_future(anext(self._changes))
        return {path for _, path in changes}

    async def until(self, *paths: str) -> set[str]:
        """Wait until all of these have been reported, together or not; return all that was."""
        told: set[str] = set()
        while not told.issuperset(paths):
            told |= await self.next()
        return told

    async def close(self) -> None:
        self._coming.cancel()
        await asyncio.wait((self._coming,))
        if not self._coming.cancelled():
            self._coming.exception()
        await self._changes.aclose()


@asynccontextmanager
async def watched(folder: Path, timeout_s: float = PATIENCE_S) -> AsyncIterator[Watched]:
    watch = Watched(folder, timeout_s)
    try:
        await asyncio.sleep(0.0)  # in which it begins
        yield watch
    finally:
        await watch.close()


class FolderWatchContract:
    """The contract; whoever runs it says what `watchfiles.awatch` is."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "folder").mkdir()
        return tmp_path / "folder"

    @pytest.fixture
    def exchange(self, folder: Path) -> Callable[[], None]:
        def exchange() -> None:
            moved = folder.rename(folder.with_name("moved"))
            folder.mkdir()
            (folder / "in the new one").touch()
            (moved / "in the old one").touch()

        return exchange

    async def test_what_is_written_renamed_and_removed_is_named(self, folder: Path) -> None:
        async with watched(folder) as watch:
            (folder / "a").write_text("a")
            await watch.until(f"{folder}/a")
            (folder / "a").write_text("longer")
            await watch.until(f"{folder}/a")
            (folder / "a").rename(folder / "b")
            await watch.until(f"{folder}/a", f"{folder}/b")
            (folder / "b").unlink()
            assert await watch.until(f"{folder}/b") <= {f"{folder}/a", f"{folder}/b"}

    async def test_a_timeout_is_told_by_nothing_that_has_changed(self, folder: Path) -> None:
        async with watched(folder, timeout_s=0.1) as watch:
            assert await watch.next() == set()

    async def test_another_folder_in_its_place_is_not_watched(
        self, folder: Path, exchange: Callable[[], None]
    ) -> None:
        async with watched(folder, timeout_s=0.1) as watch:
            exchange()
            assert f"{folder}/in the new one" not in await watch.until(f"{folder}/in the old one")

    async def test_a_name_that_is_no_utf8_ends_it(self, folder: Path) -> None:
        async with watched(folder) as watch:
            (folder / os.fsdecode(b"c\xff.seq")).touch()
            with pytest.raises(ExceptionGroup) as failed:
                await watch.next()
        assert "a name is no UTF-8" in why_unwatched(failed.value)
