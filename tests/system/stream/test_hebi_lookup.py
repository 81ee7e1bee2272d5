"""A daemon whose stream process looks for HEBI modules without end."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc.messages import HURRY
from tests.daemon.programs import MOTIOND, streams_of
from tests.daemon.test_hebi_kit import ALONE, UNBOUNDED, Kit
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, started

if TYPE_CHECKING:
    import psutil


def opens(process: psutil.Process) -> bool:
    """Whether a stream process is in the middle of opening its driver."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (HURRY - 1) & 1)


def test_ctrl_c_during_a_lookup_ends_quietly_and_at_once(tmp_path: Path) -> None:
    pytest.importorskip("hebi", reason="hebi-py is not installed")
    kit = Kit(tmp_path)
    endless = ALONE.replace("hebi,", "hebi, interfaces: [lo], lookup_timeout_s: 600,")
    kit.robot(robot=endless)
    daemon_of = f"http: null\nmqtt: {{listen: '127.0.0.1:{free_port()}'}}\n"
    kit.config.write_text(daemon_of + kit.config.read_text())
    command = [MOTIOND, "run", "-c", kit.config]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as daemon:
        eventually(
            "a lookup", lambda: [opens(child) for child in streams_of(daemon)], lambda seen: seen == [True]
        )
        begun_s = time.monotonic()
        daemon.send_signal(signal.SIGINT)
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - begun_s < 20  # a supervisor gives up an opening after 30 s
    assert daemon.returncode == 0
    assert [line for line in log.splitlines() if " INFO " not in line and UNBOUNDED not in line] == []
