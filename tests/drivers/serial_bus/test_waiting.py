"""The last bytes of an answer are waited for without sleep, but not for long, and not where it is in vain."""

from __future__ import annotations

import math
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverTimeout
from motiond.drivers.feetech.protocol import PROTOCOL
from motiond.drivers.serial_bus import line as line_module
from motiond.drivers.serial_bus.bus import AWAKE_PART, LONGEST_AWAKE_S, Bus
from motiond.drivers.serial_bus.line import ASLEEP_AFTER_VAIN, SerialLine
from motiond.drivers.serial_bus.line import LONGEST_AWAKE_S as LONGEST_IN_ALL_S
from tests.drivers.dynamixel import bench as of_dynamixel
from tests.drivers.feetech import bench as of_feetech
from tests.drivers.serial_bus.memory_port import MemoryLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.drivers.serial_bus.line import Line
    from tests.drivers.serial_bus.bench import SerialBench

TORQUE_ON = bytes.fromhex("ffff01030001fa")
LOOK_S = 1e-6
"""How long a look at a port takes here."""


class Wire:
    """Time, and a port to which bytes come at times of their own.

    `due`: pairs of time and bytes. `waits`: how the program waited: until when it slept, by `sleep` or on the
    port, and how often it looked.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self.due: list[tuple[float, bytes]] = []
        self.waits: list[str] = []
        self.looks = 0
        self.there, self._far = os.pipe()
        os.set_blocking(self.there, False)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s
        self.waits.append(f"sleeps until {self.now_s * 1e6:.0f} µs")
        self._deliver()

    def poll(self, timeout_ms: float) -> list[int]:
        if timeout_ms == 0:
            self.now_s += LOOK_S
            self.looks += 1
        else:
            end_s = self.now_s + timeout_ms / 1000
            self.now_s = min([end_s, *(at_s for at_s, _ in self.due)])
            self.waits.append(f"is woken at {self.now_s * 1e6:.0f} µs")
        self._deliver()
        return self._held()

    def _held(self) -> list[int]:
        return [self.there] if self._count else []

    def _deliver(self) -> None:
        for at_s, data in [one for one in self.due if one[0] <= self.now_s + 1e-12]:
            os.write(self._far, data)
            self._count += len(data)
            self.due.remove((at_s, data))

    _count = 0

    def read(self, descriptor: int, size: int) -> bytes:
        data = os.read(descriptor, size)
        self._count -= len(data)
        return data

    def close(self) -> None:
        for descriptor in (self.there, self._far):
            os.close(descriptor)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    wire = Wire()
    fake = SimpleNamespace(
        fileno=lambda: wire.there, close=lambda: None, set_low_latency_mode=lambda _on: None
    )
    monkeypatch.setattr("serial.Serial", lambda *_args, **_options: fake)
    poller = SimpleNamespace(poll=wire.poll, register=lambda *_: None)
    monkeypatch.setattr(line_module, "select", SimpleNamespace(poll=lambda: poller, POLLIN=1))
    monkeypatch.setattr(line_module, "time", SimpleNamespace(monotonic=wire.monotonic, sleep=wire.sleep))
    monkeypatch.setattr(line_module, "os", SimpleNamespace(read=wire.read, write=os.write))
    yield wire
    wire.close()


@pytest.fixture
def line(wire: Wire) -> Line:
    del wire
    return SerialLine("/dev/ttyFAKE", 1_000_000)


def test_a_read_sleeps_until_shortly_before_the_last_bytes_and_then_stays_awake(
    wire: Wire, line: Line
) -> None:
    wire.due = [(0.0005, b"first"), (0.00105, b"last")]
    assert line.read(0.01, 0.0009) == b"first"
    assert line.read(0.01, 0.0009) == b"last"
    assert wire.waits == ["sleeps until 900 µs"]
    assert wire.now_s == pytest.approx(0.00105, abs=3 * LOOK_S)


def test_a_read_without_a_time_to_be_awake_sleeps_until_something_comes(wire: Wire, line: Line) -> None:
    wire.due = [(0.0005, b"first")]
    assert line.read(0.01) == b"first"
    assert wire.waits == ["is woken at 500 µs"]
    assert wire.looks == 0


def test_nothing_is_waited_for_without_sleep_for_long(wire: Wire, line: Line) -> None:
    wire.due = [(0.005, b"late")]
    assert line.read(0.01, 0.0009) == b"late"
    assert wire.waits == ["sleeps until 900 µs", "is woken at 5000 µs"]
    assert wire.looks <= LONGEST_IN_ALL_S / LOOK_S + 2


def test_after_a_wait_in_vain_reads_sleep_for_a_while(wire: Wire, line: Line) -> None:
    for number in range(ASLEEP_AFTER_VAIN + 2):
        wire.due = [(wire.now_s + 0.005, b"late")]
        wire.waits = []
        assert line.read(wire.now_s + 0.01, wire.now_s + 0.0009) == b"late"
        assert len(wire.waits) == (2 if number in {0, ASLEEP_AFTER_VAIN + 1} else 1), number


@pytest.mark.parametrize("awake_s", [0.0009, 0.00099, 0.002])
def test_a_read_whose_deadline_comes_first_ends_with_it(wire: Wire, line: Line, awake_s: float) -> None:
    assert line.read(0.001, awake_s) == b""
    assert wire.now_s == pytest.approx(0.001, abs=3 * LOOK_S)


class AnsweringLine:
    """A line on which every question is answered byte by byte; notes when reads are to be awake."""

    def __init__(self, answer: bytes) -> None:
        self.now_s = 1.0
        self.answer = answer
        self.awake_s: list[float] = []
        self._rest = b""

    def now(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s

    def write(self, frame: bytes | bytearray) -> int:
        self._rest = self.answer
        return len(frame)

    def read(self, deadline_s: float, awake_s: float = math.inf) -> bytes:
        del deadline_s
        self.awake_s.append(awake_s)
        self.now_s += 0.0005
        piece, self._rest = self._rest[:4], self._rest[4:]
        return piece

    def discard(self) -> None:
        self._rest = b""

    def close(self) -> None:
        self._rest = b""


def bus_on(line: Line) -> Bus:
    bus = Bus("/dev/ttyFAKE", 1_000_000, 0.01, PROTOCOL, lambda _port, _rate: line)
    bus.open()
    return bus


def test_a_bus_is_awake_shortly_before_all_bytes_can_have_come() -> None:
    line = AnsweringLine(TORQUE_ON)
    bus = bus_on(line)
    bus.send(PROTOCOL.read(1, 40, 1))
    assert bus.receive(7, 2.0, awake=True) == TORQUE_ON
    sent_s = 1.0 + bus.wire_s(len(PROTOCOL.read(1, 40, 1)))
    first_s = 1.0005
    expected = [sent_s + bus.wire_s(7), first_s + bus.wire_s(3)]
    assert line.awake_s == pytest.approx([one - LONGEST_AWAKE_S for one in expected])


def test_a_bus_with_short_ticks_is_awake_for_a_small_part_of_them() -> None:
    line = AnsweringLine(TORQUE_ON)
    bus = bus_on(line)
    bus.plan(0.001)
    bus.send(PROTOCOL.read(1, 40, 1))
    bus.receive(7, 2.0, awake=True)
    assert line.awake_s[0] == pytest.approx(1.0 + bus.wire_s(8 + 7) - AWAKE_PART * 0.001)


def test_what_no_tick_waits_for_is_slept_for() -> None:
    line = AnsweringLine(b"")
    bus = bus_on(line)
    assert not bus.is_there(1)
    with pytest.raises(DriverTimeout):
        bus.read(1, 40, 1)
    bus.begin_read(1, 40, 1)
    assert bus.end_read() is None
    assert set(line.awake_s) == {math.inf}


@pytest.mark.parametrize(
    ("bench", "model", "is_awake"),
    [
        (of_dynamixel, "XM430-W350", True),  # one joint answer
        (of_feetech, "STS3215", True),  # an answer of each servo to one question
        (of_feetech, "SCS0009", False),  # a question to each servo: too many waits for a tick
    ],
)
def test_ticks_are_awake_where_one_question_asks_all(
    monkeypatch: pytest.MonkeyPatch, bench: Any, model: str, *, is_awake: bool
) -> None:
    awake: list[float] = []
    read = MemoryLine.read

    def noted(self: MemoryLine, deadline_s: float, awake_s: float = math.inf) -> bytes:
        awake.append(awake_s)
        return read(self, deadline_s, awake_s)

    robot: SerialBench[Any]
    with bench.Bench([bench.servo(1, model), bench.servo(2, model)]) as robot:
        robot.driver.open()
        robot.driver.set_period(0.005)
        monkeypatch.setattr(MemoryLine, "read", noted)
        robot.read()
        bus = robot.driver._buses[0]
        assert bus.awake_s == AWAKE_PART * 0.005
    assert [math.isfinite(at_s) for at_s in awake] == [is_awake] * len(awake)
    assert awake
