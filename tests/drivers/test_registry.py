from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from motiond.drivers import registry
from motiond.drivers.base import Driver, DriverConfigError, DriverOptions
from motiond.drivers.registry import (
    driver_class,
    driver_names,
    lock_names,
    make_driver,
    refuse_shared_devices,
)
from motiond.drivers.sim.driver import SimDriver
from tests.drivers.errors import message_of
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.drivers.base import ActuatorCommand, ActuatorState


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    points: list[EntryPoint] = []

    def stand_in(*, group: str) -> Sequence[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr(registry, "entry_points", stand_in)
    return points


def test_imports_a_driver_only_when_it_is_used() -> None:
    assert {"hebi", "sim"} <= set(driver_names())
    assert isinstance(make_driver("sim", {}, ["elbow"]), SimDriver)
    assert sys.modules["motiond.drivers.sim.driver"].SimDriver is driver_class("sim")


def test_finds_the_drivers_of_other_packages(entry_points: list[EntryPoint]) -> None:
    entry_points.append(EntryPoint("crane", "motiond.drivers.sim.driver:SimDriver", "motiond.drivers"))
    assert driver_class("crane") is SimDriver


def test_keeps_its_own_drivers_when_another_package_takes_their_name(entry_points: list[EntryPoint]) -> None:
    entry_points.append(EntryPoint("sim", "nowhere:Nothing", "motiond.drivers"))
    assert driver_class("sim") is SimDriver


@table("target, message")
def test_reports_why_another_packages_driver_cannot_be_used(
    entry_points: list[EntryPoint], target: str, message: str
) -> None:
    entry_points.append(EntryPoint("crane", target, "motiond.drivers"))
    assert message_of(DriverConfigError, driver_class, "crane") == message


# -- devices ------------------------------------------------------------------------------------------------


class CraneOptions(DriverOptions):
    address: str


class Crane(Driver):
    """A driver that says nothing of its devices; it is never opened."""

    max_rate_hz = 100.0

    def open(self) -> None: ...
    def close(self) -> None: ...
    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def halt(self) -> None: ...
    def read(self, state: ActuatorState) -> None: ...
    def write(self, command: ActuatorCommand) -> None: ...


def crane(address: str, *actuators: str) -> Crane:
    return Crane(actuators, CraneOptions(address=address))


def test_each_driver_names_what_it_drives(tmp_path: Path) -> None:
    port, link = tmp_path / "ttyUSB0", tmp_path / "by-id"
    link.symlink_to(port)
    servos = {"type": "dynamixel", "ports": [{"port": str(link), "ids": {"finger": 1}}]}
    modules = {"type": "hebi", "families": ["Arm"], "names": ["base"]}
    parts = {"hand": {**servos, "actuators": ["finger"]}, "arm": {**modules, "actuators": ["elbow"]}}
    plant = {"plant": tmp_path / "plant.bin"}
    assert make_driver("sim", {}, ["elbow"]).devices == ()
    assert make_driver("sim", plant, ["elbow"]).devices == (f"plant:{tmp_path}/plant.bin",)
    assert make_driver("composite", {"parts": parts}, ["finger", "elbow"]).devices == (
        f"serial:{link}",
        f"serial:{port}",
        "hebi:Arm/base",
    )


def test_two_robots_on_one_device_are_refused_by_name() -> None:
    drivers = {"arm": crane("a", "hook"), "leg": crane("b", "hook"), "tail": crane("a", "hook")}
    (device,) = drivers["arm"].devices
    assert message_of(DriverConfigError, refuse_shared_devices, drivers) == (
        f"robots arm and tail: both drive {device}; one device has one master; leave it to one of them"
    )


def test_two_robots_on_one_file_by_two_names_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "arm.plant", tmp_path / "leg.plant"
    one.touch()
    two.hardlink_to(one)
    with pytest.raises(DriverConfigError) as caught:
        refuse_shared_devices(
            {
                name: make_driver("sim", {"plant": plant}, ["elbow"])
                for name, plant in (("a", one), ("b", two))
            }
        )
    both = f"both drive plant:{one}, which is plant:{two}"
    assert str(caught.value) == f"robots a and b: {both}; one device has one master; leave it to one of them"


def test_a_device_is_locked_by_its_name_and_by_the_number_of_what_it_stands_for(tmp_path: Path) -> None:
    file, node = tmp_path / "plant.bin", tmp_path / "zero"
    file.touch()
    node.symlink_to("/dev/zero")
    status = file.stat()
    assert lock_names(f"plant:{file}") == (f"plant:{file}", f"file:{status.st_dev}:{status.st_ino}")
    assert lock_names(f"serial:{node}") == (f"serial:{node}", "device:1:5")
    for device in (f"serial:{tmp_path / 'gone'}", f"serial:{tmp_path}", "hebi:Arm/base", "x", "serial:/a\0b"):
        assert lock_names(device) == (device,)
