"""What a bus relies on in a port, in memory as in the system."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Protocol

import pytest

from motiond.drivers.dynamixel.protocol import encode_ping, take_packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
    from motiond.drivers.serial_bus.line import Line

PING = encode_ping(1)
ANSWER_BYTES = 14
BAUD_RATE = 1_000_000
SHORT_S, LONG_S = 0.02, 60.0


class Port(Protocol):
    """A port with servo 1 behind it."""

    path: str
    chain: EmulatedChain

    def open(self, path: str, baud_rate: int, /) -> Line:
        """Open a port of the same kind."""

    def close(self) -> None:
        """Pull the cable."""

    def until_answered(self, line: Line) -> None:
        """Wait until an answer has come that nobody has read."""


def answer(line: Line) -> bytearray:
    """Return the next answer, of as many pieces as it comes in."""
    received = bytearray()
    deadline_s = line.now() + LONG_S
    while len(received) < ANSWER_BYTES:
        piece = line.read(deadline_s)
        assert piece, f"no answer, but {bytes(received)!r}"
        received += piece
    return received


def error_of(call: Callable[[], object]) -> int | None:
    """Return the number of the error that a call raises."""
    try:
        call()
    except OSError as error:
        return error.errno
    return None


class LineContract:
    """What holds for every line."""

    @pytest.fixture
    def line(self, port: Port) -> Line:
        return port.open(port.path, BAUD_RATE)

    def test_what_is_asked_is_answered(self, line: Line) -> None:
        for _ in range(2):
            assert line.write(PING) == len(PING)
            packet = take_packet(answer(line))
            assert packet is not None
            assert (packet.servo_id, packet.data[2]) == (1, 52)
        line.close()

    def test_a_read_that_nothing_comes_for_ends_at_its_deadline(self, line: Line) -> None:
        deadline_s = line.now() + SHORT_S
        assert line.read(deadline_s) == b""
        assert line.now() >= deadline_s - 0.001  # `poll` waits for whole milliseconds
        line.close()

    def test_a_read_whose_deadline_has_passed_does_not_wait(self, port: Port, line: Line) -> None:
        assert line.read(line.now() - LONG_S) == b""
        line.write(PING)
        port.until_answered(line)
        assert line.read(line.now() - LONG_S)
        line.close()

    def test_what_is_discarded_is_not_read(self, port: Port, line: Line) -> None:
        line.write(PING)
        port.until_answered(line)
        line.discard()
        assert line.read(line.now() + SHORT_S) == b""
        line.close()

    def test_a_sleep_lets_time_pass(self, line: Line) -> None:
        begun_s = line.now()
        line.sleep(SHORT_S)
        assert line.now() >= begun_s + SHORT_S
        line.close()

    def test_a_port_is_open_for_one_program_alone(self, port: Port, line: Line) -> None:
        assert error_of(lambda: port.open(port.path, BAUD_RATE)) in {errno.EAGAIN, errno.EBUSY}
        line.close()
        port.open(port.path, BAUD_RATE).close()

    def test_there_is_no_other_port(self, port: Port) -> None:
        assert error_of(lambda: port.open("/dev/ttyUSB99", BAUD_RATE)) == errno.ENOENT

    def test_a_port_that_is_pulled_out_fails_in_every_call_but_close(self, port: Port, line: Line) -> None:
        port.close()
        for call in (lambda: line.write(PING), lambda: line.read(line.now() + LONG_S), line.discard):
            assert error_of(call) == errno.EIO
        line.close()
