"""A daemon and its stream process on serial servos behind a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.stream.locks import DeviceLocks
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.serial_bus.emulator import EmulatedPort
from tests.daemon.programs import MOTIOND, run_here
from tests.daemon.rig import JOINTS, Rig, ask, sweep, write_seq
from tests.daemon.test_serial_servos import OVERLOAD, RATE_HZ
from tests.ports import free_port
from tests.waiting import eventually, started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODEL = models_by_name()["XM430-W350"]


class Cable:
    """A port that can be unplugged, and plugged in again under the same name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chain = EmulatedChain([EmulatedServo(1, MODEL), EmulatedServo(2, MODEL)], time.monotonic)
        self.plug_in()

    def plug_in(self) -> None:
        self._port = EmulatedPort(self.chain)
        self.path.symlink_to(self._port.path)

    def unplug(self) -> None:
        # The system may give the pseudo-terminal's own name to the next one, of another test beside this one.
        self.path.unlink(missing_ok=True)
        self._port.close()


@pytest.fixture
def cable(tmp_path: Path) -> Iterator[Cable]:
    cable = Cable(tmp_path / "ttyUSB0")
    yield cable
    cable.unplug()


@pytest.fixture
def rig(tmp_path: Path, cable: Cable) -> Rig:
    rig = Rig(tmp_path)
    port = {"port": str(cable.path), "baud_rate": 1_000_000, "ids": {JOINTS[0]: 1, JOINTS[1]: 2}}
    rig.robot |= {
        # A busy machine delays answers and setpoints.
        "driver": {
            "type": "dynamixel",
            "ports": [port],
            "answer_timeout_s": 0.5,
            "lost_after": 20,
            "command_lifetime_s": 2.5,
        },
        "checks": {"stale_s": None},
        "idle_rate_hz": 20.0,
    }
    write_seq(rig.folder / "motions" / "short.seq", sweep(0.5, RATE_HZ), JOINTS, RATE_HZ)
    write_seq(rig.folder / "motions" / "long.seq", sweep(20.0, RATE_HZ, swings=5), JOINTS, RATE_HZ)
    return rig


async def test_a_cable_that_is_unplugged_and_plugged_in_again_is_found_by_its_new_device(
    rig: Rig, cable: Cable
) -> None:
    with StreamForks() as forks:
        async with rig.running(forks) as registry:
            await rig.until_state("idle")
            goal_id = (await ask(registry, "play", motion="long"))["goal_id"]
            await rig.until_state("playing")
            since, arm = len(rig.reports), registry.members["arm"].robot
            before = cable.path.resolve()
            cable.unplug()
            lost = await rig.result_of(goal_id)
            await rig.until_state("offline", since)
            kept = os.openpty()  # else the system may give it its name again
            cable.plug_in()
            idle = await rig.until_state("idle", since)
            assert idle["torque"], "what holds is not dropped"
            assert cable.path.resolve() != before
            device = f"serial:{cable.path.resolve()}"
            holder = DeviceLocks([device]).take()
            assert str(holder).startswith(f"{device}: held by process {arm.stream.pid} ")
            assert holder is not None
            holder.close()
            goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
            again = await rig.result_of(goal_id)
    for fd in kept:
        os.close(fd)
    assert (lost["code"], again["code"]) == ("COMM_LOST", "SUCCESSFUL")
    assert str(cable.path) in lost["message"]


def test_while_a_daemon_drives_a_port_the_command_line_restarts_a_servo_by_it_and_scans_it_not(
    rig: Rig, cable: Cable, capsys: pytest.CaptureFixture[str]
) -> None:
    cable.chain.servos[1].fail(OVERLOAD)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    with started([MOTIOND, "run", "-c", rig.config], stderr=subprocess.DEVNULL):

        def restart() -> tuple[int, str, str]:
            return run_here(capsys, "reboot", "arm", "elbow", "-c", rig.config)

        # Where the machine is busy, the first restart may still go on when its answer is due.
        _, out, err = eventually("the servo restarts", restart, lambda answer: answer[0] == 0)
        assert err == ""
        assert out == "arm: restarted elbow; idle\n"
        assert cable.chain.servos[1].get("hardware_error") == 0
        driven = (
            f"{cable.path}: a daemon drives robot 'arm' by it; one port has one master; "
            "`motiond reboot arm SERVO` restarts a servo meanwhile; to scan, stop that daemon\n"
        )
        for more in ((), ("--reboot", "2")):
            words = ("scan", cable.path, "--baud", "1000000", *more)
            assert run_here(capsys, *words) == (2, "", driven)
