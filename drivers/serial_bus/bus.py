"""A serial bus with servos on it: sends frames, and receives answers within a bounded time."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import CommunicationLost, DriverError, DriverTimeout
from ..port_access import why_not_opened
from .line import SerialLine, import_serial

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .line import Line
    from .protocol import Found, ServoProtocol, StatusPacket

BITS_A_BYTE = 10
PING_ALL_S = 0.6
LONGEST_PING_S = 0.02
"""How long each servo has for its answer where all ids are asked one by one."""
LONGEST_AWAKE_S = 220e-6
AWAKE_PART = 0.022
"""How long before its last byte an answer is waited for without sleep, and as a part of a tick."""
TRIES = 3
_SYSFS = Path("/sys/class/tty")


class Bus:
    """A half-duplex bus behind a serial port.

    `answer_timeout_s`: how much later than by the baud rate an answer may come. `heard_s`: monotonic time at
    which something came last. `damaged_ids`: as of `ping_all`. `awake_s`: how long before its last byte an
    answer is waited for without sleep.
    """

    def __init__(
        self,
        port: str,
        baud_rate: int,
        answer_timeout_s: float,
        protocol: ServoProtocol,
        open_line: Callable[[str, int], Line] = SerialLine,
    ) -> None:
        self.port = port
        self.baud_rate = baud_rate
        self.answer_timeout_s = answer_timeout_s
        self.protocol = protocol
        self._open_line = open_line
        self._line: Line
        self._is_open = False
        self._received = bytearray()
        self._heard = bytearray()
        self.damaged_ids: list[int] = []
        self.heard_s = 0.0
        self.awake_s = LONGEST_AWAKE_S
        self._free_s = 0.0
        self._owing: set[int] = set()
        self._reading: tuple[int, int, float] | None = None

    def open(self) -> None:
        """Open the port for this program alone.

        Raises DriverError if it cannot be opened; with the reason.
        """
        if self._open_line is SerialLine:
            import_serial(self.protocol.driver)
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
        """Discard what was received and not read, then send a frame, after what `begin_read` asked for.

        Raises CommunicationLost if the port is gone.
        """
        if self._reading is not None:
            self.end_read()
        try:
            self._received.clear()
            self._heard.clear()
            self._line.discard()
            sent = self._line.write(frame)
            self._free_s = max(self._free_s, self._line.now()) + self.wire_s(len(frame))
        except BlockingIOError as error:
            raise self._stuck() from error
        except OSError as error:
            raise self._gone(error) from error
        if sent != len(frame):
            raise self._stuck()

    def receive(self, wanted: int, deadline_s: float, *, awake: bool = False) -> bytearray:
        """Wait for bytes until a monotonic time.

        `wanted`: return as soon as this many bytes have come since the last frame was sent. `awake`: as of
        `receive_next`. Returns all that has come: the bus's own buffer, from which the caller may remove
        packets. Raises CommunicationLost if the port is gone.
        """
        while (missing := wanted - len(self._received)) > 0 and self.receive_next(
            deadline_s, missing if awake else None
        ):
            pass
        return self._received

    def receive_next(self, deadline_s: float, missing: int | None = None) -> bytearray | None:
        """Wait for what comes next until a monotonic time.

        `missing`: how many bytes will have come when all has; the last of them are waited for without sleep,
        and what comes before is left waiting until then. Returns as `receive` does; None if nothing came.
        Raises CommunicationLost if the port is gone.
        """
        awake_s = math.inf if missing is None else self._free_s + self.wire_s(missing) - self.awake_s
        try:
            chunk = self._line.read(deadline_s, awake_s)
        except OSError as error:
            raise self._gone(error) from error
        if not chunk:
            return None
        self._free_s = self.heard_s = self._line.now()
        self._received += chunk
        self._heard += chunk
        return self._received

    def plan(self, period_s: float) -> None:
        """Take how long the program has from tick to tick, of which it waits only a part without sleep."""
        self.awake_s = min(LONGEST_AWAKE_S, AWAKE_PART * period_s)

    @property
    def heard_bytes(self) -> int:
        """How many bytes have come since the last frame was sent."""
        return len(self._heard)

    def heard_from(self, servo_id: int) -> bool:
        """Return whether an answer of a servo has begun since the last frame was sent, sound or not."""
        return self.protocol.header + bytes([servo_id]) in self._heard

    def deadline_s(self, asked: int, answered: int, return_delay_s: float | None = None) -> float:
        """Return the monotonic time by which an answer must come, by the lengths of question and answer.

        `return_delay_s`: how long servos wait before they answer; by default as long as one may.
        """
        delay_s = self.protocol.slowest_return_s if return_delay_s is None else return_delay_s
        return self._line.now() + self.wire_s(asked + answered) + delay_s + self.answer_timeout_s

    def ask(self, frame: bytes, ids: Collection[int], length: int) -> list[StatusPacket]:
        """Send a frame and collect status packets.

        `length`: how many bytes each answer carries after its error byte; a refusal may carry less. Returns
        those that came in time, at most one of each servo. The answer of a servo that has not answered may
        still be on its way.
        """
        self.send(frame)
        return self._answers_of(ids, length, self._answered_by_s(frame, len(ids), length))

    def _answered_by_s(self, frame: bytes, count: int, length: int) -> float:
        """Return the monotonic time by which so many servos must have answered a frame that was sent."""
        answered = count * (self.protocol.status_bytes + length)
        return self.deadline_s(len(frame), answered, count * self.protocol.slowest_return_s)

    def _answers_of(self, ids: Collection[int], length: int, deadline_s: float) -> list[StatusPacket]:
        """Collect status packets until a monotonic time, as `ask`."""
        protocol = self.protocol
        packets: dict[int, StatusPacket] = {}
        while len(packets) < len(ids):
            received = self.receive_next(deadline_s)
            if received is None:
                break
            while (packet := protocol.take(received)) is not None:
                if packet.servo_id in ids and self._answers(packet, length):
                    packets.setdefault(packet.servo_id, packet)
        if len(packets) < len(ids):
            self._owing |= set(ids) - packets.keys()
        return [*packets.values()]

    def _answers(self, packet: StatusPacket, length: int) -> bool:
        """Return whether a packet can be the answer to a question for so many bytes, or refuses it."""
        return len(packet.data) == length or self.protocol.refusal(packet) is not None

    def _has_settled(self, servo_id: int, tries: int) -> bool:
        """Return whether no answer of a servo to an earlier question can be taken for one to the next.

        Nothing in an answer says to which question. But answers come in the order of the questions, so when
        a ping is answered, nothing of what was asked before it is still on its way.
        """
        if servo_id in self._owing and self.is_there(servo_id, tries):
            self._owing.discard(servo_id)
        return servo_id not in self._owing

    def is_there(self, servo_id: int, tries: int = TRIES) -> bool:
        """Return whether a servo answers."""
        return self._pinged(servo_id, tries) is not None

    def _pinged(self, servo_id: int, tries: int) -> StatusPacket | None:
        for _ in range(tries):
            for packet in self.ask(self.protocol.ping(servo_id), (servo_id,), self.protocol.ping_bytes):
                return packet
        return None

    def ping(self, servo_id: int, tries: int = TRIES) -> Found | None:
        """Return what one servo reports of itself, or None if it does not answer."""
        packet = self._pinged(servo_id, tries)
        if packet is None:
            return None
        if self.protocol.identity is None:
            return self.protocol.found(servo_id, packet.data)
        for _ in range(tries):
            data = self.glance(servo_id, *self.protocol.identity)
            if data is not None:
                return self.protocol.found(servo_id, data)
        return None

    def ping_all(self) -> list[Found]:
        """Return all servos on the bus, in the order of their ids.

        `damaged_ids` are then those of which something came that was not understood.
        """
        frame = self.protocol.ping_all()
        self.damaged_ids = []
        answers = self._ask_each() if frame is None else self._ask_all(frame)
        if self.protocol.identity is None:
            return [self.protocol.found(*answer) for answer in sorted(answers.items())]
        there = {servo_id: self._identified(servo_id) for servo_id in sorted(answers)}
        return [found for found in there.values() if found is not None]

    def _identified(self, servo_id: int) -> Found | None:
        found = self.ping(servo_id)
        if found is None and self.heard_from(servo_id):
            self.damaged_ids.append(servo_id)
        return found

    def _ask_all(self, frame: bytes) -> dict[int, bytes]:
        """Return the data of all that answer a ping to everyone, by id."""
        protocol = self.protocol
        self.send(frame)
        everyone = (protocol.highest_id + 1) * (protocol.status_bytes + protocol.ping_bytes)
        received = self.receive(everyone, self.deadline_s(len(frame), everyone) + PING_ALL_S)
        answers = {}
        while (packet := protocol.take(received)) is not None:
            if len(packet.data) >= protocol.ping_bytes:
                answers[packet.servo_id] = packet.data
        ids = set(range(protocol.highest_id + 1)) - answers.keys()
        self.damaged_ids = [one for one in sorted(ids) if self.heard_from(one)]
        return answers

    def _ask_each(self) -> dict[int, bytes]:
        """Ping all ids one by one; returns as `_ask_all` does."""
        patience_s = self.answer_timeout_s
        self.answer_timeout_s = min(patience_s, LONGEST_PING_S)
        try:
            answers = {}
            for one in range(self.protocol.highest_id + 1):
                if (packet := self._pinged(one, 1)) is not None:
                    answers[one] = packet.data
                elif self.heard_from(one):
                    self.damaged_ids.append(one)
            return answers
        finally:
            self.answer_timeout_s = patience_s
            self._owing.clear()

    def read(self, servo_id: int, address: int, length: int) -> bytes:
        """Read part of one servo's control table.

        Raises DriverTimeout if it does not answer. Raises DriverError if it refuses.
        """
        return self._instruct(servo_id, self.protocol.read(servo_id, address, length), length).data

    def glance(self, servo_id: int, address: int, length: int) -> bytes | None:
        """Read part of one servo's control table in a single try; None if no answer came."""
        return self.end_read() if self.begin_read(servo_id, address, length) else None

    def begin_read(self, servo_id: int, address: int, length: int) -> bool:
        """Ask for part of one servo's control table, in a single try, and let `end_read` take the answer.

        Returns False, and asks nothing, while an answer to an earlier question may be on its way.
        """
        if self._owing and not self._has_settled(servo_id, 1):
            return False
        question = self.protocol.read(servo_id, address, length)
        self.send(question)
        self._reading = servo_id, length, self._answered_by_s(question, 1, length)
        return True

    @property
    def is_reading(self) -> bool:
        """Whether nothing was sent since `begin_read`."""
        return self._reading is not None

    def end_read(self) -> bytes | None:
        """Return what `begin_read` asked for, as soon as it has come; None if no answer came in time.

        Raises CommunicationLost if the port is gone.
        """
        if self._reading is None:
            return None
        (servo_id, length, deadline_s), self._reading = self._reading, None
        for packet in self._answers_of((servo_id,), length, deadline_s):
            if len(packet.data) == length:
                return packet.data
        return None

    def write(self, servo_id: int, address: int, data: bytes) -> None:
        """Write part of one servo's control table; raises as `read` does."""
        self._instruct(servo_id, self.protocol.write(servo_id, address, data), 0)

    def reboot(self, servo_id: int) -> None:
        """Restart a servo, which switches its torque off; raises as `read` does."""
        self._instruct(servo_id, self.protocol.reboot(servo_id), 0)

    def _instruct(self, servo_id: int, frame: bytes, length: int) -> StatusPacket:
        where = f"{self.port} servo {servo_id}"
        for _ in range(TRIES if self._has_settled(servo_id, TRIES) else 0):
            for packet in self.ask(frame, (servo_id,), length):
                refusal = self.protocol.refusal(packet)
                if refusal is None:
                    return packet
                if not self.protocol.heard_badly(packet):
                    raise DriverError(where, "refused an instruction", refusal)
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
            for packet in self.ask(self.protocol.sync_read(asked, address, length), asked, length):
                if len(packet.data) == length:
                    found[packet.servo_id] = packet.data
        return found

    def read_each(
        self, ids: Sequence[int], address: int, length: int, tries: int = TRIES
    ) -> dict[int, bytes]:
        """Read as `sync_read` does, from servos that do not know sync reads."""
        found: dict[int, bytes] = {}
        for servo_id in ids:
            for _ in range(tries):
                if (data := self.glance(servo_id, address, length)) is not None:
                    found[servo_id] = data
                    break
        return found

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write the same part of several control tables; servos do not answer this."""
        self.send(self.protocol.sync_write(address, data))

    def _gone(self, error: OSError) -> CommunicationLost:
        return CommunicationLost(self.port, "bus lost", str(error.strerror), "check the cable and power")

    def _stuck(self) -> CommunicationLost:
        return CommunicationLost(
            self.port, "bus lost", "the port takes no more bytes", "check the cable and power"
        )


def _why_closed(port: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, OSError) and (denied := why_not_opened(Path(port), error)) is not None:
        return denied
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "there is no such port", "check the cable; `ls /dev/serial/by-id` lists the ports"
    if number in {errno.EBUSY, errno.EAGAIN}:
        return "another program uses it", "stop that one"
    return str(error), "check the port and the baud rate"
