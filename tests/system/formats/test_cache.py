"""Processes share the cache of motions."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.formats.cache.test_store import cache_in, entries, write
from tests.waiting import PATIENCE_S, started

if TYPE_CHECKING:
    from pathlib import Path

LOAD_OFTEN = """
import sys
from motiond.formats.cache import MotionCache
folder, size, *paths = sys.argv[1:]
for round in range(10):
    for path in paths:
        # A new cache each time, as a new process would have.
        (motion,) = MotionCache(folder, int(size), min_file_bytes=0).load_motions(path)
        assert motion.positions[1, 0] == float(path.rsplit("_", 1)[1].removesuffix(".seq")), path
"""


def test_processes_share_a_cache_that_is_too_small_for_them(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"wave_0.{number}.seq", float(f"0.{number}")) for number in (125, 25, 5)]
    cache = cache_in(tmp_path)
    cache.load_motions(paths[0])
    size = entries(tmp_path)[0].stat().st_size
    folder = str(tmp_path / "cache")
    command = [sys.executable, "-c", LOAD_OFTEN, folder, str(2 * size + size // 2), *map(str, paths)]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(started(command, stderr=subprocess.PIPE, text=True)) for _ in range(3)
        ]
        outcomes = [(process.communicate(timeout=PATIENCE_S)[1], process.returncode) for process in processes]
    assert outcomes == [("", 0)] * 3
    assert cache.verify() == 0
    assert not [path for path in entries(tmp_path) if path.name.startswith(".")]
