"""Ways from a moving state to rest: how a robot goes over to another motion without a rest before.

From where the joints are, as fast as they are and as they accelerate, each joint comes to its target at
rest, or just to rest, within bounds of velocity, acceleration and jerk (the library `ruckig`); all arrive
together. Joints that follow another keep to it. A joint that could not but go beyond its limits, or further
beyond them, has no such way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from ruckig import ControlInterface, InputParameter, Ruckig, RuckigError, Trajectory

from .brake import UNLIMITED
from .track import Track
from .way import SHARES, WayError, sample

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats, Indices

    from .online import OnlineLimits

LOOKS = 4
"""So many places on a way are looked at from one row to the next."""
FASTEST = 1e6
"""In rad/s² or m/s²; an acceleration without a limit is no higher."""
IN_RELATION = 1e-9
"""In rad or m: what is less is rounding, of a joint that follows another."""
LONGEST_STOP = 4.0
"""In units of the time of an ordinary stop; a stop must end, even where acceleration is short."""
SLOWEST = 1e-9


@dataclass(frozen=True, slots=True)
class Motion:
    """How joints move at a moment, shape (joints,) each: in rad or m, per s, and per s²."""

    position: Floats
    velocity: Floats
    acceleration: Floats

    @classmethod
    def seen(cls, rows: Floats, period_s: float) -> Motion:
        """Return how joints move at the last of three setpoints, shape (3, joints), one period apart.

        Differences of these and of what comes after them then have no more acceleration than this.
        """
        step, change = rows[2] - rows[1], rows[2] - 2.0 * rows[1] + rows[0]
        acceleration = change / period_s**2
        return cls(rows[2].copy(), step / period_s + acceleration * period_s / 2.0, acceleration)

    @classmethod
    def at_rest(cls, position: Floats) -> Motion:
        """Return the motion of joints that rest, shape (joints,)."""
        return cls(position.copy(), np.zeros_like(position), np.zeros_like(position))

    def within(self, velocity: Floats, acceleration: Floats, jerk: Floats) -> Motion:
        """Return a motion that can be slowed to rest within limits, at a jerk; shape (joints,) each.

        What still speeds up on its way to no acceleration must not pass the limit of velocity.
        """
        speeds = np.clip(self.velocity, -velocity, velocity)
        changes = np.clip(self.acceleration, -acceleration, acceleration)
        room = np.where(changes * speeds > 0.0, velocity - np.abs(speeds), np.inf)
        most = np.sqrt(2.0 * jerk * np.maximum(room, 0.0))
        return Motion(self.position, speeds, np.clip(changes, -most, most))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of such a way, shape (joints,) each.

    - `leaders`, `multipliers`: the joint that each follows, itself where it follows none, and how far it goes
      of the way of that
    """

    velocity: Floats
    acceleration: Floats
    jerk: Floats
    lower: Floats
    upper: Floats
    leaders: Indices
    multipliers: Floats

    def at(self, speed: float) -> Bounds:
        """Return these at a share of the speed; a jerk is not part of what actuators bear."""
        return replace(self, velocity=speed * self.velocity, acceleration=speed**2 * self.acceleration)

    def rests_at(self, moves: Motion) -> Floats:
        """Return about where joints come to rest from a moment, shape (joints,)."""
        rests: Floats = moves.position + moves.velocity * np.abs(moves.velocity) / (2.0 * self.acceleration)
        return rests


def hand_over(
    moves: Motion,
    target: Floats,
    driven: Booleans,
    bounds: Bounds,
    limits: OnlineLimits,
    *,
    clock_acceleration: float,
    first_s: float,
    rate_hz: float,
    speed: float = 1.0,
) -> Track:
    """Plan a way from how joints move, of driven joints to a target and of others to rest, (joints,).

    It keeps to bounds where there is room for that; else it takes half of what joints may speed up by, which
    leaves the clock as much.

    Parameters
    ----------
    bounds : Bounds
        Of ways from rest to rest.
    limits : OnlineLimits
        Of the joints.
    clock_acceleration : float
        In 1/s: how fast the clock's rate may change where joints leave room for it.
    first_s : float
        From the last setpoint to the first row.
    speed : float
        From above 0 to 1: at which share of its speed it goes.

    Raises
    ------
    WayError
        If neither is within the limits.
    """
    half = np.minimum(limits.acceleration, UNLIMITED) / 2.0
    failure: WayError | None = None
    for acceleration, jerk in ((bounds.acceleration, bounds.jerk), (half, limits.jerk)):
        own = replace(bounds, acceleration=acceleration, jerk=jerk).at(speed)
        begins = moves.within(limits.velocity, limits.acceleration, jerk)
        try:
            rows, velocities = plan_handover(begins, target, driven, own, first_s=first_s, rate_hz=rate_hz)
        except WayError as error:
            failure = error
            continue
        fastest = np.maximum(np.abs(velocities).max(axis=0), SLOWEST)
        spare = float(((limits.acceleration - own.acceleration) / fastest).min())
        ramp = min(clock_acceleration, spare, float(np.sqrt(jerk / (2.0 * fastest)).min()))
        ramp = max(ramp, clock_acceleration / LONGEST_STOP)
        return Track(rows, velocities, np.ones(target.size, dtype=bool), rate_hz, ramp)
    raise failure or WayError("there is none")


def plan_handover(
    start: Motion, target: Floats, driven: Booleans, bounds: Bounds, *, first_s: float, rate_hz: float
) -> tuple[Floats, Floats]:
    """Plan the way of driven joints to a target, and of the others to rest; all of shape (joints,).

    - `first_s`: from the start to the first row

    Returns positions and velocities, each of shape (rows, joints); the last row is the target, bit for bit.

    Raises `WayError` if there is none within the bounds.
    """
    leaders, pacers = bounds.leaders, _pacers(bounds)
    _refuse_unrelated(start, target, driven, bounds)
    trajectory = _calculated(start, target, driven, bounds, pacers)
    _refuse_beyond(start, np.where(driven, target, start.position), trajectory, bounds, rate_hz)
    count = max(1, int(np.ceil((trajectory.duration - first_s) * rate_hz - 1e-9)) + 1)
    positions, velocities = sample(trajectory, first_s + np.arange(count) / rate_hz)
    rows, speeds = np.empty((count, leaders.size)), np.empty((count, leaders.size))
    rows[:, pacers], speeds[:, pacers] = positions.T, velocities.T
    for joint in np.flatnonzero(leaders != np.arange(leaders.size)):
        leader, multiplier = leaders[joint], bounds.multipliers[joint]
        rows[:, joint] = start.position[joint] + multiplier * (rows[:, leader] - start.position[leader])
        speeds[:, joint] = multiplier * speeds[:, leader]
    rows[-1] = np.where(driven, target, rows[-1])
    speeds[-1] = 0.0
    return rows, speeds


def _refuse_unrelated(start: Motion, target: Floats, driven: Booleans, bounds: Bounds) -> None:
    """Refuse joints that do not keep to the one that they follow, here or at the target."""
    leaders, goes = bounds.leaders, target - start.position
    off = np.abs(goes - bounds.multipliers * goes[leaders])
    if (off[driven & (leaders != np.arange(leaders.size))] > IN_RELATION).any():
        raise WayError("a joint is off the one that it follows")


def _calculated(
    start: Motion, target: Floats, driven: Booleans, bounds: Bounds, pacers: Indices
) -> Trajectory:
    """Calculate the way of the joints that follow none, within the bounds of those that follow them."""
    sizes = np.abs(bounds.multipliers)
    narrowed = []
    for bound in (bounds.velocity, bounds.acceleration, bounds.jerk):
        least = bound.copy()
        allowed = np.divide(bound, sizes, out=np.full_like(bound, np.inf), where=sizes > 0.0)
        np.minimum.at(least, bounds.leaders, allowed)
        narrowed.append(least[pacers])
    wanted = InputParameter(pacers.size)
    wanted.current_position, wanted.target_position = start.position[pacers], target[pacers]
    wanted.current_velocity, wanted.current_acceleration = start.velocity[pacers], start.acceleration[pacers]
    wanted.max_velocity, wanted.max_jerk = narrowed[0], narrowed[2]
    kinds = (ControlInterface.Velocity, ControlInterface.Position)
    wanted.per_dof_control_interface = [kinds[bool(moves)] for moves in driven[pacers]]
    failure: Exception | None = None
    for share in SHARES:
        wanted.max_acceleration = share * narrowed[1]
        trajectory = Trajectory(pacers.size)
        try:
            Ruckig(pacers.size).calculate(wanted, trajectory)
        except (RuckigError, ValueError) as error:  # the latter for codes that ruckig itself does not name
            failure = error
        else:
            return trajectory
    raise WayError(str(failure)) from failure


def _pacers(bounds: Bounds) -> Indices:
    """Return the joints that follow none."""
    return np.flatnonzero(bounds.leaders == np.arange(bounds.leaders.size))


def _refuse_beyond(
    start: Motion, target: Floats, trajectory: Trajectory, bounds: Bounds, rate_hz: float
) -> None:
    """Refuse a way that leads beyond a limit of position, or further beyond one than it begins.

    Where a joint turns round on its way, that is between two of the places that are looked at.
    """
    looks_hz, pacers = LOOKS * rate_hz, _pacers(bounds)
    at = np.arange(int(np.ceil(trajectory.duration * looks_hz)) + 1) / looks_hz
    went = np.zeros((start.position.size, at.size))
    went[pacers] = sample(trajectory, at)[0] - start.position[pacers, np.newaxis]
    ways = start.position[:, np.newaxis] + bounds.multipliers[:, np.newaxis] * went[bounds.leaders]
    steepest = np.maximum(bounds.acceleration, np.abs(start.acceleration))
    between = np.minimum(steepest, FASTEST) / (8.0 * looks_hz**2)
    lowest, highest = ways.min(axis=1), ways.max(axis=1)
    turns_low = lowest < np.minimum(start.position, target) - IN_RELATION
    turns_high = highest > np.maximum(start.position, target) + IN_RELATION
    beyond = turns_low & (lowest - between < np.minimum(bounds.lower, start.position))
    beyond |= turns_high & (highest + between > np.maximum(bounds.upper, start.position))
    if beyond.any():
        raise WayError("it would lead beyond a limit of position")
