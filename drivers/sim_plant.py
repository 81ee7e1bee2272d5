"""The physics behind the `sim` driver: position-controlled actuators in a block of plain numbers.

In come goals and the passing of time, out come positions, velocities and efforts. The block may be a mapped
file; then the simulated robot outlives the process that drives it, as a real one does, and anyone may look
at it. Every number in it is a float64: first the header, then one row of `count` values for each `Row`.

Each actuator is a second-order system, `a = w² (goal - q) + 2 d w (goal velocity - v) + effort / inertia`,
with the natural frequency w and the damping ratio d. Between two commands the goal stands still, and so the
motion over any time is an exact product with a 2x2 matrix; it is taken on a grid of 0.5 ms, and so does not
depend on the tick rate. Where a limit is met, the motion goes step by step and each step is cut to the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from drivers.base import ActuatorState, Floats

    Bools: TypeAlias = NDArray[np.bool_]

STEP_S = 0.0005
STEPS_PER_S = 2000
COAST_TIME_S = 0.1
"""Time constant with which friction stops an actuator that has no torque."""
AMBIENT_C = 25.0
HEATING_C_PER_NM2 = 0.2
THERMAL_TIME_S = 300.0
WARMING_STEPS = STEPS_PER_S // 20
"""Temperatures are slow, and followed at this coarser step."""
LONGEST_WALK = 2 * STEPS_PER_S
LONGEST_LIMITED_LEAP = 8
"""Limits are looked at before and after a leap; in a longer one they might be met in between."""
MOST_KEPT_POWERS = 64
POSITION_AND_VELOCITY = 2
LAYOUT = 1.0
"""Changes with every change of `Header` or `Row`."""


class PlantFileError(ValueError):
    """A file that holds no simulated robot, or another one."""


class Header(IntEnum):
    """Places of the numbers that hold for all actuators."""

    LAYOUT = 0
    COUNT = 1
    NAMES = 2
    STEP = 3
    COMMAND_STEP = 4
    LIFETIME_STEPS = 5
    TORQUE = 6


# Looking up an enum's member costs a microsecond on Python 3.11, too much for every tick.
_STEP, _COMMAND_STEP = int(Header.STEP), int(Header.COMMAND_STEP)


class Row(IntEnum):
    """Rows of the numbers that each actuator has; the order lets neighbours be worked on together."""

    FIRST_CHANGE = 0  # of velocity, in the first of the steps last taken together
    POSITION = 1
    VELOCITY = 2
    CHANGE = 3  # of velocity, in the last step
    TEMPERATURE = 4
    GOAL = 5
    VELOCITY_LEAD = 6  # how far a velocity that is fed forward shifts the target from the goal
    EFFORT_LEAD = 7
    TARGET = 8
    DRIFT = 9  # velocity of the goal, where a velocity is commanded without a position
    NATURAL_FREQUENCY = 10  # in rad/s
    DAMPING_RATIO = 11
    VELOCITY_LIMIT = 12
    CHANGE_LIMIT = 13
    INERTIA = 14


MOTION = slice(Row.FIRST_CHANGE, Row.CHANGE + 1)
STATE = slice(Row.POSITION, Row.VELOCITY + 1)
REPORTED = slice(Row.POSITION, Row.TEMPERATURE + 1)
FEEDS = slice(Row.GOAL, Row.EFFORT_LEAD + 1)


@dataclass(frozen=True, slots=True)
class Dynamics:
    """How the actuators respond; arrays have one value for each actuator.

    Attributes
    ----------
    natural_frequency_hz, damping_ratio : ndarray, shape (actuators,)
    velocity_limit, effort_limit : ndarray, shape (actuators,)
        Infinite where there is none.
    inertia : ndarray, shape (actuators,)
        In kg·m² (or kg): turns acceleration into effort.
    command_lifetime_s : float
        The actuators let go when no command came for so long; infinite means never.
    """

    natural_frequency_hz: Floats
    damping_ratio: Floats
    velocity_limit: Floats
    effort_limit: Floats
    inertia: Floats
    command_lifetime_s: float


@dataclass(frozen=True, slots=True)
class PlantReading:
    """What a simulated robot does at one moment.

    Attributes
    ----------
    position, velocity : ndarray, shape (actuators,)
    torque : bool
        False once the actuators were disabled or have let go.
    command_age_s : float
        Time since the last command, infinite if there was none.
    """

    position: Floats
    velocity: Floats
    torque: bool
    command_age_s: float


class Plant:
    """Simulated actuators in a block of numbers; it knows steps of its grid, not clocks.

    Parameters
    ----------
    numbers : ndarray, shape (numbers_needed(count),)
        Private memory or a mapped file; used in place.
    count : int
        Of actuators.
    delay_steps : int
        Feedback is so many steps old.
    """

    def __init__(self, numbers: Floats, count: int, delay_steps: int = 0) -> None:
        self.header = numbers[: len(Header)]
        self._header = self.header.data
        self.rows = numbers[len(Header) :].reshape(len(Row), count)
        self.step = int(self.header[Header.STEP])
        self._motion, self._reported, self._feeds = self.rows[MOTION], self.rows[REPORTED], self.rows[FEEDS]
        self._position, self._velocity, self._change = self.rows[Row.POSITION : Row.CHANGE + 1]
        self._goal, self._velocity_lead = self.rows[Row.GOAL : Row.VELOCITY_LEAD + 1]
        self._state = self.rows[STATE, np.newaxis]
        self._target = self.rows[Row.TARGET]
        self._products = np.empty((2, 4, count))
        self._by_position, self._by_velocity = self._products
        self._before, self._sizes = np.empty((2, 4, count))
        self._beyond = np.empty((4, count), bool)
        self._scratch = np.empty(count)
        self._unset = np.empty((3, count), bool)
        self._history = np.empty((delay_steps + 1, *self._reported.shape))
        self._delayed = delay_steps > 0
        self._take_settings()
        self._remember_only_now()

    def _remember_only_now(self) -> None:
        self._history[:] = self._reported

    def _take_settings(self) -> None:
        rows = self.rows
        self.torque = bool(self.header[Header.TORQUE])
        self._lifetime_steps = float(self.header[Header.LIFETIME_STEPS])
        self._drifting = bool(rows[Row.DRIFT].any())
        self._limits = np.full_like(self._motion, np.inf)
        self._limits[[Row.FIRST_CHANGE, Row.CHANGE]] = rows[Row.CHANGE_LIMIT]
        self._limits[Row.VELOCITY] = rows[Row.VELOCITY_LIMIT]
        self._limited = bool(np.isfinite(self._limits).any())
        self._units = np.ones_like(self._reported)
        self._units[Row.CHANGE - Row.POSITION] = rows[Row.INERTIA] / STEP_S
        with np.errstate(divide="ignore", invalid="ignore"):
            velocity_lead = 2 * rows[Row.DAMPING_RATIO] / rows[Row.NATURAL_FREQUENCY]
            effort_lead = 1 / (rows[Row.INERTIA] * rows[Row.NATURAL_FREQUENCY] ** 2)
        self._feed_gains = np.stack([np.ones_like(velocity_lead), velocity_lead, effort_lead])
        self._learn_what_is_set(np.zeros_like(self._unset))
        self._powers: dict[int, Floats] = {}

    @property
    def command_age_s(self) -> float:
        """Time since the last command, infinite if there was none."""
        return float(self.step - self.header[Header.COMMAND_STEP]) * STEP_S

    def begin(self, step: int, position: Floats) -> None:
        """Start afresh: at rest at `position` (actuators,), without torque and never commanded."""
        self.step = step
        self.header[Header.STEP] = step
        self.header[Header.COMMAND_STEP] = -np.inf
        self.header[Header.TORQUE] = 0.0
        self.rows[:] = 0.0
        self.rows[Row.TEMPERATURE] = AMBIENT_C
        self.rows[[Row.POSITION, Row.GOAL, Row.TARGET]] = position
        self._remember_only_now()

    def configure(self, dynamics: Dynamics) -> None:
        """Set how the actuators respond from now on; they stay where they are."""
        self.rows[Row.NATURAL_FREQUENCY] = dynamics.natural_frequency_hz * 2 * np.pi
        self.rows[Row.DAMPING_RATIO] = dynamics.damping_ratio
        self.rows[Row.CHANGE_LIMIT] = dynamics.effort_limit / dynamics.inertia * STEP_S
        self.rows[Row.VELOCITY_LIMIT] = dynamics.velocity_limit
        self.rows[Row.INERTIA] = dynamics.inertia
        self.header[Header.LIFETIME_STEPS] = np.floor(dynamics.command_lifetime_s * STEPS_PER_S + 1e-6)
        self._take_settings()

    def set_torque(self, *, on: bool) -> None:
        """Take hold, or let go."""
        self.header[Header.TORQUE] = on
        self._take_settings()

    def hold(self) -> None:
        """Set the goal to where the actuators are; counts as a command."""
        self._feeds[0] = self._target[:] = self._position
        self._feeds[1:] = 0.0
        self.rows[Row.DRIFT] = 0.0
        self._drifting = False
        self.refresh()

    def refresh(self) -> None:
        """Count the actuators as commanded just now."""
        self._header[_COMMAND_STEP] = self.step

    def command(self, values: Floats) -> None:
        """Set new goals.

        Parameters
        ----------
        values : ndarray, shape (3, actuators)
            Position, velocity, effort. A position of NaN leaves the goal where it is, unless a velocity comes
            alone: then the goal moves on with it. A velocity or effort of NaN feeds nothing forward.
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

    def _learn_what_is_set(self, unset: Bools) -> None:
        """Note what is commanded now; it seldom changes, and most often whole rows are."""
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
            last = self._header[_COMMAND_STEP] + self._lifetime_steps
            if step > last:
                self._run(int(max(last, self.step)))
                self.set_torque(on=False)
        self._run(step)
        self._header[_STEP] = step

    def _run(self, step: int) -> None:
        steps = step - self.step
        if step // WARMING_STEPS > self.step // WARMING_STEPS:
            self._warm(steps * STEP_S)
        if self._drifting or self._delayed or not self._leap(steps):
            self._walk(steps)
        self.step = step

    def _leap(self, steps: int) -> bool:
        """Take all steps at once, or none if a limit would be met on the way."""
        if steps == 0:
            return True
        if self._limited:
            if steps > LONGEST_LIMITED_LEAP:
                return False
            self._before[:] = self._motion
        power = self._powers.get(steps)
        if power is None:
            power = self._power(steps)
        position = self._position
        np.subtract(position, self._target, position)
        np.multiply(power, self._state, self._products)
        np.add(self._by_position, self._by_velocity, self._motion)
        np.add(position, self._target, position)
        if self._limited and self._is_beyond_limits():
            self._motion[:] = self._before
            return False
        return True

    def _is_beyond_limits(self) -> bool:
        np.abs(self._motion, self._sizes)
        np.greater(self._sizes, self._limits, self._beyond)
        return bool(np.count_nonzero(self._beyond))

    def _power(self, steps: int) -> Floats:
        """Give the rows of `MOTION` after `steps` by position error and velocity: (2, 4, actuators)."""
        step = self._held_step() if self.torque else self._loose_step()
        change = step[:, 1] - np.array([0, 1])
        before = np.linalg.matrix_power(step, steps - 1)
        after = step @ before
        last_change = (change[:, np.newaxis] @ before)[:, 0]
        motion = np.stack([change, after[:, 0], after[:, 1], last_change])
        power = np.ascontiguousarray(motion.transpose(2, 0, 1))
        if steps <= MOST_KEPT_POWERS:
            self._powers[steps] = power
        return power

    def _held_step(self) -> Floats:
        """Give one step of a damped oscillation about the target: (actuators, 2, 2)."""
        frequency, ratio = self.rows[Row.NATURAL_FREQUENCY], self.rows[Row.DAMPING_RATIO]
        angle = frequency * STEP_S
        turn = angle * np.emath.sqrt(ratio**2 - 1 + 0j)
        decay = np.exp(-ratio * angle)
        even = decay * np.cosh(turn).real
        odd = decay * np.sinc(1j * turn / np.pi).real
        cross = ratio * angle * odd
        step = np.array([[even + cross, STEP_S * odd], [-frequency * angle * odd, even - cross]])
        return step.transpose(2, 0, 1)

    def _loose_step(self) -> Floats:
        """Give one step of coasting against friction: (actuators, 2, 2)."""
        decay = np.exp(-STEP_S / COAST_TIME_S)
        step = np.array([[1, COAST_TIME_S * (1 - decay)], [0, decay]])
        return np.broadcast_to(step, (len(self._position), 2, 2))

    def _walk(self, steps: int) -> None:
        """Take step after step; what is left after a long gap without commands has settled."""
        walked = min(steps, LONGEST_WALK)
        for step in range(self.step + 1, self.step + walked + 1):
            self._drift_on(1)
            if not self._leap(1):
                self._take_limited_step()
            self._history[step % len(self._history)] = self._reported
        if steps > walked:
            self._drift_on(steps - walked)
            self._position += self._velocity * ((steps - walked) * STEP_S)
            self._remember_only_now()

    def _drift_on(self, steps: int) -> None:
        if self._drifting:
            way = self.rows[Row.DRIFT] * (steps * STEP_S)
            self._feeds[0] += way
            self._target += way

    def _take_limited_step(self) -> None:
        most_velocity, most_change = self.rows[Row.VELOCITY_LIMIT], self.rows[Row.CHANGE_LIMIT]
        by_error, by_velocity = self._power(1)
        free = by_error * (self._position - self._target) + by_velocity * self._velocity
        velocity = self._velocity + np.clip(free[Row.CHANGE], -most_change, most_change)
        np.clip(velocity, -most_velocity, most_velocity, velocity)
        way = (self._velocity + velocity) * (STEP_S / 2)
        is_free = velocity == self._velocity + free[Row.CHANGE]
        self._position[:] = np.where(is_free, self._target + free[Row.POSITION], self._position + way)
        self._change[:] = velocity - self._velocity
        self._velocity[:] = velocity

    def _warm(self, duration_s: float) -> None:
        effort = self.rows[Row.INERTIA] / STEP_S * self._change
        goal = AMBIENT_C + HEATING_C_PER_NM2 * effort**2
        temperature = self.rows[Row.TEMPERATURE]
        temperature += (goal - temperature) * -np.expm1(-duration_s / THERMAL_TIME_S)

    def report(self, ahead_s: float, state: ActuatorState) -> None:
        """Fill in what the actuators report, `ahead_s` after the last step; stamps are the caller's."""
        reported = self._reported
        if self._delayed:
            reported = self._history[(self.step + 1) % len(self._history)]
        np.multiply(reported, self._units, state.values[:4])
        np.multiply(state.velocity, ahead_s, self._scratch)
        np.add(state.position, self._scratch, state.position)


def numbers_needed(count: int) -> int:
    """Give the length of the block that `count` actuators take."""
    return len(Header) + len(Row) * count


def new_plant(count: int, delay_steps: int = 0) -> Plant:
    """Make actuators that live in this process alone."""
    return Plant(np.zeros(numbers_needed(count)), count, delay_steps)


def map_plant(path: Path, actuators: Sequence[str], delay_steps: int = 0) -> tuple[Plant, bool]:
    """Make actuators that live in a file.

    Returns
    -------
    Plant
        As the file has it, or yet to be begun.
    bool
        Whether the file held these actuators before.

    Raises
    ------
    PlantFileError
        If the file holds something else.
    OSError
        If the file cannot be made or mapped.
    """
    expected = [LAYOUT, len(actuators), crc32("\0".join(actuators).encode())]
    length = numbers_needed(len(actuators))
    held = path.exists() and path.stat().st_size > 0
    if held and not _is_plant_of(path, expected, length):
        raise PlantFileError(
            f"{path}: holds something else than these actuators; remove it or name another file"
        )
    numbers = np.memmap(path, np.float64, "r+" if held else "w+", shape=(length,)).view(np.ndarray)
    numbers[: len(expected)] = expected
    return Plant(numbers, len(actuators), delay_steps), held


def _is_plant_of(path: Path, expected: list[float], length: int) -> bool:
    fits = path.stat().st_size == length * 8
    return fits and np.fromfile(path, count=len(expected)).tolist() == expected


def read_plant(path: Path, at_s: float) -> PlantReading:
    """Look at a simulated robot from outside, without touching it.

    Parameters
    ----------
    path : Path
        The `plant` option of the `sim` driver.
    at_s : float
        Monotonic time; what happens by itself until then (settling, letting go) is worked out.

    Raises
    ------
    PlantFileError
        If the file is none that the `sim` driver writes.
    """
    size, odd = divmod(path.stat().st_size, 8)
    numbers = np.fromfile(path)
    count, rest = divmod(size - len(Header), len(Row))
    if odd or rest or count < 1 or numbers[Header.LAYOUT] != LAYOUT or numbers[Header.COUNT] != count:
        raise PlantFileError(
            f"{path}: holds no simulated robot; name the file of the sim driver's option `plant`"
        )
    plant = Plant(numbers, count)
    plant.advance(step_at(at_s))
    return PlantReading(plant.rows[Row.POSITION], plant.rows[Row.VELOCITY], plant.torque, plant.command_age_s)


def step_at(time_s: float) -> int:
    """Give the last step of the grid at a monotonic time."""
    return int(time_s * STEPS_PER_S + 1e-4)
