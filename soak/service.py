"""Serves many for half an hour while its broker comes and goes: `python -m soak.service [--minutes N]`.

Four simulated robots play all the time. Fifty observers and ten pages listen to them, telemetry at 50 Hz, and
the broker is restarted twenty times meanwhile, by turns in two ways:

- It is killed, and all that it kept is deleted, retained messages too. Only the session of the listener that
  counts results is given to the next one: it could not be known otherwise what was published before the
  listener was back. A result that is in the broker's own hands in this moment, from its arrival to its
  delivery, is lost with the broker, and nobody else can know of it; such ones are counted apart.
- It is ended, and keeps all on disk. Here the results have to come through, without an exception.

Goals are counted where they are accepted, over HTTP, which needs no broker.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from bench import cyclictest
from bench.programs import running_daemon
from soak.audience import Audience, listeners, observe, watch
from soak.judge import (
    Goals,
    ResultEar,
    listen_by_http,
    missed_deadlines,
    not_right,
    slope_mb_per_hour,
)
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import use
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import subprocess

MINUTES, RESTARTS = 30.0, 20
OBSERVERS, PAGES = 50, 10
TELEMETRY_HZ = 50.0
ROBOTS = ("arm", "left", "right", "tool")
MOTIONS = ("short", "middle")
AHEAD = 2  # motions that wait for the one that plays
LOOK_S = 0.2
AWAY_S = (0.3, 3.0)
RETURN_S = 5.0
SAMPLE_S = 5.0
WARM_UP = 0.2  # of the time, in which memory grows to what the daemon needs
MOST_MB_PER_HOUR = 1.0
LOG_SHOWN = 6_000


@dataclass
class Soak:
    """A daemon, its broker, and what was seen of them.

    Attributes
    ----------
    goals : Goals
    returns_s : list of float
        From each start of the broker until all that is retained was right.
    wrong : list of str
        What was not right in time after a return.
    samples : list of (float, float)
        Time, in s, and the memory that the daemon alone holds, in bytes.
    killed_s : list of float
        When the broker was killed with all that it kept.
    """

    folder: Path
    rig: Rig
    mosquitto: Mosquitto
    session: aiohttp.ClientSession
    daemon: subprocess.Popen[bytes]
    goals: Goals = field(default_factory=Goals)
    returns_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    samples: list[tuple[float, float]] = field(default_factory=list)
    killed_s: list[float] = field(default_factory=list)

    async def play(self, robot: str, ending: asyncio.Event) -> None:
        """Keep a robot playing, until the end."""
        while not ending.is_set():
            if self.goals.open(robot) <= AHEAD:
                body = {"motion": random.choice(MOTIONS), "on_busy": "queue"}
                async with self.session.post(f"/api/robots/{robot}/play", json=body) as response:
                    answer = await response.json()
                if answer["status"] == "ok":
                    self.goals.accepted[answer["data"]["goal_id"]] = robot
                else:
                    self.goals.refused[answer["code"]] += 1
            await asyncio.sleep(LOOK_S)

    async def stop(self) -> None:
        """Stop all robots, and with them what waits."""
        for robot in ROBOTS:
            async with self.session.post(f"/api/robots/{robot}/stop", json={}) as response:
                await response.read()

    async def sample(self) -> None:
        """Look at the daemon's memory again and again, until cancelled."""
        while True:
            self.samples.append((time.monotonic(), held_bytes(self.daemon.pid)))
            await asyncio.sleep(SAMPLE_S)

    async def restart(self, count: int, seconds: float) -> None:
        """Restart the broker so many times, evenly over so long, and look at what is retained each time."""
        begun_s = time.monotonic()
        for number in range(count):
            await asyncio.sleep(begun_s + (number + 0.5) * seconds / count - time.monotonic())
            if number % 2:
                await self.mosquitto.end()
            else:
                self.killed_s.append(time.monotonic())
                await self.mosquitto.kill()
                shutil.copy(self.folder / "listener.db", self.folder / "mosquitto.db")
            await asyncio.sleep(random.uniform(*AWAY_S))
            await self.mosquitto.start()
            await self._look_at_what_is_retained(f"return {number + 1}")

    async def _look_at_what_is_retained(self, when: str) -> None:
        begun_s = time.monotonic()
        while wrong := await not_right(self.session, self.mosquitto.settings, ROBOTS):
            if time.monotonic() > begun_s + RETURN_S:
                self.wrong.append(f"{when}: {'; '.join(wrong)}")
                return
        self.returns_s.append(time.monotonic() - begun_s)

    async def until_idle(self) -> None:
        """Wait until all robots are idle."""
        async with asyncio.timeout(PATIENCE_S):
            for robot in ROBOTS:
                while await self._state(robot) != "idle":  # noqa: ASYNC110 - by HTTP, nobody tells
                    await asyncio.sleep(LOOK_S)

    async def _state(self, robot: str) -> str | None:
        try:
            async with self.session.get(f"/api/robots/{robot}/state") as known:
                state: str | None = (await known.json()).get("state")
                return state
        except aiohttp.ClientConnectionError:
            return None


def held_bytes(pid: int) -> float:
    """Return what a process alone has written to.

    Its USS counts pages of library files, too, for as long as no other program on the machine loads them.
    """
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024.0 * sum(map(int, re.findall(r"^(?:Private_Dirty|Swap):\s+(\d+)", rollup, re.MULTILINE)))


def rig_in(folder: Path, mosquitto: Mosquitto, port: int) -> Rig:
    """Write the robots and their motions."""
    rig = Rig(folder)
    use(rig, mosquitto.settings)
    rig.daemon["mqtt"] |= {"telemetry_hz": TELEMETRY_HZ, "stop_when_lost_s": 2.0}
    rig.daemon["http"] = {"listen": f"127.0.0.1:{port}", "telemetry_hz": TELEMETRY_HZ}
    rig.driver = rig.robot["driver"] = {"type": "sim", "command_lifetime_s": 5.0}
    rig.others = {name: rig.robot for name in ROBOTS if name != "arm"}
    write_seq(folder / "motions" / "middle.seq", sweep(3.0, swings=2), JOINTS, RATE_HZ)
    return rig


async def started(stack: AsyncExitStack, folder: Path) -> tuple[Soak, ResultEar, int]:
    """Start the broker with the listener's session, the daemon, and wait for its robots."""
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):  # a soak leaves nothing in the user's folders
        os.environ[variable] = str(folder)
    mosquitto, port = Mosquitto(free_port(), folder), free_port()
    mosquitto.configure("allow_anonymous true", "persistence true", f"persistence_location {folder}/")
    stack.push_async_callback(mosquitto.kill)
    await mosquitto.start()
    ear = ResultEar(mosquitto.port)
    stack.callback(ear.close)
    await ear.listening()
    await mosquitto.end()
    shutil.copy(folder / "mosquitto.db", folder / "listener.db")
    await mosquitto.start()
    rig = rig_in(folder, mosquitto, port)
    log = stack.enter_context((folder / "daemon.log").open("wb"))
    daemon = stack.enter_context(running_daemon(rig.config, log.fileno()))
    session = await stack.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{port}"))
    soak = Soak(folder, rig, mosquitto, session, daemon)
    await soak.until_idle()
    return soak, ear, port


async def soak_for(seconds: float, restarts: int) -> bool:
    """Serve for so long, print each figure beside its goal, and return whether all were reached."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        soak, ear, port = await started(stack, folder)
        witness = asyncio.create_task(listen_by_http(soak.session, soak.goals))
        observers = stack.enter_context(listeners(observe, OBSERVERS, soak.mosquitto.port))
        pages = stack.enter_context(listeners(watch, PAGES, port))
        async with asyncio.TaskGroup() as tasks:
            ending = asyncio.Event()
            for robot in ROBOTS:
                tasks.create_task(soak.play(robot, ending))
            sampling = tasks.create_task(soak.sample())
            before = await missed_deadlines(soak.session)
            measuring = tasks.create_task(cyclictest.measure(seconds, RATE_HZ, threads=len(ROBOTS)))
            await soak.restart(restarts, seconds)
            theirs = (await measuring).missed(1 / RATE_HZ)
            missed = await missed_deadlines(soak.session) - before
            still = [_still(observers), _still(pages)]
            sampling.cancel()
            ending.set()
        await soak.stop()
        await soak.goals.until_told(ear.heard, PATIENCE_S)
        witness.cancel()
        told = (folder / "daemon.log").read_text()
        errors = told.count("Traceback")
        reached = report(soak, ear, restarts, missed=missed, theirs=theirs, still=still, errors=errors)
        if not reached:
            print(f"the daemon's log ends with\n{told[-LOG_SHOWN:]}")
        return reached


def _still(audience: Audience) -> tuple[int, int]:
    return audience.connected.value, audience.heard.value


def report(
    soak: Soak,
    ear: ResultEar,
    restarts: int,
    *,
    missed: int,
    theirs: int,
    still: list[tuple[int, int]],
    errors: int,
) -> bool:
    """Print each figure beside its goal; return whether all were reached."""
    goals, counts = soak.goals, soak.goals.judged(ear.heard, soak.killed_s)
    slope, growth_mb = slope_mb_per_hour(soak.samples, WARM_UP)
    right, slowest_s = len(soak.returns_s), max(soak.returns_s, default=0.0)
    (observers, heard), (pages, seen) = still
    rows = [
        ("goals accepted", f"{len(goals.accepted)}", "some", bool(goals.accepted)),
        ("results lost", f"{counts.lost}", "0", not counts.lost),
        ("results twice", f"{counts.twice}", "0", not counts.twice),
        ("results that nobody asked for", f"{counts.unasked}", "0", not counts.unasked),
        ("results lost in the hands of a killed broker", f"{counts.in_its_hands}", "", True),
        ("returns with all retained right", f"{right}", f"{restarts}", right == restarts),
        ("slowest of them, s", f"{slowest_s:.1f}", f"{RETURN_S:g}", slowest_s <= RETURN_S),
        ("daemon's memory, MB an hour", f"{slope:+.2f}", f"{MOST_MB_PER_HOUR:g}", slope < MOST_MB_PER_HOUR),
        ("missed deadlines", f"{missed}", f"{theirs} of cyclictest", missed <= theirs),
        ("observers at the end", f"{observers}", f"{OBSERVERS}", observers == OBSERVERS),
        ("pages at the end", f"{pages}", f"{PAGES}", pages == PAGES),
        ("failures in the log", f"{errors}", "0", not errors),
    ]
    for name, figure, goal, ok in rows:
        print(f"{name:46}{figure:>10}   {f'goal {goal}' if goal else '':24}{'' if ok else 'MISSED'}".rstrip())
    codes = ", ".join(f"{count} {code}" for code, count in goals.codes.most_common())
    refused = ", ".join(f"{count} {code}" for code, count in goals.refused.most_common()) or "none"
    print(f"ended: {codes}; refused: {refused}; memory after warm-up {growth_mb:+.2f} MB")
    print(f"observers heard {heard / 1e6:.0f} MB, pages {seen / 1e6:.0f} MB")
    for line in (*goals.told_of_missing(ear.heard, soak.killed_s), *soak.wrong):
        print(line)
    return all(ok for *_, ok in rows)


def main() -> int:
    """Soak for as long as is asked for; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m soak.service", description="Serve many for long.")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--restarts", type=int, default=RESTARTS)
    asked = parser.parse_args()
    if not cyclictest.is_there():
        return 1
    print(f"{asked.minutes:g} minutes, {asked.restarts} restarts of the broker", flush=True)
    return 0 if asyncio.run(soak_for(60 * asked.minutes, asked.restarts)) else 1


if __name__ == "__main__":
    sys.exit(main())
