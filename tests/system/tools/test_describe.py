"""Files that several processes read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.daemon.programs import motiond
from tests.waiting import PATIENCE_S

CONFIG = Path(__file__).parents[3] / "config"


def test_several_processes_give_what_one_gives_in_the_same_order() -> None:
    files = [*sorted((CONFIG / "motions").glob("*.seq")), CONFIG / "robots" / "six_axis.hrdf"]
    alone, together = (motiond("inspect", "--json", f"--jobs={jobs}", *files, "none.seq") for jobs in (1, 3))
    assert [one["name"] for one in json.loads(alone.stdout)[:-1]] == ["nod", "stretch", "wave", "six_axis"]
    assert (together.returncode, together.stdout) == (1, alone.stdout)


DYING = """
import os, motiond.daemon.cli.main, motiond.daemon.tools.describe

def die(path, options):
    os._exit(9)

if __name__ == "__main__":
    motiond.daemon.tools.describe.describe_file = die
    motiond.daemon.cli.main.main(["inspect", "-j2", "a.seq", "b.seq"])
"""


def test_a_process_that_dies_while_it_reads_is_told(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    command = [sys.executable, str(tmp_path / "dying.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "motiond: a process that read files ended by itself; the system may be short of memory; "
        "try again with fewer --jobs\n"
    )
