"""From a stop to the first slowed setpoint, and from an emergency stop to the last one, beside one load each.

The daemon, each load and the echo are processes of their own. The motion moves one joint at a constant
speed, so that the driver's trace tells which setpoint was the first slower one.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiomqtt
import numpy as np
import orjson
import psutil

from bench.loads import BOMBS, FLOOD_HZ, HOSTILE, OBSERVERS, SLOW, load
from bench.programs import running_daemon
from bench.request import SILENCE_S, echo_times, halt_times
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import Mosquitto, MqttObserver, data_of
from tests.daemon.programs import use
from tests.daemon.rig import JOINTS, Rig, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable, Sequence

    from bench.loads import Load

    Trace = np.ndarray[tuple[int], np.dtype[np.void]]

STOPS, ESTOPS = 50, 20
RATE_HZ = 500
OTHERS_RATE_HZ = 200  # as of `robots`: at 500 Hz, streams alone fill two processors
LASTS_S = 120
WARM_UP_S = 5.0  # of a load, after which memory has grown to what the daemon needs for it
LONG_WARM_UPS_S = {"reload": 90.0, "others": 20.0}  # until all files are read, and all motions planned
RAMP = np.linspace(-1.9, 1.9, RATE_HZ * LASTS_S)
STRETCH = RATE_HZ * LASTS_S // (STOPS + ESTOPS + 5)  # rows from where one play begins to the next
OTHERS = 19
FILES = 10_000
GOAL_S = 0.1
ENDS_WITH = {"stop": "CANCELED", "estop": "ESTOP"}
LOADS = {
    "": "nothing",
    "flood": f"{FLOOD_HZ} requests a second",
    "targets": f"{FLOOD_HZ} targets a second",
    "bombs": f"{BOMBS} requests of 65 kB",
    "reload": f"a reload of {FILES} files",
    "others": f"{1 + OTHERS} robots that play",
    "observers": f"{OBSERVERS} observers",
    "hostile": f"{HOSTILE} hostile, {SLOW} slow by HTTP",
}


class Times(NamedTuple):
    """What was measured under one load, in s, and by what the daemon's memory has grown once it was over."""

    echo: list[float]
    stop: list[float]
    estop: list[float]
    growth: float


def main() -> None:
    """Print all times, on both brokers."""
    print(f"{STOPS} stops and {ESTOPS} emergency stops each, at random moments; ms: p50, p99 and worst")
    print(f"{'broker':10}{'beside':30}{'bare echo':>22}{'stop':>22}{'estop':>22}{'memory after':>14}")
    worst_s = 0.0
    for broker in ("mosquitto", "embedded"):
        for name, words in LOADS.items():
            times = asyncio.run(_measure(broker, name))
            summaries = "".join(f"{_summary(one):>22}" for one in times[:3])
            print(f"{broker:10}{words:30}{summaries}{times.growth:>+14.1%}", flush=True)
            worst_s = max(worst_s, *times.stop, *times.estop)
    print(f"worst of all {1e3 * worst_s:.0f} ms (goal: under {1e3 * GOAL_S:.0f})")


def _summary(times: Sequence[float]) -> str:
    p50, p99, worst = (1e3 * float(np.quantile(times, share)) for share in (0.5, 0.99, 1.0))
    return f"{p50:.1f} {p99:.1f} {worst:.1f}"


async def _measure(broker: str, name: str) -> Times:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        settings = MqttSettings(broker="embedded", listen=f"127.0.0.1:{port}")
        if broker == "mosquitto":
            mosquitto = Mosquitto(port, folder)
            await mosquitto.start()
            stack.push_async_callback(mosquitto.kill)
            settings = mosquitto.settings
        rig = await asyncio.to_thread(_rig, folder, settings, name)
        http_port = free_port()
        rig.daemon["http"] = {"listen": f"127.0.0.1:{http_port}"} if name == "hostile" else None
        daemon = stack.enter_context(running_daemon(rig.config))
        observer = MqttObserver(await stack.enter_async_context(_connected(settings)), checked=False)
        for topic in (
            "state",
            "result",
            "response/play",
            "response/stop",
            "response/estop",
            "response/reset",
        ):
            await observer.client.subscribe(f"motiond/arm/{topic}", qos=1)
        await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        for number in range(OTHERS if name == "others" else 0):
            play = orjson.dumps({"motion": "common", "loop": "forever", "seam": "approach"})
            await observer.client.publish(f"motiond/other{number}/request/play", play, 1)
        used = "" if name == "others" else name
        with load(used, settings, http_port):
            await asyncio.sleep(LONG_WARM_UPS_S.get(name, WARM_UP_S))
        await asyncio.sleep(WARM_UP_S)
        before = _memory(daemon)
        with load(used, settings, http_port) as up:
            echo_s = await echo_times(settings)
            stopped = [await _stop(observer, "stop", turn, up) for turn in range(STOPS)]
            halted = [await _stop(observer, "estop", turn, up) for turn in range(STOPS, STOPS + ESTOPS)]
        await asyncio.sleep(WARM_UP_S)
        growth = _memory(daemon) / before - 1.0
        trace = read_trace(folder / "trace.npy")
    return Times(echo_s, _slowed(trace, stopped), halt_times(trace, halted, RATE_HZ), growth)


def _memory(daemon: subprocess.Popen[bytes]) -> float:
    """Return what the daemon alone holds in bytes: without what it shares."""
    return float(psutil.Process(daemon.pid).memory_full_info().uss)


@asynccontextmanager
async def _connected(settings: MqttSettings) -> AsyncIterator[MqttConnection]:
    """Connect, once the daemon's broker is there."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            client = await MqttConnection(settings).__aenter__()
            break
        except aiomqtt.MqttError:
            if time.monotonic() > deadline_s:
                raise
            await asyncio.sleep(0.1)
    try:
        yield client
    finally:
        await client.__aexit__(None, None, None)


def _rig(folder: Path, settings: MqttSettings, name: str) -> Rig:
    """Write a robot with one slow motion, and what the load needs besides."""
    rig = Rig(folder)
    use(rig, settings)
    rig.daemon["mqtt"]["stop_when_lost_s"] = 2.0
    rig.driver["trace"] = "trace.npy"
    positions = np.zeros((RATE_HZ * LASTS_S, len(JOINTS)))
    positions[:, 0] = RAMP
    write_seq(folder / "motions" / "ramp.seq", positions, JOINTS, RATE_HZ)
    common = positions[: OTHERS_RATE_HZ * LASTS_S]
    write_seq(folder / "motions" / "common.seq", common, JOINTS, OTHERS_RATE_HZ)
    others = {f"other{number}": {**rig.robot, "driver": {"type": "sim"}} for number in range(OTHERS)}
    if name == "others":
        rig.others = others
    elif name == "reload":
        library = folder / "library"
        library.mkdir()
        small = (folder / "motions" / "short.seq").read_bytes()
        for number in range(FILES):
            (library / f"motion{number}.seq").write_bytes(small)
        rig.others = {"library": {**rig.robot, "driver": {"type": "sim"}, "motions": ["library"]}}
    return rig


async def _stop(observer: MqttObserver, verb: str, turn: int, up: Load) -> float:
    """Play a stretch, stop at a random moment beside the load, and return when that was published."""
    with up.suspended():  # as it would displace this request, which is no stop
        await _ask_until_taken(observer, "play", {"motion": "ramp", "first": {"frame": turn * STRETCH}}, turn)
        await observer.until("motiond/arm/state", lambda data: data["state"] == "playing")
    await asyncio.sleep(random.uniform(0.3, 0.8))
    observer.received.clear()
    stopped_s = time.monotonic()
    answer = await observer.ask(f"motiond/arm/request/{verb}", b"")
    assert answer["status"] == "ok"
    ended = data_of(await observer.until("motiond/arm/result"))
    if ended["code"] != ENDS_WITH[verb]:
        raise RuntimeError(f"the motion ended by itself: {ended}")
    await observer.until("motiond/arm/state", lambda data: data["state"] in {"idle", "estopped"})
    if verb == "estop":
        await asyncio.sleep(2 * SILENCE_S)
        with up.suspended():
            await _ask_until_taken(observer, "reset", {}, turn)
            await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
    return stopped_s


async def _ask_until_taken(observer: MqttObserver, verb: str, body: dict[str, Any], turn: int) -> None:
    """Ask until there is an answer: what is left of a flood may displace the first ones."""
    deadline_s = time.monotonic() + PATIENCE_S
    tries, answer = 0, None
    while time.monotonic() < deadline_s:
        transaction = f"{verb} {turn}.{tries}"
        request = {**body, "transaction": transaction}
        await observer.client.publish(f"motiond/arm/request/{verb}", orjson.dumps(request), 1)
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                answer = data_of(await observer.until(f"motiond/arm/response/{verb}", _answers(transaction)))
            if answer["status"] == "ok":
                return
            tries += 1  # the same one would be answered in the same way
    raise AssertionError(f"{verb}: no good answer in {PATIENCE_S:g} s; the last: {answer}")


def _answers(transaction: str) -> Callable[[Any], bool]:
    return lambda data: data["transaction"] == transaction


def _slowed(trace: Trace, stopped: Sequence[float]) -> list[float]:
    """Return the time from each stop to the first setpoint that is none of the file's rows."""
    between_s = trace["time"][~np.isin(trace["position"][:, 0], RAMP)]
    return [float(between_s[np.searchsorted(between_s, one)] - one) for one in stopped]
