"""Restarts of actuators: which drivers refuse them, and how a composite passes them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverConfigError, DriverError
from motiond.drivers.composite.driver import CompositeDriver
from motiond.drivers.composite.options import CompositeOptions
from motiond.drivers.options import check
from motiond.drivers.registry import make_driver
from motiond.drivers.sim.driver import SimDriver, SimOptions
from tests.drivers.errors import message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.drivers.base import Driver

SIM: dict[str, Any] = {"type": "sim"}
PORT = {"port": "/dev/ttyUSB9", "baud_rate": 1_000_000, "ids": {"gripper": 1}}


def test_simulated_actuators_are_not_restarted_with_the_reason() -> None:
    driver = make_driver("sim", {}, ("elbow", "wrist"))
    for refuse in (driver.refuse_reboot, driver.reboot):
        assert message_of(DriverConfigError, refuse, ["elbow", "wrist"]) == (
            "SimDriver: cannot restart elbow, wrist; its actuators take no such command; "
            "switch their power off and on"
        )


class Restarting(SimDriver):
    """A simulated driver that restarts what it is asked for."""

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        del actuators

    def reboot(self, actuators: Sequence[str]) -> None:
        self.restarted = [*actuators]


def test_a_composite_asks_the_parts_that_have_the_actuators() -> None:
    made: dict[str, Restarting] = {}

    def make(
        _: str, options: Mapping[str, Any], actuators: Sequence[str], now: Callable[[], float]
    ) -> Driver:
        made[actuators[0]] = part = Restarting(actuators, SimOptions(**options), now)
        part.restarted = []
        return part

    parts = {"arm": {**SIM, "actuators": ["a", "b"]}, "hand": {**SIM, "actuators": ["c"]}}
    options = check("driver composite", CompositeOptions, {"parts": parts})
    driver = CompositeDriver(("a", "b", "c"), options, lambda: 0.0, make)
    driver.refuse_reboot(["b"])
    driver.reboot(["b"])
    assert (made["a"].restarted, made["c"].restarted) == (["b"], [])
    driver.reboot(["c", "a"])
    assert (made["a"].restarted, made["c"].restarted) == (["a"], ["c"])


def test_a_composite_refuses_what_one_of_its_parts_refuses() -> None:
    parts = {
        "arm": {**SIM, "actuators": ["a"]},
        "hand": {"type": "dynamixel", "actuators": ["gripper"], "ports": [PORT]},
    }
    driver = make_driver("composite", {"parts": parts}, ("a", "gripper"))
    driver.refuse_reboot(["gripper"])
    with pytest.raises(DriverConfigError):
        driver.refuse_reboot(["gripper", "a"])
    with pytest.raises(DriverError) as caught:
        driver.reboot(["gripper"])
    assert str(caught.value).startswith("/dev/ttyUSB9: cannot be opened; there is no such port; ")
