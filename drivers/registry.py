"""Finds drivers by name, motiond's own and those of other packages, checks their options and makes them.

A driver's module is imported when its name is first used, so that a robot on one kind of actuator needs no
library of another. Other packages register a `Driver` class under the entry point group `motiond.drivers`.
"""

from __future__ import annotations

import time
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .base import Driver, DriverConfigError
from .options import check, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .base import Description, DriverOptions

GROUP = "motiond.drivers"
OWN = {
    "composite": "motiond.drivers.composite.driver:CompositeDriver",
    "dynamixel": "motiond.drivers.dynamixel.driver:DynamixelDriver",
    "hebi": "motiond.drivers.hebi.driver:HebiDriver",
    "sim": "motiond.drivers.sim.driver:SimDriver",
}


def _others() -> dict[str, EntryPoint]:
    """Look through all that is installed for drivers."""
    return {point.name: point for point in entry_points(group=GROUP)}


def driver_names() -> tuple[str, ...]:
    """Return the names of all drivers, in alphabetical order."""
    return tuple(sorted({*OWN, *_others()}))


def driver_class(name: str) -> type[Driver]:
    """Return the class of the driver called `name`.

    Raises
    ------
    DriverConfigError
        If there is none, or it cannot be imported; with the reason.
    """
    where = f"driver {name}"
    if name in OWN:
        point = EntryPoint(name, OWN[name], GROUP)  # without a look at what is installed
    elif name in (others := _others()):
        point = others[name]
    else:
        known = sorted({*OWN, *others})
        raise DriverConfigError(
            where, "there is no such driver", f"there are {', '.join(known)}", nearest(name, known)
        )
    try:
        loaded = getattr(import_module(point.module), point.attr)
    except (ImportError, AttributeError) as error:
        raise DriverConfigError(
            where, "cannot be imported", str(error), "install or update the package that it comes from"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Driver)):
        raise DriverConfigError(where, f"{point.value} is no driver", "it is not a subclass of Driver")
    return loaded


def check_options(
    name: str, options: Mapping[str, Any], actuators: Sequence[str] | None = None
) -> DriverOptions:
    """Check a driver's options without opening anything.

    Parameters
    ----------
    options : mapping
        What stands under `driver:` besides `type`.
    actuators : sequence of str, optional
        Where they are known, options that name actuators are checked against them.

    Raises
    ------
    DriverConfigError
        If the driver is unknown; an `OptionsError` with every wrong option if those are wrong.
    """
    if actuators is not None:
        return make_driver(name, options, actuators).options
    return check(f"driver {name}", driver_class(name).Options, options)


def make_driver(
    name: str,
    options: Mapping[str, Any],
    actuators: Sequence[str],
    now: Callable[[], float] = time.monotonic,
) -> Driver:
    """Make a driver without opening it.

    Parameters
    ----------
    name : str
        Of the driver.
    options : mapping
        What stands under `driver:` besides `type`; relative paths must have been resolved.
    actuators : sequence of str
        The actuators to drive, in the order of every array.
    now : callable
        Returns monotonic time in seconds.

    Raises
    ------
    DriverConfigError
        As `check_options` does.
    """
    kind = driver_class(name)
    return kind(actuators, check(f"driver {name}", kind.Options, options), now)


def describe_robot(name: str, options: Mapping[str, Any]) -> Description | None:
    """Return what a driver's options tell of the robot, if anything.

    Parameters
    ----------
    options : mapping
        What stands under `driver:` besides `type`; relative paths must have been resolved.

    Raises
    ------
    DriverConfigError
        As `check_options` does, and if a file that the options name cannot be read, or is wrong.
    """
    kind = driver_class(name)
    return kind.describe(check(f"driver {name}", kind.Options, options))


def refuse_shared_devices(drivers: Mapping[str, Driver]) -> None:
    """Refuse robots of which two would drive one device.

    Parameters
    ----------
    drivers : mapping of str to Driver
        By robot; none is opened.

    Raises
    ------
    DriverConfigError
        With the first two such robots, and all that both would drive.
    """
    for (one, its), (other, others) in combinations(drivers.items(), 2):
        shared = sorted(set(its.devices) & set(others.devices))
        if shared:
            where, what = f"robots {one} and {other}", f"both drive {', '.join(shared)}"
            raise DriverConfigError(where, what, "one device has one master", "leave it to one of them")


def driver_options_schema() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of every driver's options, by the driver's name."""
    return {name: driver_class(name).Options.model_json_schema() for name in driver_names()}
