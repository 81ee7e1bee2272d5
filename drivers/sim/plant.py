"""The physics behind the `sim` driver: position-controlled actuators in a block of plain numbers.

The plant takes goals, lets time pass on a grid of 0.5 ms, and reports positions, velocities, efforts and
temperatures. Free actuators move over all steps at once, exactly, by `propagator`. Where a limit is met, or
friction, load or a fault acts on a joint, the plant goes step by step, by `integrator`. `layout` says where
each number of the block stands; `plant_file` keeps the block in a file.

Losses grow with the square of the effort (copper losses). The winding warms over the housing, and the
housing over the surroundings, each towards its own end and with its own time constant: the thermal model of
motor catalogues (J. Braun, "Formulae Handbook", maxon academy, chapter on the thermal behaviour of motors).
The numbers are those of a motor that drives robots' joints, from the data sheet of maxon's EC 45 flat of 70 W
(part numbers 651614 to 651621, lines 17 to 22): 6.64 K/W from the winding to the housing and 2.55 K/W from
there to the air, time constants of 43.1 s and 127 s, and, at the rated torque in surroundings of 25 °C, a
winding of 125 °C, the most that it stands.

An actuator's effort limit is its rated effort; without a limit it is `RATED_EFFORT`. A drive lets no more
through, so no effort warms the winding beyond `HOTTEST_C`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .hand import Hand
from .integrator import Integrator, Stops
from .layout import STEP_S, STEPS_PER_S, Header, Row
from .propagator import Propagator

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import ActuatorState, Booleans, Floats
    from .propagator import Dynamics

AMBIENT_C = 25.0
HOTTEST_C = 125.0
"""Of the winding, once the rated effort has lasted for long."""
RATED_EFFORT = 20.0
"""In N·m or N, of an actuator without an effort limit."""
WINDING_K_PER_W, HOUSING_K_PER_W = 6.64, 2.55
WINDING_TIME_S, HOUSING_TIME_S = 43.1, 127.0
HOUSING_SHARE = HOUSING_K_PER_W / (WINDING_K_PER_W + HOUSING_K_PER_W)


def warm(winding_c: Floats, housing_c: Floats, load: Floats, duration_s: float) -> None:
    """Let windings and housings warm or cool, in place; exact for any time at a constant load.

    `winding_c`, `housing_c` (actuators,): their temperatures. `load` (actuators,): the effort as a share of
    the rated one.
    """
    rise = (HOTTEST_C - AMBIENT_C) * np.minimum(np.square(load), 1.0)
    over_housing = winding_c - housing_c
    over_housing += ((1.0 - HOUSING_SHARE) * rise - over_housing) * -np.expm1(-duration_s / WINDING_TIME_S)
    housing_c += (AMBIENT_C + HOUSING_SHARE * rise - housing_c) * -np.expm1(-duration_s / HOUSING_TIME_S)
    np.add(housing_c, over_housing, winding_c)


WARMING_STEPS = STEPS_PER_S // 20
"""Temperatures change slowly and are updated at this coarser step."""
LONGEST_WALK = 2 * STEPS_PER_S
LONGEST_LIMITED_LEAP = 8
"""Limits are checked at the ends of a leap alone; in a longer one they might be exceeded in between."""
NEXT_TO_NOTHING_S = 1e-9  # on a virtual clock, ticks fall on steps except for rounding
POSITION_AND_VELOCITY = 2
WEIGHING_STEPS = STEPS_PER_S // 100
"""Gravity changes with the posture and is computed at this coarser step."""


# Looking up an enum's member costs a microsecond on Python 3.11, too much for every tick.
_STEP, COMMAND_STEP = int(Header.STEP), int(Header.COMMAND_STEP)


MOTION = slice(Row.FIRST_CHANGE, Row.CHANGE + 1)
STATE = slice(Row.POSITION, Row.VELOCITY + 1)
REPORTED = slice(Row.POSITION, Row.TEMPERATURE + 1)
FEEDS = slice(Row.GOAL, Row.EFFORT_LEAD + 1)


class Plant:
    """Simulated actuators in a block of numbers; it knows steps of its grid, not clocks.

    `delay_steps`: how many steps old feedback is. `gravity`: returns the effort (actuators,) that gravity
    exerts on each actuator at positions (actuators,).
    """

    def __init__(
        self,
        numbers: Floats,
        count: int,
        delay_steps: int = 0,
        gravity: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self.header = numbers[: len(Header)]
        self._header = self.header.data
        self.rows = numbers[len(Header) :].reshape(len(Row), count)
        self.step = int(self.header[Header.STEP])
        self._motion, self._reported, self._feeds = self.rows[MOTION], self.rows[REPORTED], self.rows[FEEDS]
        self._position, self._velocity, self._change = self.rows[Row.POSITION : Row.CHANGE + 1]
        self._goal, self._velocity_lead = self.rows[Row.GOAL : Row.VELOCITY_LEAD + 1]
        self._state = self.rows[STATE, np.newaxis]
        self._target, self._drift = self.rows[Row.TARGET : Row.DRIFT + 1]
        self._products = np.empty((2, 4, count))
        self._by_position, self._by_velocity = self._products
        self._before, self._sizes = np.empty((2, 4, count))
        self._beyond = np.empty((4, count), bool)
        self._scratch, self._unset = np.empty(count), np.empty((3, count), bool)
        self._history = np.empty((delay_steps + 1, *self._reported.shape))
        self._delayed = delay_steps > 0
        self._gravity = gravity
        self._load = self.rows[Row.LOAD].copy()
        self._weight: Floats | None = None
        self._hand = Hand(self.rows)
        self._take_settings()
        self._remember_only_now()

    def _remember_only_now(self) -> None:
        self._history[:] = self._reported

    def _take_settings(self) -> None:
        rows = self.rows
        self.torque, self.guided = bool(self.header[Header.TORQUE]), bool(self.header[Header.GUIDED])
        self._lifetime_steps = float(self.header[Header.LIFETIME_STEPS])
        self._drifting = bool(rows[Row.DRIFT].any())
        self._limits = np.full_like(self._motion, np.inf)
        self._limits[[Row.FIRST_CHANGE, Row.CHANGE]] = rows[Row.CHANGE_LIMIT]
        self._limits[Row.VELOCITY] = rows[Row.VELOCITY_LIMIT]
        self._limited = bool(np.isfinite(self._limits).any())
        self._units = np.ones_like(self._reported)
        self._units[Row.CHANGE - Row.POSITION] = rows[Row.INERTIA] / STEP_S
        with np.errstate(divide="ignore", invalid="ignore"):
            second = rows[Row.ORDER] == 2
            lead = np.where(second, 2 * rows[Row.DAMPING_RATIO], 1.0) / rows[Row.NATURAL_FREQUENCY]
            softness = 1 / (rows[Row.INERTIA] * rows[Row.NATURAL_FREQUENCY] ** 2)
        follows = rows[Row.ORDER] > 0
        velocity_lead, effort_lead = np.where(follows, lead, 0.0), np.where(follows, softness, 0.0)
        self._feed_gains = np.stack([np.ones_like(velocity_lead), velocity_lead, effort_lead])
        self._learn_what_is_set(np.zeros_like(self._unset))
        self._set_motion()
        self._hand.release_held(held=self.torque and not self.guided)
        self._note_roughness()

    def _set_motion(self) -> None:
        """Prepare for what moves the actuators by the present settings."""
        self._propagator = Propagator(self.rows, torque=self.torque and not self.guided)
        self._integrator = Integrator(self.rows, torque=self.torque, guided=self.guided)
        self._stops = Stops(self.rows)

    def _renew(self) -> None:
        """Take settings that have changed."""
        self._take_settings()
        self._weigh()

    def _note_roughness(self) -> None:
        self._rough = self._integrator.needed or self._gravity is not None or self._hand.moves

    @property
    def command_age_s(self) -> float:
        """Time since the last command, infinite if there was none."""
        return float(self.step - self.header[Header.COMMAND_STEP]) * STEP_S

    def begin(self, step: int, position: Floats) -> None:
        """Start afresh: at rest at `position` (actuators,), without torque and never commanded."""
        self.step = step
        self.header[Header.STEP] = step
        self.header[Header.COMMAND_STEP] = -np.inf
        self.header[Header.TORQUE] = self.header[Header.GUIDED] = 0.0
        self.rows[:] = 0.0
        self.rows[Row.LOWER_STOP], self.rows[Row.UPPER_STOP] = -np.inf, np.inf
        self.cool()
        self.rows[[Row.POSITION, Row.GOAL, Row.TARGET]] = position
        self._remember_only_now()

    def configure(self, dynamics: Dynamics) -> None:
        """Set how the actuators respond from now on; they stay where they are."""
        self.rows[Row.NATURAL_FREQUENCY] = dynamics.natural_frequency_hz * 2 * np.pi
        self.rows[Row.DAMPING_RATIO] = dynamics.damping_ratio
        self.rows[Row.CHANGE_LIMIT] = dynamics.effort_limit / dynamics.inertia * STEP_S
        self.rows[Row.VELOCITY_LIMIT] = dynamics.velocity_limit
        self.rows[Row.INERTIA] = dynamics.inertia
        limit = dynamics.effort_limit
        self.rows[Row.RATED_EFFORT] = np.where(np.isfinite(limit), limit, RATED_EFFORT)
        self.rows[Row.ORDER] = dynamics.order
        self.rows[Row.VISCOUS] = dynamics.viscous_friction
        self.rows[Row.COULOMB] = dynamics.coulomb_friction
        self.rows[Row.LOWER_STOP], self.rows[Row.UPPER_STOP] = dynamics.lower_stop, dynamics.upper_stop
        self._load[:] = self.rows[Row.LOAD] = dynamics.load
        self.rows[[Row.STUCK, Row.LIMP]] = 0.0
        self.rows[Row.GRIP] = np.inf
        self.header[Header.LIFETIME_STEPS] = np.floor(dynamics.command_lifetime_s * STEPS_PER_S + 1e-6)
        self._renew()

    @property
    def position(self) -> Floats:
        """Where the actuators are at the last step: (actuators,)."""
        position: Floats = self._position
        return position

    @property
    def is_sound(self) -> bool:
        """Whether the actuators are somewhere: a simulation can diverge."""
        return True

    @property
    def bodies(self) -> tuple[str, ...]:
        """What can touch: here nothing."""
        return ()

    def set_faults(self, *, stuck: Booleans, limp: Booleans, grip: Floats) -> None:
        """Set what faults do to the joints from now on.

        `stuck`, `limp` (actuators,): which joints do not move, and which actuators have no torque. `grip`
        (actuators,): the most effort that a slipping joint transmits; infinite for others.
        """
        self.rows[Row.STUCK], self.rows[Row.LIMP], self.rows[Row.GRIP] = stuck, limp, grip
        self._renew()

    def displace(self, by: Floats) -> None:
        """Put joints elsewhere at once, `by` (actuators,) further, beyond a stop or not; they are at rest."""
        moved = by != 0.0
        self._position += by
        self._velocity[moved] = self._change[moved] = 0.0
        self._stops.displace()

    def heat(self, duration_s: float, rate_c_per_s: Floats, hottest_c: Floats) -> None:
        """Warm actuators from outside, up to `hottest_c`; hotter ones stay as they are."""
        temperature = self.rows[Row.TEMPERATURE]
        np.maximum(temperature, np.minimum(temperature + rate_c_per_s * duration_s, hottest_c), temperature)

    def cool(self) -> None:
        """Bring the actuators to the temperature of what is around them, at once."""
        self.rows[[Row.TEMPERATURE, Row.HOUSING]] = AMBIENT_C

    def set_torque(self, *, on: bool, guided: bool = False) -> None:
        """Switch torque on or off; or on, with actuators that carry their weight and hold nothing."""
        self.header[Header.TORQUE], self.header[Header.GUIDED] = on, guided
        self._renew()

    def take_in_hand(self, place: slice, to: float, steps: int) -> None:
        """Let a hand move some joints from now on, for so many steps, wherever they give way."""
        self._hand.take(place, to, self.step, steps)
        self._note_roughness()

    def take_hand_off(self) -> None:
        """Let no hand move the joints any more."""
        self._hand.let_go()
        self._renew()

    def hold(self, position: Floats) -> None:
        """Set the goal to `position` (actuators,), with nothing fed forward; counts as a command."""
        self._feeds[0] = self._target[:] = position
        self._feeds[1:] = 0.0
        self.rows[Row.DRIFT] = 0.0
        self._drifting = False
        self.refresh()

    def stop(self, which: Booleans) -> None:
        """Let some actuators, of shape (actuators,), hold where they are; commands of NaN leave them so."""
        self._feeds[0, which] = self._target[which] = self._position[which]
        self._feeds[1:, which] = self.rows[Row.DRIFT, which] = 0.0

    def refresh(self) -> None:
        """Restart the command lifetime, as a command does."""
        self._header[COMMAND_STEP] = self.step

    def command(self, values: Floats) -> None:
        """Set new goals.

        `values` (3, actuators): position, velocity, effort. A position of NaN leaves the goal where it is,
        unless a velocity comes alone: then the goal moves on with it. A velocity or effort of NaN feeds
        nothing forward.
        """
        self.refresh()
        np.isnan(values, self._unset)
        if self._unset.tobytes() != self._unset_before:
            self._learn_what_is_set(self._unset)
        whole = self._whole_feeds
        if whole:
            np.multiply(values[:whole], self._whole_gains, self._whole_out)
        else:
            np.multiply(values, self._feed_gains, self._feeds, where=self._set)
        np.add(self._goal, self._velocity_lead, self._target)
        if whole != POSITION_AND_VELOCITY:
            np.add(self._target, self._feeds[2], self._target)
        if self._drifting or not whole:
            self._set_drift(values[1])

    def _learn_what_is_set(self, unset: Booleans) -> None:
        """Prepare for what is commanded now: it seldom changes, and most often it is whole rows."""
        self._unset_before = unset.tobytes()
        self._set = ~unset
        whole = np.count_nonzero(self._set.all(axis=1))
        is_plain = self._set[:whole].all() and unset[whole:].all()
        self._whole_feeds = int(whole) if is_plain else 0
        self._whole_gains, self._whole_out = (
            self._feed_gains[: self._whole_feeds],
            self._feeds[: self._whole_feeds],
        )
        self._feeds[1:] = 0.0

    def _set_drift(self, velocity: Floats) -> None:
        alone = self._set[1] & ~self._set[0]
        drift = self.rows[Row.DRIFT]
        drift[:] = np.where(alone, velocity, 0.0)
        self._drifting = bool(drift.any())

    def advance(self, step: int) -> None:
        """Let time pass up to `step` of the grid; steps that have passed already change nothing."""
        if step <= self.step:
            return
        if self.torque:
            last = self._header[COMMAND_STEP] + self._lifetime_steps
            if step > last:
                self._run(int(max(last, self.step)))
                self.set_torque(on=False)
        self._run(step)
        self._header[_STEP] = step

    def _run(self, step: int) -> None:
        steps = step - self.step
        if self._rough or self._drifting or self._delayed or not self._leap(steps):
            self._walk(steps)
        crossed = step // WARMING_STEPS - self.step // WARMING_STEPS
        if crossed:
            self._warm(crossed * WARMING_STEPS * STEP_S)
        self.step = step

    def _leap(self, steps: int) -> bool:
        """Take all steps at once, or none if a limit would be exceeded, or a stop be passed."""
        if steps == 0:
            return True
        if self._limited and steps > LONGEST_LIMITED_LEAP:
            return False
        if self._limited or self._stops.exist:
            self._before[:] = self._motion
        power = self._propagator.power(steps)
        position = self._position
        np.subtract(position, self._target, position)
        np.multiply(power, self._state, self._products)
        np.add(self._by_position, self._by_velocity, self._motion)
        np.add(position, self._target, position)
        if (self._limited and self._is_beyond_limits()) or (self._stops.exist and self._stops.are_passed()):
            self._motion[:] = self._before
            return False
        if self._stops.exist:
            self._stops.look()
        return True

    def _is_beyond_limits(self) -> bool:
        np.abs(self._motion, self._sizes)
        np.greater(self._sizes, self._limits, self._beyond)
        return bool(np.count_nonzero(self._beyond))

    def _walk(self, steps: int) -> None:
        """Take step after step; after `LONGEST_WALK` steps without a command the actuators have settled."""
        walked = min(steps, LONGEST_WALK)
        for step in range(self.step + 1, self.step + walked + 1):
            if self._gravity is not None and step % WEIGHING_STEPS == 0:
                self._weigh()
            self._drift_on(1)
            if self._rough or not self._leap(1):
                if self._hand.moves:
                    self._follow_hand(step)
                self._integrator.step(self._propagator.power(1))
                if self._hand.moves:
                    self._hand.drag()
                if self._stops.exist:
                    self._stops.hold()
            self._history[step % len(self._history)] = self._reported
        if steps > walked:
            self._drift_on(steps - walked)
            if self._gravity is None:
                self._position += self._velocity * ((steps - walked) * STEP_S)
                self._stops.hold()
            self._remember_only_now()

    def _follow_hand(self, step: int) -> None:
        """Move the hand on to a step, and let it pull at what is guided."""
        self._hand.move(step, guided=self.guided)
        self._load_joints()
        if not self._hand.moves:
            self._note_roughness()

    def _weigh(self) -> None:
        if self._gravity is not None:
            self._weight = self._gravity(self._position)
        self._load_joints()

    def _load_joints(self) -> None:
        """Let pull at the joints what does: a constant load, gravity, and a hand."""
        load = self.rows[Row.LOAD]
        np.add(self._load, self._hand.pull, load)
        if self._weight is not None:
            load += self._weight
        self._integrator.weigh(self._weight)

    def _drift_on(self, steps: int) -> None:
        if self._drifting:
            way = self._drift * (steps * STEP_S)
            self._feeds[0] += way
            self._target += way

    def _warm(self, duration_s: float) -> None:
        rows = self.rows
        load = rows[Row.INERTIA] / STEP_S * self._change / rows[Row.RATED_EFFORT]
        warm(rows[Row.TEMPERATURE], rows[Row.HOUSING], load, duration_s)

    def report(self, ahead_s: float, state: ActuatorState) -> None:
        """Fill in what the actuators report `ahead_s` after the last step; stamps are left to the caller."""
        reported = self._reported
        if self._delayed:
            reported = self._history[(self.step + 1) % len(self._history)]
        np.multiply(reported, self._units, state.values[:4])
        if ahead_s > NEXT_TO_NOTHING_S:
            np.multiply(state.velocity, ahead_s, self._scratch)
            np.add(state.position, self._scratch, state.position)
            if self._stops.exist:
                self._stops.bound(state.position)


def numbers_needed(count: int) -> int:
    """Return the length of the block that `count` actuators take."""
    return len(Header) + len(Row) * count


def new_plant(count: int, delay_steps: int = 0, gravity: Callable[[Floats], Floats] | None = None) -> Plant:
    """Make actuators in this process's own memory."""
    return Plant(np.zeros(numbers_needed(count)), count, delay_steps, gravity)
