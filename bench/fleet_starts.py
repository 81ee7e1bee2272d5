"""Sixty robots in six daemons on a cluster of three brokers: how far apart their first rows are.

Each start is one of `motiond fleet play --in 9`: reserved and committed; or cancelled where the machine
was too busy. Traces of the simulated actuators tell when each robot left its first row. Beside them
runs cyclictest at the robots' rate.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench import cyclictest
from bench.machines import GROUP, MOTION, RATE_HZ, machines, until_online
from motiond.client import NoAnswer
from motiond.daemon.api import RequestError
from motiond.daemon.fleet.coordinator import Coordinator, GroupPlay, coordinating
from tests.system.fleet.nats import Cluster

if TYPE_CHECKING:
    from bench.machines import Machine
    from motiond.daemon.config.mqtt import MqttSettings
    from motiond.drivers.base import Floats

MACHINES, ROBOTS = 6, 10
SECONDS = 120
START_S = 16.0
"""What a start takes: to reserve and commit, the approach, the motion, the results, and what follows."""
AHEAD_S = 9.0
"""How far ahead it is appointed: on a busy machine the margin that answers suggest may be too short."""
TRIES = 2
"""How many starts are tried for each that is wanted."""
SETTLE_S = 5.0
"""From one start to the next, so that brokers can write what was told of the one before."""
GOAL = 3.0


@dataclass(frozen=True, slots=True)
class Start:
    """What became of a start.

    Attributes
    ----------
    due_s : float
        When the first row was due, in monotonic s.
    why : str
        Why all let it go; empty where it was played.
    """

    due_s: float = nan
    reason: str = ""


def main(seconds: float = SECONDS) -> None:
    """Print how far apart first rows were, and how late."""
    if not cyclictest.is_there():
        return
    starts, first_s, theirs = asyncio.run(_measure(max(2, round(seconds / START_S))))
    let_go = [one.reason for one in starts if one.reason]
    due_s = np.array([one.due_s for one in starts if not one.reason])
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
    print(f"starts that were cancelled, so that no robot played: {len(let_go)} of {len(starts)}")
    for reason in dict.fromkeys(let_go):
        print(f"  {reason}")
    ratio = np.quantile(apart_us, 0.99) / max(1.0, row[1])
    print(f"p99 from first to last beside cyclictest's p99: {ratio:.2f} (goal: at most {GOAL:g})")


async def _measure(wanted: int) -> tuple[list[Start], Floats, cyclictest.Latencies]:
    """Return starts, and when robots left first rows in those that were played, shape (robots, starts)."""
    starts: list[Start] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = Cluster(folder)
        try:
            await asyncio.to_thread(cluster.start)
            urls = [node.settings.url for node in cluster.nodes]
            with machines(folder, MACHINES, ROBOTS, urls) as made:
                robots = [robot for machine in made for robot in machine.robots]
                await until_online(cluster.settings(), robots)
                yardstick = asyncio.create_task(cyclictest.measure(wanted * START_S, RATE_HZ))
                while sum(not one.reason for one in starts) < wanted and len(starts) < TRIES * wanted:
                    starts.append(await _start(cluster.settings(), robots))
                    await asyncio.sleep(SETTLE_S)
                theirs = await yardstick
                first_s = _first_rows(made)
        finally:
            cluster.kill()
    played = sum(not one.reason for one in starts)
    if not played:
        raise RuntimeError(f"fleet: all of {len(starts)} starts were let go; {starts[-1].reason}")
    if {len(times) for times in first_s} != {played}:
        raise RuntimeError(f"fleet: {played} starts, and first rows {[len(times) for times in first_s]}")
    return starts, np.array(first_s), theirs


async def _start(settings: MqttSettings, robots: list[str]) -> Start:
    """Start all, and wait until they have ended."""
    start = None
    try:
        async with coordinating(settings, GroupPlay(GROUP, MOTION, start_in=AHEAD_S)) as start:
            return await _play(start, robots)
    except RequestError as error:
        return Start(reason=str(error).splitlines()[-1])
    except NoAnswer as error:
        if start is not None and start.is_committed:
            raise  # robots may play
        return Start(reason=str(error))


async def _play(start: Coordinator, robots: list[str]) -> Start:
    await start.begin()
    assert start.start_at is not None
    due_s = start.start_at - time.time() + time.monotonic()
    while not await start.outcomes.next():
        pass
    ends = start.outcomes.ends()
    if not any(end.code == "SUCCESSFUL" for end in ends):
        return Start(reason=ends[0].message)
    codes = {end.robot: end.code for end in ends}
    if codes != dict.fromkeys(robots, "SUCCESSFUL"):
        raise RuntimeError(f"fleet: a start ended with {codes}")
    return Start(due_s)


def _first_rows(made: list[Machine]) -> list[Floats]:
    return [machine.first_rows(robot) for machine in made for robot in machine.robots]
