"""A daemon with one simulated robot and a mosquitto, for benchmarks."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.daemon.api import Dispatcher, ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.conftest import Mosquitto
from tests.daemon.rig import Rig, ask, write_seq
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.daemon.telemetry import Observer


def simulated_robot(folder: Path, motion: str, rows: NDArray[Any], rate_hz: int) -> Rig:
    """Write a robot on simulated actuators, with one motion of rows (ticks, joints)."""
    names = tuple(f"joint{number}" for number in range(rows.shape[1]))
    rig = Rig(folder)
    rig.driver = rig.robot["driver"] = {"type": "sim"}
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 10.0}
    rig.robot["joints"] = {name: {"limits": limits} for name in names}
    for path in (folder / "motions").iterdir():
        path.unlink()
    write_seq(folder / "motions" / f"{motion}.seq", rows, names, rate_hz)
    return rig


def recorded_robot(folder: Path, rows: NDArray[Any], rate_hz: int, **recording: str) -> tuple[Rig, str]:
    """Write such a robot that is recorded, with its own broker; return it, and where its page will be."""
    rig = simulated_robot(folder, "swing", rows, rate_hz)
    rig.robot["recording"] = {"folder": str(folder / "recordings"), **recording}
    rig.daemon["mqtt"] = {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"}
    rig.daemon["http"] = {"listen": f"127.0.0.1:{free_port()}"}
    return rig, f"http://{rig.daemon['http']['listen']}"


@dataclass(frozen=True)
class PlayingRobot:
    """A robot in the middle of its motion."""

    pid: int
    observer: Observer


@asynccontextmanager
async def playing_robot(folder: Path, rows: NDArray[Any], rate_hz: int) -> AsyncIterator[PlayingRobot]:
    """Play rows (ticks, joints) on simulated actuators, with telemetry to a mosquitto."""
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = str(folder)  # nothing is left behind
    rig = simulated_robot(folder, "motion", rows, rate_hz)
    mosquitto = Mosquitto(free_port(), folder)
    rig.daemon["mqtt"] = {"broker": mosquitto.settings.broker}
    settings, hub = load_settings(rig.config), ReportHub()
    async with AsyncExitStack() as stack:
        registry = make_registry(settings, hub, stack.enter_context(StreamForks()))
        bridge = MqttBridge(settings.mqtt, settings.id, registry, Dispatcher(registry), hub)
        await mosquitto.start()
        stack.push_async_callback(mosquitto.kill)
        bridging = asyncio.create_task(bridge.run())
        stack.push_async_callback(asyncio.wait, (bridging,))
        stack.callback(bridging.cancel)
        await stack.enter_async_context(rig.running_on(registry, hub))
        await rig.until_state("idle")
        await ask(registry, "play", motion="motion")
        await rig.until_state("playing")
        stream = registry.members["arm"].robot.stream
        assert stream.pid is not None
        assert stream.observer is not None
        stream.observer.start_goal()
        yield PlayingRobot(stream.pid, stream.observer)
