"""Behaviour towards systemd, and how the daemon ends and reloads."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pytest

from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.service.daemon import _feed_watchdog
from motiond.daemon.service.systemd import watchdog_period_s
from motiond.local import named_user
from tests.daemon.cli.program import daemon_of
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow


@pytest.fixture
async def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(str(tmp_path / "notify"))
        ours.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield ours


@pytest.fixture
def rig(tmp_path: Path, programs: None) -> Rig:
    del programs
    rig = Rig(tmp_path)
    del rig.driver["trace"], rig.driver["plant"]
    rig.daemon = {"mqtt": {"broker": "embedded", "listen": "127.0.0.1:1883"}}
    return rig


async def heard(systemd: socket.socket) -> str:
    """Return the next notification of systemd, but for those that are shown to people."""
    async with asyncio.timeout(PATIENCE_S):
        while (line := await shown(systemd)).startswith("STATUS="):
            pass
        return line


async def shown(systemd: socket.socket) -> str:
    return (await asyncio.get_running_loop().sock_recv(systemd, 1000)).decode()


async def heard_until(systemd: socket.socket, line: str) -> None:
    while line not in (await heard(systemd)).split("\n"):
        pass


async def test_systemd_hears_ready_then_the_watchdog_then_stopping(
    systemd: socket.socket, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "2000000")
    async with daemon_of(rig) as daemon:
        assert {await heard(systemd), await heard(systemd)} == {"READY=1", "WATCHDOG=1"}
        assert await heard(systemd) == "WATCHDOG=1"
        daemon.send_signal(signal.SIGTERM)
        while (line := await heard(systemd)) == "WATCHDOG=1":
            pass
        assert line == "STOPPING=1"
        assert (await daemon.end()).code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda one: one.name)
async def test_a_signal_stops_a_motion_softly_and_leaves_the_time_to_park(
    rig: Rig, caplog: pytest.LogCaptureFixture, number: signal.Signals
) -> None:
    caplog.set_level("INFO", "motiond")
    rig.robot |= {"poses": {"park": {"shoulder": 0.5}}, "on_exit": "park", "exit_timeout_s": 60.0}
    async with daemon_of(rig) as daemon:
        assert (await daemon.cli("play", "arm", "long", "--no-wait")).code == 0
        await daemon.until("playing")
        daemon.send_signal(number)
        assert (await daemon.end()).code == 0
    ends = [text for text in caplog.messages if " ended with " in text]
    assert ends[0].startswith("arm: long ended with CANCELED; ")
    assert ends[1].startswith("arm: park ended with SUCCESSFUL; ")


async def test_a_daemon_without_a_terminal_reloads_by_sighup(
    systemd: socket.socket, rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    async with daemon_of(rig) as daemon:
        await heard_until(systemd, "READY=1")
        async with asyncio.timeout(PATIENCE_S):
            while await shown(systemd) != "STATUS=1 robot, idle":
                pass
        rig.others = {"leg": {**rig.robot}}
        assert rig.config == daemon.config
        daemon.send_signal(signal.SIGHUP)
        await heard_until(systemd, "RELOADING=1")
        await heard_until(systemd, "READY=1")
    changed = "the configuration was read again; robots.leg changed; restart the daemon"
    assert changed in caplog.messages


async def test_a_daemon_reloads_by_motiond_reload(rig: Rig) -> None:
    async with daemon_of(rig) as daemon:
        needs_restart = "has changed, which a running daemon does not take; restart it"
        rig.robot["stop_duration_s"] = 0.4
        rig.daemon["mqtt"]["listen"] = "127.0.0.1:1887"
        assert rig.config == daemon.config
        assert await daemon.cli("reload") == (
            0,
            "arm: plays long, short\n",
            f"mqtt.listen: {needs_restart}\nrobots.arm.stop_duration_s: {needs_restart}\n",
        )


async def test_the_log_of_v_tells_what_was_asked_by_whom_and_what_came_of_it(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "motiond")
    async with daemon_of(rig) as daemon:
        await daemon.cli("enable", "arm")
        caplog.clear()
        for words in (["play", "arm", "short"], ["play", "arm", "shot"], ["estop", "arm"], ["estop", "arm"]):
            await daemon.cli(*words)
        me = f"user {named_user(os.geteuid())} on this machine"
        assert caplog.messages == [
            f'arm/play: asked by {me}; {{"motion":"short"}}',
            "arm: short begins",
            "arm: approaching",
            "arm: playing",
            "arm: short ended with SUCCESSFUL; the last row is out and held",
            "arm: idle",
            f'arm/play: asked by {me}; {{"motion":"shot"}}',
            f"arm/play: refused to {me}; arm: no motion 'shot'; there are long, short; did you mean 'short'?",
            f"arm/estop: asked by {me}",
            "arm: estopped",
        ]


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
    monkeypatch.setenv("WATCHDOG_USEC", "2000")
    streams = Streams()
    feeding = asyncio.create_task(_feed_watchdog(cast("RobotRegistry", streams)))
    assert (await heard(systemd), streams.looks) == ("WATCHDOG=1", 4)
    feeding.cancel()
    with suppress(asyncio.CancelledError):
        await feeding


@pytest.mark.parametrize(
    ("timeout_us", "pid", "period_s"),
    [("3000000", None, 1.5), ("3000000", "1", None), ("0", None, None), ("soon", None, None)],
)
def test_the_watchdog_is_fed_twice_in_its_time_by_the_process_that_it_is_for(
    monkeypatch: pytest.MonkeyPatch, timeout_us: str, pid: str | None, period_s: float | None
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", timeout_us)
    if pid is not None:
        monkeypatch.setenv("WATCHDOG_PID", pid)
    assert watchdog_period_s() == period_s


async def test_a_daemon_whose_systemd_goes_plays_on(
    systemd: socket.socket,
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    async with daemon_of(rig) as daemon:
        systemd.close()
        assert (await daemon.cli("play", "arm", "short")).code == 0
    assert sum("systemd cannot be notified" in text for text in caplog.messages) == 1


@pytest.mark.usefixtures("nameless")
async def test_a_user_without_a_name_and_a_home_runs_a_daemon_and_asks_it(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    async with daemon_of(rig) as daemon:
        for asked in (("play", "arm", "short"), ("reload",), ("play", "arm", "short", "--dry-run")):
            assert (await daemon.cli(*asked)).code == 0


def test_a_wrong_configuration_has_an_exit_code_of_its_own_so_that_systemd_does_not_try_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamForks, "start", lambda _: socket.socketpair()[0])
    config = tmp_path / "motiond.yaml"
    config.write_text("robots: {arm: {driver: {type: sim}, modle: arm.hrdf}}\n")
    code, out, err = run_here(capsys, "run", "-c", config)
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith(f"{config}:1: unknown key 'modle'")
