"""Twelve emulated servos at 4 Mbaud and 200 Hz: the driver and the vendor's SDK in turn, tick by tick.

Both ask the same in their ticks: goals and positions, in each tenth also voltages and temperatures, in each
tenth also the torque of one servo. Each has an emulator of its own, a process that answers no sooner than the
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
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import serial
from dynamixel_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler, PortHandler

from motiond.daemon.stream.timing import realtime
from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverError
from motiond.drivers.dynamixel.capacity import feedback_exchange
from motiond.drivers.dynamixel.chain import FULL, SHORT
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.serial_bus.emulator import EmulatedWire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

SECONDS = 60.0
RATE_HZ = 200
PERIOD_S = 1 / RATE_HZ
BAUD_RATE = 4_000_000
IDS = range(1, 13)
STATUS_EVERY = 10
ROUND = 20 * STATUS_EVERY
PRIORITY = 50
PATIENCE_S = 60.0
TRIES = 50
TORQUE, GOAL, PRESENT = 64, 116, 126
CENTRE_TICKS, TURN_TICKS = 2048, 4096
NAMES = "motiond", "dynamixel-sdk"


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

    def _reset_input_buffer(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.fd, 4096)


class Side(Protocol):
    """One of the two that are compared."""

    def prepare(self, goal_rad: float) -> None:
        """Take setpoints as the program around has them."""

    def tick(self, turn: int) -> None:
        """Send the setpoints, ask what this turn asks, and wait for the answers."""

    def was_sound(self) -> bool:
        """Return whether all answers came in the last tick."""

    def close(self) -> None:
        """Release."""


class Ours:
    """The driver, as the stream process calls it."""

    def __init__(self, port: str) -> None:
        ids = {f"joint{one}": one for one in IDS}
        options = {
            "ports": [{"port": port, "baud_rate": BAUD_RATE, "ids": ids}],
            "status_every": STATUS_EVERY,
            "lost_after": 100,  # misses are counted, and end nothing
            "command_lifetime_s": 2.0,
        }
        self._driver = DynamixelDriver(tuple(ids), DynamixelOptions.model_validate(options))
        _insist(self._driver.open)
        self._driver.set_period(PERIOD_S)
        _insist(self._driver.enable)
        self._command, self._state = ActuatorCommand(len(IDS)), ActuatorState(len(IDS))
        self._begun_s = 0.0

    def prepare(self, goal_rad: float) -> None:
        self._command.position.fill(goal_rad)

    def tick(self, turn: int) -> None:  # noqa: ARG002 - the driver counts by itself
        self._begun_s = time.monotonic()
        self._driver.write(self._command)
        self._driver.read(self._state)

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


class Theirs:
    """The vendor's SDK, which leaves its answers as bytes."""

    def __init__(self, port: str) -> None:
        self._wire, self._handler = PortHandler(port), PacketHandler(2.0)
        self._wire.setBaudRate(BAUD_RATE)
        self._goals = GroupSyncWrite(self._wire, self._handler, GOAL, 4)
        self._answers = {
            length: GroupSyncRead(self._wire, self._handler, PRESENT, length) for length in (SHORT, FULL)
        }
        for one in IDS:
            self._handler.write1ByteTxRx(self._wire, one, TORQUE, 1)
            self._goals.addParam(one, bytes(4))
            for answers in self._answers.values():
                answers.addParam(one)
        self._goals_rad = [0.0] * len(IDS)
        self._next, self._is_sound = 0, False

    def prepare(self, goal_rad: float) -> None:
        self._goals_rad = [goal_rad] * len(IDS)

    def tick(self, turn: int) -> None:
        for one, goal_rad in zip(IDS, self._goals_rad, strict=True):
            goal = list(round(CENTRE_TICKS + goal_rad / (2 * math.pi) * TURN_TICKS).to_bytes(4, "little"))
            self._goals.changeParam(one, goal)
        sound = self._goals.txPacket() == COMM_SUCCESS
        try:
            sound &= self._answers[FULL if turn == 0 else SHORT].fastSyncRead() == COMM_SUCCESS
        except IndexError:  # how it says that a late answer to a shorter question came
            sound = False
        if turn == STATUS_EVERY // 2:
            self._next = (self._next + 1) % len(IDS)
            holds, result, _ = self._handler.read1ByteTxRx(self._wire, IDS[self._next], TORQUE)
            sound &= result == COMM_SUCCESS and holds == 1
        self._is_sound = bool(sound)

    def was_sound(self) -> bool:
        return self._is_sound

    def close(self) -> None:
        self._wire.closePort()


def main(seconds: float = SECONDS) -> None:
    """Print the times of a tick and the misses of both, and the ratio of the two in the median of rounds."""
    ticks = max(1, round(seconds * RATE_HZ / 2 / ROUND)) * ROUND
    with ExitStack() as stack, multiprocessing.get_context("spawn").Pool(1) as pool:
        wires = {name: stack.enter_context(_emulator()) for name in NAMES}
        times_s, sound = pool.apply_async(_play, (wires, ticks)).get(2 * seconds + PATIENCE_S)
    print(f"{len(IDS)} servos, {BAUD_RATE} baud, {ticks} ticks each, in turn, at {RATE_HZ} Hz; times in µs")
    print(f"{'':26}{'p50':>8}{'p99':>8}{'max':>8}{'missed':>8}")
    for name, one_s, is_sound in zip(NAMES, times_s, sound, strict=True):
        p50, p99, longest = np.quantile(one_s, [0.5, 0.99, 1.0]) * 1e6
        missed = np.count_nonzero(~is_sound | (one_s > PERIOD_S))
        print(f"{name:26}{p50:8.0f}{p99:8.0f}{longest:8.0f}{missed:8}")
    rounds_s = times_s.reshape(2, -1, ROUND)
    plain = np.arange(ROUND) % (STATUS_EVERY // 2) != 0
    for name, chosen in (("all ticks", slice(None)), ("goals and positions", plain)):
        p50, p99 = _ratios(rounds_s[:, :, chosen])
        print(f"{'ratio, ' + name:26}{p50:8.2f}{p99:8.2f}   (median of {ticks // ROUND} rounds, goal 1.00)")
    wire = feedback_exchange(len(IDS), 4, SHORT, 0.0, fast=True)
    print(f"{'wire alone':26}{wire.bytes * 10 / BAUD_RATE * 1e6:8.0f}   ({wire.bytes} bytes)")


def _ratios(rounds_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ours to theirs at p50 and p99, in the median of rounds, for times (2, rounds, ticks)."""
    ours, theirs = np.quantile(rounds_s, [0.5, 0.99], axis=2).swapaxes(0, 1)
    ratios: NDArray[np.float64] = np.median(ours / theirs, axis=1)
    return ratios


@contextmanager
def _emulator() -> Iterator[socket.socket]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    wire, far_end = socket.socketpair()
    process = context.Process(target=_emulate, args=(theirs, far_end))
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


def _emulate(connection: Connection, wire: socket.socket) -> None:
    realtime.prepare(PRIORITY + 10, None, lock_memory=True)
    model = models_by_name()["XM430-W350"]
    servos = [EmulatedServo(one, model, {"return_delay": 0}) for one in IDS]
    with EmulatedWire(EmulatedChain(servos, time.monotonic), wire.detach(), BAUD_RATE):
        connection.send("ready")
        connection.recv()


def _play(wires: dict[str, socket.socket], ticks: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the times of ticks in s and whether they were sound, both (2, ticks): ours, then theirs."""
    serial.Serial, SocketSerial.wires = SocketSerial, wires
    sides: tuple[Side, Side] = Ours(NAMES[0]), Theirs(NAMES[1])
    realtime.prepare(PRIORITY, None, lock_memory=True)
    times_s, sound = np.zeros((2, ticks)), np.zeros((2, ticks), bool)
    due_s = time.monotonic() + PERIOD_S
    for slot in range(2 * ticks):
        tick, second = divmod(slot, 2)
        which = (tick + second) % 2
        time.sleep(max(0.0, due_s - time.monotonic()))
        sides[which].prepare(0.5 * math.sin(tick * PERIOD_S))
        begun_s = time.monotonic()
        sides[which].tick(tick % STATUS_EVERY)
        ended_s = time.monotonic()
        sound[which, tick] = sides[which].was_sound()
        times_s[which, tick] = ended_s - begun_s
        due_s += PERIOD_S * math.ceil(
            (ended_s - due_s) / PERIOD_S
        )  # who is late does not make the other late
    for side in sides:
        side.close()
    return times_s, sound
