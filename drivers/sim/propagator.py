"""How simulated actuators respond, and the exact motion of free ones over any number of steps.

Each actuator is a second-order system, `a = w² (goal - q) + 2 d w (goal velocity - v) + effort / inertia`,
with the natural frequency w and the damping ratio d. Between two commands the goal stands still, so the
motion over any time is an exact product with a 2x2 matrix; it is taken on a grid of 0.5 ms and does not
depend on the tick rate. An actuator of first order has no inertia, `v = w (goal - q) + goal velocity`, and
one of order 0 is at its goal at once. Without torque, an actuator coasts against friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .integrator import COAST_TIME_S
from .layout import STEP_S, Row

if TYPE_CHECKING:
    from ..base import Floats

USUAL_STEPS = 64  # in one go: 32 ms
MOST_KEPT_POWERS = 2 * USUAL_STEPS


@dataclass(frozen=True, slots=True)
class Dynamics:
    """How the actuators respond; arrays have one value for each actuator.

    `natural_frequency_hz`, `damping_ratio` (actuators,). `velocity_limit`, `effort_limit` (actuators,): in
    rad/s and N·m (or m/s and N); infinite where there is none. `inertia` (actuators,): in kg·m² (or kg);
    effort is inertia times acceleration. `order` (actuators,): 2, 1, or 0 for actuators that are at their
    goal at once. `viscous_friction`, `coulomb_friction` (actuators,): in N·m·s/rad and N·m (or N·s/m and N).
    `load` (actuators,): constant effort from outside, in N·m (or N). `lower_stop`, `upper_stop` (actuators,):
    between which positions the joints can move, in rad (or m); infinite where there is no stop.
    """

    natural_frequency_hz: Floats
    damping_ratio: Floats
    velocity_limit: Floats
    effort_limit: Floats
    inertia: Floats
    order: Floats
    viscous_friction: Floats
    coulomb_friction: Floats
    load: Floats
    lower_stop: Floats
    upper_stop: Floats
    command_lifetime_s: float


class Propagator:
    """The matrices that move free actuators over steps; made again when a setting or the torque changes."""

    def __init__(self, rows: Floats, *, torque: bool) -> None:
        self._rows = rows
        self._torque = torque
        self._powers: dict[int, Floats] = {}

    def power(self, steps: int) -> Floats:
        """Return the factors of position error and velocity in the motion after `steps`.

        Returns shape (2, 4, actuators): by position error and by velocity: the change of velocity in the
        first step, the position error, the velocity, and the change of velocity in the last step.
        """
        if not self._powers:
            self._make_powers()
        power = self._powers.get(steps)
        if power is None:
            step = self._one_step()
            power = _motion_after(step, np.linalg.matrix_power(step, steps - 1))
            if len(self._powers) < MOST_KEPT_POWERS:
                self._powers[steps] = power
        return power

    def _make_powers(self) -> None:
        """Make the matrices of usual and of late ticks at once: a late tick has no time to spare for it."""
        step = self._one_step()
        before = np.broadcast_to(np.eye(2), step.shape)
        for steps in range(1, USUAL_STEPS + 1):
            self._powers[steps] = _motion_after(step, before)
            before = step @ before

    def _one_step(self) -> Floats:
        """Return the matrix of one step: (actuators, 2, 2)."""
        return self._held_step() if self._torque else self._loose_step()

    def _held_step(self) -> Floats:
        """Return one step on the way to the target: (actuators, 2, 2)."""
        order, frequency = self._rows[Row.ORDER], self._rows[Row.NATURAL_FREQUENCY]
        decay = np.exp(-frequency * STEP_S)
        creep = np.array([[decay, 0 * decay], [-frequency * decay, 0 * decay]])
        step = np.where(order == 2, self._swinging_step(), np.where(order == 1, creep, 0.0))
        return step.transpose(2, 0, 1)

    def _swinging_step(self) -> Floats:
        """Return one step of a damped oscillation about the target: (2, 2, actuators)."""
        frequency, ratio = self._rows[Row.NATURAL_FREQUENCY], self._damping_ratio()
        angle = frequency * STEP_S
        turn = angle * np.emath.sqrt(ratio**2 - 1 + 0j)
        decay = np.exp(-ratio * angle)
        even = decay * np.cosh(turn).real
        odd = decay * np.sinc(1j * turn / np.pi).real
        cross = ratio * angle * odd
        return np.array([[even + cross, STEP_S * odd], [-frequency * angle * odd, even - cross]])

    def _damping_ratio(self) -> Floats:
        """Return the damping by the controller and by viscous friction."""
        rows = self._rows
        friction = rows[Row.VISCOUS] / (2 * rows[Row.INERTIA] * rows[Row.NATURAL_FREQUENCY])
        ratio: Floats = rows[Row.DAMPING_RATIO] + friction
        return ratio

    def _loose_step(self) -> Floats:
        """Return one step of coasting against friction: (actuators, 2, 2)."""
        decay = np.exp(-STEP_S / COAST_TIME_S)
        step = np.array([[1, COAST_TIME_S * (1 - decay)], [0, decay]])
        return np.broadcast_to(step, (self._rows.shape[1], 2, 2))


def _motion_after(step: Floats, before: Floats) -> Floats:
    """Return `Propagator.power` for one step after others, each as a matrix (actuators, 2, 2)."""
    change = step[:, 1] - np.array([0, 1])
    after = step @ before
    last_change = (change[:, np.newaxis] @ before)[:, 0]
    motion = np.stack([change, after[:, 0], after[:, 1], last_change])
    return np.ascontiguousarray(motion.transpose(2, 0, 1))
