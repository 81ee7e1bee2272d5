"""A serial bus with servos on it: sends frames, and receives answers within a bounded time."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..base import CommunicationLost, DriverConfigError, DriverError, DriverTimeout
from ..port_access import why_not_opened
from .protocol import (
    ALERT,
    BROADCAST_ID,
    REFUSED,
    Instruction,
    Packet,
    Refusal,
    encode,
    encode_ping,
    encode_read,
    encode_sync_read,
    encode_sync_write,
    encode_write,
    take_packet,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_CHUNK = 4096


class Line(Protocol):
    """What a bus does with an open port; each call raises OSError when the port is gone."""

    def now(self) -> float:
        """Return the monotonic time, in s, by which it waits."""

    def sleep(self, duration_s: float) -> None:
        """Wait, whatever comes in."""

    def write(self, frame: bytes | bytearray) -> int:
        """Send bytes and return how many; raises BlockingIOError if the port takes none."""

    def read(self, deadline_s: float) -> bytes:
        """Return what has come, or comes until a monotonic time; b'' if nothing does."""

    def discard(self) -> None:
        """Drop what has come and was not read."""

    def close(self) -> None:
        """Close the port; one that is gone too."""


def import_serial() -> Any:
    """Import pyserial. Raises DriverConfigError if it is not installed."""
    try:
        import serial  # noqa: PLC0415 - optional
    except ImportError as error:
        raise DriverConfigError(
            "driver dynamixel", "pyserial cannot be imported", str(error), "pip install 'motiond[dynamixel]'"
        ) from error
    return serial


class SerialLine:
    """A serial port of this machine, open for this program alone; a `Line`.

    Raises OSError, ValueError if it cannot be opened.
    """

    now: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, port: str, baud_rate: int) -> None:
        self._serial = import_serial().Serial(port, baud_rate, timeout=0, exclusive=True)
        self._descriptor = self._serial.fileno()
        self._poller = select.poll()
        self._poller.register(self._descriptor, select.POLLIN)
        with contextlib.suppress(OSError, ValueError):  # only some adapters have it; `Bus.latency_s` shows
            self._serial.set_low_latency_mode(True)

    def write(self, frame: bytes | bytearray) -> int:
        """Send bytes, and return how many."""
        return os.write(self._descriptor, frame)

    def read(self, deadline_s: float) -> bytes:
        """Return what has come, or comes until a monotonic time."""
        if not self._poller.poll(max(0.0, (deadline_s - time.monotonic()) * 1000)):
            return b""
        chunk = os.read(self._descriptor, _CHUNK)
        if not chunk:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return chunk

    def discard(self) -> None:
        """Drop what has come and was not read."""
        while self._poller.poll(0):
            if not os.read(self._descriptor, _CHUNK):
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def close(self) -> None:
        """Close the port."""
        with contextlib.suppress(OSError):  # a port that was pulled out cannot be closed properly
            self._serial.close()


BITS_A_BYTE = 10
STATUS_LENGTH = 11
PING_LENGTH = 3
SLOWEST_RETURN_S = 508e-6
PING_ALL_S = 0.6
TRIES = 3
_SYSFS = Path("/sys/class/tty")


@dataclass(frozen=True, slots=True)
class Found:
    """A servo that answered a ping."""

    servo_id: int
    model_number: int
    firmware: int


class Bus:
    """A half-duplex bus behind a serial port."""

    def __init__(
        self,
        port: str,
        baud_rate: int,
        answer_timeout_s: float,
        open_line: Callable[[str, int], Line] = SerialLine,
    ) -> None:
        self.port = port
        self.baud_rate = baud_rate
        self.answer_timeout_s = answer_timeout_s
        self._open_line = open_line
        self._line: Line
        self._is_open = False
        self._received = bytearray()
        self._owing: set[int] = set()

    def open(self) -> None:
        """Open the port for this program alone.

        Raises DriverError if it cannot be opened; with the reason.
        """
        try:
            self._line = self._open_line(self.port, self.baud_rate)
        except (OSError, ValueError) as error:
            raise DriverError(self.port, "cannot be opened", *_why_closed(self.port, error)) from error
        self._is_open = True

    def close(self) -> None:
        """Close the port; may be called any number of times."""
        if self._is_open:
            self._is_open = False
            self._line.close()

    def sleep(self, duration_s: float) -> None:
        """Wait while servos are busy and do not answer, as when they restart."""
        self._line.sleep(duration_s)

    def latency_s(self, sysfs: Path = _SYSFS) -> float:
        """Return how long the adapter holds bytes back, in s; 0 where it is not known."""
        name = Path(self.port).resolve().name
        try:
            return int((sysfs / name / "device" / "latency_timer").read_text(encoding="ascii")) / 1000
        except (OSError, ValueError):
            return 0.0

    def wire_s(self, length: int) -> float:
        """Return the time, in s, that `length` bytes take on the wire."""
        return length * BITS_A_BYTE / self.baud_rate

    def send(self, frame: bytes | bytearray) -> None:
        """Discard what was received and not read, then send a frame.

        Raises CommunicationLost if the port is gone.
        """
        try:
            self._received.clear()
            self._line.discard()
            sent = self._line.write(frame)
        except BlockingIOError as error:
            raise self._stuck() from error
        except OSError as error:
            raise self._gone(error) from error
        if sent != len(frame):
            raise self._stuck()

    def receive(self, wanted: int, deadline_s: float) -> bytearray:
        """Wait for bytes until a monotonic time.

        `wanted`: return as soon as this many bytes have come since the last frame was sent. Returns all that
        has come: the bus's own buffer, from which the caller may remove packets. Raises CommunicationLost if
        the port is gone.
        """
        received = self._received
        while len(received) < wanted:
            try:
                chunk = self._line.read(deadline_s)
            except OSError as error:
                raise self._gone(error) from error
            if not chunk:
                break
            received += chunk
        return received

    def deadline_s(self, asked: int, answered: int, return_delay_s: float = SLOWEST_RETURN_S) -> float:
        """Return the monotonic time by which an answer must come, by the lengths of question and answer."""
        return self._line.now() + self.wire_s(asked + answered) + return_delay_s + self.answer_timeout_s

    def ask(self, frame: bytes, ids: Collection[int], length: int) -> list[Packet]:
        """Send a frame and collect status packets.

        `length`: how many bytes each answer carries after its error byte; a refusal may carry less. Returns
        those that came in time, at most one of each servo. The answer of a servo that has not answered may
        still be on its way.
        """
        self.send(frame)
        answered = len(ids) * (STATUS_LENGTH + length)
        deadline_s = self.deadline_s(len(frame), answered, len(ids) * SLOWEST_RETURN_S)
        packets: dict[int, Packet] = {}
        while len(packets) < len(ids):
            held = len(self._received)
            received = self.receive(held + 1, deadline_s)
            if len(received) == held:
                break
            while (packet := take_packet(received)) is not None:
                if packet.servo_id in ids and _answers(packet, length):
                    packets.setdefault(packet.servo_id, packet)
        self._owing |= set(ids) - packets.keys()
        return [*packets.values()]

    def _has_settled(self, servo_id: int, tries: int) -> bool:
        """Return whether no answer of a servo to an earlier question can be taken for one to the next.

        Nothing in an answer says to which question. But answers come in the order of the questions, so when
        a ping is answered, nothing of what was asked before it is still on its way.
        """
        if servo_id in self._owing and self.ping(servo_id, tries) is not None:
            self._owing.discard(servo_id)
        return servo_id not in self._owing

    def ping(self, servo_id: int, tries: int = TRIES) -> Found | None:
        """Return what one servo reports of itself, or None if it does not answer."""
        for _ in range(tries):
            for packet in self.ask(encode_ping(servo_id), (servo_id,), PING_LENGTH):
                return _found(packet)
        return None

    def ping_all(self) -> list[Found]:
        """Return all servos on the bus, in the order of their ids."""
        frame = encode_ping(BROADCAST_ID)
        self.send(frame)
        everyone = BROADCAST_ID * (STATUS_LENGTH + PING_LENGTH)
        received = self.receive(everyone, self.deadline_s(len(frame), everyone) + PING_ALL_S)
        found = {}
        while (packet := take_packet(received)) is not None:
            if packet.instruction == Instruction.STATUS and len(packet.data) >= PING_LENGTH:
                found[packet.servo_id] = _found(packet)
        return [found[servo_id] for servo_id in sorted(found)]

    def read(self, servo_id: int, address: int, length: int) -> bytes:
        """Read part of one servo's control table.

        Raises DriverTimeout if it does not answer. Raises DriverError if it refuses.
        """
        return self._instruct(servo_id, encode_read(servo_id, address, length), length).data

    def glance(self, servo_id: int, address: int, length: int) -> bytes | None:
        """Read part of one servo's control table in a single try; None if no answer came."""
        if not self._has_settled(servo_id, 1):
            return None
        for packet in self.ask(encode_read(servo_id, address, length), (servo_id,), length):
            if len(packet.data) == length:
                return packet.data
        return None

    def write(self, servo_id: int, address: int, data: bytes) -> None:
        """Write part of one servo's control table; raises as `read` does."""
        self._instruct(servo_id, encode_write(servo_id, address, data), 0)

    def reboot(self, servo_id: int) -> None:
        """Restart a servo, which switches its torque off; raises as `read` does."""
        self._instruct(servo_id, encode(servo_id, Instruction.REBOOT), 0)

    def _instruct(self, servo_id: int, frame: bytes, length: int) -> Packet:
        where = f"{self.port} servo {servo_id}"
        for _ in range(TRIES if self._has_settled(servo_id, TRIES) else 0):
            for packet in self.ask(frame, (servo_id,), length):
                refusal = packet.error & ~ALERT
                if not refusal:
                    return packet
                if refusal != Refusal.CRC:
                    raise DriverError(where, "refused an instruction", _refusal_in_words(refusal))
        raise DriverTimeout(
            where, f"no answer ({TRIES} tries)", "", "check its cable, power, id and baud rate"
        )

    def sync_read(
        self, ids: Sequence[int], address: int, length: int, tries: int = TRIES
    ) -> dict[int, bytes]:
        """Read the same part of several control tables; servos that do not answer are left out."""
        found: dict[int, bytes] = {}
        settled = [servo_id for servo_id in ids if self._has_settled(servo_id, tries)]
        for _ in range(tries):
            asked = [servo_id for servo_id in settled if servo_id not in found]
            if not asked:
                break
            for packet in self.ask(encode_sync_read(asked, address, length), asked, length):
                if len(packet.data) == length:
                    found[packet.servo_id] = packet.data
        return found

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write the same part of several control tables; servos do not answer this."""
        self.send(encode_sync_write(address, data))

    def _gone(self, error: OSError) -> CommunicationLost:
        return CommunicationLost(self.port, "bus lost", str(error.strerror), "check the cable and power")

    def _stuck(self) -> CommunicationLost:
        return CommunicationLost(
            self.port, "bus lost", "the port takes no more bytes", "check the cable and power"
        )


def _answers(packet: Packet, length: int) -> bool:
    """Return whether a packet can be the answer to a question for so many bytes, or refuses it."""
    if packet.instruction != Instruction.STATUS or not packet.parameters:
        return False
    return len(packet.data) == length or bool(packet.error & ~ALERT)


def _found(packet: Packet) -> Found:
    data = packet.data
    return Found(packet.servo_id, int.from_bytes(data[0:2], "little"), data[2])


def _refusal_in_words(refusal: int) -> str:
    try:
        return REFUSED[Refusal(refusal)]
    except ValueError:
        return f"error {refusal}"


def _why_closed(port: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, OSError) and (denied := why_not_opened(Path(port), error)) is not None:
        return denied
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "there is no such port", "check the cable; `ls /dev/serial/by-id` lists the ports"
    if number in {errno.EBUSY, errno.EAGAIN}:
        return "another program uses it", "stop that one"
    return str(error), "check the port and the baud rate"
