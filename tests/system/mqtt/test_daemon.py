"""A real daemon at a real mosquitto."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from tests.daemon.conftest import Mosquitto, listening, started_broker
from tests.daemon.programs import Daemon, running
from tests.daemon.rig import Rig
from tests.system.mqtt.listeners import passwords
from tests.waiting import lines_until

SECRET = "s3cret-of-the-broker"  # noqa: S105 - of a broker on the loopback, for a test
BRIDGE = "motiond/bridge/d1/availability"


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.mark.parametrize("way", ["credential", "url"])
async def test_a_password_stands_in_no_log_no_arguments_and_no_environment(
    free_port: int, tmp_path: Path, rig: Rig, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Mosquitto(free_port, tmp_path)
    broker.configure(*passwords(tmp_path, "arm", SECRET))
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "broker").write_text(f"{SECRET}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))  # as systemd does
    address, password_file = f"mqtt://127.0.0.1:{free_port}", Path("%d/broker")
    login = {"broker": f"mqtt://arm:{SECRET}@127.0.0.1:{free_port}"}
    if way == "credential":
        login = {"broker": address, "username": "arm", "password_file": str(password_file)}
    rig.daemon["mqtt"] = {**login, "reconnect_min_s": 0.05, "reconnect_max_s": 0.2}
    async with started_broker(broker), running(rig, asyncio.subprocess.PIPE) as daemon:
        ours = MqttSettings(broker=address, username="arm", password_file=password_file)
        async with listening(ours) as observer:
            await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
            seen = seen_of(daemon)
            await broker.kill()
        (tmp_path / "passwords").write_text("")  # now nobody is let in
        await broker.start()
        stderr = daemon.process.stderr
        assert stderr is not None
        lines = await asyncio.to_thread(lines_until, stderr, "the broker refuses the login")
        assert await daemon.end() == 0
        log = "\n".join(lines) + stderr.read()
    assert SECRET not in log
    assert len(seen) >= 2
    assert not [line for line in seen if SECRET in line]


def seen_of(daemon: Daemon) -> list[str]:
    """Return what the system shows of a daemon and its stream processes."""
    process = psutil.Process(daemon.process.pid)
    seen = []
    for child in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
            seen.append(f"{child.cmdline()} {child.environ()}")
    return seen
