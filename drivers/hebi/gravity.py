"""Efforts that carry the weight of an arm of HEBI modules, by its bodies or its HRDF.

What an HRDF describes is weighed by hebi-py (`RobotModel.get_grav_comp_efforts`); the use of the orientation
sensor is that of its `GravCompEffortPlugin`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverConfigError
from ..weights import DOWN
from .feedback import WHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ..base import Floats

UNIT_TOLERANCE = 0.1
EMPTY_MODEL = '<robot version="1.6.0"/>'


@dataclass(frozen=True, slots=True)
class Imu:
    """The module whose sensor shows which way is down.

    `feedback_index`: of the module, in the order of the model's joints. `frame_index`: of the model's input
    frame that the sensor is in. `rotation` (3, 3): from the sensor's axes to that frame's.
    """

    feedback_index: int = 0
    frame_index: int = 0
    rotation: Floats = field(default_factory=lambda: np.eye(3))


def share(begun_s: float, now_s: float, ramp_s: float) -> float:
    """Return how far an effort has grown, from 0 to 1."""
    return 1.0 if ramp_s == 0 else min(1.0, max(0.0, (now_s - begun_s) / ramp_s))


def gravity_in(quaternion: Sequence[float] | NDArray[Any]) -> Floats:
    """Return the world's gravity in the axes of a frame.

    `quaternion` (4,): the frame's orientation in the world, z up, as w, x, y, z. Returns shape (3,): in m/s²;
    zero for a quaternion of zeros.
    """
    w, x, y, z = np.asarray(quaternion, float)
    down = np.array([-2 * (x * z - y * w), -2 * (y * z + x * w), 2 * (x * x + y * y) - 1])
    gravity: Floats = down / np.linalg.norm(down) * -DOWN[2]
    return gravity


def load_model(
    hebi: Any, path: Path, joints: int, frame_index: int, purpose: str = "gravity"
) -> tuple[Any, list[str]]:
    """Read a model; return it and hebi-py's warnings.

    Raises DriverConfigError if it cannot be read, has another number of joints, or has no such frame.
    """
    earlier = _warnings_so_far(hebi)
    warnings: list[str] = []
    try:
        model = hebi.robot_model.import_from_hrdf(str(path), warning_callback=warnings.extend)
    except (OSError, RuntimeError) as error:
        raise DriverConfigError(
            WHERE, f"{path} cannot be read for {purpose} compensation", str(error), "correct `hrdf`"
        ) from error
    if model.dof_count != joints:
        raise DriverConfigError(
            WHERE,
            f"{path} has {model.dof_count} joints",
            f"{purpose} compensation needs one for each of the {joints} modules",
            f"correct `hrdf`, or set `{purpose}_compensation: false`",
        )
    frames = model.get_frame_count("input")
    if frame_index >= frames:
        raise DriverConfigError(
            WHERE,
            f"{path} has no frame {frame_index} for the sensor",
            f"it has {frames} input frames, counted from 0",
            "correct `imu_frame_index`",
        )
    return model, [f"{path}: {warning}" for warning in warnings[len(earlier) :]]


def _warnings_so_far(hebi: Any) -> list[str]:
    """Return the warnings of all files that were read so far: hebi-py adds those of a file to the others."""
    warnings: list[str] = []
    hebi.robot_model.import_from_hrdf_string(EMPTY_MODEL, warning_callback=warnings.extend)
    return warnings


def model_weights(model: Any, order: Sequence[int]) -> Callable[[Floats, Floats], Floats]:
    """Return what a model of hebi-py's weighs, to be called as `Weights`.

    `order`: the actuator of each of its joints.
    """
    places, of_joints, efforts = np.asarray(order), np.empty(len(order)), np.empty(len(order))

    def weigh(position: Floats, gravity: Floats) -> Floats:
        model.get_grav_comp_efforts(position[places], gravity, output=of_joints)
        efforts[places] = -of_joints
        return efforts

    return weigh


class GravityCompensation:
    """The efforts that carry one arm.

    `weigh`: returns what gravity exerts on each actuator, as `Weights`. `model`: hebi-py's, whose joints are
    the actuators `order`, for the sensor. `base` (4,): the base's orientation in the world as w, x, y, z;
    None to use `imu`, and `model`. `effort` (actuators,): in N·m, as of the last `update`.
    """

    def __init__(
        self,
        weigh: Callable[[Floats, Floats], Floats],
        model: Any,
        order: Sequence[int],
        *,
        base: Sequence[float] | None,
        imu: Imu,
        ramp_s: float,
    ) -> None:
        self._weigh = weigh
        self._model, self._order, self._imu, self._ramp_s = model, np.asarray(order), imu, ramp_s
        self._gravity = None if base is None else gravity_in(base)
        self._asks_imu = base is None
        self._begun_s = 0.0
        self.effort: Floats = np.zeros(len(order))

    @property
    def knows_gravity(self) -> bool:
        """Whether it is known which way is down."""
        return self._gravity is not None

    @property
    def imu_actuator(self) -> int:
        """The index of the actuator whose sensor is used."""
        return int(self._order[self._imu.feedback_index])

    def begin(self, begun_s: float) -> None:
        """Let the efforts grow from a time on."""
        self._begun_s = begun_s

    def update(self, position: Floats, orientation: NDArray[np.float32], now_s: float) -> None:
        """Compute `effort`.

        `position` (actuators,): as measured, in rad; finite. `orientation` (actuators, 4): of each module in
        the world, as w, x, y, z; if the sensor's is no unit quaternion, the last one stays in use.
        """
        if self._asks_imu:
            self._ask_imu(position, orientation[self.imu_actuator])
        if self._gravity is None:
            return
        pulled = self._weigh(position, self._gravity)
        np.multiply(pulled, -share(self._begun_s, now_s, self._ramp_s), out=self.effort)

    def _ask_imu(self, position: Floats, orientation: NDArray[np.float32]) -> None:
        length = float(np.linalg.norm(orientation))
        if not abs(length - 1) < UNIT_TOLERANCE:
            return
        frames = self._model.get_forward_kinematics_mat("input", position[self._order])
        turned = frames[self._imu.frame_index, :3, :3] @ self._imu.rotation
        self._gravity = turned @ gravity_in(orientation / length)
