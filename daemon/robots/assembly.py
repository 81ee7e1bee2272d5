"""Makes robots of a checked configuration: description, joints, driver, motions, stream process."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from motiond.drivers import make_driver, refuse_shared_devices

from ..clock import ClockMonitor
from ..config.robot import JointSettings
from ..history import History
from ..ipc.messages import CheckLimits, Setup, WayBounds
from ..joints import (
    build_joint_map,
    has_ends,
    joint_bounds,
    load_model,
    missing_limits,
    never_fails,
    with_gravity,
    with_payload,
    with_stops,
)
from ..physics import Refusals, with_physics
from ..planning import (
    MotionLibrary,
    MotionReader,
    bounds_of_ways,
    collision_of,
    make_checks,
    pose_problems,
)
from ..trajectory import FULL_RAMP
from .gamepad import GamepadFile
from .member import Member
from .motions import AT_ONCE
from .process import StreamProcess, StreamSupervisor
from .recordings import make_recordings
from .registry import RobotRegistry
from .robot import Robot
from .telemetry_reporter import TelemetryRates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers import ActuatorLimits, Driver
    from motiond.formats import RobotModel

    from ..api import ReportHub
    from ..config.robot import RobotSettings
    from ..config.settings import Settings
    from ..ipc.stream_forks import StreamForks
    from ..joints import JointBounds, JointMap
    from ..planning import PlanCheck

log = logging.getLogger(__name__)

CLOSE_PATIENCE_S = 3.0
BEATS_A_TIMEOUT = 4
AHEAD_PERIOD_S = 0.005
"""How often the records of virtual time are read, which fills the ring in a tenth of a second."""


def make_registry(
    settings: Settings,
    hub: ReportHub,
    forks: StreamForks,
    clock: ClockMonitor | None = None,
    history: History | None = None,
) -> RobotRegistry:
    """Load every robot's description and put the robots together; nothing is started.

    Parameters
    ----------
    settings : Settings
    hub : ReportHub
        Where the robots report.
    forks : StreamForks
        Who forks their stream processes; it has to last as long as they do.
    clock : ClockMonitor, optional
        Of the machine; by default one of its real clock.
    history : History, optional
        Keeps their results; by default in memory.

    Raises
    ------
    FormatError, JointMapError, DriverError, PhysicsError
        If a robot cannot be made of its description, joints and driver, or two robots drive one device.
    """
    clock, history = clock or ClockMonitor(settings.max_clock_error_s), history or History()
    rates = _telemetry_rates(settings)
    turns = asyncio.Semaphore(AT_ONCE)
    models: dict[str, RobotModel | None] = {}
    drivers: dict[str, Driver] = {}
    members: list[Member] = []
    robots: dict[str, Robot] = {}
    refusals = Refusals()
    for name, robot in settings.robots.items():
        with refusals.of(name):
            described = robot.model.model_dump_json() if robot.model else ""
            if described not in models:  # robots of one kind share what is read once
                models[described] = load_model(robot, settings)
            model = models[described]
            joint_map = build_joint_map(name, model, robot.joints)
            options = with_physics(robot.driver.type, robot.driver.options, model, joint_map, robot.payload)
            laden = with_payload(name, model, robot.payload)
            options = with_gravity(robot.driver.type, options, laden, joint_map)
            options = with_stops(robot.driver.type, options, joint_map)
            driver = drivers[name] = make_driver(robot.driver.type, options, joint_map.actuators)
            setup = make_setup(name, robot, settings, joint_map, options, allowed=driver.limits)
            checks = make_checks(robot, model, joint_map)
            setup = replace(setup, contact_slots=driver.contact_slots, collision=collision_of(checks))
            for note in (note for check in checks for note in check.notes):
                log.info("%s: %s", name, note)
            library = _make_library(name, robot, joint_map, driver, checks)
            robots[name] = Robot(
                name,
                robot,
                joint_map=joint_map,
                library=library,
                stream=_make_stream(forks, setup, robot, rates),
                telemetry=rates,
                hub=hub,
                clock=clock,
                history=history,
                recordings=make_recordings(name, settings, model, library, clock),
                turns=turns,
                model=model,
            )
            gamepad = GamepadFile(name, settings.gamepads / f"{name}.json", joint_map.joints)
            members.append(Member(robots[name], model, joint_map, robots, gamepad))
    refusals.raise_if_any()
    refuse_shared_devices(drivers)
    return RobotRegistry(members, clock, history)


def _make_library(
    name: str, robot: RobotSettings, joint_map: JointMap, driver: Driver, checks: Sequence[PlanCheck]
) -> MotionLibrary:
    narrowed = joint_map.within(driver.limits)
    bounds = joint_bounds(narrowed, robot)
    warnings = missing_limits(narrowed), never_fails(narrowed, bounds), has_ends(joint_map, narrowed)
    odd = (warning for check in checks for warning in check.warnings)
    for warning in (*filter(None, warnings), *odd, *pose_problems(narrowed, robot, checks)):
        log.warning("%s: %s", name, warning)
    return MotionLibrary(
        narrowed,
        robot,
        driver.max_rate_hz,
        reader=MotionReader(),
        min_rate_hz=driver.min_rate_hz,
        checks=checks,
    )


def _telemetry_rates(settings: Settings) -> TelemetryRates:
    mqtt = settings.mqtt
    idle_hz = mqtt.telemetry_hz if mqtt.idle_telemetry_hz is None else mqtt.idle_telemetry_hz
    return TelemetryRates(mqtt.telemetry_hz, idle_hz, settings.http.telemetry_hz if settings.http else 0.0)


def _make_stream(
    forks: StreamForks, setup: Setup, robot: RobotSettings, rates: TelemetryRates
) -> StreamSupervisor:
    # Virtual time may run away between two heartbeats, which come in real time.
    is_real = robot.clock == "real"
    daemon_timeout_s = robot.daemon_timeout_s if is_real else None
    return StreamSupervisor(
        partial(StreamProcess, forks, replace(setup, daemon_timeout_s=daemon_timeout_s)),
        len(setup.joints),
        beat_s=daemon_timeout_s and daemon_timeout_s / BEATS_A_TIMEOUT,
        period_s=rates.watch_period_s if is_real else AHEAD_PERIOD_S,
        timeout_s=robot.stream_timeout_s,
        patience_s=robot.stop_duration_s + CLOSE_PATIENCE_S,
        keep_every_s=None if is_real or not rates.moving_hz else 1.0 / rates.moving_hz,
    )


def make_setup(
    name: str,
    robot: RobotSettings,
    settings: Settings,
    joint_map: JointMap,
    options: dict[str, Any],
    *,
    allowed: ActuatorLimits,
) -> Setup:
    """Return the first message to a stream process.

    Parameters
    ----------
    options : dict
        The driver's.
    allowed : ActuatorLimits
        What the actuators allow by these.
    """
    narrowed = joint_map.within(allowed)
    return Setup(
        limits=_limits(robot, joint_map, joint_bounds(narrowed, robot)),
        ways=_ways(robot, narrowed),
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


def _ways(robot: RobotSettings, joint_map: JointMap) -> WayBounds:
    """Return the bounds of the ways that a stream process plans itself."""
    bounds, limits = bounds_of_ways(joint_map, robot), joint_map.limits
    return WayBounds(
        velocity=bounds.velocity.tolist(),
        acceleration=bounds.acceleration.tolist(),
        jerk=bounds.jerk.tolist(),
        clock_acceleration=FULL_RAMP / robot.stop_duration_s,
        start_tolerance=joint_bounds(joint_map, robot).start_tolerance.tolist(),
        lower=bounds.lower.tolist(),
        upper=bounds.upper.tolist(),
        velocity_limit=limits.velocity.tolist(),
        acceleration_limit=limits.acceleration.tolist(),
        leaders=bounds.leaders.tolist(),
        multipliers=bounds.multipliers.tolist(),
        turn=joint_map.turn.tolist(),
    )


def _limits(robot: RobotSettings, joint_map: JointMap, bounds: JointBounds) -> CheckLimits:
    """Return what the stream process checks while a motion plays."""
    effort = joint_map.limits.effort.tolist()
    may_stall = [robot.joints.get(joint, JointSettings()).allow_stalling for joint in joint_map.joints]
    return CheckLimits(
        effort=[limit if math.isfinite(limit) else None for limit in effort],
        effort_s=robot.checks.effort_s,
        temperature_c=robot.checks.temperature_c,
        stale_s=robot.checks.stale_s,
        stall_s=robot.checks.stall_s,
        stall_error=bounds.stall_error.tolist(),
        may_stall=may_stall,
    )
