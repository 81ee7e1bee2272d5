"""Motions are read in a thread that no program waits for."""

from __future__ import annotations

import subprocess
import sys

from tests.waiting import PATIENCE_S

READS_FOR_EVER = """
import asyncio, threading
from motiond.daemon.robots.motions.motion_loader import MotionLoader
class Library:
    files_read = 0
    def load_all(self, stopped, may_read):
        print(threading.current_thread().name, flush=True)
        threading.Event().wait()
async def main():
    loading = asyncio.create_task(MotionLoader("arm", Library(), lambda: None).load())
    await asyncio.sleep(0.1)
    loading.cancel()
asyncio.run(main())
"""


def test_a_program_ends_although_a_file_is_being_read() -> None:
    run = subprocess.run(
        [sys.executable, "-c", READS_FOR_EVER],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "arm.motions\n", "")
