"""Starts a group while plugs are pulled: `python -m soak.fleet [--starts N] [--seed N]`.

Robots of several daemons meet at three brokers. In most starts something goes wrong at a random moment: a
robot refuses or is stopped, a daemon, the coordinator, a broker, or a daemon with its broker is killed. What
the actuators received then shows what became of the start (`soak.fleet_judge`).
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
import orjson

from bench.machines import GROUP, MOTION, RATE_HZ, machines, until_online
from bench.programs import MOTIOND
from motiond.client import ClientError, NoAnswer
from motiond.daemon.api import RequestError
from motiond.daemon.fleet.coordinator import GroupPlay, conversing, coordinating
from motiond.daemon.mqtt.client import MqttConnection
from soak.fleet_judge import Mishap, Part, Verdict, judged
from tests.daemon.asking import ask
from tests.system.fleet.nats import Cluster
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.machines import Machine
    from motiond.daemon.config.mqtt import MqttSettings

STARTS, MACHINES, ROBOTS = 1000, 3, 3
MOTION_S = 5.0
"""Longer than it takes to stop a robot that does not see the others."""
MISHAPS = {"none": 3, "refusal": 1, "stop": 2, "daemon": 4, "coordinator": 2, "broker": 4, "machine": 2}
"""How often each is chosen; a machine is a daemon with the broker that it is at."""
LATEST_S = 5.0
"""Into a start: by then its robots play, or are released."""
BEFORE_S, AFTER_S = 2.0, 0.2
"""Half of the kills are in the last moment: between these, before and after the first row is due."""
AT_REST = {None, "ended", "released"}
LEAST_PLAYED = 0.5
"""Of the starts in which nothing goes wrong: else it would be shown of too few that all play."""
RESULT_S = 0.5
PROGRESS = 10


class Site:
    """Three brokers, daemons, and all results that were received.

    Attributes
    ----------
    results : dict of str to list of dict
        Each robot's results of goals of starts; copies of one report are left out.
    """

    def __init__(self, cluster: Cluster, made: list[Machine]) -> None:
        self.cluster = cluster
        self.machines = made
        self.robots = [robot for machine in made for robot in machine.robots]
        self.results: dict[str, list[dict[str, Any]]] = {}
        self._seen: set[tuple[str, str, int]] = set()

    @property
    def settings(self) -> MqttSettings:
        """The broker that is never killed, at which the judge is."""
        return self.cluster.settings(3)

    async def receive(self) -> None:
        """Note results until cancelled."""
        while True:
            with suppress(aiomqtt.MqttError):
                async with MqttConnection(self.settings) as client:
                    await client.subscribe([("motiond/+/result", 0)])
                    async for message in client.messages:
                        self._note(message.topic.value.split("/")[1], orjson.loads(message.payload))
            await asyncio.sleep(0.1)

    def _note(self, robot: str, result: dict[str, Any]) -> None:
        report = robot, result["goal_id"], result["sequence"]
        if "start" in result["details"] and report not in self._seen:
            self._seen.add(report)
            self.results.setdefault(robot, []).append(result)

    async def until_at_rest(self) -> None:
        """Have everything run again, and wait until all robots are idle and reserved for nothing."""
        for node in self.cluster.nodes:
            await asyncio.to_thread(node.start_again)
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
            for robot, reports in ((robot, known[robot].last) for robot in self.robots)
            if reports.get("state", {}).get("state") != "idle"
            or reports.get("reservation", {}).get("phase") not in AT_REST
        }

    def parts(self, since_s: float) -> dict[str, Part]:
        """Return what each robot has done since a time, and forget its results."""
        results, self.results = self.results, {}
        return {
            robot: Part(
                [float(at_s) for at_s in machine.first_rows(robot) if at_s >= since_s], results.get(robot, [])
            )
            for machine in self.machines
            for robot in machine.robots
        }


async def start_of(site: Site, kind: str, chance: random.Random) -> Verdict:
    """Start the group once, let something go wrong, and return what became of it."""
    begun_s, mishap = time.monotonic(), Mishap()
    site.results.clear()
    if kind == "refusal":
        return await _refused(site, chance.choice(site.robots))
    if kind == "coordinator":
        await _killed_coordinator(site, chance.uniform(0.0, LATEST_S))
        mishap = Mishap(kills=True)
    else:
        committed: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        starting = asyncio.create_task(_begin(site, committed))
        if kind != "none":
            await _until_moment(chance, committed)
            mishap = await _go_wrong(site, kind, chance)
        await starting
    await site.until_at_rest()
    await asyncio.sleep(RESULT_S)
    return judged(site.parts(begun_s), mishap)


async def _refused(site: Site, robot: str) -> Verdict:
    """Start the group while one robot is busy."""
    await ask(site.settings, robot, "play", {"motion": MOTION, "loop": "forever", "seam": "approach"})
    begun_s = time.monotonic()
    began = await _begin(site) is not None
    await ask(site.settings, robot, "stop")
    await site.until_at_rest()
    parts = site.parts(begun_s)
    del parts[robot]
    kind, problems = judged(parts)
    if began or kind != "none":
        problems.append(f"{robot} was busy, and others began")
    return Verdict(kind, problems)


async def _until_moment(chance: random.Random, committed: asyncio.Future[float]) -> None:
    """Wait for any moment of a start, or for one near the first row."""
    if chance.random() < 0.5:
        await asyncio.sleep(chance.uniform(0.0, LATEST_S))
        return
    near_s = chance.uniform(-BEFORE_S, AFTER_S)
    await asyncio.wait((committed,), timeout=2 * LATEST_S)
    if committed.done():
        await asyncio.sleep(max(0.0, committed.result() + near_s - time.time()))


async def _go_wrong(site: Site, kind: str, chance: random.Random) -> Mishap:
    """Stop a robot, or kill a daemon, a broker, or both."""
    machine = chance.choice(site.machines[:2] if kind == "machine" else site.machines)
    if kind == "stop":
        with suppress(ClientError):
            await ask(site.settings, chance.choice(machine.robots), "stop")
        return Mishap(kills=True)  # it need not be all or none, but no robot plays on alone
    node = site.machines.index(machine) if kind == "machine" else chance.randrange(2)
    at_s = time.monotonic()
    if kind in {"broker", "machine"}:
        await asyncio.to_thread(site.cluster.nodes[node].kill)
    if kind == "broker":
        return Mishap(kills=True, at_s=at_s)
    await asyncio.to_thread(machine.kill)
    is_reported = kind == "daemon"
    return Mishap(True, machine.robots, machine.killed_s if is_reported else at_s, is_reported)


async def _begin(site: Site, committed: asyncio.Future[float] | None = None) -> float | None:
    """Start all, and follow them to the end; return the appointed time, None where no robot was to play."""
    try:
        async with (
            asyncio.timeout(PATIENCE_S),
            coordinating(site.settings, GroupPlay(GROUP, MOTION)) as start,
        ):
            await start.begin()
            if committed is not None and start.start_at is not None:
                committed.set_result(start.start_at)
            while not await start.outcomes.next():
                pass
            return start.start_at
    except (RequestError, NoAnswer, TimeoutError):
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


@asynccontextmanager
async def running() -> AsyncIterator[Site]:
    """Run brokers, daemons and the judge."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = Cluster(folder)
        stack.callback(cluster.kill)
        await asyncio.to_thread(cluster.start)
        urls = [node.settings.url for node in cluster.nodes]
        rows = round(MOTION_S * RATE_HZ) + 1
        site = Site(cluster, stack.enter_context(machines(folder, MACHINES, ROBOTS, urls, rows)))
        receiving = asyncio.create_task(site.receive())
        stack.callback(receiving.cancel)
        await site.until_at_rest()
        yield site


async def pull(starts: int, seed: int) -> int:
    """Start so often; return in how many starts something was found."""
    chance, failed, kinds = random.Random(seed), 0, Counter[tuple[str, str]]()
    async with running() as site:
        for number in range(starts):
            mishap = chance.choices([*MISHAPS], [*MISHAPS.values()])[0]
            try:
                verdict = await start_of(site, mishap, chance)
            except (TimeoutError, RequestError, ClientError) as error:
                verdict = Verdict("no verdict", [str(error)])
            kinds[mishap, verdict.kind] += 1
            if verdict.problems:
                failed += 1
                print(f"start {number}, {mishap}: {'; '.join(verdict.problems)}", flush=True)
            if number % PROGRESS == PROGRESS - 1 or number == starts - 1:
                print(f"{number + 1} starts of seed {seed}, {failed} with findings", flush=True)
                for (what, kind), count in sorted(kinds.items()):
                    print(f"  {what:12}{kind:40}{count:6}", flush=True)
    played, of = kinds["none", "all"], sum(count for (what, _), count in kinds.items() if what == "none")
    if played < LEAST_PLAYED * of:
        print(f"of {of} starts in which nothing went wrong only {played} were played", flush=True)
        failed += 1
    return failed


def main() -> int:
    """Start as often as is asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m soak.fleet", description="Pull plugs of a group.")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    return 1 if asyncio.run(pull(asked.starts, asked.seed)) else 0


if __name__ == "__main__":
    sys.exit(main())
