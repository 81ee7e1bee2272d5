"""Finds drivers by name, motiond's own and those of other packages, checks their options and makes them.

A driver's module is imported when its name is first used, so that a robot on one kind of actuator needs no
library of another. Other packages register a `Driver` class under the entry point group `motiond.drivers`.
"""

from __future__ import annotations

import os
import stat
import time
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from motiond.text import nearest

from .base import Driver, DriverConfigError
from .options import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .base import Description, DriverOptions

GROUP = "motiond.drivers"
OWN = {
    "composite": "motiond.drivers.composite:CompositeDriver",
    "dynamixel": "motiond.drivers.dynamixel:DynamixelDriver",
    "feetech": "motiond.drivers.feetech:FeetechDriver",
    "hebi": "motiond.drivers.hebi:HebiDriver",
    "sim": "motiond.drivers.sim:SimDriver",
}


def _others() -> dict[str, EntryPoint]:
    """Look through all that is installed for drivers."""
    return {point.name: point for point in entry_points(group=GROUP)}


def driver_names() -> tuple[str, ...]:
    """Return the names of all drivers, in alphabetical order."""
    return tuple(sorted({*OWN, *_others()}))


def driver_class(name: str) -> type[Driver]:
    """Return the class of the driver called `name`.

    Raises DriverConfigError if there is none, or it cannot be imported; with the reason.
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
    name: str, options: Mapping[str, Any], actuators: Sequence[str], now: Callable[[], float] = time.monotonic
) -> Driver:
    """Make a driver without opening it.

    Parameters
    ----------
    options : mapping
        What stands under `driver:` besides `type`; relative paths must have been resolved.
    actuators : sequence of str
        The actuators to drive, in the order of every array.

    Raises
    ------
    DriverConfigError
        As `check_options` does.
    """
    kind = driver_class(name)
    return kind(actuators, check(f"driver {name}", kind.Options, options), now)


def describe_robot(name: str, options: Mapping[str, Any]) -> Description | None:
    """Return what a driver's options describe of the robot, if anything.

    `options`: what stands under `driver:` besides `type`; relative paths must have been resolved. Raises
    DriverConfigError as `check_options` does, and if a file that the options name cannot be read, or is
    wrong.
    """
    kind = driver_class(name)
    return kind.describe(check(f"driver {name}", kind.Options, options))


def lock_names(device: str) -> tuple[str, ...]:
    """Return by which names a device is locked: its own, and its number where it is a file or a device node.

    A file may have several names by hard links, and a port several nodes; a port that comes back may have
    another number.

    `device`: as `Driver.devices` has it.
    """
    path = device.partition(":")[2]
    if not path.startswith("/"):
        return (device,)
    try:
        status = os.stat(path)  # noqa: PTH116 - what else may stand there need be no path
    except (OSError, ValueError):
        return (device,)
    if stat.S_ISCHR(status.st_mode):
        return device, f"device:{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    if stat.S_ISREG(status.st_mode):
        return device, f"file:{status.st_dev}:{status.st_ino}"
    return (device,)


def shared_devices(one: Driver, other: Driver) -> list[str]:
    """Return the devices that both drive: those of one name, else the first that has two."""
    if same := sorted(set(one.devices) & set(other.devices)):
        return same
    for its, others in product(one.devices, other.devices):
        if set(lock_names(its)) & set(lock_names(others)):
            return [f"{its}, which is {others}"]
    return []


def refuse_shared_devices(drivers: Mapping[str, Driver]) -> None:
    """Refuse robots of which two would drive one device.

    `drivers`: by robot; none is opened. Raises DriverConfigError with the first two such robots, and all that
    both would drive.
    """
    for (one, its), (other, others) in combinations(drivers.items(), 2):
        if shared := shared_devices(its, others):
            where, what = f"robots {one} and {other}", f"both drive {', '.join(shared)}"
            raise DriverConfigError(where, what, "one device has one master", "leave it to one of them")


def driver_options_schema() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of every driver's options, by the driver's name."""
    return {name: driver_class(name).Options.model_json_schema() for name in driver_names()}
