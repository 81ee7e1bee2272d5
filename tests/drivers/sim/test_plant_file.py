from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState, Driver, DriverConfigError
from motiond.drivers.registry import make_driver
from motiond.drivers.sim.plant_file import PlantFileError, read_plant
from tests.drivers.errors import message_of

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers.testing.rig import Clock

ARM = ("base", "elbow")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arm.plant"


def opened(path: Path, clock: Clock, **options: Any) -> Driver:
    options = {"plant": path, "command_lifetime_s": 0.1} | options
    driver = make_driver("sim", options, ARM, clock)
    driver.open()
    return driver


def command(*position: float) -> ActuatorCommand:
    command = ActuatorCommand(len(ARM))
    command.position[:] = position
    return command


def test_a_new_process_finds_the_robot_where_it_came_to_rest(path: Path, clock: Clock) -> None:
    driver = opened(path, clock, natural_frequency_hz=2)
    driver.enable()
    driver.write(command(1, -1))
    clock.now_s += 0.05
    driver.close()
    clock.now_s += 5

    state = ActuatorState(len(ARM))
    again = opened(path, clock, initial=9)
    again.read(state)
    assert 0.1 < state.position[0] < 0.9
    assert state.position[1] == -state.position[0]
    np.testing.assert_allclose(state.velocity, 0, atol=1e-9)
    again.write(command(1, -1))
    assert not read_plant(path, clock.now_s).torque


def test_a_robot_from_before_a_reboot_is_ignored_and_reported(path: Path, clock: Clock) -> None:
    opened(path, clock, initial=0.5).close()
    clock.now_s -= 900

    driver = opened(path, clock, initial=0.25)
    state = ActuatorState(len(ARM))
    driver.read(state)
    assert (state.position == 0.25).all()
    assert driver.warnings == [
        (
            f"{path}: the simulated robot in it is ignored; "
            "it was left 900.0 s ahead of the clock, so before a reboot"
        )
    ]


@pytest.mark.parametrize("content", [b"six axes", b"\0" * 8 * 51])
def test_does_not_overwrite_what_it_did_not_write(path: Path, clock: Clock, content: bytes) -> None:
    path.write_bytes(content)
    assert message_of(DriverConfigError, opened, path, clock) == (
        f"driver sim: {path}: holds something else than these actuators; remove it or name another file"
    )
    assert path.read_bytes() == content


def test_does_not_take_another_robot_for_its_own(path: Path, clock: Clock) -> None:
    opened(path, clock).close()
    other = make_driver("sim", {"plant": path}, ["elbow", "base"], clock)
    with pytest.raises(DriverConfigError, match="holds something else than these actuators"):
        other.open()


@pytest.mark.parametrize("content", [b"", b"six axes", b"\0" * 8 * 51])
def test_reports_that_a_file_holds_no_robot(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert message_of(PlantFileError, read_plant, path, 0) == (
        f"{path}: holds no simulated robot; name the file of the sim driver's option `plant`"
    )
