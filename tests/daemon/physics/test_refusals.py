"""What keeps robots from being made is said of all of them at once, each with its name."""

from __future__ import annotations

import pytest

from motiond.daemon.physics import PhysicsError, Refusals
from motiond.drivers import DriverConfigError
from motiond.drivers.options import OptionProblem, OptionsError

NO_MUJOCO = PhysicsError("arm: effort: needs MuJoCo; it is missing; install it")
OPTIONS = OptionsError(
    [
        OptionProblem("driver sim", ("order",), "`order` is wrong"),
        OptionProblem("driver sim", ("seed",), "`seed` is wrong"),
    ]
)


def raised(**errors: Exception) -> Exception:
    refusals = Refusals()
    for robot, error in errors.items():
        with refusals.of(robot):
            raise error
    with pytest.raises((PhysicsError, DriverConfigError)) as caught:
        refusals.raise_if_any()
    return caught.value


def test_one_robot_is_refused_for_its_own_reason() -> None:
    assert raised(arm=NO_MUJOCO) is NO_MUJOCO


def test_each_line_of_a_driver_has_the_robot_s_name() -> None:
    assert str(raised(leg=OPTIONS)) == "leg: driver sim: `order` is wrong\nleg: driver sim: `seed` is wrong"


def test_all_robots_are_refused_at_once() -> None:
    driver = "leg: driver sim: `order` is wrong\nleg: driver sim: `seed` is wrong"
    found = raised(arm=NO_MUJOCO, leg=OPTIONS)
    assert (type(found), str(found)) == (PhysicsError, f"{NO_MUJOCO}\n{driver}")
    found = raised(leg=OPTIONS, arm=NO_MUJOCO)
    assert (type(found), str(found)) == (DriverConfigError, f"{driver}\n{NO_MUJOCO}")


def test_nothing_is_refused_where_nothing_is_wrong() -> None:
    refusals = Refusals()
    with refusals.of("arm"):
        pass
    refusals.raise_if_any()


def test_other_errors_are_not_kept() -> None:
    with pytest.raises(KeyError), Refusals().of("arm"):
        raise KeyError("a defect")
