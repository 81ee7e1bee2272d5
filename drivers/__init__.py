"""Actuators behind one contract: what users and authors of drivers need.

Every public name is imported on first use, so importing this package loads no back end and no library.

base       the contract: `Driver`, states and commands of actuators, errors
limits     what actuators themselves allow
options    checks options, and spreads them over the actuators
yaml_bounds  how much a YAML file may hold, aliases included
port_access  why a serial port may not be opened
registry   finds drivers by name, and makes them
sim        simulated actuators
hebi       HEBI modules
dynamixel  DYNAMIXEL servos
composite  several drivers as one robot's
testing    the contract as a suite of tests
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import (
        ActuatorCommand,
        ActuatorState,
        CommunicationLost,
        Description,
        Driver,
        DriverConfigError,
        DriverError,
        DriverOptions,
        DriverTimeout,
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
        nearest,
        resolved,
        spread,
    )
    from .registry import (
        check_options,
        describe_robot,
        driver_class,
        driver_names,
        driver_options_schema,
        make_driver,
    )

__all__ = [
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
    "make_driver",
    "nearest",
    "require_lifetime",
    "resolved",
    "slowest_rate_hz",
    "spread",
]
_HOMES = ("base", "limits", "options", "registry")


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = (import_module(f"{__name__}.{home}") for home in _HOMES)
    value = globals()[name] = next(getattr(home, name) for home in homes if hasattr(home, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
