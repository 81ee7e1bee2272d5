"""The weight of a simulated robot, held against the potential energy of its description."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings
from motiond.daemon.joints.gravity import with_gravity
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.drivers.base import DriverConfigError
from motiond.drivers.registry import make_driver
from motiond.drivers.weights import Gravity, Weights
from motiond.formats import load_robot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.formats import RobotModel

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
ASKED = {"gravity": {"from_model": True}}
STEP = 1e-6


def energy(model: RobotModel, q: NDArray[np.float64]) -> float:
    places = model.forward_kinematics(q)
    return sum(link.mass * 9.80665 * float((places[link.name] @ link.com)[2, 3]) for link in model.links)


def slope(model: RobotModel, q: NDArray[np.float64]) -> list[float]:
    steps = np.eye(len(q)) * STEP
    return [(energy(model, q + step) - energy(model, q - step)) / (2 * STEP) for step in steps]


def weights(model: RobotModel, joint_map: JointMap) -> Weights:
    gravity = Gravity.model_validate(with_gravity(ASKED, model, joint_map)["gravity"])
    return Weights("sim", gravity, joint_map.actuators)


@pytest.mark.parametrize("seed", range(5))
def test_gravity_pulls_as_the_potential_energy_of_the_model_falls(seed: int) -> None:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    q = np.random.default_rng(seed).uniform(-1.5, 1.5, model.dof)
    assert weights(model, joint_map)(q) == pytest.approx([-one for one in slope(model, q)], abs=1e-6)


def test_a_reduction_divides_what_the_actuator_feels() -> None:
    model = load_robot(ARM)
    settings = {"shoulder": JointSettings(reduction=-4.0, offset=0.3)}
    joint_map = build_joint_map("arm", model, settings)
    q = np.array([0.1, 0.7, -0.4, 0.3, 0.2, 0.1])
    actuators = q.copy()
    actuators[1] = (q[1] - 0.3) * -4.0
    expected = np.array([-one for one in slope(model, q)])
    expected[1] /= -4.0
    assert weights(model, joint_map)(actuators) == pytest.approx(expected, abs=1e-6)


def test_other_options_stay_as_they_are() -> None:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    assert with_gravity({"noise": 0.1}, model, joint_map) == {"noise": 0.1}


def test_without_a_description_there_is_nothing_to_weigh() -> None:
    driver = make_driver("sim", ASKED, ["elbow"])
    with pytest.raises(DriverConfigError) as caught:
        driver.open()
    what = "driver sim: `gravity.from_model` is set; no description with masses reaches this driver"
    assert str(caught.value) == f"{what}; name one, or list the bodies"
