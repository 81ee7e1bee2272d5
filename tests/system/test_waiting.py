"""Waiting for processes that are nobody's children."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests.waiting import started, still_running

# Tells of a child that has ended and that it never buries, and of one that runs.
LEAVES_ONE = """
import os, subprocess, sys, time
ended = os.fork()
if not ended:
    os._exit(0)
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
runs = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(ended, runs.pid, flush=True)
input()
"""


def test_what_is_not_buried_has_ended_and_what_runs_has_not() -> None:
    command = [sys.executable, "-c", LEAVES_ONE]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        ended, runs = (psutil.Process(int(pid)) for pid in parent.stdout.readline().split())
        assert ended.status() == psutil.STATUS_ZOMBIE
        assert still_running([ended]) == []
        assert still_running([ended, runs], 0.01) == [runs]
        runs.kill()
        assert still_running([runs]) == []
