"""Actuators behind one contract: what users and authors of drivers need."""

from typing import TYPE_CHECKING

from motiond.text import nearest

from .base import (
    CONTACT,
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Description,
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    DriverTimeout,
    ErrorCounts,
    LifetimeExpired,
    require_lifetime,
    slowest_rate_hz,
)
from .limits import ActuatorLimits
from .options import (
    Finite,
    NotNegative,
    OptionProblem,
    OptionsError,
    PerActuatorOf,
    Positive,
    resolved,
    spread,
)
from .registry import (
    check_options,
    describe_robot,
    driver_class,
    driver_names,
    driver_options_schema,
    lock_names,
    make_driver,
    refuse_shared_devices,
    shared_devices,
)

if TYPE_CHECKING:
    from .base import Booleans as Booleans
    from .base import Floats as Floats
    from .limits import LimitKind as LimitKind

__all__ = [
    "CONTACT",
    "ActuatorCommand",
    "ActuatorLimits",
    "ActuatorState",
    "CommunicationLost",
    "Description",
    "Driver",
    "DriverConfigError",
    "DriverError",
    "DriverOptions",
    "DriverTimeout",
    "ErrorCounts",
    "Finite",
    "LifetimeExpired",
    "NotNegative",
    "OptionProblem",
    "OptionsError",
    "PerActuatorOf",
    "Positive",
    "check_options",
    "describe_robot",
    "driver_class",
    "driver_names",
    "driver_options_schema",
    "lock_names",
    "make_driver",
    "nearest",
    "refuse_shared_devices",
    "require_lifetime",
    "resolved",
    "shared_devices",
    "slowest_rate_hz",
    "spread",
]
