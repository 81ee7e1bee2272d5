"""Serial servos behind a pseudo-terminal: what pyserial, `poll` and the kernel do."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.dynamixel.bus import SerialLine
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.pty import EmulatedPort
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.dynamixel.protocol import encode_read
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, RealTimeRig
from tests.drivers.dynamixel.bench import servo
from tests.drivers.dynamixel.line_contract import LineContract
from tests.system.stream.test_serial_servos import MODEL, Cable
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats


class SystemPort(EmulatedPort):
    """A pseudo-terminal as `LineContract` takes it."""

    def open(self, path: str, baud_rate: int) -> SerialLine:
        return SerialLine(path, baud_rate)

    def until_answered(self, line: SerialLine) -> None:
        assert select.select([line._descriptor], [], [], PATIENCE_S)[0]


class TestPseudoTerminal(LineContract):
    @pytest.fixture
    def port(self) -> Iterator[SystemPort]:
        with SystemPort(EmulatedChain([servo(1)], time.monotonic)) as port:
            yield port


class PortRig(RealTimeRig):
    """Servos on real time, on a port that keeps its name when it is plugged in again."""

    tolerance = MODEL.rad_per_tick
    lifetime_s = 2.5
    timeout_s = 60.0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.cable = Cable(folder / "ttyUSB0", len(ACTUATORS))

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        ids = {name: number for number, name in enumerate(actuators, start=1)}
        port = {"port": str(self.cable.path), "baud_rate": 1_000_000, "ids": ids}
        options = {"ports": [port], "command_lifetime_s": self.lifetime_s, "answer_timeout_s": 1.0}
        return DynamixelDriver(actuators, DynamixelOptions.model_validate(options))

    def make_broken(self) -> Driver:
        return self.make((*ACTUATORS, "missing"))

    def push(self, driver: Driver, position: Floats) -> None:
        raise NotImplementedError

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self.cable.unplug()

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self.cable.plug_in()


class TestDynamixelOnAPort:
    """Of the contract what the port has a part in."""

    driver = DriverContract.driver
    test_opens_again_after_close = DriverContract.test_opens_again_after_close
    test_reports_that_the_bus_is_lost_and_works_again_once_reopened = (
        DriverContract.test_reports_that_the_bus_is_lost_and_works_again_once_reopened
    )
    test_refuses_to_open_without_its_bus = DriverContract.test_refuses_to_open_without_its_bus

    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[PortRig]:
        rig = PortRig(tmp_path)
        yield rig
        rig.cable.unplug()


def test_an_emulated_port_closes_though_no_process_has_read_its_answers() -> None:
    port = EmulatedPort(EmulatedChain([servo(1)], time.monotonic))
    unread = os.open(port.path, os.O_RDWR | os.O_NOCTTY)
    try:
        for _ in range(400):  # some 400 kB of answers, more than it holds
            os.write(unread, encode_read(1, 0, 1000))
        closing = threading.Thread(target=port.close, daemon=True)
        closing.start()
        closing.join(PATIENCE_S)
        assert not closing.is_alive()
    finally:
        os.close(unread)
