"""The weight of a robot, held against the potential energy of its description, and against MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings, PayloadSettings
from motiond.daemon.joints.gravity import with_gravity
from motiond.daemon.joints.joint_map import JointMapError, build_joint_map
from motiond.daemon.joints.payload import with_payload
from motiond.drivers.base import DriverConfigError
from motiond.drivers.registry import make_driver
from motiond.drivers.weights import Gravity, Weights
from motiond.formats import dump_robot, load_robot
from tests.daemon.random_robots import random_robot

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
    gravity = Gravity.model_validate(with_gravity("sim", ASKED, model, joint_map)["gravity"])
    return Weights("sim", gravity, joint_map.actuators)


@pytest.mark.parametrize("seed", range(5))
def test_gravity_pulls_as_the_potential_energy_of_the_model_falls(seed: int) -> None:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    q = np.random.default_rng(seed).uniform(-1.5, 1.5, model.dof)
    assert weights(model, joint_map)(q) == pytest.approx([-one for one in slope(model, q)], abs=1e-6)


def test_a_screw_bears_what_it_lifts() -> None:
    arm = load_robot(ARM)
    screws = (replace(one, type="screw", pitch_m=0.05) if one.coordinates else one for one in arm.joints)
    model = replace(arm, joints=tuple(screws))
    q = np.random.default_rng(0).uniform(-1.5, 1.5, model.dof)
    given = weights(model, build_joint_map("arm", model, {}))(q)
    assert given == pytest.approx([-one for one in slope(model, q)], abs=1e-6)
    assert given[0] == pytest.approx(-sum(link.mass for link in model.links[1:]) * 9.80665 * 0.05 / 2 / np.pi)


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


def bias(path: Path, joint_map: JointMap, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what MuJoCo has each actuator bear: that of joints that follow is their leader's, too."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    model.opt.gravity = [0, 0, -9.80665]
    for name, value in zip(joint_map.joints, q, strict=True):
        data.joint(name).qpos = value
    mujoco.mj_forward(model, data)
    borne = np.array([data.joint(name).qfrc_bias[0] for name in joint_map.joints])
    loads = np.zeros(len(joint_map.actuators))
    np.add.at(loads, joint_map.transmission.actuator_of, borne * joint_map.multipliers)
    return loads


@pytest.mark.parametrize("seed", range(30))
def test_random_robots_weigh_what_they_weigh_in_mujoco(seed: int, tmp_path: Path) -> None:
    model = random_robot(seed)
    follows = {joint.name: JointSettings(actuator="none") for joint in model.joints if joint.mimic}
    joint_map = build_joint_map("robot", model, follows)
    rng = np.random.default_rng(seed)
    payload = PayloadSettings(frame="tool", mass=rng.uniform(0.1, 3), com=tuple(rng.normal(size=3)))
    laden = with_payload("robot", model, payload)
    assert laden is not None
    dump_robot(laden, tmp_path / "robot.mjcf")
    weigh = weights(laden, joint_map)
    for _ in range(5):
        actuators = rng.uniform(-2, 2, len(joint_map.actuators))
        q = np.zeros((5, model.dof))
        joint_map.transmission.to_joints(np.tile(actuators, (5, 1)), q)
        expected = bias(tmp_path / "robot.mjcf", joint_map, q[0])
        np.testing.assert_allclose(-weigh(actuators), expected, atol=1e-12 * max(1, *np.abs(expected)))


@pytest.mark.parametrize("frame", ["wrist3", "wrist3/output", "bracket2"])
def test_a_payload_weighs_as_a_part_of_what_it_is_at(frame: str) -> None:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    laden = with_payload("arm", model, PayloadSettings(frame=frame, mass=2.0, com=(0.1, 0.02, 0.03)))
    assert laden is not None
    q = np.array([0.1, 0.7, -0.4, 0.3, 0.2, 0.1])

    def height(q: NDArray[np.float64]) -> float:
        return float((model.forward_kinematics(q)[frame] @ [0.1, 0.02, 0.03, 1])[2])

    steps = np.eye(6) * STEP
    pulled = [2.0 * 9.80665 * (height(q + step) - height(q - step)) / (2 * STEP) for step in steps]
    difference = weights(model, joint_map)(q) - weights(laden, joint_map)(q)
    assert np.abs(difference).max() > 0.1
    np.testing.assert_allclose(difference, pulled, atol=1e-6)


def test_a_payload_at_no_frame_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(JointMapError) as caught:
        with_payload("arm", load_robot(ARM), PayloadSettings(frame="wrist4", mass=1.0))
    message = str(caught.value)
    assert message.startswith("arm: payload.frame: there is no frame 'wrist4'; there are ")
    assert message.endswith("; did you mean 'wrist3'?")


def test_a_payload_needs_a_description() -> None:
    with pytest.raises(JointMapError) as caught:
        with_payload("arm", None, PayloadSettings(frame="tool", mass=1.0))
    what = "arm: payload has no frame to be at; there is no model"
    assert str(caught.value) == f"{what}; name the robot's description, or remove it"


def test_other_options_stay_as_they_are() -> None:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    assert with_gravity("sim", {"noise": 0.1}, model, joint_map) == {"noise": 0.1}


def test_without_a_description_there_is_nothing_to_weigh() -> None:
    driver = make_driver("sim", ASKED, ["elbow"])
    with pytest.raises(DriverConfigError) as caught:
        driver.open()
    what = "driver sim: `gravity.from_model` is set; no description with masses reaches this driver"
    assert str(caught.value) == f"{what}; name one, or list the bodies"
