"""Simulated actuators that move in a physical world, behind the face of `Plant`.

The block of numbers is the actuators' as everywhere; MuJoCo moves what is behind them. Whatever is put
elsewhere in the block, by a fault, a hand or a beginning, is put there in the world before time passes.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ...base import DriverError
from ..integrator import COAST_TIME_S, Stops
from ..layout import STEP_S, STEPS_PER_S, Header, Row
from ..plant import COMMAND_STEP, STATE, Plant, numbers_needed
from .world import HALF_STEP_S

if TYPE_CHECKING:
    from ...base import ActuatorState, Booleans, Floats
    from ..propagator import Dynamics
    from .world import World

LONGEST_FALL = 10 * STEPS_PER_S
"""After so many steps at once nothing moves any more."""
HALF_STEP = 0.5
GIVES_WAY = 1e-3
"""So far, in rad or m, an end may give way before a joint counts as put beyond it."""


class PhysicalPlant(Plant):
    """Actuators in a world.

    Between two commands, goals go on to where the velocities that are fed forward, and their latest change,
    let the next ones be expected, as those of drives that interpolate do. After a period without a command
    they stand still.

    `where`: who reports a world that has diverged. `world`: what they move in. `delay_steps`: how many steps
    old feedback is.
    """

    def __init__(self, where: str, world: World, delay_steps: int = 0) -> None:
        count = len(world.inertia)
        self._where, self.world = where, world
        self._effort, self._placed = np.empty(count), np.empty((2, count))
        self._period_steps, self._is_first = 0.0, True
        self._pace, self._last_leads, self._pace_by_lead, self._pace_by_change = np.zeros((4, count))
        numbers = np.zeros(numbers_needed(count))
        rows = numbers[len(Header) :].reshape(len(Row), count)
        self._place, self._stops = rows[STATE], Stops(rows)
        super().__init__(numbers, count, delay_steps)

    def begin(self, step: int, position: Floats) -> None:
        """Start afresh, and with it all that stands around the robot."""
        super().begin(step, position)
        self.world.begin(position)
        self._show()

    def configure(self, dynamics: Dynamics) -> None:
        """Set how the actuators respond; NaN as an inertia stands for the largest that the world has."""
        world = self.world
        super().configure(
            replace(
                dynamics,
                inertia=np.where(np.isnan(dynamics.inertia), world.inertia, dynamics.inertia),
                effort_limit=np.minimum(dynamics.effort_limit, world.effort_limit),
                lower_stop=np.maximum(dynamics.lower_stop, world.lower),
                upper_stop=np.minimum(dynamics.upper_stop, world.upper),
            )
        )
        self._stops = Stops(self.rows, GIVES_WAY)
        world.set_ends(self._stops.lowest, self._stops.highest)

    def set_period(self, period_s: float) -> None:
        """Set how far commands are apart from now on; 0 where that is not known."""
        self._period_steps = period_s / STEP_S
        self._set_pace_gains()

    def command(self, values: Floats) -> None:
        """Set new goals, as `Plant` does, and how fast they go on."""
        before = self._unset_before
        super().command(values)
        if self._is_first or self._unset_before != before:  # then no change is known
            np.multiply(self._velocity_lead, self._pace_by_change, self._last_leads)
            self._is_first = False
        np.multiply(self._velocity_lead, self._pace_by_lead, self._pace)
        np.subtract(self._pace, self._last_leads, self._pace)
        np.multiply(self._velocity_lead, self._pace_by_change, self._last_leads)
        if self._drifting:
            self._pace[self._drift != 0.0] = 0.0

    def hold(self, position: Floats) -> None:
        """Set the goal to `position` (actuators,), where it stays; counts as a command."""
        super().hold(position)
        self._stand_still()

    def stop(self, which: Booleans) -> None:
        """Let some actuators, of shape (actuators,), hold where they are; commands of NaN leave them so."""
        super().stop(which)
        self._pace[which] = self._last_leads[which] = 0.0

    def _stand_still(self) -> None:
        """Let goals go on only once there is another command."""
        self._pace.fill(0.0)
        self._is_first = True

    @property
    def is_sound(self) -> bool:
        """Whether the world can be relied on."""
        return not self.world.failure

    @property
    def bodies(self) -> tuple[str, ...]:
        """What can touch, by the numbers in reports."""
        return self.world.contacts.bodies

    def report(self, ahead_s: float, state: ActuatorState) -> None:
        """Fill in what the actuators report, and what touches."""
        super().report(ahead_s, state)
        if len(state.contacts):
            self.world.contacts.report(state.contacts)

    def _set_motion(self) -> None:
        rows, world = self.rows, self.world
        limp = (rows[Row.LIMP] > 0) | (not self.torque)
        slips, inertia = np.isfinite(rows[Row.GRIP]), rows[Row.INERTIA]
        frequency, self._softness = rows[Row.NATURAL_FREQUENCY], self._feed_gains[2]
        most = np.where(limp, 0.0, np.minimum(rows[Row.CHANGE_LIMIT] * inertia / STEP_S, rows[Row.GRIP]))
        if self.guided:
            world.set_motors(most)
        else:
            stiffness = np.where(limp, 0.0, inertia * frequency**2)
            damping = np.where(limp, 0.0, 2.0 * rows[Row.DAMPING_RATIO] * inertia * frequency)
            world.set_servos(stiffness, damping, most)
        coasts = (limp | slips | self.guided) & (rows[Row.VISCOUS] == 0.0) & ~world.is_damped
        viscous = np.where(coasts, inertia / COAST_TIME_S, rows[Row.VISCOUS])
        self._stuck = rows[Row.STUCK] > 0
        world.set_joints(viscous, rows[Row.COULOMB], self._stuck)
        self._velocity[self._stuck] = 0.0
        self._stuck_at = self._position.copy()
        self._change_by_effort = np.divide(STEP_S, inertia, out=np.zeros_like(inertia), where=inertia > 0)
        self._set_pace_gains()
        self._set_speed_limit()

    def _set_pace_gains(self) -> None:
        """Prepare for going on: a target is a goal, and what a velocity v shifts it by, `lead v`.

        At an acceleration a, targets of commands that are T apart are `(v + a T / 2) T + lead a T` apart.
        """
        lead, period_s = self._feed_gains[1], self._period_steps * STEP_S
        by_velocity = np.divide(1.0, lead, out=np.zeros_like(lead), where=lead > 0)
        self._pace_by_change = by_velocity / 2 + (1 / period_s if period_s else 0.0)
        self._pace_by_lead = by_velocity + self._pace_by_change
        self._stand_still()

    def _set_speed_limit(self) -> None:
        """Limit the position errors that drives act on, so that they ask for no more than their velocity."""
        self._reach = self.rows[Row.VELOCITY_LIMIT] * self._feed_gains[1]
        self._is_slowed = self.torque and bool(np.isfinite(self._reach).any())
        self._takes_turns = self.guided or self._is_slowed or bool(self._stuck.any()) or self._delayed

    def _note_roughness(self) -> None:
        self._rough = True

    def _load_joints(self) -> None:
        load = self.rows[Row.LOAD]
        np.add(self._load, self._hand.pull, load)
        self.world.push(load)

    def displace(self, by: Floats) -> None:
        """Put joints elsewhere at once, `by` (actuators,) further, beyond a stop or not; they are at rest."""
        super().displace(by)
        self._stuck_at += by
        self.world.set_ends(self._stops.lowest, self._stops.highest)

    def _walk(self, steps: int) -> None:
        """Let time pass in the world."""
        walked = min(steps, LONGEST_FALL)
        self._put()
        if self._takes_turns or self._drifting or self._hand.moves or self._stops.any_beyond:
            for step in range(self.step + 1, self.step + walked + 1):
                self._take_step(step)
        elif walked:
            self._take_steps(walked)
        if reason := self.world.failure:
            hint = "look for bodies that begin inside each other, or lower `natural_frequency_hz`"
            raise DriverError(self._where, "the simulated world has failed", reason, hint)

    def _take_steps(self, steps: int) -> None:
        """Take many steps at once, or those in which goals go on, and then the others."""
        world, age = self.world, self.step - self._header[COMMAND_STEP]
        remaining = self._period_steps - HALF_STEP - age
        going = min(steps, ceil(remaining)) if remaining > 0.0 else 0
        if going:
            np.copyto(world.control_rate, self._pace)
            self._set_goals(age, world.control)
            world.step(going)
        if steps > going:
            world.control_rate.fill(0.0)
            self._set_goals(age + going, world.control)
            world.step(steps - going)
        self._show()

    def _set_goals(self, age: float, goals: Floats) -> None:
        """Fill in where goals are in the middle of a step, where its servos act; `age` of the command."""
        way_s = min(age + HALF_STEP, self._period_steps) * STEP_S
        np.multiply(self._pace, way_s, goals)
        np.add(goals, self._target, goals)

    def _take_step(self, step: int) -> None:
        self._drift_on(1)
        if self._hand.moves:
            self._follow_hand(step)
        self._drive(step - 1)
        self.world.step(1)
        self._show()
        self._position[self._stuck], self._velocity[self._stuck] = self._stuck_at[self._stuck], 0.0
        if self._hand.moves:
            self._hand.drag()
        self._put()
        if self._stops.any_beyond:
            self._stops.look()
            self.world.set_ends(self._stops.lowest, self._stops.highest)
        self._history[step % len(self._history)] = self._reported

    def _drive(self, step: int) -> None:
        """Set the control: what a guided motor carries, or a servo's goal, as far as its velocity lets it."""
        control = self.world.control
        if self.guided:
            np.copyto(control, self.world.carried())
            return
        self._set_goals(step - self._header[COMMAND_STEP], control)
        if self._is_slowed:
            ahead = self._position + self._velocity * HALF_STEP_S  # where its servo finds it
            sag = ahead + self.world.carried() * self._softness + self.rows[Row.EFFORT_LEAD]
            np.clip(control, sag - self._reach, sag + self._reach, out=control)

    def _put(self) -> None:
        """Put in the world elsewhere what was put elsewhere in the block."""
        if self._place.tobytes() == self._placed.tobytes():
            return
        moved = np.flatnonzero((self._place != self._placed).any(axis=0))
        self.world.place(moved, self._position[moved], self._velocity[moved])
        np.copyto(self._placed, self._place)

    def _show(self) -> None:
        """Take from the world where the actuators are, and how their motors push."""
        self.world.read(self._position, self._velocity, self._effort)
        np.multiply(self._effort, self._change_by_effort, self._change)
        np.copyto(self._placed, self._place)
