from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from motiond.drivers import registry
from motiond.drivers.base import Driver, DriverConfigError, DriverOptions
from motiond.drivers.options import OptionsError
from motiond.drivers.registry import (
    check_options,
    driver_class,
    driver_names,
    lock_names,
    make_driver,
    refuse_shared_devices,
)
from motiond.drivers.sim.driver import SimDriver, SimOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from motiond.drivers.base import ActuatorCommand, ActuatorState

SIM_OPTIONS = ", ".join(sorted(SimOptions.model_fields))
OWN = ", ".join(sorted(registry.OWN))


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


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "no_such_package:Crane",
            (
                "driver crane: cannot be imported; No module named 'no_such_package'; "
                "install or update the package that it comes from"
            ),
        ),
        (
            "motiond.drivers.sim.driver:Crane",
            (
                "driver crane: cannot be imported; "
                "module 'motiond.drivers.sim.driver' has no attribute 'Crane'; "
                "install or update the package that it comes from"
            ),
        ),
        (
            "motiond.drivers.sim.driver:SimOptions",
            (
                "driver crane: motiond.drivers.sim.driver:SimOptions is no driver; "
                "it is not a subclass of Driver"
            ),
        ),
    ],
)
def test_reports_why_another_packages_driver_cannot_be_used(
    entry_points: list[EntryPoint], target: str, message: str
) -> None:
    entry_points.append(EntryPoint("crane", target, "motiond.drivers"))
    with pytest.raises(DriverConfigError) as caught:
        driver_class("crane")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sin", f"driver sin: there is no such driver; there are {OWN}; did you mean 'sim'?"),
        ("crane", f"driver crane: there is no such driver; there are {OWN}"),
    ],
)
@pytest.mark.usefixtures("entry_points")
def test_names_the_nearest_driver(name: str, message: str) -> None:
    with pytest.raises(DriverConfigError) as caught:
        check_options(name, {})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dampng_ratio": 1},
            (
                f"driver sim: unknown option 'dampng_ratio'; it takes {SIM_OPTIONS}; "
                "did you mean 'damping_ratio'?"
            ),
        ),
        (
            {"noise": -1, "inertia": {"elbow": 0}, "seed": "many"},
            (
                "driver sim: option 'inertia.elbow' is 0; it should be greater than 0; correct it\n"
                "driver sim: option 'noise' is -1; it should be greater than or equal to 0; correct it\n"
                "driver sim: option 'seed' is 'many'; "
                "it should be a valid integer, unable to parse string as an integer; correct it"
            ),
        ),
        (
            {"natural_frequency_hz": 600},
            (
                "driver sim: option 'natural_frequency_hz' is 600; "
                "it should be less than or equal to 500; correct it"
            ),
        ),
        (
            {"initial": float("nan")},
            "driver sim: option 'initial' is nan; it should be a finite number; correct it",
        ),
        (
            {"initial": {"elbo": 1}},
            (
                "driver sim: option 'initial' names an unknown actuator 'elbo'; there are elbow, wrist; "
                "did you mean 'elbow'?"
            ),
        ),
    ],
)
def test_refuses_wrong_options_all_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionsError) as caught:
        check_options("sim", options, ["elbow", "wrist"])
    assert str(caught.value) == message


def test_reports_a_program_which_option_is_wrong() -> None:
    with pytest.raises(OptionsError) as caught:
        check_options("sim", {"inertia": {"elbow": 0}, "sed": 1})
    assert [problem.option for problem in caught.value.problems] == [("inertia", "elbow"), ("sed",)]


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
    with pytest.raises(DriverConfigError) as caught:
        refuse_shared_devices(drivers)
    assert str(caught.value) == (
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


@pytest.mark.parametrize(
    ("kind", "options", "option"),
    [
        ("hebi", {"names": ["a"] * 1001}, "option 'names'"),
        ("hebi", {"families": "f", "interfaces": ["eth0"] * 1001}, "option 'interfaces'"),
        ("sim", {"faults": [{"fault": "clear"}] * 1001}, "option 'faults'"),
        ("sim", {"initial": dict.fromkeys(map(str, range(1001)), 0.0)}, "option 'initial'"),
        (
            "dynamixel",
            {"ports": [{"port": "/dev/ttyUSB0", "ids": dict.fromkeys(range(1001), 1)}]},
            "option 'ports.0.ids'",
        ),
    ],
)
def test_no_option_takes_more_entries_than_a_robot_can_need(
    kind: str, options: dict[str, Any], option: str
) -> None:
    with pytest.raises(OptionsError) as caught:
        check_options(kind, options)
    assert str(caught.value).partition(": ")[2] == (
        f"{option} has 1001 entries; it takes at most 1000; remove some"
    )
