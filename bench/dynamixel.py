"""Twelve emulated servos at 4 Mbaud and 200 Hz: the driver and the vendor's SDK in turn, tick by tick.

Both ask the same in their ticks: goals and positions, in each tenth also voltages and temperatures, in each
tenth also the torque of one servo.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dynamixel_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler, PortHandler

from bench.serial_bus import STATUS_EVERY, Contest, Ours, print_wire, run
from motiond.drivers.dynamixel.capacity import feedback_exchange
from motiond.drivers.dynamixel.chain import FULL, SHORT
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator import EmulatedChain, EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 60.0
BAUD_RATE = 4_000_000
IDS = range(1, 13)
TORQUE, GOAL, PRESENT = 64, 116, 126
REPORTED: dict[int, tuple[tuple[int, int], ...]] = {SHORT: ((126, 2), (128, 4), (132, 4))}
REPORTED[FULL] = (*REPORTED[SHORT], (144, 2), (146, 1))
"""Addresses and lengths of currents, velocities and positions; in full, of voltages and temperatures too."""
CENTRE_TICKS, TURN_TICKS = 2048, 4096


class Theirs:
    """The vendor's SDK."""

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
        self._next, self._is_sound, self._asked = 0, False, SHORT
        self.numbers: list[list[int]] = [[] for _ in IDS]

    def prepare(self, goal_rad: float) -> None:
        self._goals_rad = [goal_rad] * len(IDS)

    def tick(self, turn: int) -> None:
        for one, goal_rad in zip(IDS, self._goals_rad, strict=True):
            goal = list(round(CENTRE_TICKS + goal_rad / (2 * math.pi) * TURN_TICKS).to_bytes(4, "little"))
            self._goals.changeParam(one, goal)
        sound = self._goals.txPacket() == COMM_SUCCESS
        self._asked = FULL if turn == 0 else SHORT
        try:
            sound &= self._answers[self._asked].fastSyncRead() == COMM_SUCCESS
        except IndexError:  # how it says that a late answer to a shorter question came
            sound = False
        if turn == STATUS_EVERY // 2:
            self._next = (self._next + 1) % len(IDS)
            holds, result, _ = self._handler.read1ByteTxRx(self._wire, IDS[self._next], TORQUE)
            sound &= result == COMM_SUCCESS and holds == 1
        self._is_sound = bool(sound)

    def read(self) -> None:
        get, reported = self._answers[self._asked].getData, REPORTED[self._asked]
        for one, numbers in zip(IDS, self.numbers, strict=True):
            numbers[:] = [get(one, address, length) for address, length in reported]

    def was_sound(self) -> bool:
        return self._is_sound

    def close(self) -> None:
        self._wire.closePort()


def make_bus(now: Callable[[], float]) -> EmulatedChain:
    """Make the servos."""
    model = models_by_name()["XM430-W350"]
    return EmulatedChain([EmulatedServo(one, model, {"return_delay": 0}) for one in IDS], now)


def make_ours(port: str) -> Ours:
    """Make the driver's side."""
    return Ours(DynamixelDriver, port, CONTEST)


CONTEST = Contest(("motiond", "dynamixel-sdk"), IDS, BAUD_RATE, 200, make_bus, (make_ours, Theirs))


def main(seconds: float = SECONDS) -> None:
    """Print the times of a tick and the misses of both, and the ratio of the two in the median of rounds."""
    run(CONTEST, seconds)
    print_wire(feedback_exchange(len(IDS), 4, SHORT, 0.0, fast=True).bytes, BAUD_RATE)
