"""Starts a group while plugs are pulled: `python -m tests.soak.fleet [--starts N] [--seed N]`.

Robots of several daemons meet at three brokers. In most starts something goes wrong at a random moment: a
robot refuses, a daemon, the coordinator or a broker is killed. What the actuators received then tells whether
all robots that could play have played their first row, at one time, or none; each goal has one result.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import numpy as np
import orjson

from motiond.daemon.api.errors import RequestError
from motiond.daemon.client.session import NoAnswer, ask
from motiond.daemon.fleet.conversation import conversing
from motiond.daemon.fleet.coordinator import GroupPlay, GroupStart
from motiond.daemon.mqtt.connection import make_client
from tests.daemon.fleet.machines import GROUP, MOTION, machines, until_online
from tests.daemon.fleet.nats import Cluster
from tests.daemon.launched import MOTIOND
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.fleet.machines import Machine

STARTS, MACHINES, ROBOTS = 1000, 3, 3
MISHAPS = {"none": 4, "refusal": 3, "daemon": 4, "coordinator": 3, "broker": 3}
"""How often each is chosen."""
LATEST_S = 4.0
"""Into a start: by then its robots play, or have been let go."""
TOGETHER_S = 0.1
RESULT_S = 5.0
PROGRESS = 25


class Site:
    """Three brokers, daemons, and all results that were heard.

    Attributes
    ----------
    results : Counter of (robot, start)
        How many goals of each start have ended; copies of one report are counted once.
    """

    def __init__(self, cluster: Cluster, made: list[Machine]) -> None:
        self.cluster = cluster
        self.machines = made
        self.robots = [robot for machine in made for robot in machine.robots]
        self.results: Counter[tuple[str, str]] = Counter()
        self._heard: set[tuple[str, str, int]] = set()

    @property
    def settings(self) -> MqttSettings:
        """The broker that is never killed, at which the judge is."""
        return self.cluster.settings(3)

    async def hear_results(self) -> None:
        """Count results, for ever."""
        while True:
            with suppress(aiomqtt.MqttError):
                async with make_client(self.settings) as client:
                    await client.subscribe("motiond/+/result", qos=0)
                    async for message in client.messages:
                        self._count(message.topic.value.split("/")[1], orjson.loads(message.payload))
            await asyncio.sleep(0.1)

    def _count(self, robot: str, result: dict[str, Any]) -> None:
        report = robot, result["goal_id"], result["sequence"]
        if "start" in result["details"] and report not in self._heard:
            self._heard.add(report)
            self.results[robot, result["details"]["start"]] += 1

    async def until_at_rest(self) -> None:
        """Have everything run again, and wait until all robots are idle and reserved for nothing."""
        for node in self.cluster.nodes:
            node.start_again()
        for machine in self.machines:
            machine.start()
        await until_online(self.settings, self.robots)
        deadline_s = time.monotonic() + PATIENCE_S
        while busy := await self._busy():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"not at rest in {PATIENCE_S:g} s: {busy}")

    async def _busy(self) -> dict[str, Any]:
        """Return the robots that are not idle, or reserved."""
        async with conversing(self.settings) as conversation:
            await conversation.look_around("state", "reservation")
            known = conversation.roster.robots
        return {
            robot: reports
            for robot, reports in ((robot, known[robot].last or {}) for robot in self.robots)
            if reports.get("state", {}).get("state") != "idle"
            or reports.get("reservation", {}).get("phase") not in {None, "released"}
        }

    def first_rows(self, since_s: float) -> dict[str, list[float]]:
        """Return when each robot left a first row since a time."""
        return {
            robot: [float(one) for one in machine.first_rows(robot) if one >= since_s]
            for machine in self.machines
            for robot in machine.robots
        }


async def start_of(site: Site, mishap: str, chance: random.Random) -> list[str]:
    """Start the group once, let something go wrong, and return what was found."""
    begun_s, moment_s = time.monotonic(), chance.uniform(0.0, LATEST_S)
    lost: tuple[str, ...] = ()
    if mishap == "coordinator":
        await _killed_coordinator(site, moment_s)
    elif mishap == "refusal":
        robot = chance.choice(site.robots)
        await ask(site.settings, robot, "play", {"motion": MOTION, "loop": "forever", "seam": "approach"})
        begun_s = time.monotonic()
        found = [] if await _begin(site) is None else [f"{robot} was busy, and others began"]
        await ask(site.settings, robot, "stop")
        others = {one: at for one, at in site.first_rows(begun_s).items() if one != robot}
        await site.until_at_rest()
        return found + [f"{one} has played though {robot} refused" for one, at in others.items() if at]
    else:
        starting = asyncio.create_task(_begin(site))
        if mishap != "none":
            await asyncio.sleep(moment_s)
            lost = await _pull(site, mishap, chance)
        await starting
    await site.until_at_rest()
    await asyncio.sleep(RESULT_S / 10)
    return await _judged(site, begun_s, lost, must_play=mishap == "none")


async def _pull(site: Site, mishap: str, chance: random.Random) -> tuple[str, ...]:
    """Kill a daemon, or a broker; return the robots that are lost with it."""
    if mishap == "broker":
        await asyncio.to_thread(chance.choice(site.cluster.nodes[:2]).kill)
        return ()
    machine = chance.choice(site.machines)
    await asyncio.to_thread(machine.kill)
    return machine.robots


async def _begin(site: Site) -> float | None:
    """Start all, and follow them to the end; return the appointed time, None where nobody was to play."""
    try:
        async with conversing(site.settings) as conversation:
            start = GroupStart(conversation, GroupPlay(GROUP, MOTION))
            async with start.leases:
                await start.begin()
                while not await start.watch.next():
                    pass
            return start.start_at
    except (RequestError, NoAnswer):
        return None


async def _killed_coordinator(site: Site, after_s: float) -> None:
    """Let the command line start the group, and kill it."""
    url = site.settings.url
    command = [str(MOTIOND), "fleet", "play", GROUP, MOTION, "--broker", url]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5 + after_s):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


async def _judged(site: Site, since_s: float, lost: tuple[str, ...], *, must_play: bool) -> list[str]:
    """Hold what the robots did against all or none, one time, and one result for each."""
    rows = site.first_rows(since_s)
    played = {robot for robot, at in rows.items() if at}
    able = set(site.robots) - set(lost)
    found = [f"{robot} played {len(at)} first rows" for robot, at in rows.items() if len(at) > 1]
    if played & able not in (set(), able):
        found.append(f"{len(played & able)} of {len(able)} robots played: {sorted(played & able)}")
    if played - able and not played & able:
        found.append(f"{sorted(played - able)} played, and nobody else")
    if must_play and not played:
        found.append("nobody played, though nothing went wrong")
    times = [at for robot in played for at in rows[robot]]
    if times and np.ptp(times) > TOGETHER_S:
        found.append(f"first rows are {np.ptp(times):.3f} s apart")
    twice = [f"{robot} has {count} results" for (robot, _), count in site.results.items() if count > 1]
    with_result = {robot for robot, _ in site.results}
    missing = [f"{robot} played and has no result" for robot in sorted(played & able - with_result)]
    site.results.clear()
    return [*found, *twice, *missing]


@asynccontextmanager
async def running() -> AsyncIterator[Site]:
    """Run brokers, daemons and the judge."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = Cluster(folder)
        stack.callback(cluster.kill)
        await asyncio.to_thread(cluster.start)
        urls = [node.settings.url for node in cluster.nodes]
        site = Site(cluster, stack.enter_context(machines(folder, MACHINES, ROBOTS, urls)))
        hearing = asyncio.create_task(site.hear_results())
        stack.callback(hearing.cancel)
        await site.until_at_rest()
        yield site


async def pull(starts: int, seed: int) -> int:
    """Start so often; return in how many starts something was found."""
    chance, failed, played = random.Random(seed), 0, Counter[str]()
    async with running() as site:
        for number in range(starts):
            mishap = chance.choices([*MISHAPS], [*MISHAPS.values()])[0]
            try:
                found = await start_of(site, mishap, chance)
            except (TimeoutError, RequestError, NoAnswer) as error:
                found = [str(error)]
            played[mishap] += 1
            if found:
                failed += 1
                print(f"start {number}, {mishap}: {'; '.join(found)}", flush=True)
            if number % PROGRESS == PROGRESS - 1:
                print(f"{number + 1} starts, {failed} with findings; {dict(played)}", flush=True)
    return failed


def main() -> int:
    """Start as often as is asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.fleet", description="Pull plugs of a group.")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    failed = asyncio.run(pull(asked.starts, asked.seed))
    print(f"{asked.starts} starts, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
