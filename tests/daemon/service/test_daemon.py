"""Behaviour towards systemd: what it is told, and how the daemon and its streams end when it says so."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import psutil
import pytest

from motiond.daemon.service.daemon import _feed_watchdog
from motiond.daemon.service.systemd import notify, watchdog_period_s
from tests.daemon.programs import all_of, background, in_a_session, motiond, run_here, streams_of
from tests.daemon.rig import Rig
from tests.ports import free_port as another_port
from tests.waiting import PATIENCE_S, eventually, lines_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(str(tmp_path / "notify"))
        ours.settimeout(PATIENCE_S)
        yield ours


@pytest.fixture
def rig(tmp_path: Path, free_port: int) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port}"}}
    return rig


def under(systemd: socket.socket, **more: str) -> dict[str, str]:
    return os.environ | {"NOTIFY_SOCKET": systemd.getsockname()} | more


def heard(systemd: socket.socket) -> str:
    """Return what systemd is told next, besides what it shows to people."""
    while (told := systemd.recv(1000).decode()).startswith("STATUS="):
        pass
    return told


def shown(systemd: socket.socket) -> str:
    return systemd.recv(1000).decode().removeprefix("STATUS=")


def test_systemd_hears_ready_then_the_watchdog_then_stopping(systemd: socket.socket, rig: Rig) -> None:
    # The kernel keeps ten messages that are not read; the last one must not be one too many.
    with background("run", "-c", rig.config, env=under(systemd, WATCHDOG_USEC="2000000")) as daemon:
        assert {heard(systemd), heard(systemd)} == {"READY=1", "WATCHDOG=1"}
        assert heard(systemd) == "WATCHDOG=1"
        daemon.send_signal(signal.SIGTERM)
        told = eventually(
            "something else than the watchdog is told",
            lambda: heard(systemd),
            lambda told: told != "WATCHDOG=1",
        )
        assert told == "STOPPING=1"
        assert daemon.wait(PATIENCE_S) == 0


def test_a_sigterm_to_all_its_processes_stops_a_motion_softly(systemd: socket.socket, rig: Rig) -> None:
    port = rig.daemon["mqtt"]["listen"].rpartition(":")[2]
    with background("run", "-c", rig.config, env=under(systemd)) as daemon:
        assert heard(systemd) == "READY=1"
        wait_for_idle(port)
        played = motiond("play", "arm", "long", "--no-wait", "--broker", f"mqtt://127.0.0.1:{port}")
        assert played.returncode == 0, played.stderr
        for process in all_of(daemon):
            with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
                process.terminate()
        daemon.terminate()
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert "arm: long ended with CANCELED" in log
    assert "Traceback" not in log


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT], ids=["SIGHUP", "SIGQUIT"])
def test_a_terminal_that_goes_stops_a_motion_softly(
    systemd: socket.socket, rig: Rig, number: signal.Signals
) -> None:
    port = rig.daemon["mqtt"]["listen"].rpartition(":")[2]
    ours, terminal = os.openpty()
    options: dict[str, Any] = {"stdin": terminal, "preexec_fn": _be_controlled}
    with in_a_session("run", "-c", rig.config, env=under(systemd), **options) as daemon:
        os.close(terminal)
        assert heard(systemd) == "READY=1"
        wait_for_idle(port)
        played = motiond("play", "arm", "long", "--no-wait", "--broker", f"mqtt://127.0.0.1:{port}")
        assert played.returncode == 0, played.stderr
        (stream,) = streams_of(daemon)
        assert os.getsid(stream.pid) == stream.pid != os.getsid(daemon.pid)
        stream.send_signal(number)
        if number == signal.SIGHUP:
            os.close(ours)  # the kernel sends it
        else:
            daemon.send_signal(number)
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert "arm: long ended with CANCELED" in log
    assert "Traceback" not in log


def _be_controlled() -> None:
    """Let the terminal at stdin be the one that controls this new session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def told_until(systemd: socket.socket, told: str) -> None:
    eventually(f"systemd is told {told}", lambda: heard(systemd).split("\n"), lambda lines: told in lines)


def test_a_daemon_without_a_terminal_reloads_by_sighup_and_by_motiond_reload(
    systemd: socket.socket, rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    del rig.driver["plant"], rig.driver["trace"]
    config = rig.config
    with in_a_session("run", "-c", config, env=under(systemd)) as daemon:
        told_until(systemd, "READY=1")
        eventually(
            "the robot is said to be idle", lambda: shown(systemd), lambda told: told == "1 robot, idle"
        )

        rig.others = {"leg": {**rig.robot}}
        assert rig.config == config
        daemon.send_signal(signal.SIGHUP)
        told_until(systemd, "RELOADING=1")
        told_until(systemd, "READY=1")
        lines_until(daemon.stderr, "leg: added, as the configuration names it now")

        rig.others = {"hand": {**rig.robot, "stop_duration_s": 0.4}}
        rig.daemon["mqtt"]["keepalive_s"] = 20
        assert rig.config == config
        assert run_here(capsys, "reload", "-c", config) == (
            0,
            "arm: plays long, short\nhand: added, plays long, short\nleg: taken out\n",
            "mqtt.keepalive_s: cannot change while the daemon runs; restart it to have the new value\n",
        )
        assert run_here(capsys, "status", "hand", "-c", config)[0] == 0

        listened = rig.daemon["mqtt"]["listen"]
        rig.daemon["mqtt"]["listen"] = f"127.0.0.1:{another_port()}"
        assert rig.config == config
        here = "commands that read this configuration need --broker"
        assert run_here(capsys, "reload", "-c", config)[2] == (
            "mqtt.listen: cannot change while the daemon runs; restart it to have the new value; until then, "
            f"{here} mqtt://{listened}\n"
            "mqtt.keepalive_s: cannot change while the daemon runs; restart it to have the new value\n"
        )
        assert run_here(capsys, "play", "arm", "long", "--no-wait", "--broker", f"mqtt://{listened}")[0] == 0
        assert run_here(capsys, "stop", "arm", "-c", config) == (0, "arm: stops softly\n", "")
        assert run_here(capsys, "estop", "arm", "-c", config) == (0, "arm: estopped\n", "")
        code, out, err = run_here(capsys, "stop", "amr", "-c", config)
        assert (code, out) == (3, "")
        assert err.splitlines()[1:] == ["no robot 'amr'; there are arm, hand; did you mean 'arm'?"]
        assert run_here(capsys, "reset", "arm", "-c", config)[0] == 3, "only stops are taken there"
        lines_until(daemon.stderr, "arm: emergency stop; it stays latched until reset")
        assert run_here(capsys, "reset", "arm", "--broker", f"mqtt://{listened}")[0] == 0
        lines_until(daemon.stderr, "arm: reset")

        config.write_text(config.read_text().replace("broker: embedded", "broker: ["))
        code, out, err = run_here(capsys, "reload", "-c", config)
        assert (code, out) == (1, "")
        assert err.startswith(f"{config}:")
        *_, first, whole = lines_until(daemon.stderr, "    | ")
        refused = "the configuration is not taken; nothing has changed; correct it and reload"
        assert first.endswith(f"{config}: {refused}")
        assert whole == f"    | {err.strip()}"

        daemon.terminate()
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert (daemon.returncode, "Traceback" in log) == (0, False)


def test_a_sigterm_to_all_its_processes_leaves_the_time_to_park(systemd: socket.socket, rig: Rig) -> None:
    rig.robot |= {"poses": {"park": {"shoulder": 0.5}}, "on_exit": "park", "exit_timeout_s": 60.0}
    port = rig.daemon["mqtt"]["listen"].rpartition(":")[2]
    with background("run", "-c", rig.config, env=under(systemd)) as daemon:
        assert heard(systemd) == "READY=1"
        wait_for_idle(port)
        motiond("play", "arm", "long", "--no-wait", "--broker", f"mqtt://127.0.0.1:{port}")
        for process in all_of(daemon):
            with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
                process.terminate()
        daemon.terminate()
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert "arm: park ended with SUCCESSFUL" in log


def wait_for_idle(port: str) -> None:
    def status() -> str:
        return motiond("status", "--json", "--broker", f"mqtt://127.0.0.1:{port}").stdout

    eventually("the robot is idle", status, lambda told: '"idle"' in told)


class Streams:
    """Stands in for a registry whose streams tick again from the fourth look on."""

    def __init__(self) -> None:
        self.looks = 0

    @property
    def ticking(self) -> bool:
        self.looks += 1
        return self.looks > 3


async def test_the_watchdog_goes_hungry_while_a_stream_does_not_tick(
    systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "2000")
    streams = Streams()
    feeding = asyncio.create_task(_feed_watchdog(cast("RobotRegistry", streams)))
    systemd.setblocking(False)
    async with asyncio.timeout(PATIENCE_S):
        first = await asyncio.get_running_loop().sock_recv(systemd, 1000)
        assert (first, streams.looks) == (b"WATCHDOG=1", 4)
    feeding.cancel()
    with suppress(asyncio.CancelledError):
        async with asyncio.timeout(PATIENCE_S):
            await feeding


def test_a_systemd_that_does_not_read_holds_nothing_up(
    systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    assert notify("READY=1")
    eventually("nothing more can be told", lambda: notify("WATCHDOG=1"), lambda told: not told)
    assert heard(systemd) == "READY=1"
    assert notify("WATCHDOG=1")


def test_a_wrong_configuration_has_an_exit_code_of_its_own_so_that_systemd_does_not_try_again(
    tmp_path: Path,
) -> None:
    config = tmp_path / "motiond.yaml"
    config.write_text("robots: {arm: {driver: {type: sim}, modle: arm.hrdf}}\n")
    ended = motiond("run", "-c", config)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.splitlines()[0].startswith(f"{config}:1: unknown key 'modle'")


def test_a_sigterm_while_motions_are_read_waits_for_no_file(systemd: socket.socket, rig: Rig) -> None:
    row = "      - - !!float 0\n        - 0\n"  # in a layout that takes long to read
    text = (rig.folder / "motions" / "short.seq").read_text().partition("      - [")[0]
    (rig.folder / "motions" / "slow.seq").write_text(text + row * 1_200_000)
    with background("run", "-c", rig.config, env=under(systemd)) as daemon:
        assert heard(systemd) == "READY=1"
        eventually("the file is being read", lambda: _reading_s(daemon.pid), lambda told: told > 0.5)
        daemon.terminate()
        began_s = time.monotonic()
        assert heard(systemd) == "STOPPING=1"
        _, log = daemon.communicate(timeout=PATIENCE_S)
        took_s = time.monotonic() - began_s
    assert (daemon.returncode, "Traceback" in log, "motions:" in log) == (0, False, False)
    assert took_s < 25.0, "reading the file takes forty"
    assert "arm: the motions were not read; the daemon shuts down" in log


def _reading_s(pid: int) -> float:
    """Return how much processor time the process has taken that reads motions for a daemon, in s."""
    taken_s = 0.0
    for child in psutil.Process(pid).children():
        with suppress(psutil.Error):
            if "motiond.formats.cache.worker" in child.cmdline():
                taken_s += child.cpu_times().user
    return taken_s


def test_a_systemd_that_has_gone_is_told_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = tmp_path / "gone"
    monkeypatch.setenv("NOTIFY_SOCKET", str(gone))
    assert [notify("WATCHDOG=1") for _ in range(3)] == [False] * 3
    assert caplog.messages == [
        f"{gone}: systemd cannot be told how motiond does; No such file or directory; check NOTIFY_SOCKET"
    ]


@pytest.mark.parametrize("wrong", ["0", "-1", "soon", "9" * 400, "1e6", " "])
def test_a_watchdog_of_no_time_is_not_fed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", wrong)
    assert watchdog_period_s() is None
    assert caplog.messages == [
        f"WATCHDOG_USEC is {wrong!r}; it is a whole number above 0; no watchdog is fed"
    ]


def test_a_daemon_whose_systemd_goes_plays_on(systemd: socket.socket, rig: Rig, tmp_path: Path) -> None:
    port = rig.daemon["mqtt"]["listen"].rpartition(":")[2]
    with background("run", "-c", rig.config, env=under(systemd, WATCHDOG_USEC="20000")) as daemon:
        assert heard(systemd) in {"READY=1", "WATCHDOG=1"}
        (tmp_path / "notify").unlink()
        wait_for_idle(port)
        played = motiond("play", "arm", "short", "--broker", f"mqtt://127.0.0.1:{port}")
        assert played.returncode == 0, played.stderr
        daemon.terminate()
        _, log = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert log.count("systemd cannot be told how motiond does") == 1


NAMELESS = """
import pwd


def unknown(user):
    raise KeyError(user)


pwd.getpwuid = unknown
"""


def test_a_user_without_a_name_and_a_home_runs_a_daemon_and_asks_it(rig: Rig, tmp_path: Path) -> None:
    """Of a program of its own; that the machine has no name for its user is put into it."""
    (tmp_path / "usercustomize.py").write_text(NAMELESS)
    (tmp_path / "sitecustomize.py").write_text(NAMELESS)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    with in_a_session("run", "-c", rig.config, env=env) as daemon:
        lines = lines_until(daemon.stderr, "arm: online")
        assert sum("motions are not cached; this user has no home folder" in line for line in lines) == 1
        for asked in (["play", "arm", "short"], ["reload"], ["play", "arm", "short", "--dry-run"]):
            with in_a_session(*asked, "-c", rig.config, env=env) as client:
                told, complaints = client.communicate(timeout=PATIENCE_S)
                assert (client.returncode, "Traceback" in complaints) == (0, False), told + complaints
