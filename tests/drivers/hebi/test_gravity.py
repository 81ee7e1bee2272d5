"""Gravity compensation, compared with the model's potential energy, which is computed here independently."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import DriverConfigError, DriverError
from motiond.drivers.hebi.gravity import GravityCompensation, Imu, load_model, model_weights
from motiond.drivers.hebi.lookup import import_hebi
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import Arm
from tests.drivers.hebi.fake_hebi import FakeModule
from tests.tables import table

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

HRDF = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
JOINTS = tuple(f"J{number}" for number in range(1, 7))
POSITION = np.array([0.3, 0.9, -0.7, 0.4, 1.1, -0.2])
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
TILTED = (np.cos(0.4), np.sin(0.4), 0.0, 0.0)
ON_ITS_SIDE = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
NOTHING = np.full((6, 4), np.nan, np.float32)


def rotation(quaternion: Any) -> Floats:
    w, x, y, z = quaternion
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turned: Floats = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    return turned


def quaternion(matrix: Floats) -> Floats:
    """Return the quaternion of a rotation: the eigenvector of its outer product."""
    w2 = (1 + np.trace(matrix)) / 4
    axis = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    return np.array([np.sqrt(w2), *(axis / (4 * np.sqrt(w2)))])


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model(import_hebi(), HRDF, 6, 0)[0]


def weight(model: Any, position: Floats, base: Any) -> Floats:
    """Return the derivative of the potential energy by each joint."""

    def energy_j(at: Floats) -> float:
        frames = model.get_forward_kinematics_mat("com", at)
        heights = (rotation(base) @ frames[:, :3, 3].T)[2]
        return float(9.80665 * model.masses @ heights)

    steps = 1e-5 * np.eye(6)
    return np.array([(energy_j(position + step) - energy_j(position - step)) / 2e-5 for step in steps])


def compensation(model: Any, base: Any, **options: Any) -> GravityCompensation:
    settings: dict[str, Any] = {"order": range(6), "imu": Imu(), "ramp_s": 0.0} | options
    return GravityCompensation(model_weights(model, settings["order"]), model, base=base, **settings)


@pytest.mark.parametrize("base", [UPRIGHT, TILTED, ON_ITS_SIDE], ids=["upright", "tilted", "on its side"])
def test_carries_the_weight_however_the_base_stands(model: Any, base: Any) -> None:
    gravity = compensation(model, base)
    gravity.update(POSITION, NOTHING, 0.0)
    assert np.abs(gravity.effort).max() > 1
    np.testing.assert_allclose(gravity.effort, weight(model, POSITION, base), atol=1e-4)


@pytest.mark.parametrize("frame", [0, 3])
def test_a_sensor_anywhere_in_the_arm_reports_the_way_down(model: Any, frame: int) -> None:
    gravity = compensation(model, None, imu=Imu(feedback_index=2, frame_index=frame))
    in_base = model.get_forward_kinematics_mat("input", POSITION)[frame, :3, :3]
    orientation = NOTHING.copy()
    orientation[2] = quaternion(rotation(TILTED) @ in_base)
    gravity.update(POSITION, orientation, 0.0)
    np.testing.assert_allclose(gravity.effort, weight(model, POSITION, TILTED), atol=1e-3)


def test_sets_in_over_its_ramp(model: Any) -> None:
    gravity = compensation(model, UPRIGHT, ramp_s=4.0)
    gravity.begin(100.0)
    shares = []
    for now_s in (100.0, 101.0, 104.0, 200.0):
        gravity.update(POSITION, NOTHING, now_s)
        shares.append(gravity.effort[1] / weight(model, POSITION, UPRIGHT)[1])
    assert shares == pytest.approx([0, 0.25, 1, 1], abs=1e-4)


def arm_of(clock: Clock, orientation: Any = UPRIGHT) -> Arm:
    modules = [
        FakeModule(name, where, orientation=orientation)
        for name, where in zip(JOINTS, POSITION.tolist(), strict=True)
    ]
    return Arm(clock, modules, hrdf=HRDF, gravity_compensation=True)


def test_the_driver_adds_the_weight_to_what_is_commanded(clock: Clock, model: Any) -> None:
    arm = arm_of(clock).hold()
    needed = weight(model, POSITION, UPRIGHT)
    np.testing.assert_allclose(arm.efforts(), needed, atol=1e-3)
    arm.write(POSITION, effort=[2.5, *[np.nan] * 5])
    np.testing.assert_allclose(arm.efforts(), needed + np.eye(6)[0] * 2.5, atol=1e-3)


def test_halt_goes_on_carrying_the_arm(clock: Clock, model: Any) -> None:
    arm = arm_of(clock).hold()
    arm.tick(arm.driver.halt)
    np.testing.assert_allclose(arm.efforts(), weight(model, POSITION, UPRIGHT), atol=1e-3)


def test_does_not_take_hold_without_knowing_which_way_is_down(clock: Clock) -> None:
    arm = arm_of(clock, orientation=None).open()
    assert message_of(DriverError, arm.driver.enable) == (
        "driver hebi: Arm/J1 does not report its orientation; "
        "gravity compensation must know which way is down; set `base_orientation`"
    )
    assert np.isnan(arm.efforts()).all()


@table("joints, frame_index, message")
def test_refuses_a_model_of_another_arm(joints: int, frame_index: int, message: str) -> None:
    assert message_of(
        DriverConfigError, load_model, import_hebi(), HRDF, joints, frame_index
    ) == message.replace("{path}", str(HRDF))
