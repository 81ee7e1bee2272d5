"""What must hold for whatever comes from a bus of servos: the driver works, or names what is wrong."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers import ActuatorCommand, ActuatorState, DriverError
from motiond.drivers.feetech import FeetechDriver, FeetechOptions, set_id
from motiond.drivers.feetech.emulator import EmulatedChain, EmulatedServo
from motiond.drivers.feetech.models import models

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("base", "shoulder")
SEED_BYTES = 2000
MOST_TEXT = 10_000


class FuzzedLine:
    """A port that answers each question with the next piece of some bytes; time passes as it waits."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._now_s = 0.0

    def now(self) -> float:
        """Return the time that was waited."""
        return self._now_s

    def sleep(self, duration_s: float) -> None:
        """Let time pass."""
        self._now_s += max(0.0, duration_s)

    def write(self, frame: bytes | bytearray) -> int:
        """Take a question."""
        return len(frame)

    def read(self, deadline_s: float, awake_s: float = 0.0) -> bytes:  # noqa: ARG002 - nothing sleeps
        """Return the next piece, of a length that its first byte says; then nothing any more."""
        length = 1 + self._data[0] % 64 if self._data else 0
        piece, self._data = self._data[1:length], self._data[length:]
        if not piece:
            self._now_s = max(self._now_s, deadline_s)
        return piece

    def discard(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


class ServosFuzz:
    """What Feetech servos answer, as a thing to be fuzzed, as the readers of formats are."""

    name = "feetech"
    words = (b"\xff\xff\x01", b"\xff\xff\x02", b"\x02\x00", b"\x11\x00", b"\x07\x00")

    @cached_property
    def seeds(self) -> tuple[bytes, ...]:
        """What sound servos of each model answer, up to the first play."""
        return tuple(_answers_of(number) for number in models())

    def allowance(self, data: bytes) -> int:
        """Return the memory that answers may take, in bytes."""
        return 2_000_000 + 400 * len(data)

    def check(self, data: bytes) -> None:
        """Let a driver go through all that it does; each call works, or raises an error of its own."""
        line = FuzzedLine(data)
        _use(_driver(lambda _path, _rate: line, line.now))
        _named(lambda: set_id("/dev/fuzz", 1_000_000, 1, 2, lambda _path, _rate: FuzzedLine(data)))


def _driver(open_line: Callable[[str, int], FuzzedLine], now: Callable[[], float]) -> FeetechDriver:
    ports = [{"port": "/dev/fuzz", "ids": {name: 1 + place for place, name in enumerate(NAMES)}}]
    options = FeetechOptions.model_validate({"ports": ports, "write_eeprom": True})
    return FeetechDriver(NAMES, options, now, open_line)


def _use(driver: FeetechDriver) -> None:
    state, command = ActuatorState(len(NAMES)), ActuatorCommand(len(NAMES))
    command.position[:] = 0.1
    for call in (
        driver.open,
        driver.enable,
        lambda: driver.write(command),
        lambda: driver.read(state),
        driver.halt,
        driver.verify,
        lambda: driver.clear(NAMES),
        driver.disable,
        lambda: driver.reboot(NAMES),
    ):
        _named(call)
    driver.close()
    assert not np.isnan(driver.limits.lower).any()


def _named(call: Callable[[], object]) -> None:
    text = ""
    try:
        call()
    except DriverError as error:
        text = str(error)
        named = error.where
    else:
        named = "nothing was wrong"
    assert named, text
    assert len(text) < MOST_TEXT


class _HeardLine(FuzzedLine):
    """A port with emulated servos, whose answers are kept as the pieces that `FuzzedLine` takes."""

    def __init__(self, servos: list[EmulatedServo]) -> None:
        super().__init__(b"")
        self._chain = EmulatedChain(servos, self.now)
        self._sent = bytearray()
        self._waiting: list[bytes] = []
        self.heard = b""

    def write(self, frame: bytes | bytearray) -> int:
        """Let the servos act."""
        self._sent += frame
        self._waiting += [reply.frame for reply in self._chain.feed(self._sent)]
        return len(frame)

    def read(self, deadline_s: float, awake_s: float = 0.0) -> bytes:  # noqa: ARG002 - nothing sleeps
        """Return the next answer, or let time pass."""
        if not self._waiting:
            self.sleep(deadline_s - self._now_s)
            return b""
        answer = self._waiting.pop(0)
        self.heard += bytes([len(answer)]) + answer
        return answer


def _answers_of(number: int) -> bytes:
    line = _HeardLine([EmulatedServo(one, models()[number]) for one in (1, 2)])
    _use(_driver(lambda _path, _rate: line, line.now))
    return line.heard[:SEED_BYTES]
