"""What is looked at: a configuration, as far as it can be read, and the devices that its robots drive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from motiond.drivers import DriverError, make_driver, refuse_shared_devices
from motiond.formats import FormatError

from ..config.section import ConfigError
from ..config.settings import load_settings
from ..joints import JointMapError, load_model, make_joint_map
from ..physics import PhysicsError, with_physics
from .report import Check, Verdict, nothing

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers import Driver

    from ..config.settings import Settings


@dataclass(frozen=True, slots=True)
class Target:
    """A configuration, None where it is not there or cannot be read, and its problem, '' where it has none.

    The devices are by robot, as `Driver.devices` has them.
    """

    config: Path | None
    settings: Settings | None
    devices: dict[str, tuple[str, ...]]
    problem: str = ""


def examine_config(config: Path | None) -> Target:
    """Read a configuration and make its drivers, without opening one."""
    if config is None:
        return Target(None, None, {})
    try:
        settings = load_settings(config)
    except ConfigError as error:
        return Target(config, None, {}, str(error))
    drivers: dict[str, Driver] = {}
    problems: list[str] = []
    for name, robot in settings.robots.items():
        try:
            joint_map, model = make_joint_map(name, robot, settings), load_model(robot, settings)
            options = with_physics(robot.driver.type, robot.driver.options, model, joint_map, robot.payload)
            drivers[name] = make_driver(robot.driver.type, options, joint_map.actuators)
        except (FormatError, JointMapError, PhysicsError, DriverError) as error:
            problems.append(str(error))
    try:
        refuse_shared_devices(drivers)
    except DriverError as error:
        problems.append(str(error))
    devices = {name: driver.devices for name, driver in drivers.items()}
    return Target(config, settings, devices, "\n".join(problems))


def check_config(target: Target) -> Check:
    """Report whether the configuration can be used."""
    if target.config is None:
        means = "ports, HEBI modules and folders that one would name are not looked at"
        return nothing("configuration", "none is named", means, "name one with --config")
    if target.problem:
        return Check(
            check="configuration",
            subject=str(target.config),
            verdict=Verdict.FAILURE,
            found=target.problem,
            means="the daemon does not start with it",
            hint=f"correct it, and hold it against `motiond check -c {target.config}`",
        )
    robots = [] if target.settings is None else list(target.settings.robots)
    return Check(
        check="configuration",
        subject=str(target.config),
        verdict=Verdict.OK,
        found=f"robots {', '.join(robots)}",
        means="it can be read, and drivers take their options; `motiond check` looks at motions",
    )
