"""Sixty robots in six daemons on a cluster of three brokers: how far apart their first rows are.

Each start is one of `motiond fleet play`: prepared, committed, agreed on. Traces of the simulated actuators
tell when each robot left its first row. Beside them runs cyclictest at the robots' rate.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.fleet.conversation import conversing
from motiond.daemon.fleet.coordinator import GroupPlay, GroupStart
from tests.bench import cyclictest
from tests.daemon.fleet.machines import GROUP, MOTION, RATE_HZ, machines, until_online
from tests.daemon.fleet.nats import Cluster

if TYPE_CHECKING:
    from motiond.daemon.config.mqtt import MqttSettings
    from motiond.drivers.base import Floats
    from tests.daemon.fleet.machines import Machine

MACHINES, ROBOTS = 6, 10
SECONDS = 120
START_S = 12.0
"""What a start takes: to prepare and agree, the approach, the motion, and the results."""
AHEAD_S = 9.0
"""How far ahead it is appointed: three brokers write each report of sixty robots to two of their disks."""
GOAL = 3.0


def main(seconds: float = SECONDS) -> None:
    """Print how far apart first rows were, and how late."""
    if not cyclictest.is_there():
        return
    first_s, due_s, theirs = asyncio.run(_measure(max(2, round(seconds / START_S))))
    apart_us = 1e6 * (first_s.max(axis=0) - first_s.min(axis=0))
    pairs_us = 1e6 * np.abs(first_s - np.median(first_s, axis=0)).ravel()
    late_us = 1e6 * (first_s - due_s).ravel()
    print(
        f"{len(due_s)} starts of {len(first_s)} robots in {MACHINES} daemons, three brokers, {RATE_HZ} Hz; µs"
    )
    print(f"{'':32}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, values in (
        ("first to last of all robots", apart_us),
        ("each robot from the median", pairs_us),
        ("each robot after start_at", late_us),
    ):
        p50, p99, most = np.quantile(values, (0.5, 0.99, 1.0))
        print(f"{name:32}{p50:8.0f}{p99:8.0f}{most:8.0f}")
    row = theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us
    print(f"{'cyclictest late':32}{row[0]:8.0f}{row[1]:8.0f}{row[2]:8.0f}")
    ratio = np.quantile(apart_us, 0.99) / max(1.0, row[1])
    print(f"p99 from first to last beside cyclictest's p99: {ratio:.2f} (goal: at most {GOAL:g})")


async def _measure(starts: int) -> tuple[Floats, Floats, cyclictest.Latencies]:
    """Return when robots left first rows (robots, starts) and when these were due, both in monotonic s."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = Cluster(folder)
        try:
            await asyncio.to_thread(cluster.start)
            urls = [node.settings.url for node in cluster.nodes]
            with machines(folder, MACHINES, ROBOTS, urls) as made:
                robots = [robot for machine in made for robot in machine.robots]
                await until_online(cluster.settings(), robots)
                yardstick = asyncio.create_task(cyclictest.measure(starts * START_S, RATE_HZ))
                due_s = [await _start(cluster.settings(), robots) for _ in range(starts)]
                theirs = await yardstick
                first_s = _first_rows(made)
        finally:
            cluster.kill()
    if {len(times) for times in first_s} != {starts}:
        raise RuntimeError(f"fleet: {starts} starts, and first rows {[len(times) for times in first_s]}")
    return np.array(first_s), np.array(due_s), theirs


async def _start(settings: MqttSettings, robots: list[str]) -> float:
    """Start all, wait until they have ended, and return when the first row was due, in monotonic s."""
    async with conversing(settings) as conversation:
        start = GroupStart(conversation, GroupPlay(GROUP, MOTION, start_at=time.time() + AHEAD_S))
        async with start.leases:
            await start.begin()
            assert start.start_at is not None
            due_s = start.start_at - time.time() + time.monotonic()
            while not await start.watch.next():
                pass
    codes = {end.robot: end.code for end in start.watch.ends()}
    if codes != dict.fromkeys(robots, "SUCCESSFUL"):
        raise RuntimeError(f"fleet: a start ended with {codes}")
    return due_s


def _first_rows(made: list[Machine]) -> list[Floats]:
    return [machine.first_rows(robot) for machine in made for robot in machine.robots]
