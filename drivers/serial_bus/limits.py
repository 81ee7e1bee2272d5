"""Positions that servos accept as goals, and positions that their joints can be at."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from ..limits import ActuatorLimits
from ..options import spread
from .options import of_actuator
from .setup import profiles_of, raise_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..base import Booleans, Floats
    from .chain import Chain, Servo
    from .family import Family
    from .options import SerialOptions
    from .units import Units

TURN_SLACK_RAD = 0.1
_LIMITING = ("velocity_limit", "current_limit")
"""Registers that limit what a servo does, beside its position limits."""


class Limits:
    """The servos' own limits: a servo silently ignores goals beyond.

    `lowest`, `highest` (actuators,): in ticks.
    """

    def __init__(
        self,
        options: SerialOptions,
        actuators: Sequence[str],
        family: Family,
        *,
        follow_velocity: bool = False,
    ) -> None:
        self._options, self._actuators, self._family = options, actuators, family
        self._follows = follow_velocity
        count = len(actuators)
        self.lowest, self.highest = np.zeros((2, count))
        self._counts_turns = np.zeros(count, bool)
        self._registers: dict[str, Floats] = {name: np.zeros(count) for name in _LIMITING}
        self._lower: list[float] = []
        self._upper: list[float] = []

    def learn(self, chain: Chain) -> None:
        """Read the limits of a chain's servos; those that count turns take goals as far as they count."""
        at = chain.indexes
        farthest = [servo.model.farthest_ticks for servo in chain.servos]
        self._counts_turns[at] = counts = self.counts_turns(chain)
        self.lowest[at] = np.where(counts, np.negative(farthest), chain.get("min_position_limit"))
        self.highest[at] = np.where(counts, farthest, chain.get("max_position_limit"))
        self._lower, self._upper = self.lowest.tolist(), self.highest.tolist()
        for name, values in self._registers.items():
            values[at] = self.limiting(chain, name) if name in chain.table else 0.0

    def counts_turns(self, chain: Chain) -> Booleans:
        """Return which servos count turns and have no limits of position (servos,); by default none."""
        return np.zeros(len(chain.ids), bool)

    def limiting(self, chain: Chain, register: str) -> Sequence[float]:
        """Return a limiting register, in units of `present_velocity` and `present_current`."""
        return chain.get(register)

    def configured(self) -> ActuatorLimits:
        """Return what the options allow, whatever the servos are."""

        def given(option: str) -> Floats:
            value = getattr(self._options, option)
            return spread(self._family.where, option, value, self._actuators, np.nan)

        limits = ActuatorLimits.none(len(self._actuators))
        limits = limits.narrowed("lower", given("lower_rad"), "driver.lower_rad")
        limits = limits.narrowed("upper", given("upper_rad"), "driver.upper_rad")
        profiles = given("profile_velocity_rad_s"), given("profile_acceleration_rad_s2")
        return self._with_profiles(limits, *profiles)

    def _with_profiles(
        self, limits: ActuatorLimits, velocity: Floats, acceleration: Floats
    ) -> ActuatorLimits:
        """Narrow limits to profiles, of which 0 is without limit.

        Where velocities are followed, each setpoint brings a profile velocity of its own, and the configured
        one does not apply to motions. A servo whose profile velocity is 0 may use no profile at all, nor its
        acceleration.
        """
        is_used = np.full(len(velocity), fill_value=True) if self._follows else velocity > 0
        if not self._follows:
            limits = limits.narrowed(
                "velocity", np.where(is_used, velocity, np.nan), "driver.profile_velocity_rad_s"
            )
        accelerates = np.where(is_used & (acceleration > 0), acceleration, np.nan)
        return limits.narrowed("acceleration", accelerates, "driver.profile_acceleration_rad_s2")

    def joined(self, servos: Sequence[Servo], units: Units) -> ActuatorLimits:
        """Return what the options and the servos' registers allow, on the actuators' side."""
        limits = self._with_profiles(self.configured(), *profiles_of(servos, self._options))
        turned = units.tick_rad < 0
        least, most = ((end - units.zero_ticks) * units.tick_rad for end in (self.lowest, self.highest))
        by_least, by_most = (self._source_of(servos, f"{end}_position_limit") for end in ("min", "max"))
        lower, by_lower = np.where(turned, most, least), np.where(turned, by_most, by_least)
        upper, by_upper = np.where(turned, least, most), np.where(turned, by_least, by_most)
        limits = limits.narrowed("lower", lower, by_lower.tolist()).narrowed(
            "upper", upper, by_upper.tolist()
        )
        velocity = self._size("velocity_limit", units.velocity_rad_s)
        limits = limits.narrowed("velocity", velocity, _owned(servos, "velocity_limit"))
        effort = self._size("current_limit", units.effort_nm)
        limits = limits.narrowed("effort", effort, _owned(servos, "current_limit"))
        lasting = [
            np.nan if servo.model.continuous_nm is None else servo.model.continuous_nm for servo in servos
        ]
        sources = [f"the continuous torque of a {servo.model.name}" for servo in servos]
        return limits.narrowed("continuous_effort", lasting, sources)

    def _source_of(self, servos: Sequence[Servo], register: str) -> list[str]:
        """Return where a limit of position of each servo comes from."""
        own = _owned(servos, "count of turns"), _owned(servos, register)
        return [
            count if counts else in_it for counts, count, in_it in zip(self._counts_turns, *own, strict=True)
        ]

    def _size(self, register: str, unit: Floats) -> Floats:
        """Return a limiting register without sign, in SI units; NaN where it is 0, which limits nothing."""
        values = self._registers[register]
        return np.where(values > 0, values * np.abs(unit), np.nan)

    def own(self, servo: Servo, units: Units) -> tuple[float, float]:
        """Return the lower and upper limit of one servo in rad."""
        ends = self.lowest[servo.index], self.highest[servo.index]
        lower, upper = sorted(units.position_of(servo.index, end) for end in ends)
        return lower, upper

    def allow(self, goals: Sequence[int]) -> bool:
        """Return whether all goals, in ticks, are within their servos' limits."""
        return all(map(operator.le, self._lower, goals)) and all(map(operator.le, goals, self._upper))

    def refuse_beyond(self, goals: Floats, servos: Sequence[Servo], units: Units) -> None:
        """Raise if a goal, in ticks, is beyond its servo's limits.

        Raises DriverError naming the first such servo, its goal and its limits.
        """
        beyond = (goals < self.lowest) | (goals > self.highest)
        if beyond.any():
            servo = servos[int(beyond.argmax())]
            goal = units.position_of(servo.index, goals[servo.index])
            lower, upper = self.own(servo, units)
            raise DriverError(
                servo.where,
                f"a goal of {goal:.3f} rad is beyond its own limits, {lower:.3f} and {upper:.3f} rad",
                "it would ignore the goal",
                f"narrow the joint's limits, or widen the servo's with {self._family.tool}",
            )

    def refuse_held_beyond(self, position: Floats, servos: Sequence[Servo], units: Units) -> None:
        """Raise if a servo stands beyond its own limits: it takes no goal there, and torque would move it.

        `position` (actuators,): as measured, in ticks. Raises DriverError with all such servos.
        """
        beyond = (position < self.lowest) | (position > self.highest)
        raise_all([self._held_beyond(one, position, units) for one in servos if beyond[one.index]])

    def _held_beyond(self, servo: Servo, position: Floats, units: Units) -> DriverError:
        lower, upper = self.own(servo, units)
        at = units.position_of(servo.index, position[servo.index])
        return DriverError(
            servo.where,
            f"is at {at:.3f} rad, beyond its own limits, {lower:.3f} and {upper:.3f} rad",
            "it takes no goal there, and torque would move it to the limit at once",
            f"turn it back by hand, or widen the limits with {self._family.tool}",
        )

    def refuse_narrow(self, servos: Sequence[Servo], units: Units) -> None:
        """Raise if a servo's own limits exclude a part of its joint's range.

        Raises DriverError with all such servos.
        """
        raise_all(
            [
                self._narrow(servo, own, lower, upper)
                for servo, lower, upper in _ranges(servos, self._options)
                if (own := self.own(servo, units))[0] > lower or own[1] < upper
            ]
        )

    def refuse_turned(self, servos: Sequence[Servo], position: Floats, units: Units) -> None:
        """Raise if a joint is where it can only be if whole turns were lost or gained.

        `position` (actuators,): as measured, in ticks. Raises DriverError with all such servos.
        """
        problems = []
        for servo, lower, upper in _ranges(servos, self._options):
            at = units.position_of(servo.index, position[servo.index])
            turns = round((at - (lower + upper) / 2) / (2 * math.pi))
            if turns and not lower - TURN_SLACK_RAD <= at <= upper + TURN_SLACK_RAD:
                problems.append(_turned(servo, at, turns, lower, upper))
        raise_all(problems)

    def _narrow(self, servo: Servo, own: tuple[float, float], lower: float, upper: float) -> DriverError:
        return DriverError(
            servo.where,
            f"takes goals from {own[0]:.3f} to {own[1]:.3f} rad",
            f"{lower:g} to {upper:g} rad is configured; it would ignore goals beyond",
            f"narrow `lower_rad` and `upper_rad`, or widen its limits with {self._family.tool}",
        )


def _owned(servos: Sequence[Servo], register: str) -> list[str]:
    """Return what limits each servo, in words."""
    return [f"servo {servo.servo_id}'s own {register}" for servo in servos]


def _ranges(servos: Sequence[Servo], options: SerialOptions) -> Iterator[tuple[Servo, float, float]]:
    for servo in servos:
        lower = of_actuator(options.lower_rad, servo.actuator)
        upper = of_actuator(options.upper_rad, servo.actuator)
        if isinstance(lower, float) and isinstance(upper, float):
            yield servo, lower, upper


def _turned(servo: Servo, position: float, turns: int, lower: float, upper: float) -> DriverError:
    count = "a whole turn" if abs(turns) == 1 else f"{abs(turns)} whole turns"
    return DriverError(
        servo.where,
        f"is at {position:.2f} rad, {count} {'above' if turns > 0 else 'below'} its range",
        f"{lower:g} to {upper:g} rad is configured",
        "turn it back by hand, or correct `zero_ticks`, `lower_rad` and `upper_rad`",
    )
