"""A driver of serial servos and its vendor's SDK in turn, tick by tick, on emulated buses.

Both ask the same in their ticks, and make numbers of the answers; the SDK's ticks are shown without as well.
Each has an emulator of its own, a process that answers no sooner than the
wire would. Servos are never kept from answering by a busy computer, and so emulators run at SCHED_FIFO above
both, and their wires are sockets: bytes of a pseudo-terminal pass through a kernel thread of ordinary
priority. As the two take turns, what else the machine does hits both alike.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import serial

from motiond.daemon.stream.timing import realtime
from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverError
from motiond.drivers.serial_bus.emulator import EmulatedWire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from motiond.drivers.serial_bus.driver import SerialDriver
    from motiond.drivers.serial_bus.emulator import EmulatedBus

STATUS_EVERY = 10
ROUND = 20 * STATUS_EVERY
PRIORITY = 50
PATIENCE_S = 60.0
TRIES = 50


class SocketSerial(serial.Serial):  # type: ignore[misc]
    """A serial port whose wire is a socket."""

    wires: ClassVar[dict[str, socket.socket]] = {}

    def open(self) -> None:
        self.fd = os.dup(self.wires[self.portstr].fileno())
        os.set_blocking(self.fd, False)
        self.pipe_abort_read_r, self.pipe_abort_read_w = os.pipe()
        self.pipe_abort_write_r, self.pipe_abort_write_w = os.pipe()
        self.is_open = True

    def _reconfigure_port(self, *, force_update: bool = False) -> None:
        """Leave it as it is: a socket has no baud rate."""

    def flush(self) -> None:
        """Do nothing: a socket takes what is written."""

    def _reset_input_buffer(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.fd, 4096)


class Side(Protocol):
    """One of the two that are compared."""

    def prepare(self, goal_rad: float) -> None:
        """Take setpoints as the program around has them."""

    def tick(self, turn: int) -> None:
        """Send the setpoints, ask what this turn asks, and wait for the answers."""

    def read(self) -> None:
        """Make numbers of the answers, where `tick` does not."""

    def was_sound(self) -> bool:
        """Return whether all answers came in the last tick."""

    def close(self) -> None:
        """Release."""


@dataclass(frozen=True)
class Contest:
    """What is compared. `make_bus` makes the servos with a clock; `make_sides` makes both sides by ports."""

    names: tuple[str, str]
    ids: Sequence[int]
    baud_rate: int
    rate_hz: int
    make_bus: Callable[[Callable[[], float]], EmulatedBus[Any]]
    make_sides: Sequence[Callable[[str], Side]]

    @property
    def period_s(self) -> float:
        """The time from tick to tick."""
        return 1 / self.rate_hz


class Ours:
    """A driver, as the stream process calls it."""

    def __init__(self, driver_type: type[SerialDriver], port: str, contest: Contest) -> None:
        ids = {f"joint{one}": one for one in contest.ids}
        options: dict[str, Any] = {
            "ports": [{"port": port, "baud_rate": contest.baud_rate, "ids": ids}],
            "status_every": STATUS_EVERY,
            "lost_after": 100,  # misses are counted, and end nothing
            "command_lifetime_s": 2.0,
        }
        checked: Any = driver_type.Options.model_validate(options)
        self._driver = driver_type(tuple(ids), checked)
        _insist(self._driver.open)
        self._driver.set_period(contest.period_s)
        _insist(self._driver.enable)
        self._command, self._state = ActuatorCommand(len(ids)), ActuatorState(len(ids))
        self._begun_s = 0.0

    def prepare(self, goal_rad: float) -> None:
        self._command.position.fill(goal_rad)

    def tick(self, turn: int) -> None:  # noqa: ARG002 - the driver counts by itself
        self._begun_s = time.monotonic()
        self._driver.write(self._command)
        self._driver.read(self._state)

    def read(self) -> None:
        """Do nothing: `tick` has filled the state."""

    def was_sound(self) -> bool:
        return bool(self._state.stamp_s.min() >= self._begun_s)

    def close(self) -> None:
        _insist(self._driver.disable)
        self._driver.close()


def _insist(call: Callable[[], None]) -> None:
    """Call until it succeeds, as answers may come too late on a busy machine."""
    for _ in range(TRIES):
        try:
            call()
        except DriverError as error:
            refused = str(error)
        else:
            return
    raise RuntimeError(refused)


def run(contest: Contest, seconds: float) -> None:
    """Print the times of a tick and the misses of both, and the ratio of the two in the median of rounds."""
    names, rate_hz = contest.names, contest.rate_hz
    ticks = max(1, round(seconds * rate_hz / 2 / ROUND)) * ROUND
    with ExitStack() as stack, multiprocessing.get_context("spawn").Pool(1) as pool:
        wires = {name: stack.enter_context(_emulator(contest)) for name in names}
        times_s, bytes_s, sound = pool.apply_async(_play, (contest, wires, ticks)).get(
            2 * seconds + PATIENCE_S
        )
    count, baud_rate = len(contest.ids), contest.baud_rate
    print(f"{count} servos, {baud_rate} baud, {ticks} ticks each, in turn, at {rate_hz} Hz; times in µs")
    print(f"{'':34}{'p50':>8}{'p99':>8}{'max':>8}{'missed':>8}")
    for name, one_s, is_sound in (
        (names[0], times_s[0], sound[0]),
        (names[1], times_s[1], sound[1]),
        (f"{names[1]}, no numbers", bytes_s, sound[1]),
    ):
        p50, p99, longest = np.quantile(one_s, [0.5, 0.99, 1.0]) * 1e6
        missed = np.count_nonzero(~is_sound | (one_s > contest.period_s))
        print(f"{name:34}{p50:8.0f}{p99:8.0f}{longest:8.0f}{missed:8}")
    rounds = ticks // ROUND
    plain = np.arange(ROUND) % (STATUS_EVERY // 2) != 0
    ours_s, theirs_s, their_bytes_s = (each.reshape(rounds, ROUND) for each in (*times_s, bytes_s))
    for name, theirs, chosen in (
        ("all ticks", theirs_s, slice(None)),
        ("goals and positions", theirs_s, plain),
        ("all ticks, theirs no numbers", their_bytes_s, slice(None)),
    ):
        p50, p99 = _ratios(ours_s[:, chosen], theirs[:, chosen])
        print(f"{'ratio, ' + name:34}{p50:8.2f}{p99:8.2f}   (median of {rounds} rounds, goal 1.00)")


def print_wire(size: int, baud_rate: int) -> None:
    """Print how long the bytes of a tick take on the wire alone."""
    print(f"{'wire alone':34}{size * 10 / baud_rate * 1e6:8.0f}   ({size} bytes)")


def _ratios(ours_s: NDArray[np.float64], theirs_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ours to theirs at p50 and p99, in the median of rounds, for times (rounds, ticks)."""
    ours, theirs = (np.quantile(each, [0.5, 0.99], axis=1) for each in (ours_s, theirs_s))
    ratios: NDArray[np.float64] = np.median(ours / theirs, axis=1)
    return ratios


@contextmanager
def _emulator(contest: Contest) -> Iterator[socket.socket]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    wire, far_end = socket.socketpair()
    process = context.Process(target=_emulate, args=(contest, theirs, far_end))
    process.start()
    try:
        if not ours.poll(PATIENCE_S):
            raise RuntimeError(f"the emulator did not start in {PATIENCE_S:g} s")
        yield wire
    finally:
        ours.send(None)
        process.join(PATIENCE_S)
        process.kill()
        wire.close()
        far_end.close()


def _emulate(contest: Contest, connection: Connection, wire: socket.socket) -> None:
    realtime.prepare(PRIORITY + 10, None, lock_memory=True)
    with EmulatedWire(contest.make_bus(time.monotonic), wire.detach(), contest.baud_rate):
        connection.send("ready")
        connection.recv()


def _play(
    contest: Contest, wires: dict[str, socket.socket], ticks: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return how long ticks took, those of the SDK without their numbers, and whether they were sound.

    Returns in s and as bool: (2, ticks), ours first; (ticks,); (2, ticks).
    """
    serial.Serial, SocketSerial.wires = SocketSerial, wires
    period_s = contest.period_s
    sides = [make(name) for make, name in zip(contest.make_sides, contest.names, strict=True)]
    realtime.prepare(PRIORITY, None, lock_memory=True)
    bytes_s, times_s, sound = np.zeros((2, ticks)), np.zeros((2, ticks)), np.zeros((2, ticks), bool)
    due_s = time.monotonic() + period_s
    for slot in range(2 * ticks):
        tick, second = divmod(slot, 2)
        which = (tick + tick // STATUS_EVERY + second) % 2  # either is first in any of ten turns
        time.sleep(max(0.0, due_s - time.monotonic()))
        sides[which].prepare(0.5 * math.sin(tick * period_s))
        begun_s = time.monotonic()
        sides[which].tick(tick % STATUS_EVERY)
        answered_s = time.monotonic()
        sides[which].read()
        ended_s = time.monotonic()
        sound[which, tick] = sides[which].was_sound()
        bytes_s[which, tick], times_s[which, tick] = answered_s - begun_s, ended_s - begun_s
        due_s += period_s * math.ceil(
            (ended_s - due_s) / period_s
        )  # who is late does not make the other late
    for side in sides:
        side.close()
    return times_s, bytes_s[1], sound
