"""watchfiles itself: the contract, and a robot whose motion folder it watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.daemon.robots.test_motion_watch import frames, until, watch, watching
from tests.daemon.robots.watch_contract import FolderWatchContract

if TYPE_CHECKING:
    from pathlib import Path


class TestWatchfiles(FolderWatchContract):
    """The real one."""


async def test_what_is_written_exchanged_and_removed_counts_without_a_reload(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    watch(rig)
    async with watching(rig) as (_, library, folder):
        write_seq(folder / "new.seq", sweep(0.5), JOINTS, RATE_HZ)
        await until(lambda: frames(library, "new") == 101)
        write_seq(rig.folder / "other.seq", sweep(1.0), JOINTS, RATE_HZ)
        (rig.folder / "other.seq").rename(folder / "new.seq")
        await until(lambda: frames(library, "new") == 201)
        (folder / "new.seq").unlink()
        await until(lambda: library.get("new") is None)
