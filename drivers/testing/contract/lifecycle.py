"""A driver is made, opened and closed: what it holds of the machine, and what it refuses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ...base import ActuatorCommand, ActuatorState, DriverConfigError, DriverError
from .steps import assert_at, open_files

if TYPE_CHECKING:
    from ...base import Driver
    from ..rig import Rig


class LifecycleContract:
    """How a driver is made, opened and closed."""

    def test_tells_its_devices_before_it_is_open(self, rig: Rig) -> None:
        devices = rig.make().devices
        assert isinstance(devices, tuple)
        assert all(isinstance(device, str) and device for device in devices)
        assert rig.make().devices == devices

    def test_refuses_an_actuator_named_twice(self, rig: Rig) -> None:
        first, *_, last = rig.actuators
        with pytest.raises(DriverConfigError) as caught:
            rig.make([first, last, first])
        assert str(caught.value).endswith(f": actuators named twice: {first}; give each a name of its own")

    def test_refuses_to_drive_nothing(self, rig: Rig) -> None:
        with pytest.raises(DriverConfigError) as caught:
            rig.make([])
        assert str(caught.value).endswith(": no actuators to drive; name at least one")

    def test_does_not_open_halfway(self, rig: Rig) -> None:
        driver = rig.make_broken()
        files, threads = open_files(), threading.active_count()

        with pytest.raises(DriverError):
            driver.open()

        assert (open_files(), threading.active_count()) == (files, threads)
        with pytest.raises(DriverError, match="is not open"):
            driver.enable()

    def test_closes_after_a_failed_open(self, rig: Rig) -> None:
        driver = rig.make_broken()
        with pytest.raises(DriverError):
            driver.open()
        driver.close()
        driver.close()

    def test_closes_before_open_and_any_number_of_times(self, rig: Rig) -> None:
        driver = rig.make()
        driver.close()
        driver.open()
        driver.close()
        driver.close()

    def test_opens_again_after_close(self, rig: Rig, driver: Driver) -> None:
        driver.close()
        driver.open()
        driver.enable()
        assert_at(rig, rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_opened_again_it_holds_nothing_and_warns_of_the_same(self, rig: Rig, driver: Driver) -> None:
        warned = list(driver.warnings)
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3])
        driver.close()
        driver.open()
        driver.disable()
        assert driver.warnings == warned
        assert_at(rig, rig.play(driver, [1, 1, 1]), [0.1, 0.2, 0.3])

    def test_refuses_to_open_twice(self, driver: Driver) -> None:
        with pytest.raises(DriverError, match="is open already; close it first"):
            driver.open()

    @pytest.mark.parametrize("call", ["read", "write", "enable", "disable"])
    def test_says_that_it_is_not_open(self, rig: Rig, call: str) -> None:
        driver = rig.make()
        driver.open()
        driver.close()
        arguments: dict[str, object] = {"read": ActuatorState(3), "write": ActuatorCommand(3)}
        with pytest.raises(DriverError) as caught:
            getattr(driver, call)(*[arguments[call]] if call in arguments else [])
        assert str(caught.value) == f"{caught.value.where}: is not open; open it first"
