"""Starts, watches and stops everything: robots, the broker if it is ours, the bridge, systemd's watchdog.

In comes the checked configuration, out comes a running daemon. It ends when it is told to: robots first,
softly, then MQTT, so that the last results are still sent.
"""

from __future__ import annotations

import asyncio
import logging
import math
import signal
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from motiond.drivers.registry import make_driver
from motiond.formats import load_robot
from motiond.formats.cache import MotionCache, default_folder
from motiond.formats.errors import nearest

from ..api.requests import RequestError
from ..config.settings import JointSettings
from ..ipc.messages import CheckLimits, Setup
from ..joints.gravity import with_gravity
from ..joints.joint_map import build_joint_map
from ..mqtt.bridge import MqttBridge
from ..mqtt.broker import EmbeddedBroker
from ..planning.library import MotionLibrary
from ..service import systemd as service
from ..service.logs import write_journal
from .robot import Robot
from .stream_process import StreamProcess
from .stream_supervisor import StreamKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from motiond.formats.model.robot import RobotModel

    from ..api.reports import ReportHub
    from ..api.requests import Request
    from ..config.settings import RobotSettings, Settings
    from ..joints.joint_map import JointMap

log = logging.getLogger(__name__)

CLOSE_PATIENCE_S = 3.0
LOOK_PERIOD_S = 0.1


class Supervisor:
    """All robots of one daemon.

    Parameters
    ----------
    robots : mapping of str to Robot
    """

    def __init__(self, robots: Mapping[str, Robot]) -> None:
        self._robots = robots

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""
        return tuple(self._robots)

    @property
    def ticking(self) -> bool:
        """Whether every stream process ticks, or its end is being dealt with."""
        return not any(robot.keeper.stuck for robot in self._robots.values())

    async def run(self) -> None:
        """Run all robots until `leave`; each ends by itself."""
        async with asyncio.TaskGroup() as tasks:
            for name, robot in self._robots.items():
                tasks.create_task(robot.run(), name=f"{name}.run")

    def leave(self) -> None:
        """Stop all robots softly and let `run` return."""
        for robot in self._robots.values():
            robot.leave()

    def stop(self, message: str) -> None:
        """Stop all robots softly; they stay on line."""
        for robot in self._robots.values():
            robot.stop(message)

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        if robot not in self._robots:
            known = f"there are {', '.join(self._robots)}"
            mend = nearest(robot, self._robots)
            raise RequestError("UNKNOWN_ROBOT", "; ".join(filter(None, (f"no robot '{robot}'", known, mend))))
        return await self._robots[robot].handle(verb, request)


def make_supervisor(settings: Settings, hub: ReportHub) -> Supervisor:
    """Load every robot's description and put the robots together; nothing is started.

    Raises
    ------
    FormatError, JointMapError, DriverError
        If a robot cannot be made of its description, joints and driver.
    """
    robots = {name: _make_robot(name, robot, settings, hub) for name, robot in settings.robots.items()}
    return Supervisor(robots)


def make_joint_map(name: str, robot: RobotSettings, settings: Settings) -> JointMap:
    """Load a robot's description and join it with its configured joints.

    Raises
    ------
    FormatError, JointMapError
        If they do not fit.
    """
    return build_joint_map(name, load_model(robot, settings), robot.joints)


def load_model(robot: RobotSettings, settings: Settings) -> RobotModel | None:
    """Load a robot's description, if it has one.

    Raises
    ------
    FormatError
        If it cannot be read.
    """
    if robot.model is None:
        return None
    model = load_robot(robot.model.file, robot.model.name, within=settings.folders_for(robot.model))
    for warning in model.warnings:
        log.warning("%s", warning)
    return model


def _make_robot(name: str, robot: RobotSettings, settings: Settings, hub: ReportHub) -> Robot:
    model = load_model(robot, settings)
    joint_map = build_joint_map(name, model, robot.joints)
    options = with_gravity(robot.driver.options, model, joint_map)
    driver = make_driver(robot.driver.type, options, joint_map.actuators)
    setup = make_setup(name, robot, settings, joint_map, options)
    keeper = StreamKeeper(
        partial(StreamProcess, setup),
        len(joint_map.joints),
        period_s=1.0 / settings.mqtt.telemetry_hz,
        timeout_s=robot.stream_timeout_s,
        patience_s=robot.stop_duration_s + CLOSE_PATIENCE_S,
    )
    library = MotionLibrary(joint_map, robot, driver.max_rate_hz, MotionCache(default_folder()).load_motions)
    return Robot(name, robot, joint_map=joint_map, library=library, keeper=keeper, hub=hub)


def make_setup(
    name: str, robot: RobotSettings, settings: Settings, joint_map: JointMap, options: dict[str, Any]
) -> Setup:
    """Put together what a stream process is told first.

    Parameters
    ----------
    options : dict
        The driver's.
    """
    return Setup(
        limits=_limits(robot, joint_map),
        robot=name,
        driver=robot.driver.type,
        options=options,
        joints=list(joint_map.joints),
        units=list(joint_map.units),
        actuators=list(joint_map.actuators),
        transmission=joint_map.transmission.as_lists(),
        idle_rate_hz=robot.idle_rate_hz,
        max_lateness_s=robot.max_lateness_s,
        max_skip_s=robot.max_skip_s if robot.on_late == "skip" else 0.0,
        # One that never waits must not have the processor before others.
        priority=settings.realtime.priority if robot.clock == "real" else None,
        core=settings.realtime.core,
        lock_memory=settings.realtime.lock_memory,
        clock=robot.clock,
    )


def _limits(robot: RobotSettings, joint_map: JointMap) -> CheckLimits:
    """Give what the stream process checks while a motion plays."""
    effort = joint_map.limits.effort.tolist()
    may_stall = [robot.joints.get(joint, JointSettings()).allow_stalling for joint in joint_map.joints]
    return CheckLimits(
        effort=[limit if math.isfinite(limit) else None for limit in effort],
        effort_s=robot.checks.effort_s,
        temperature_c=robot.checks.temperature_c,
        stale_s=robot.checks.stale_s,
        stall_s=robot.checks.stall_s,
        stall_error=robot.checks.stall_error,
        may_stall=may_stall,
    )


async def serve(settings: Settings, hub: ReportHub, supervisor: Supervisor) -> None:
    """Run the daemon until SIGTERM or SIGINT.

    Raises
    ------
    BrokerError
        If the embedded broker cannot listen.
    """
    embedded = settings.mqtt.broker == "embedded"
    async with (
        EmbeddedBroker(settings.mqtt.listen) if embedded else nullcontext(),
        asyncio.TaskGroup() as tasks,
    ):
        bridge = MqttBridge(settings.mqtt, settings.id, supervisor, hub)
        helpers = [
            tasks.create_task(bridge.run(), name="mqtt"),
            tasks.create_task(_feed_watchdog(supervisor), name="watchdog"),
            tasks.create_task(
                _stop_when_lost(bridge, supervisor, settings.mqtt.stop_when_lost_s), name="lost"
            ),
            tasks.create_task(write_journal(hub), name="journal"),
        ]
        with _leave_on_signals(supervisor):
            service.notify("READY=1")
            await supervisor.run()
        service.notify("STOPPING=1")
        for helper in helpers:
            helper.cancel()


async def _feed_watchdog(supervisor: Supervisor) -> None:
    """Tell systemd that all is well as long as the streams tick."""
    period_s = service.watchdog_period_s()
    while period_s is not None:
        if supervisor.ticking:
            service.notify("WATCHDOG=1")
        await asyncio.sleep(period_s)


async def _stop_when_lost(bridge: MqttBridge, supervisor: Supervisor, allowed_s: float | None) -> None:
    """Stop motions that nobody could stop any more, because the broker is away."""
    loop = asyncio.get_running_loop()
    seen_s = loop.time()
    while allowed_s is not None:
        await asyncio.sleep(LOOK_PERIOD_S)
        if bridge.connected.is_set():
            seen_s = loop.time()
        elif loop.time() - seen_s > allowed_s:
            supervisor.stop(f"the broker has been away for more than {allowed_s:g} s; nobody could stop it")


@contextmanager
def _leave_on_signals(supervisor: Supervisor) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, supervisor.leave)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
