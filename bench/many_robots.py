"""A daemon with any number of robots, with a broker or none, for benchmarks of what it and its streams do."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil
import yaml

from motiond.daemon.api import VERBS, Dispatcher, ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.states import State
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.joints import build_joint_map
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots.assembly import make_registry
from motiond.formats import load_robot
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.robot import Robot
    from motiond.daemon.telemetry import Observer

    Motions = Mapping[str, tuple[NDArray[Any], float]]

PATIENCE_S = 120.0
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 10.0}
APPROACH = {"velocity": 2.0, "acceleration": 50.0, "jerk": 1000.0}


@dataclass(frozen=True, slots=True)
class Fleet:
    """Robots that are on line."""

    registry: RobotRegistry
    robots: Mapping[str, Robot]

    async def play(self, name: str, motion: str, **values: Any) -> None:
        """Let a robot begin a motion."""
        await self._ask(name, "play", motion=motion, **values)

    async def cycle(self, name: str, motion: str, **values: Any) -> Observer:
        """Let a robot play a motion to and fro for ever; return what observes it, from its first row on."""
        robot = self.robots[name]
        await self.play(name, motion, loop="forever", ping_pong=True, **values)
        async with asyncio.timeout(PATIENCE_S):
            while robot.session.state is not State.PLAYING:
                await robot.change(None)
        observer = robot.stream.observer
        assert observer is not None
        observer.start_goal()
        return observer

    async def stop(self, name: str) -> None:
        """Bring a robot to rest."""
        await self._ask(name, "stop")
        await self.rest(name)

    async def rest(self, name: str) -> None:
        """Wait until a robot's motion has ended."""
        robot = self.robots[name]
        async with asyncio.timeout(PATIENCE_S):
            while robot.session.goal is not None:
                await robot.change(None)

    async def _ask(self, name: str, verb: str, **values: Any) -> None:
        await self.registry.handle(name, verb, VERBS[verb].request.model_validate(values))

    def processor_s(self) -> float:
        """Return the processor time that the stream processes have used so far."""
        return sum(processor_s(robot.stream.pid) for robot in self.robots.values())


def processor_s(pid: int | None) -> float:
    """Return the processor time that a process has used so far; None is this one."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a fleet is made of.

    Attributes
    ----------
    robots : tuple of str
    joints : int
        Of each.
    motions : mapping of str to (rows, rate)
        What each of them can play: rows (ticks, joints), and the rate in Hz.
    driver, realtime : dict
        As in the configuration; the path of a trace may hold `{robot}`.
    model : Path or None
        The description of each, with its joints' limits; without it, joints are called `joint0`, `joint1`, …
    options : dict
        What else each has, as in the configuration.
    broker : str or None
        URL of the one that the daemon tells everything; None: it has none.
    """

    robots: tuple[str, ...]
    joints: int
    motions: Motions
    driver: dict[str, Any] = field(default_factory=lambda: {"type": "sim"})
    realtime: dict[str, Any] = field(default_factory=dict)
    broker: str | None = None
    model: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)


@asynccontextmanager
async def running(folder: Path, layout: Layout) -> AsyncIterator[Fleet]:
    """Run a fleet, from all robots on line to all shut down."""
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = str(folder)  # nothing is left behind
    settings = load_settings(configuration(folder, layout))
    hub = ReportHub()
    async with AsyncExitStack() as stack:
        registry = make_registry(settings, hub, stack.enter_context(StreamForks()))
        bridge = None
        if layout.broker is not None:
            bridge = MqttBridge(settings.mqtt, settings.id, registry, Dispatcher(registry), hub)
            bridging = asyncio.create_task(bridge.run(), name="fleet.bridge")
            stack.push_async_callback(asyncio.wait, (bridging,))
            stack.callback(bridging.cancel)
        run = asyncio.create_task(registry.run(), name="fleet.run")
        try:
            robots = {name: member.robot for name, member in registry.members.items()}
            async with asyncio.timeout(PATIENCE_S):
                for robot in robots.values():
                    while robot.session.state is not State.IDLE:
                        await robot.change(None)
            if bridge is not None:
                async with asyncio.timeout(PATIENCE_S):
                    await bridge.connected.wait()
            yield Fleet(registry, robots)
        finally:
            registry.leave()
            async with asyncio.timeout(PATIENCE_S):
                await run


def configuration(folder: Path, layout: Layout) -> Path:
    """Write the configuration and the motions, without a page; return its path."""
    names = tuple(f"joint{number}" for number in range(layout.joints))
    if layout.model is not None:
        names = build_joint_map("robot", load_robot(layout.model), {}).joints
    (folder / "motions").mkdir()
    for motion, (rows, rate_hz) in layout.motions.items():
        write_seq(folder / "motions" / f"{motion}.seq", rows, names, rate_hz)
    path = folder / "motiond.yaml"
    robots = {robot: _robot(robot, names, layout) for robot in layout.robots}
    config: dict[str, Any] = {"http": None, "realtime": layout.realtime, "robots": robots}
    if layout.broker is not None:
        config["mqtt"] = {"broker": layout.broker}
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def _robot(name: str, joints: tuple[str, ...], layout: Layout) -> dict[str, Any]:
    driver = {
        key: value.format(robot=name) if isinstance(value, str) else value
        for key, value in layout.driver.items()
    }
    limited = {joint: {"limits": dict(LIMITS)} for joint in joints}
    return {
        **({"joints": limited} if layout.model is None else {"model": str(layout.model)}),
        "driver": driver,
        "motions": ["motions"],
        "approach": dict(APPROACH),
        "stop_duration_s": 0.2,
        **layout.options,
    }
