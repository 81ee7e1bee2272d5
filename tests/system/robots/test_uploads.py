"""What a daemon that was really killed in an upload leaves in the folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.daemon.robots.test_uploads import inside, remove_leftovers
from tests.waiting import PATIENCE_S, lines_until, started

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, signal, sys
from pathlib import Path
from motiond.daemon.robots.motions.uploads import Uploads
class Library:
    def check(self, file):
        print("is checked", flush=True)
        signal.pause()
Uploads("arm", Path(sys.argv[1]), Library()).take("wave.seq", b"type: CompositeSeq")
"""


def test_an_upload_that_is_under_way_is_left_alone_and_removed_once_its_daemon_was_killed(
    tmp_path: Path,
) -> None:
    with started([sys.executable, "-c", KILLED, tmp_path], stdout=-1, text=True) as process:
        lines_until(process.stdout, "is checked", PATIENCE_S)
        (scratch,) = inside(tmp_path)
        remove_leftovers(tmp_path)
        assert inside(tmp_path / scratch) == ["wave.seq"]
        process.kill()
        process.wait(PATIENCE_S)
    assert inside(tmp_path / scratch) == ["wave.seq"]
    remove_leftovers(tmp_path)
    assert inside(tmp_path) == []
