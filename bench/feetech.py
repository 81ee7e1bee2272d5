"""Six emulated STS3215 at 1 Mbaud and 100 Hz: the driver and the vendor's SDK in turn, tick by tick.

Both ask the same in their ticks: goals, and positions, velocities, voltages, temperatures and currents; in
each tenth also the torque of one servo. The SDK is no dependency, and stands in an environment of its own.
"""

from __future__ import annotations

import math
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.serial_bus import STATUS_EVERY, Contest, Ours, print_wire, run
from motiond.drivers.feetech.capacity import FEEDBACK_BYTES, GOAL_BYTES
from motiond.drivers.feetech.driver import FeetechDriver
from motiond.drivers.feetech.emulator import EmulatedChain, EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from motiond.drivers.feetech.protocol import PROTOCOL
from motiond.drivers.serial_bus.capacity import feedback_exchange

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 60.0
BAUD_RATE = 1_000_000
IDS = range(1, 7)
TORQUE, GOAL, PRESENT = 40, 42, 56
REPORTED = ((56, 2), (58, 2), (62, 1), (63, 1), (69, 2))
"""Addresses and lengths of positions, velocities, voltages, temperatures and currents."""
CENTRE_TICKS, TURN_TICKS = 2048, 4096
LITTLE_ENDIAN = 0
SDK = "feetech-servo-sdk==1.0.0"
ENVIRONMENT = Path(__file__).parents[1] / "build" / "feetech-sdk"


def import_sdk() -> Any:
    """Import the vendor's SDK from its own environment, which is made where it is not there."""
    if not (ENVIRONMENT / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", ENVIRONMENT], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(ENVIRONMENT / "bin" / "python")]
        subprocess.run([*pip, "install", "--quiet", SDK], check=True)
        (ENVIRONMENT / "ready").touch()
    places = {"base": str(ENVIRONMENT), "platbase": str(ENVIRONMENT)}
    sys.path.append(sysconfig.get_path("purelib", "venv", vars=places))
    import scservo_sdk  # noqa: PLC0415 - where it is found is known only now

    return scservo_sdk


class Theirs:
    """The vendor's SDK."""

    def __init__(self, port: str) -> None:
        sdk = import_sdk()
        self._sound = sdk.COMM_SUCCESS
        self._wire, self._handler = sdk.PortHandler(port), sdk.PacketHandler(LITTLE_ENDIAN)
        self._wire.setBaudRate(BAUD_RATE)
        self._goals = sdk.GroupSyncWrite(self._wire, self._handler, GOAL, GOAL_BYTES)
        self._answers = sdk.GroupSyncRead(self._wire, self._handler, PRESENT, FEEDBACK_BYTES)
        for one in IDS:
            self._handler.write1ByteTxRx(self._wire, one, TORQUE, 1)
            self._goals.addParam(one, list(CENTRE_TICKS.to_bytes(GOAL_BYTES, "little")))
            self._answers.addParam(one)
        self._goals_rad = [0.0] * len(IDS)
        self._next, self._is_sound = 0, False
        self.numbers = [[0] * len(REPORTED) for _ in IDS]

    def prepare(self, goal_rad: float) -> None:
        self._goals_rad = [goal_rad] * len(IDS)

    def tick(self, turn: int) -> None:
        for one, goal_rad in zip(IDS, self._goals_rad, strict=True):
            goal = round(CENTRE_TICKS + goal_rad / (2 * math.pi) * TURN_TICKS)
            self._goals.changeParam(one, list(goal.to_bytes(GOAL_BYTES, "little")))
        self._goals.is_param_changed = True  # its `changeParam` does not say so
        sound = self._goals.txPacket() == self._sound
        sound &= self._answers.txRxPacket() == self._sound
        if turn == STATUS_EVERY // 2:
            self._next = (self._next + 1) % len(IDS)
            holds, result, _ = self._handler.read1ByteTxRx(self._wire, IDS[self._next], TORQUE)
            sound &= result == self._sound and holds == 1
        self._is_sound = sound

    def read(self) -> None:
        get = self._answers.getData
        for one, numbers in zip(IDS, self.numbers, strict=True):
            numbers[:] = [get(one, address, length) for address, length in REPORTED]

    def was_sound(self) -> bool:
        return self._is_sound

    def close(self) -> None:
        self._wire.closePort()


def make_bus(now: Callable[[], float]) -> EmulatedChain:
    """Make the servos."""
    model = models_by_name()["STS3215"]
    return EmulatedChain([EmulatedServo(one, model, {"return_delay": 0}) for one in IDS], now)


def make_ours(port: str) -> Ours:
    """Make the driver's side."""
    return Ours(FeetechDriver, port, CONTEST)


CONTEST = Contest(("motiond", "feetech-servo-sdk"), IDS, BAUD_RATE, 100, make_bus, (make_ours, Theirs))


def main(seconds: float = SECONDS) -> None:
    """Print the times of a tick and the misses of both, and the ratio of the two in the median of rounds."""
    import_sdk()
    run(CONTEST, seconds)
    wire = feedback_exchange(PROTOCOL, len(IDS), GOAL_BYTES, FEEDBACK_BYTES, 0.0)
    print_wire(wire.bytes, BAUD_RATE)
