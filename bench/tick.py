"""What a tick costs the stream process without its sleep, for 6, 30 and 120 joints, and where the time goes.

The loop is the daemon's own on a virtual clock. Beside the simulated actuators stands a driver that does next
to nothing, and beside both what numpy takes to copy one row of a motion.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.null_driver import NAME, NullDriver
from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.stream.engine.loop import StreamLoop
from motiond.daemon.stream.timing import realtime
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.daemon.trajectory import Passes, Track, Transmission, share
from motiond.drivers.registry import make_driver
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from motiond.drivers.base import Driver, Floats

TICKS = 10_000
SETTLED = 500  # ticks before it is measured: the start of the motion
RATE_HZ = 1000.0
JOINTS = (6, 30, 120)
SPEEDS = (1.0, 0.7)  # on the rows, and between them
PARTS = ("player", "write", "read")


def main() -> None:
    """Print what a tick costs, and where the time goes."""
    print(f"a tick of the stream process in µs; {TICKS} ticks on virtual time at {RATE_HZ:g} Hz")
    print(f"{'joints':>6} {'driver':8}{'speed':>6}{'p50':>8}{'p99':>8}   p50 of: ", end="")
    print("".join(f"{part:>8}" for part in (*PARTS, "rest")))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for joints in JOINTS:
            for driver in (NAME, "sim"):
                for speed in SPEEDS:
                    whole_us, parts_us = pool.apply(measure, (joints, driver, speed))
                    p50, p99 = np.quantile(whole_us, [0.5, 0.99])
                    row = f"{joints:6} {driver:8}{speed:6g}{p50:8.1f}{p99:8.1f}" + " " * 11
                    print(row + "".join(f"{part:8.1f}" for part in np.median(parts_us, axis=0)))
            print(f"{joints:6} {'numpy copies a row':22}{pool.apply(copy_us, (joints,)):8.1f}")


def measure(joints: int, driver: str, speed: float) -> tuple[Floats, Floats]:
    """Return what each tick costs in µs (ticks,), and its parts in another run (ticks, 4)."""
    realtime.prepare(None, None, lock_memory=True)
    with playing(joints, driver, speed) as loop:
        whole_us = np.array([time_us(loop.step) for _ in range(TICKS)])
    with playing(joints, driver, speed) as loop:
        spent = np.zeros(len(PARTS))
        parts_us = np.empty((TICKS, len(PARTS) + 1))
        for part, (owner, name) in enumerate(((loop.player, "tick"), (loop, "_write"), (loop, "_read"))):
            setattr(owner, name, _timed(getattr(owner, name), spent, part))
        for row in parts_us:
            all_us = time_us(loop.step)
            row[:-1], row[-1] = spent, all_us - spent.sum()
    return whole_us, parts_us


def time_us(call: Callable[[], object]) -> float:
    begun_ns = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - begun_ns) / 1000


def _timed(call: Callable[..., Any], spent_us: Floats, part: int) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begun_ns = time.perf_counter_ns()
        result = call(*arguments)
        spent_us[part] = (time.perf_counter_ns() - begun_ns) / 1000
        return result

    return timed


def copy_us(joints: int) -> float:
    """Return the median time of copying positions and velocities of a row, in µs, timed as ticks are."""
    rows, reference = np.zeros((2, TICKS, joints)), np.zeros((2, joints))

    def copy(index: int) -> None:
        reference[0][:] = rows[0][index]
        reference[1][:] = rows[1][index]

    return float(np.median([time_us(partial(copy, index)) for index in range(TICKS)]))


@contextmanager
def playing(
    joints: int, name: str, speed: float, options: Mapping[str, Any] | None = None, names: Sequence[str] = ()
) -> Iterator[StreamLoop]:
    """Return a loop in the middle of a motion that lasts for all ticks; the rest as of `holding`."""
    with holding(joints, name, options, names) as (loop, channel):
        _play(channel, loop.player.position.tolist(), speed)
        for _ in range(SETTLED):
            loop.step()
        yield loop
        if loop.player.state != "playing":
            raise RuntimeError(f"tick: the robot is {loop.player.state}, so no tick of a motion was measured")


@contextmanager
def holding(
    joints: int,
    name: str,
    options: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    collision: messages.CollisionSetup | None = None,
) -> Iterator[tuple[StreamLoop, Channel]]:
    """Return a loop on virtual time whose robot holds, and the daemon's end of its channel.

    `options`: of the driver called `name`. `names`: of joints and actuators. `collision`: what is looked at
    while it follows targets.
    """
    names = [*names] or [f"joint{number}" for number in range(joints)]
    clock = VirtualClock()
    driver: Driver = (
        make_driver(name, options or {}, names, clock.now) if name != NAME else _null(names, clock)
    )
    driver.open()
    channel, theirs = Channel.pair()
    fd = ring.create(joints)
    writer, reader = ring.RingWriter(fd, joints), ring.RingReader(fd, joints)
    os.close(fd)
    setup = replace(_setup(names, name), collision=collision)
    loop = StreamLoop(setup, driver, clock, Channel(theirs), writer)
    try:
        channel.send(messages.Enable())
        loop.step()
        yield loop, channel
    finally:
        driver.close()
        channel.close()
        theirs.close()
        reader.close()
        writer.close()


def _null(names: list[str], clock: VirtualClock) -> NullDriver:
    return NullDriver(names, NullDriver.Options(), clock.now)


def _setup(names: list[str], driver: str) -> messages.Setup:
    count = len(names)
    order, ones, zeros = np.arange(count), np.ones(count), np.zeros(count)
    return messages.Setup(
        robot="robot",
        driver=driver,
        options={},
        joints=names,
        units=["rad"] * count,
        actuators=names,
        transmission=Transmission(order, ones, zeros, order, ones, zeros, ones).as_lists(),
        idle_rate_hz=RATE_HZ,
        max_lateness_s=0.1,
        max_skip_s=0.02,
        ways=messages.WayBounds(
            velocity=[1.0] * count,
            acceleration=[1.0] * count,
            jerk=[1.0] * count,
            clock_acceleration=4.0,
            start_tolerance=[0.002] * count,
            lower=[None] * count,
            upper=[None] * count,
            velocity_limit=[None] * count,
            acceleration_limit=[None] * count,
            leaders=list(range(count)),
            multipliers=[1.0] * count,
            turn=[0.0] * count,
        ),
        limits=messages.CheckLimits([None] * count, None, None, 0.25, 0.5, [0.05] * count, [False] * count),
        priority=None,
        core=None,
        lock_memory=False,
    )


def _play(channel: Channel, start: list[float], speed: float) -> None:
    joints = len(start)
    rows = sweep((TICKS + 2 * SETTLED) / RATE_HZ, RATE_HZ, joints) - 0.1
    driven = np.ones(joints, dtype=bool)
    motion = Track(rows, np.gradient(rows, 1 / RATE_HZ, axis=0), driven, RATE_HZ, 2.0)
    nowhere = Track(np.empty((0, joints)), np.empty((0, joints)), driven, RATE_HZ, 2.0)
    fds = share(nowhere), share(motion), share(nowhere)
    play = messages.Play(
        goal_id="goal",
        motion="motion",
        speed=speed,
        start=start,
        clock_acceleration=2.0,
        path_tolerance=[messages.OFF] * joints,
        goal_tolerance=[0.1] * joints,
        goal_time_s=1.0,
        passes=Passes(0, len(rows) - 1),
    )
    channel.send(play, fds)
    for fd in fds:
        os.close(fd)
