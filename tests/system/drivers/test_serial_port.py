"""A serial port behind a pseudo-terminal: what pyserial, `poll` and the kernel do."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.protocol import encode_read
from motiond.drivers.serial_bus.emulator import EmulatedPort
from motiond.drivers.serial_bus.line import SerialLine
from tests.drivers.dynamixel.bench import servo
from tests.drivers.serial_bus.line_contract import LineContract
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


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
