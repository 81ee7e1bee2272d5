"""From a play request to the first setpoint, and from an emergency stop to the halt, beside a bare echo.

All go through the same mosquitto; the daemon is a process of its own, as is the echo, which is measured while
the daemon holds its robot. The robot holds; a
request to play makes it approach a motion that begins elsewhere, and the driver's trace tells when its
setpoint first moved. An emergency stop comes at a random moment of a motion, and the trace tells which
setpoint was the last.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from bench.programs import ended, running_daemon
from motiond.daemon.mqtt.client import MqttConnection
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import Mosquitto, data_of, listening
from tests.daemon.programs import use
from tests.daemon.rig import JOINTS, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.conftest import MqttObserver

    Trace = np.ndarray[tuple[int], np.dtype[np.void]]

TIMES = 100
RATE_HZ = 500
SILENCE_S = 0.03  # without a setpoint: at rest there is one in each fiftieth of a second


def main() -> None:
    """Print the times, and how they stand to their bounds."""
    echo_s, play_s, estop_s = asyncio.run(_measure())
    print(f"{TIMES} times each, one mosquitto, QoS 1; ms")
    print(f"{'':28}{'p50':>8}{'p95':>8}{'p99':>8}")
    for name, times in (
        ("bare echo", echo_s),
        ("request to first setpoint", play_s),
        ("emergency stop to halt", estop_s),
    ):
        print(
            f"{name:28}" + "".join(f"{1e3 * np.quantile(times, share):8.2f}" for share in (0.5, 0.95, 0.99))
        )
    bound_s = 2 * np.quantile(echo_s, 0.95) + 2 / RATE_HZ
    share = np.quantile(play_s, 0.95) / bound_s
    print(f"p95 beside twice the echo plus two ticks ({1e3 * bound_s:.2f} ms): {share:.2f} (goal: at most 1)")
    bound_s = np.quantile(echo_s, 0.99) + 2 / RATE_HZ
    share = np.quantile(estop_s, 0.99) / bound_s
    what = "emergency stop, p99 beside the echo plus two ticks"
    print(f"{what} ({1e3 * bound_s:.2f} ms): {share:.2f} (goal: at most 1)")


async def _measure() -> tuple[list[float], list[float], list[float]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("play", "estop"):
            (folder / part).mkdir()
        mosquitto = Mosquitto(free_port(), folder)
        await mosquitto.start()
        try:
            echo_s, play_s = await _play_times(folder / "play", mosquitto.settings)
            return echo_s, play_s, await _estop_times(folder / "estop", mosquitto.settings)
        finally:
            await mosquitto.kill()


async def echo_times(settings: MqttSettings) -> list[float]:
    """Return how long messages took to a process that sends them back, and back, in s."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    echo = context.Process(target=_echo, args=(settings, ready))
    echo.start()
    try:
        if not await asyncio.to_thread(ready.wait, PATIENCE_S):
            raise RuntimeError(f"the echo was not ready in {PATIENCE_S:g} s")
        return await _round_trips(settings)
    finally:
        echo.kill()
        echo.join()


async def _round_trips(settings: MqttSettings) -> list[float]:
    times = []
    async with MqttConnection(settings) as client:
        await client.subscribe("echo/back", qos=1)
        for _ in range(TIMES):
            asked_s = time.monotonic()
            await client.publish("echo/there", b"{}", qos=1)
            await asyncio.wait_for(anext(client.messages), PATIENCE_S)
            times.append(time.monotonic() - asked_s)
            await asyncio.sleep(0.01)
    return times


def _echo(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    asyncio.run(_serve_echo(settings, ready))


async def _serve_echo(settings: MqttSettings, ready: multiprocessing.synchronize.Event) -> None:
    async with MqttConnection(settings) as client:
        await client.subscribe("echo/there", qos=1)
        ready.set()
        async for message in client.messages:
            await client.publish("echo/back", message.payload, qos=1)


async def _play_times(folder: Path, settings: MqttSettings) -> tuple[list[float], list[float]]:
    """Return the times of an echo while the daemon holds its robot, and those of requests to play."""
    rig = Rig(folder)
    use(rig, settings)
    for name, place in (("low", 0.0), ("high", 0.5)):
        write_seq(folder / "motions" / f"{name}.seq", np.full((5, len(JOINTS)), place), JOINTS, RATE_HZ)
    asked: list[float] = []
    with running_daemon(rig.config) as daemon:
        async with listening(settings, checked=False) as observer:
            await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
            await _play(observer, "low")
            echo_s = await echo_times(settings)
            for turn in range(TIMES):
                asked.append(time.monotonic())
                await _play(observer, "low" if turn % 2 else "high")
        await ended(daemon)
    return echo_s, first_steps(read_trace(folder / "trace.npy"), asked)


async def _play(observer: MqttObserver, motion: str) -> None:
    answer = await observer.ask("motiond/arm/request/play", orjson.dumps({"motion": motion}))
    goal_id = answer["data"]["goal_id"]
    result = data_of(await observer.until("motiond/arm/result", lambda data: data["goal_id"] == goal_id))
    assert result["code"] == "SUCCESSFUL", result
    observer.received.clear()
    await asyncio.sleep(0.05)


def first_steps(trace: Trace, asked: list[float]) -> list[float]:
    """Return the time from each request to the first setpoint that differs from the one held."""
    moved_s = trace["time"][1:][(np.diff(trace["position"], axis=0) != 0).any(axis=1)]
    return [float(moved_s[np.searchsorted(moved_s, asked_s)] - asked_s) for asked_s in asked]


async def _estop_times(folder: Path, settings: MqttSettings) -> list[float]:
    rig = Rig(folder)
    use(rig, settings)
    write_seq(folder / "motions" / "swing.seq", sweep(20.0, RATE_HZ, swings=10), JOINTS, RATE_HZ)
    asked: list[float] = []
    with running_daemon(rig.config) as daemon:
        async with listening(settings, checked=False) as observer:
            await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
            for _ in range(TIMES):
                await _ask(observer, "play", {"motion": "swing", "loop": "forever"})
                await observer.until("motiond/arm/state", lambda data: data["state"] == "playing")
                await asyncio.sleep(random.uniform(0.1, 0.5))
                asked.append(time.monotonic())
                await _ask(observer, "estop", {})
                result = data_of(await observer.until("motiond/arm/result"))
                if result["code"] != "ESTOP":
                    raise RuntimeError(f"the motion ended by itself: {result}")
                await asyncio.sleep(2 * SILENCE_S)
                await _ask(observer, "reset", {})
                observer.received.clear()
        await ended(daemon)
    return halt_times(read_trace(folder / "trace.npy"), asked, RATE_HZ)


async def _ask(observer: MqttObserver, verb: str, body: dict[str, Any]) -> None:
    answer = await observer.ask(f"motiond/arm/request/{verb}", orjson.dumps(body))
    if answer["status"] != "ok":
        raise RuntimeError(f"{verb}: {answer['error']}")


def halt_times(trace: Trace, asked: Sequence[float], rate_hz: float) -> list[float]:
    """Return the time from each emergency stop to the first tick without a setpoint, 0 at least."""
    last_s = trace["time"][:-1][np.diff(trace["time"]) > SILENCE_S]
    lasts = [last_s[np.searchsorted(last_s, one - SILENCE_S)] for one in asked]
    return [max(0.0, float(last + 1 / rate_hz - one)) for last, one in zip(lasts, asked, strict=True)]
