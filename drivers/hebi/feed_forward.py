"""The efforts that the driver adds to commanded ones: weight, acceleration, constant offsets.

As HEBI's plugins `GravityCompensationEffort`, `DynamicsCompensationEffort` and `EffortOffset` add them, each
growing over its ramp once the arm is enabled.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverError
from .feedback import WHERE
from .gravity import GravityCompensation, load_model, model_weights, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..base import Floats
    from .lookup import Module
    from .setup import EffortSetup

LONGEST_STEP_TICKS = 5
"""After a longer pause between two setpoints, their velocities give no acceleration."""


class DynamicsCompensation:
    """The efforts that accelerate the masses of an arm.

    The formula is hebi-py's (`RobotModel.get_dynamic_comp_efforts`): the sum of Jᵀ·m·a over all masses, where
    a is the linear acceleration of the mass, in m/s², and J its Jacobian where the arm was measured; moments
    of inertia are left out. hebi-py's plugin takes the acceleration from its trajectory; here it is the
    change of the commanded velocity since the setpoint before.

    `effort` (actuators,): in N·m, as of the last `update`; no larger than the model's limits of effort.
    """

    def __init__(self, model: Any, order: Sequence[int], ramp_s: float) -> None:
        self._model, self._order, self._ramp_s = model, np.asarray(order), ramp_s
        self._limit = np.asarray(model.max_efforts, float)
        self._begun_s = self._last_s = 0.0
        self._period_s: float | None = None
        count = len(order)
        self._measured, self._position, self._velocity = np.empty((3, count))
        self._acceleration, self._last_velocity, self._joint_effort = np.zeros((3, count))
        self._known = False
        self.effort: Floats = np.zeros(count)

    def set_period(self, period_s: float) -> None:
        """Take the time between two setpoints; the next one gives no acceleration."""
        self._period_s = period_s
        self._known = False

    def begin(self, now_s: float) -> None:
        """Start the growth of the efforts, at rest."""
        self._begun_s = now_s
        self.rest()

    def rest(self) -> None:
        """Drop the efforts; the next setpoint gives no acceleration."""
        self._known = False
        self.effort.fill(0.0)

    def update(self, measured: Floats, position: Floats, velocity: Floats, now_s: float) -> None:
        """Compute `effort`.

        `measured`, `position`, `velocity` (actuators,): measured positions in rad, and the setpoint, in rad
        and rad/s; without a position and a velocity for every actuator the efforts are zero.
        """
        np.take(measured, self._order, out=self._measured)
        np.take(position, self._order, out=self._position)
        np.take(velocity, self._order, out=self._velocity)
        step_s = self._step_s(now_s)
        self._last_s = now_s
        if not np.isfinite(self._position.sum() + self._velocity.sum()):
            self.rest()
            return
        if self._known and step_s > 0:
            np.subtract(self._velocity, self._last_velocity, self._acceleration)
            self._acceleration /= step_s
        else:
            self._acceleration.fill(0.0)
        self._known = True
        np.copyto(self._last_velocity, self._velocity)
        self._model.get_dynamic_comp_efforts(
            self._measured, self._position, self._velocity, self._acceleration, output=self._joint_effort
        )
        self._joint_effort *= share(self._begun_s, now_s, self._ramp_s)
        np.clip(self._joint_effort, -self._limit, self._limit, out=self._joint_effort)
        self.effort[self._order] = self._joint_effort

    def _step_s(self, now_s: float) -> float:
        """Return the time between two setpoints in whole ticks, as that measured has jitter; 0 if unknown."""
        if self._period_s is None:
            return 0.0
        ticks = max(1, round((now_s - self._last_s) / self._period_s))
        return ticks * self._period_s if ticks <= LONGEST_STEP_TICKS else 0.0


class FeedForward:
    """All efforts that are added to the commanded ones.

    `adds`: whether there are any. `carries`: whether anything has a mass.

    Raises DriverConfigError if the model cannot be read, or is one of another arm.
    """

    def __init__(self, hebi: Any, setup: EffortSetup, modules: Sequence[Module], warnings: list[str]) -> None:
        self._modules = modules
        model: Any = None
        self._dynamics: DynamicsCompensation | None = None
        if setup.hrdf is not None:
            gravity, ramp_s = setup.gravity, setup.dynamics_ramp_s
            kind, frame = ("gravity", gravity.imu.frame_index) if gravity else ("dynamics", 0)
            model, model_warnings = load_model(hebi, setup.hrdf, len(modules), frame, kind)
            warnings += model_warnings
            if ramp_s is not None:
                self._dynamics = DynamicsCompensation(model, setup.joints, ramp_s)
        self._gravity = _compensation(setup, model)
        self.carries = setup.weights is not None or (model is not None and bool(np.any(model.masses)))
        self._offset, self._offset_ramp_s = setup.offset, setup.offset_ramp_s
        self._begun_s = 0.0
        self._scaled = np.zeros(len(modules))
        self._unset = np.zeros(len(modules), bool)
        self.adds = self._gravity is not None or self._dynamics is not None or self._offset is not None

    def set_period(self, period_s: float) -> None:
        """Take the time between two setpoints."""
        if self._dynamics is not None:
            self._dynamics.set_period(period_s)

    def begin(
        self, measured: Floats, orientation: NDArray[np.float32], now_s: float, *, at_once: bool = False
    ) -> None:
        """Start the growth of all efforts, or have them in full `at_once`, as nothing else holds the arm.

        Raises DriverError if it is not known which way is down.
        """
        self._begun_s = -math.inf if at_once else now_s
        if self._dynamics is not None:
            self._dynamics.begin(now_s)
        gravity = self._gravity
        if gravity is None:
            return
        gravity.begin(self._begun_s)
        gravity.update(measured, orientation, now_s)
        if not gravity.knows_gravity:
            raise DriverError(
                WHERE,
                f"{self._modules[gravity.imu_actuator]} does not report its orientation",
                "gravity compensation must know which way is down",
                "set `base_orientation`",
            )

    def add_to(
        self, setpoint: Floats, measured: Floats, orientation: NDArray[np.float32], now_s: float
    ) -> None:
        """Add all efforts to those of a setpoint, where those that are not commanded count as zero.

        `setpoint` (3, actuators): position, velocity and effort. `measured` (actuators,): in rad; finite.
        `orientation` (modules, 4): of each module in the world, as w, x, y, z.
        """
        position, velocity, effort = setpoint
        np.isnan(effort, self._unset)
        np.copyto(effort, 0.0, where=self._unset)
        if self._gravity is not None:
            self._gravity.update(measured, orientation, now_s)
            effort += self._gravity.effort
        if self._offset is not None:
            np.multiply(self._offset, share(self._begun_s, now_s, self._offset_ramp_s), self._scaled)
            effort += self._scaled
        if self._dynamics is not None:
            self._dynamics.update(measured, position, velocity, now_s)
            effort += self._dynamics.effort

    def rest(self, effort: Floats) -> None:
        """Take what accelerates out of the last efforts, (actuators,), as the arm is to stand still."""
        if self._dynamics is not None:
            effort -= self._dynamics.effort
            self._dynamics.rest()


def _compensation(setup: EffortSetup, model: Any) -> GravityCompensation | None:
    """Return the gravity compensation of a setup, if it has any; `model`: hebi-py's, where that is needed."""
    gravity = setup.gravity
    if gravity is None:
        return None
    return GravityCompensation(
        setup.weights or model_weights(model, setup.joints),
        model,
        setup.joints,
        base=gravity.base,
        imu=gravity.imu,
        ramp_s=gravity.ramp_s,
    )
