"""One step of actuators that are not free: limits, friction, load, and joints that are stuck, limp or slip.

In comes how the actuators would move by themselves in one step of the grid, out comes how they do. The motor
may push within its limit, load and friction push besides, and dry friction takes what velocity it can:

    velocity += pushed + (load - viscous * velocity) / inertia * step
    velocity -= clip(velocity, -dry, dry),  dry = coulomb / inertia * step

Where nothing is cut off, the motion is the free one, which is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from drivers.sim_layout import STEP_S, Row

if TYPE_CHECKING:
    from drivers.base import Floats

COAST_TIME_S = 0.1
"""Time constant with which friction stops an actuator that has no torque, unless its friction is set."""
EXACTLY_FREE = 1e-12


class Stepper:
    """Takes single steps; made anew when a setting, the torque or a fault changes.

    Parameters
    ----------
    rows : ndarray, shape (rows, actuators)
        The block of the plant, used in place.
    torque : bool
        Whether the actuators hold, those that are limp apart.

    Attributes
    ----------
    needed : bool
        Whether something besides limits keeps the actuators from moving freely.
    """

    @np.errstate(divide="ignore", invalid="ignore")  # a block that is yet to be set holds zeros
    def __init__(self, rows: Floats, *, torque: bool) -> None:
        self._rows = rows
        self._position, self._velocity, self._change = rows[Row.POSITION : Row.CHANGE + 1]
        self._limp = (rows[Row.LIMP] > 0) | (not torque)
        self._stuck = rows[Row.STUCK] > 0
        slipping = np.isfinite(rows[Row.GRIP])
        self._change_by_effort = STEP_S / rows[Row.INERTIA]
        rate = rows[Row.VISCOUS] / rows[Row.INERTIA]
        stiffness = rows[Row.INERTIA] * rows[Row.NATURAL_FREQUENCY] ** 2
        self._yield = np.where(rows[Row.ORDER] > 0, 1 / stiffness, 0.0)
        coasts = (self._limp | slipping) & (rate == 0)
        self._lost_velocity = -np.expm1(-STEP_S * np.where(coasts, 1 / COAST_TIME_S, rate))
        grip = np.where(slipping, rows[Row.GRIP] * self._change_by_effort, np.inf)
        self._most_pushed = np.where(self._limp, 0.0, np.minimum(grip, rows[Row.CHANGE_LIMIT]))
        self._fastest = np.where(self._limp, np.inf, rows[Row.VELOCITY_LIMIT])
        self._dry = rows[Row.COULOMB] * self._change_by_effort
        self.weigh()
        rough = rows[[Row.VISCOUS, Row.COULOMB, Row.LOAD, Row.STUCK, Row.LIMP]].any()
        self.needed = bool(rough or slipping.any())

    def weigh(self) -> None:
        """Take the load as it is now."""
        load = self._rows[Row.LOAD]
        self._load_change = load * self._change_by_effort
        self._sag = load * self._yield

    def take(self, by_error: Floats, by_velocity: Floats) -> None:
        """Move the actuators by one step.

        Parameters
        ----------
        by_error, by_velocity : ndarray, shape (4, actuators)
            What the free motion makes of the distance from the target and of the velocity.
        """
        before, target = self._velocity.copy(), self._rows[Row.TARGET] + self._sag
        free = by_error * (self._position - target) + by_velocity * before
        besides = self._load_change - self._lost_velocity * before
        pushed = np.clip(free[Row.CHANGE] - besides, -self._most_pushed, self._most_pushed)
        reached = before + pushed + besides
        slowed = reached - np.clip(reached, -self._dry, self._dry)
        velocity = np.clip(slowed, -self._fastest, self._fastest)
        pushed += velocity - slowed  # a controller that limits velocity stops pushing
        velocity[self._stuck] = 0.0
        way = (before + velocity) * (STEP_S / 2)
        is_free = np.abs(velocity - before - free[Row.CHANGE]) < EXACTLY_FREE
        moved = np.where(is_free, target + free[Row.POSITION], self._position + way)
        np.copyto(self._position, moved, where=~self._stuck)
        self._velocity[:] = velocity
        self._change[:] = pushed
