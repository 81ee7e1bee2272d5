"""Pulls plugs of real processes: `python -m soak.kill [--rounds N] [--first N]`.

Each round plays on simulated actuators through a mosquitto, and at one of twelve moments of a motion sends
one of five signals to the daemon, its stream process or the broker. What the actuators received is then held
against limits and continuity, by numpy alone. Whatever was ended is started again for the next round.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import aiomqtt
import numpy as np
import orjson
import psutil

from bench.programs import MOTIOND, user_environment
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import Mosquitto, MqttObserver, data_of, listening
from tests.daemon.programs import streams_of, use
from tests.daemon.rig import RATE_HZ, Rig
from tests.ports import free_port
from tests.waiting import still_running

ROUNDS = 500
PATIENCE_S = 30.0
BEGINS_S = 3.0
PROGRESS = 50
HANGS_S = (0.05, 0.3, 1.5, 4.0)
VELOCITY, STEP_ACCELERATION = 3.0, 60.0  # of the rig's joints, in rad/s and rad/s²
LATE_S = 0.1  # `max_lateness_s`, and so how far a step may reach
HANDED_OVER = 0.02  # rad between the last setpoint and where the next process takes hold

STEPS: dict[str, list[tuple[str, dict[str, Any], float]]] = {
    "idle": [],
    "requested": [("play", {"motion": "long"}, 0.0)],
    "approaching": [("play", {"motion": "long"}, 0.1)],
    "beginning": [("play", {"motion": "long"}, 0.5)],
    "playing": [("play", {"motion": "long"}, 1.2)],
    "at another speed": [("play", {"motion": "long"}, 0.8), ("speed", {"speed": 0.5}, 0.2)],
    "pausing": [("play", {"motion": "long"}, 1.0), ("pause", {}, 0.02)],
    "paused": [("play", {"motion": "long"}, 1.0), ("pause", {}, 0.5)],
    "resuming": [("play", {"motion": "long"}, 1.0), ("pause", {}, 0.5), ("resume", {}, 0.05)],
    "seeking": [("play", {"motion": "long"}, 1.0), ("seek", {"time": 3.0}, 0.3)],
    "stopping": [("play", {"motion": "long"}, 1.0), ("stop", {}, 0.05)],
    "estopped": [("play", {"motion": "long"}, 1.0), ("estop", {}, 0.1)],
}
TARGETS = ("daemon", "stream", "broker")
SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class Bench:
    """A broker, a daemon and its robot; whatever has ended is started again."""

    rig: Rig
    mosquitto: Mosquitto
    daemon: subprocess.Popen[bytes] | None = None
    looked_at: int = 0
    results: Counter[str] = field(default_factory=Counter)

    async def start(self) -> None:
        """Start whatever does not run, and wait until the robot is idle."""
        if not self.mosquitto.is_running():
            await self.mosquitto.start()
        if self.daemon is None or self.daemon.poll() is not None:
            self.daemon = started_daemon(self.rig)
        async with listening(self.mosquitto.settings) as observer, asyncio.timeout(PATIENCE_S):
            while (state := await self._state(observer)) != "idle":
                if state in {"estopped", "fault"}:
                    await self._send(observer, "reset", {})
                elif state not in {None, "offline"}:
                    await self._send(observer, "stop", {})
                await asyncio.sleep(0.1)

    def process(self, target: str) -> psutil.Process | None:
        """Return the process to pull the plug of; None if there is none at the moment."""
        if target == "broker":
            return psutil.Process(self.mosquitto.pid)
        assert self.daemon is not None
        daemon = psutil.Process(self.daemon.pid)
        return daemon if target == "daemon" else next(iter(streams_of(self.daemon)), None)

    async def play_to(self, moment: str) -> None:
        """Bring the robot to a moment of a motion."""
        async with listening(self.mosquitto.settings) as observer:
            for verb, body, wait_s in STEPS[moment]:
                await self._send(observer, verb, body)
                if verb == "play" and wait_s:
                    with suppress(TimeoutError):  # it is refused where the last plug still shows
                        async with asyncio.timeout(BEGINS_S):
                            await observer.until(
                                "motiond/arm/state", lambda data: data["state"] == "approaching"
                            )
                await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))

    @staticmethod
    async def _send(observer: MqttObserver, verb: str, body: dict[str, Any]) -> None:
        await observer.client.publish(f"motiond/arm/request/{verb}", orjson.dumps(body), 1)

    @staticmethod
    async def _state(observer: MqttObserver) -> str | None:
        """Ask for the state; None without an answer."""
        observer.received.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                answer = await observer.ask("motiond/arm/request/status", b"{}")
                return str(answer["data"]["state"])
        return None

    def findings(self) -> list[str]:
        """Hold what the actuators received since the last call against limits and continuity."""
        trace = read_trace(self.rig.folder / "trace.npy")
        new, self.looked_at = trace[max(0, self.looked_at - 1) :], len(trace)
        return judged(new)

    async def hear_results(self) -> None:
        """Count the results of each goal, for ever."""
        while True:
            with suppress(aiomqtt.MqttError):
                async with listening(self.mosquitto.settings) as observer:
                    async for message in observer.client.messages:
                        if message.topic.value == "motiond/arm/result":
                            self.results[data_of(message)["goal_id"]] += 1
            await asyncio.sleep(0.05)

    async def end(self) -> None:
        """End all."""
        if self.daemon is not None and self.daemon.poll() is None:
            children = psutil.Process(self.daemon.pid).children(recursive=True)
            self.daemon.kill()
            self.daemon.wait()
            await asyncio.to_thread(still_running, children)
        await self.mosquitto.kill()


def started_daemon(rig: Rig) -> subprocess.Popen[bytes]:
    with (rig.folder / "daemon.log").open("ab") as log:
        return subprocess.Popen([MOTIOND, "run", "-c", rig.config], stderr=log, env=user_environment())


def judged(trace: np.ndarray[tuple[int], np.dtype[np.void]]) -> list[str]:
    """Return what is wrong with a stretch of setpoints: beyond a limit, or a jump."""
    found = []
    time_s, position, enabled = trace["time"], trace["position"], trace["enabled"]
    if (np.abs(position[enabled]) > 2.0).any():
        found.append("a setpoint is outside the limits")
    if (np.diff(time_s) < 0.0).any():
        found.append("setpoints of two processes are mixed")
    both = enabled[1:] & enabled[:-1]
    steps, gaps_s = np.abs(np.diff(position, axis=0)).max(axis=1), np.diff(time_s)
    allowed = np.where(
        gaps_s > LATE_S, HANDED_OVER, VELOCITY * (np.maximum(gaps_s, 1 / RATE_HZ) + 1 / RATE_HZ)
    )
    if (jumps := np.flatnonzero(both & (steps > allowed))).size:
        first = jumps[0]
        found.append(f"a setpoint jumped by {steps[first]:.4f} rad after {gaps_s[first]:.4f} s")
    regular = (
        both[1:]
        & both[:-1]
        & (np.abs(gaps_s[1:] - 1 / RATE_HZ) < 5e-4)
        & (np.abs(gaps_s[:-1] - 1 / RATE_HZ) < 5e-4)
    )
    bends = np.abs(np.diff(position, 2, axis=0)).max(axis=1, initial=0.0) * RATE_HZ**2
    if (bent := np.flatnonzero(regular & (bends > STEP_ACCELERATION))).size:
        found.append(f"a velocity changed by {bends[bent[0]]:.1f} rad/s²")
    return found


async def round_of(bench: Bench, number: int) -> list[str]:
    """Pull one plug; return what was found."""
    moment, target, pulled = ROUNDS_OF[number % len(ROUNDS_OF)]
    await bench.play_to(moment)
    process = bench.process(target)
    if process is None:
        return []
    process.send_signal(pulled)
    found = []
    if pulled == signal.SIGSTOP:
        await asyncio.sleep(random.choice(HANGS_S))
        with suppress(psutil.NoSuchProcess):  # the daemon ends a stream process that hangs
            process.send_signal(signal.SIGCONT)
    elif target == "daemon" and pulled != signal.SIGHUP:  # which makes it read its configuration
        code = await asyncio.to_thread(process.wait, PATIENCE_S)
        if code != (-signal.SIGKILL if pulled == signal.SIGKILL else 0):
            found.append(f"the daemon ended with {code}")
    elif target == "broker" and pulled != signal.SIGHUP:  # and so does mosquitto
        await bench.mosquitto.kill()
        await asyncio.sleep(random.choice((0.0, 0.2, 1.0)))
    await bench.start()
    twice = [goal_id for goal_id, count in bench.results.items() if count > 1]
    bench.results.clear()
    return [*found, *bench.findings(), *(f"goal {goal_id} has several results" for goal_id in twice)]


ROUNDS_OF = list(product(STEPS, TARGETS, SIGNALS))
random.Random(1).shuffle(ROUNDS_OF)


async def pull(first: int, rounds: int) -> int:
    """Go through the rounds; return how many found something."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mosquitto = Mosquitto(free_port(), folder)
        rig = Rig(folder)
        rig.robot["start_tolerance"] = 1e-4  # else its single step to the first row bends by 80 rad/s²
        use(rig, mosquitto.settings, stop_when_lost_s=0.5)
        bench = Bench(rig, mosquitto)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(bench.end)
            hearing = asyncio.create_task(bench.hear_results())
            stack.callback(hearing.cancel)
            await bench.start()
            for number in range(first, first + rounds):
                moment, target, pulled = ROUNDS_OF[number % len(ROUNDS_OF)]
                try:
                    found = await round_of(bench, number)
                except (TimeoutError, AssertionError):
                    found = [f"no recovery in {PATIENCE_S:g} s"]
                    await bench.end()
                    await bench.start()
                if number % PROGRESS == PROGRESS - 1:
                    print(f"{number + 1 - first} rounds, {failed} with findings", flush=True)
                if found:
                    failed += 1
                    print(
                        f"round {number}: {pulled.name} to the {target}, {moment}: {'; '.join(found)}",
                        flush=True,
                    )
    return failed


def main() -> int:
    """Pull the plugs that are asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m soak.kill", description="Pull plugs.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    failed = asyncio.run(pull(asked.first, asked.rounds))
    print(f"{asked.rounds} rounds from {asked.first}, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
