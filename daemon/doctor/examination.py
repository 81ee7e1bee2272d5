"""All checks of a machine, one after the other; the measured one last, when nothing else runs here."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..clock import ClockMonitor
from ..config.settings import RealtimeSettings, host_name
from .broker import check_brokers
from .certificates import check_certificates
from .clock import check_clock
from .disk import check_disk
from .machine import Machine
from .modules import check_modules
from .ports import check_ports
from .punctuality import (
    NotMeasured,
    check_governor,
    check_kernel,
    check_punctuality,
    measure,
    task_of,
)
from .report import Check, Report, gravest
from .target import check_config, examine_config
from .versions import check_versions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from ..config.mqtt import MqttSettings
    from .target import Target
    from .wakeups import Measured, Task

STEPS = 10


def examine(
    config: Path | None, mqtt: MqttSettings | None, seconds: float, done: Callable[[], object]
) -> Report:
    """Look at all of this machine; otherwise as `examination`."""
    return asyncio.run(examination(config, mqtt, seconds, done))


async def examination(
    config: Path | None,
    mqtt: MqttSettings | None,
    seconds: float,
    done: Callable[[], object],
    machine: Machine | None = None,
    *,
    measured: Callable[[Task], Measured] = measure,
) -> Report:
    """Look at everything; nothing moves, and a daemon that runs is not disturbed."""
    machine = machine or Machine()
    stamp = datetime.now(UTC).isoformat()
    checks: list[Check] = []
    target = examine_config(config)
    async for found in _checks(target, mqtt, machine):
        checks += found
        done()
    task = task_of(target.settings.realtime if target.settings else RealtimeSettings(), seconds)
    try:
        checks += check_punctuality(task, measured(task))
    except NotMeasured as error:
        checks += check_punctuality(task, error)
    done()
    version = machine.version_of("motiond") or ""
    return Report(version=version, stamp_utc=stamp, verdict=gravest(checks), checks=checks)


async def _checks(target: Target, mqtt: MqttSettings | None, machine: Machine) -> AsyncIterator[list[Check]]:
    settings = target.settings
    drivers = [robot.driver for robot in settings.robots.values()] if settings else []
    yield [check_config(target)]
    daemon_id = settings.id if settings else host_name()
    yield await check_brokers(mqtt, daemon_id) if mqtt and _is_asked_for(mqtt, target) else []
    yield check_certificates(mqtt, settings.http if settings else None)
    max_error_s = settings.max_clock_error_s if settings else None
    yield [await check_clock(ClockMonitor(max_error_s, ask_chrony=machine.ask_chrony))]
    yield [check_kernel(machine), check_governor(machine)]
    yield check_ports(target.devices, machine)
    yield [await check_modules(target.devices, drivers, machine.look)]
    yield check_disk(settings, machine)
    yield [check_versions(machine.version_of)]


def _is_asked_for(mqtt: MqttSettings, target: Target) -> bool:
    """Whether a broker is meant: of a configuration that cannot be read, none that only a default names."""
    can_be_read = target.config is None or target.settings is not None
    return can_be_read or bool(mqtt.model_fields_set & {"broker", "listen"})
