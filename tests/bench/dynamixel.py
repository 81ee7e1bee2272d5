"""Twelve emulated servos at 4 Mbaud and 200 Hz: misses and times of write and read, beside wire and SDK.

The emulator is a process of its own and answers as late as the wire would. Servos are never kept from
answering by a busy computer, and so it runs at SCHED_FIFO above the driver.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from dynamixel_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler, PortHandler

from motiond.daemon.stream import realtime
from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverError
from motiond.drivers.dynamixel.capacity import feedback_exchange
from motiond.drivers.dynamixel.chain import SHORT
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.pty import EmulatedPort
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

SECONDS = 60
RATE_HZ = 200
BAUD_RATE = 4_000_000
IDS = range(1, 13)
PRIORITY = 50
PATIENCE_S = 60.0
SDK_ROUNDS = 500
GOAL, PRESENT = 116, 126


def main() -> None:
    """Print misses and times."""
    with _emulator() as port, multiprocessing.get_context("spawn").Pool(1) as pool:
        times_s, misses = pool.apply(_play, (port, SECONDS))
        theirs_s = pool.apply(_play_by_sdk, (port,))
    wire = feedback_exchange(len(IDS), 4, SHORT, 0.0, fast=True)
    print(f"{len(IDS)} servos, {BAUD_RATE} baud, {RATE_HZ} Hz for {SECONDS} s; times in µs")
    print(f"{'':26}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, row in (("write", times_s[:, 0]), ("read", times_s[:, 1]), ("both", times_s.sum(axis=1))):
        _print_row(name, row)
    _print_row("dynamixel-sdk, both", theirs_s)
    print(f"{'wire alone':26}{wire.bytes * 10 / BAUD_RATE * 1e6:8.0f}   ({wire.bytes} bytes)")
    print(f"misses: {misses} of {len(times_s)} ticks (goal 0)")


def _print_row(name: str, times_s: NDArray[np.float64]) -> None:
    p50, p99, longest = np.nanquantile(times_s, [0.5, 0.99, 1.0]) * 1e6
    failed = np.count_nonzero(np.isnan(times_s))
    print(f"{name:26}{p50:8.0f}{p99:8.0f}{longest:8.0f}" + (f"   {failed} failed" if failed else ""))


@contextmanager
def _emulator() -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_emulate, args=(theirs,))
    process.start()
    try:
        if not ours.poll(PATIENCE_S):
            raise RuntimeError(f"the emulator gave no port in {PATIENCE_S:g} s")
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(PATIENCE_S)
        process.kill()


def _emulate(connection: Connection) -> None:
    realtime.prepare(PRIORITY + 10, None, lock_memory=True)
    model = models_by_name()["XM430-W350"]
    servos = [EmulatedServo(one, model, {"return_delay": 0}) for one in IDS]
    with EmulatedPort(EmulatedChain(servos, time.monotonic), BAUD_RATE) as port:
        connection.send(port.path)
        connection.recv()


def _play(port: str, seconds: float) -> tuple[NDArray[np.float64], int]:
    """Play a sweep; return the times of write and read in s (ticks, 2), and how many ticks missed any."""
    ids = {f"joint{one}": one for one in IDS}
    options = {"ports": [{"port": port, "baud_rate": BAUD_RATE, "ids": ids}]}
    driver = DynamixelDriver(tuple(ids), DynamixelOptions.model_validate(options))
    driver.open()
    driver.set_period(1 / RATE_HZ)
    driver.enable()
    realtime.prepare(PRIORITY, None, lock_memory=True)
    times_s, misses = _tick_on(driver, round(seconds * RATE_HZ))
    driver.disable()
    driver.close()
    return times_s, misses


def _tick_on(driver: DynamixelDriver, ticks: int) -> tuple[NDArray[np.float64], int]:
    times_s, misses = np.zeros((ticks, 2)), 0
    state, command = ActuatorState(len(IDS)), ActuatorCommand(len(IDS))
    origin_s = time.monotonic()
    for tick in range(ticks):
        time.sleep(max(0.0, origin_s + tick / RATE_HZ - time.monotonic()))
        command.position.fill(0.5 * np.sin(tick / RATE_HZ))
        begun_s = time.monotonic()
        try:
            driver.write(command)
            written_s = time.monotonic()
            driver.read(state)
        except DriverError as error:
            print(error)
            return times_s[:tick], misses + ticks - tick
        read_s = time.monotonic()
        times_s[tick] = written_s - begun_s, read_s - written_s
        is_late = read_s > origin_s + (tick + 1) / RATE_HZ
        misses += is_late or bool(state.stamp_s.min() < begun_s)
    return times_s, misses


def _play_by_sdk(port: str) -> NDArray[np.float64]:
    """Do the same with the vendor's SDK; return the time of each round in s (rounds,); NaN if it failed."""
    wire, handler = PortHandler(port), PacketHandler(2.0)
    wire.setBaudRate(BAUD_RATE)
    writing, reading = GroupSyncWrite(wire, handler, GOAL, 4), GroupSyncRead(wire, handler, PRESENT, SHORT)
    for one in IDS:
        writing.addParam(one, [0, 8, 0, 0])
        reading.addParam(one)
    times_s = np.zeros(SDK_ROUNDS)
    for number in range(SDK_ROUNDS):
        begun_s = time.monotonic()
        sound = writing.txPacket() == COMM_SUCCESS and reading.fastSyncRead() == COMM_SUCCESS
        times_s[number] = time.monotonic() - begun_s if sound else np.nan
        time.sleep(1 / RATE_HZ)
    wire.closePort()
    return times_s
