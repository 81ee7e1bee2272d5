"""How the daemon and its processes end: by signals, by a terminal that goes, and while a file is read."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from motiond.client import NoAnswer
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.service.systemd import notify
from tests.daemon.asking import ask
from tests.daemon.programs import all_of, background
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, lines_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

BEGUN_S = 0.5
"""Processor time after which a reader has loaded what it needs, and reads."""


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(str(tmp_path / "notify"))
        ours.settimeout(PATIENCE_S)
        yield ours


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"}}
    return rig


def under(systemd: socket.socket, **more: str) -> dict[str, str]:
    return os.environ | {"NOTIFY_SOCKET": systemd.getsockname()} | more


def heard(systemd: socket.socket) -> str:
    """Return the next notification of systemd, but for those that are shown to people."""
    while (line := systemd.recv(1000).decode()).startswith("STATUS="):
        pass
    return line


def playing(rig: Rig, daemon: subprocess.Popen[str]) -> None:
    """Wait until the robot is idle, and have it play."""
    lines_until(daemon.stderr, "arm: online")
    settings = load_mqtt_settings(rig.config)

    def state() -> str:
        with suppress(NoAnswer):
            return str(asyncio.run(ask(settings, "arm", "status"))["state"])
        return "not there"

    eventually("the robot is idle", state, lambda seen: seen == "idle")
    asyncio.run(ask(settings, "arm", "play", {"motion": "long"}, PATIENCE_S))


def test_signals_to_all_its_processes_stop_a_motion_softly_and_leave_the_time_to_park(
    systemd: socket.socket, rig: Rig
) -> None:
    rig.robot |= {"poses": {"park": {"shoulder": 0.5}}, "on_exit": "park", "exit_timeout_s": 60.0}
    with background("run", "-c", rig.config, env=under(systemd)) as daemon:
        assert heard(systemd) == "READY=1"
        playing(rig, daemon)
        for process in all_of(daemon):
            with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
                for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGTERM):
                    process.send_signal(number)
        daemon.terminate()
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert "arm: long ended with CANCELED" in log
    assert "arm: park ended with SUCCESSFUL" in log
    assert "Traceback" not in log


def test_a_systemd_that_does_not_read_holds_nothing_up(
    systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    assert notify("READY=1")
    eventually("the queue is full", lambda: notify("WATCHDOG=1"), lambda line: not line)
    assert heard(systemd) == "READY=1"
    assert notify("WATCHDOG=1")


def test_a_sigterm_while_motions_are_read_waits_for_no_file(systemd: socket.socket, rig: Rig) -> None:
    row = "      - - !!float 0\n        - 0\n"  # in a layout that takes long to read
    text = (rig.folder / "motions" / "short.seq").read_text().partition("      - [")[0]
    (rig.folder / "motions" / "slow.seq").write_text(text + row * 600_000)
    with background("run", "-c", rig.config, env=under(systemd)) as daemon:
        assert heard(systemd) == "READY=1"
        (reader,) = eventually("the file is being read", lambda: _readers(daemon.pid), bool)
        reader.suspend()  # so that it does not end before the daemon is told to
        daemon.terminate()
        assert heard(systemd) == "STOPPING=1"
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert (daemon.returncode, "Traceback" in log) == (0, False)
    assert "arm: the motions were not read; the daemon shuts down" in log


def _readers(pid: int) -> list[psutil.Process]:
    """Return the processes that read motions for a daemon and have begun to."""
    readers = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.Error):
            if "motiond.formats.worker" in child.cmdline() and child.cpu_times().user > BEGUN_S:
                readers.append(child)
    return readers
