"""Setpoints towards targets that come as it goes, tick by tick, within every limit.

Where a joint goes next is ruckig's online generation: after Berscheid and Kröger, "Jerk-limited Real-time
Trajectory Generation with Arbitrary Target States", RSS 2021. It knows no limits of position, so each of its
steps is only a candidate, and this holds by induction:

- *Safe* is a state from which the joint, if it brakes from now on, comes to rest within its limits of
  position and velocity, within those of acceleration and jerk. A joint at rest within its limits is safe.
- A candidate that is safe is taken. Otherwise the joint takes one tick of braking from where it is: what is
  left of that braking keeps it within its limits too, so it is safe there as well.

Each joint moves for itself, and none waits for another; but where a guard does not let them go on, all of
them brake, which it has found out before that they may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from ruckig import (
    ControlInterface,
    InputParameter,
    OutputParameter,
    Result,
    Ruckig,
    RuckigError,
    Trajectory,
)

from .interception import Interception
from .paths import Paths

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from .limits import OnlineLimits
    from .spline import Spline

    Rows: TypeAlias = tuple[list[float], list[float], list[float]]

ROUNDING = 1e-9
"""In rad or m: so far the end of a braking may be beyond a limit; setpoints are not."""
TOO_FAST = 1e-6
"""Of the velocity limit: by so much rounding may pass it."""
SLOWEST = 1e-9
"""In rad/s or m/s; a commanded velocity that is lower is none."""
FASTEST = 0.999
"""Of the velocity limit: how fast a target may move on, so that a joint can still come nearer to it."""
HORIZON_S = 60.0
"""A joint that reaches its limit later than this does not go to the limit yet: it keeps its velocity."""
POSITION, VELOCITY = ControlInterface.Position, ControlInterface.Velocity


class Guard(Protocol):
    """Says whether joints may go on."""

    def allows(self, here: Floats, next_: Floats, braking: Trajectory) -> bool:
        """Whether joints, shape (joints,), may go from here to a place from which they can brake like that.

        If so, they may do that, too. `braking`: from 0, as seen from that place.
        """


class OnlineGenerator:
    """Moves joints towards targets, one tick at a time.

    - `position`, `velocity` (joints,): the setpoint; in rad or m, and per s
    - `target` (joints,): where the joints are to be now; NaN of one that is to move at a velocity

    A joint that begins outside its limits stays there, or comes back in.

    `start` (joints,): where they rest to begin with. `period_s`: between two ticks. `guard`: asked before
    each step; at the start they may rest.
    """

    def __init__(
        self, limits: OnlineLimits, start: Floats, period_s: float, guard: Guard | None = None
    ) -> None:
        count = len(start)
        self._limits, self._guard = limits, guard
        self._state = np.zeros((3, count))
        self.position, self.velocity = start.copy(), self._state[1]
        self._state[0] = start
        self.target, self._commanded, self._passing = start.copy(), np.zeros(count), np.zeros(count)
        self._passes = False
        self._lower, self._upper = np.minimum(limits.lower, start), np.maximum(limits.upper, start)
        self._bound()
        self._ruckig, self._next = Ruckig(count, period_s), OutputParameter(count)
        self._wanted, self._beside = limits.ruckig_input(), limits.ruckig_input()
        self._wanted.target_position = start.tolist()
        self._brake, self._braked = Ruckig(count, period_s), OutputParameter(count)
        self._braking = limits.ruckig_input()
        self._braking.control_interface = VELOCITY
        self._stopping = Trajectory(count)
        self._paths, self._period_s = Paths(limits, period_s), period_s
        self._interception = Interception(limits, period_s)
        self._rests, self._all, self._zeros = True, [*range(count)], [0.0] * count

    def resume(self, other: OnlineGenerator) -> None:
        """Go on from where another is to its target, at any limits of velocity, acceleration and jerk.

        The other's are no higher, and it goes through nothing: so its state is safe here, too.
        """
        self._state[:], self.position[:] = other._state, other.position
        self.target[:], self._passing[:], self._passes = other.target, other._passing, other._passes
        self._lower[:], self._upper[:] = other._lower, other._upper
        self._bound()
        self._aim_to_rest()

    @property
    def ends_s(self) -> float:
        """When what it goes through ends; in the past where there is nothing."""
        return self._paths.ends_s

    # -- what is wanted -------------------------------------------------------------------------------------

    def aim(self, positions: Floats, passing: Floats | None = None) -> bool:
        """Go to positions, shape (joints,), and rest there; NaN leaves a joint's target as it is.

        With velocities `passing`, shape (joints,), the target itself moves on at these, up to the limits,
        until the next comes.

        Returns whether one of them is beyond a limit, and was clipped to it.
        """
        limits = self._limits
        within = limits.within(positions, self._state[0])
        is_new = np.isfinite(within)
        np.copyto(self.target, within, where=is_new)
        speeds = np.zeros_like(within) if passing is None else np.nan_to_num(passing)
        most = FASTEST * limits.velocity
        np.copyto(self._passing, np.clip(speeds, -most, most), where=is_new)
        self._paths.leave(is_new)
        self._stop_target_at_limits()
        self._aim_to_rest()
        beyond = (positions < limits.lower) | (positions > limits.upper) | (np.abs(speeds) > limits.velocity)
        return bool(beyond.any())

    def _stop_target_at_limits(self) -> None:
        limits, passing = self._limits, self._passing
        passing[(self.target >= limits.upper) & (passing > 0.0)] = 0.0
        passing[(self.target <= limits.lower) & (passing < 0.0)] = 0.0
        self._passes = bool(passing.any())

    def go_along(self, path: Spline) -> None:
        """Go along a path once it begins, and hold its end."""
        self._paths.add(path)

    def aim_at_velocity(self, velocities: Floats) -> bool:
        """Move at velocities, shape (joints,), up to a limit; NaN leaves a joint's target as it is.

        Returns whether one of them is beyond a limit, and was clipped to it.
        """
        limits, wanted = self._limits, self._wanted
        within = np.clip(velocities, -limits.velocity, limits.velocity)
        commanded = self._commanded
        np.copyto(commanded, within, where=np.isfinite(within))
        position = self._state[0]
        goal = np.where(commanded > 0.0, limits.upper, limits.lower)
        room = np.where(commanded > 0.0, goal - position, position - goal)
        speed = np.abs(commanded)
        goes_to = (speed > SLOWEST) & (room > 0.0) & (room < HORIZON_S * speed)
        self.target.fill(np.nan)
        wanted.per_dof_control_interface = [POSITION if goes else VELOCITY for goes in goes_to.tolist()]
        wanted.target_position = np.where(goes_to, goal, 0.0).tolist()
        wanted.target_velocity = np.where(goes_to | (room <= 0.0), 0.0, commanded).tolist()
        wanted.max_velocity = np.where(goes_to, speed, limits.velocity).tolist()
        return bool((np.abs(velocities) > limits.velocity).any())

    # -- each tick ------------------------------------------------------------------------------------------

    def step(self, now_s: float = 0.0) -> None:
        """Move on by a tick, to where joints are to be at a time in s, by the scale of the paths."""
        if (last := self._paths.look(now_s)) is not None:
            rest = self._limits.within(last, self._state[0])
            np.copyto(self.target, rest, where=self._paths.led)
            self._aim_to_rest()
        if (path := self._paths.path) is not None:
            candidate = self._on_path(path, now_s)
        else:
            candidate = self._beside_target() if self._passes else self._on_target()
        if candidate is None:
            self._set(self._braked_rows())
            return
        if unsafe := self._unsafe(candidate):
            self._brake_some(candidate, unsafe)
        if self._guard is not None and not self._guard.allows(
            self._state[0], np.array(candidate[0]), self._stopping
        ):
            candidate = self._braked_rows()
            self._paths.lose(self._all)
        self._set(candidate)

    def _brake_some(self, candidate: Rows, joints: list[int]) -> None:
        braked = self._braked_rows()
        for joint in joints:
            for row, instead in zip(candidate, braked, strict=True):
                row[joint] = instead[joint]
        self._paths.lose(joints)
        if self._guard is not None:
            self._stopping_extents(candidate)

    def brake(self) -> bool:
        """Brake for a tick; return whether all joints rest."""
        self._set(self._braked_rows())
        if rests := self._rests:
            self._state[1:] = 0.0
        return rests

    def _on_path(self, path: Spline, now_s: float) -> Rows | None:
        """Return where paths and targets lead next; a joint that cannot be on its path yet goes after it."""
        paths = self._paths
        if self._passes:
            self._passing.fill(0.0)
            self._passes = False
        on_path = paths.lead(path, now_s, self._state)
        np.copyto(self.target, paths.ahead[0], where=paths.led)
        if on_path.all():
            return tuple(paths.rows.tolist())
        self._go_after(path, now_s)
        rows = self._on_target()
        if rows is None:
            return None
        return tuple(np.where(on_path, paths.rows, rows).tolist())

    def _go_after(self, path: Spline, now_s: float) -> None:
        """Have ruckig meet the path as soon as that can be."""
        wanted, led = self._wanted, self._paths.led
        meets = self._interception.find(path, now_s - self._period_s, self._state)
        wanted.target_position = np.where(led, meets[0], self.target).tolist()
        wanted.target_velocity, wanted.target_acceleration = np.where(led, meets[1:], 0.0).tolist()

    def _aim_to_rest(self) -> None:
        self._wanted.target_position = self.target.tolist()
        self._wanted.target_velocity = self._wanted.target_acceleration = [0.0] * len(self.target)

    def _on_target(self) -> Rows | None:
        """Return what ruckig would have next; None where its numbers fail it."""
        wanted, after = self._wanted, self._next
        wanted.current_position, wanted.current_velocity, wanted.current_acceleration = self._state.tolist()
        if not self._updates(wanted):
            return None
        return after.new_position, after.new_velocity, after.new_acceleration

    def _updates(self, wanted: InputParameter) -> bool:
        try:
            return bool(self._ruckig.update(wanted, self._next) >= Result.Working)
        except (RuckigError, ValueError):  # the latter for codes that ruckig itself does not name
            return False

    def _beside_target(self) -> Rows | None:
        """Return what ruckig would have next as seen from the target, which moves on by a tick.

        There the joint is to come to rest at 0. Seen from outside it keeps up with the target then; without
        that it would take a run-up to pass each place of the target at its velocity.
        """
        wanted, after, passing, most = self._beside, self._next, self._passing, self._limits.velocity
        wanted.current_position = (self._state[0] - self.target).tolist()
        wanted.current_velocity = (self._state[1] - passing).tolist()
        wanted.current_acceleration = self._state[2].tolist()
        wanted.max_velocity, wanted.min_velocity = (most - passing).tolist(), (-most - passing).tolist()
        rows = None
        self.target += passing * self._period_s
        if self._updates(wanted):
            position = (np.array(after.new_position) + self.target).tolist()
            rows = position, (np.array(after.new_velocity) + passing).tolist(), after.new_acceleration
        np.clip(self.target, self._limits.lower, self._limits.upper, out=self.target)
        self._aim_to_rest()
        self._stop_target_at_limits()
        return rows

    def _unsafe(self, candidate: Rows) -> list[int]:
        """Return the joints that could not brake within their limits any more, once they are there."""
        try:
            extents = self._stopping_extents(candidate)
        except (RuckigError, ValueError):  # as of `_updates`
            return self._all
        too_fast = self._too_fast(candidate)
        unsafe = [
            joint
            for joint, (extent, least, most) in enumerate(zip(extents, self._least, self._most, strict=True))
            if extent[0] < least or extent[1] > most or too_fast[joint]
        ]
        if self._is_outside and not unsafe:
            self._come_in(extents)
        return unsafe

    def _stopping_extents(self, candidate: Rows) -> list[tuple[float, float]]:
        """Let joints brake from a candidate; return how far that leads each at least and at most.

        ruckig counts 0 among the extrema of such a way, wherever it is: so the way begins there.
        """
        braking = self._braking
        braking.current_position = self._zeros
        position, braking.current_velocity, braking.current_acceleration = candidate
        self._brake.calculate(braking, self._stopping)
        extrema = self._stopping.position_extrema
        return [(begin + one.min, begin + one.max) for begin, one in zip(position, extrema, strict=True)]

    def _too_fast(self, candidate: Rows) -> list[bool]:
        """Return which joints could not keep their velocity limits any more, as they accelerate.

        Beyond a place that it passes within a tick, ruckig goes on at the acceleration that it has there.
        """
        _, velocity, acceleration = np.array(candidate)
        peak = velocity + acceleration * np.abs(acceleration) / (2.0 * self._limits.jerk)
        too_fast: list[bool] = (np.abs(peak) > self._limits.velocity * (1.0 + TOO_FAST)).tolist()
        return too_fast

    def _come_in(self, extents: list[tuple[float, float]]) -> None:
        """Keep joints that began outside their limits from going out again as far as that."""
        limits = self._limits
        lows, highs = np.array(extents).T
        np.maximum(self._lower, lows, out=self._lower)
        np.minimum(self._upper, highs, out=self._upper)
        np.minimum(self._lower, limits.lower, out=self._lower)
        np.maximum(self._upper, limits.upper, out=self._upper)
        self._bound()

    def _bound(self) -> None:
        limits = self._limits
        self._least, self._most = (self._lower - ROUNDING).tolist(), (self._upper + ROUNDING).tolist()
        self._is_outside = bool((self._lower < limits.lower).any() or (self._upper > limits.upper).any())

    def _braked_rows(self) -> Rows:
        """Return where a tick of braking leads from here."""
        braking, after = self._braking, self._braked
        braking.current_position, braking.current_velocity, braking.current_acceleration = (
            self._state.tolist()
        )
        self._rests = self._brake.update(braking, after) == Result.Finished
        return after.new_position, after.new_velocity, after.new_acceleration

    def _set(self, rows: Rows) -> None:
        self._state[:] = rows
        np.clip(self._state[0], self._lower, self._upper, out=self.position)
