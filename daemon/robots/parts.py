"""What one robot is to be made of, and whether that differs from what another one was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from motiond.drivers import Driver
    from motiond.formats import RobotModel

    from ..config.robot import RobotSettings
    from ..ipc.messages import Setup
    from ..joints import JointMap
    from .telemetry_reporter import TelemetryRates


@dataclass(frozen=True, slots=True)
class Parts:
    """What one robot is to be made of, checked; nothing is started, and no device is opened.

    Attributes
    ----------
    name : str
    settings : RobotSettings
    model : RobotModel or None
        Its description; None of one that has only joints.
    joint_map : JointMap
    setup : Setup
        What its stream process is told first.
    rates : TelemetryRates
    driver : Driver
        Not opened: it knows which devices it would drive, and how fast.
    """

    name: str
    settings: RobotSettings
    model: RobotModel | None
    joint_map: JointMap
    setup: Setup
    rates: TelemetryRates
    driver: Driver

    def makes_the_same(self, other: Parts) -> bool:
        """Whether the robot would be the same as one of other parts, and so need not be made anew."""
        mine, others = ((one.settings, one.model, one.setup, one.rates) for one in (self, other))
        return alike(mine, others)

    def drives_the_same(self, other: Parts) -> bool:
        """Whether the same driver would move the same actuators of the same devices."""
        mine, others = ((one.settings.driver, one.joint_map.actuators) for one in (self, other))
        return mine == others


def alike(one: Any, other: Any) -> bool:
    """Whether two values hold the same, arrays and what is not a number included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if is_dataclass(one):
        return all(alike(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - not a number
