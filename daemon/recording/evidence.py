"""Leaves evidence beside each recording that is finished: what it proves of each run, as JSON and JUnit XML.

A process of its own does the work, as it reads the whole file, and the daemon has other things to do.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from .folder import evidence_files, locked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

LONGEST_S = 600.0
NICEST = 19
FAILED = 1
"""The exit code if a run has failed, which is no failure of this."""


def leave_evidence(path: Path, run: Callable[[Sequence[str]], tuple[int, str]] | None = None) -> Thread:
    """Have evidence written beside a recording, without waiting for it.

    - `run`: runs a command and returns its exit code and what it wrote to stderr
    """
    work = Thread(target=_leave, args=(path, run or _run), name=f"{path.name}.evidence", daemon=True)
    work.start()
    return work


def _leave(path: Path, run: Callable[[Sequence[str]], tuple[int, str]]) -> None:
    as_json, as_junit = map(str, evidence_files(path))
    program = [sys.executable, "-P", "-m", "motiond.daemon.cli"]
    options = ["--json", as_json, "--junit", as_junit, "--force"]
    try:
        with locked(path):
            code, problem = run([*program, "recording", "evidence", str(path), *options])
    except (OSError, subprocess.SubprocessError) as error:
        code, problem = -1, str(error)
    if code not in {0, FAILED}:
        log.warning("%s: its evidence is not written; %s", path.name, problem.strip() or f"exit code {code}")


def _run(command: Sequence[str]) -> tuple[int, str]:
    with subprocess.Popen(  # noqa: S603 - our own program, by our own interpreter
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICEST)
        try:
            _, problem = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, problem
