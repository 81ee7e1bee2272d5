"""Ways from rest to rest: each joint on a jerk-limited profile, all arriving together, within bounds.

Joints that follow another move in step with it: they share one profile, stretched to the way of each. Of
those whose both ends keep `multiplier * leader + offset`, every place between keeps it too, within rounding,
and no other is further off anywhere than at the worse of its two ends.

After Berscheid and Kröger, "Jerk-limited Real-time Trajectory Generation with Arbitrary Target States", RSS
2021; the library `ruckig`. From rest to rest a profile never turns back, so a joint stays between its start
and its target.

    ValueError
    └── WayError    no way can be calculated within the bounds
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from ruckig import InputParameter, Ruckig, RuckigError, Trajectory

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats, Indices

SHARES = (1.0, 1.0 - 1e-6, 1.0 - 1e-3)
"""Of the bounds of acceleration. Where a joint just comes to it, which is after 2 a³ / j², ruckig finds no
way within rounding; with a little less there is one."""


class WayError(ValueError):
    """No way can be calculated within the bounds."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way from rest to rest."""

    # start, target: shape (joints,); in rad or m
    start: Floats
    target: Floats
    pacers: Indices  # shape (joints,); in step with which joint each moves; itself, where with none
    trajectory: Trajectory  # of those joints that are in `pacers`, ascending

    @property
    def duration_s(self) -> float:
        """How long it takes."""
        duration_s: float = self.trajectory.duration
        return duration_s

    def rows(self, rate_hz: float) -> tuple[Floats, Floats]:
        """Return positions and velocities at a rate, each of shape (ticks, joints).

        The first row is the start and the last one the target, bit for bit, at rest.
        """
        start, target = self.start, self.target
        ticks = max(1, int(np.ceil(self.duration_s * rate_hz - 1e-9)))
        positions, speeds = self._in_step(*sample(self.trajectory, np.arange(ticks + 1) / rate_hz))
        # Rounding in the last digit must not carry a joint beyond either end, maybe a limit, or turn it back.
        ends = np.minimum(start, target), np.maximum(start, target)
        np.clip(positions, ends[0][:, None], ends[1][:, None], out=positions)
        positions[:, 0], positions[:, -1] = start, target
        rises = target >= start
        positions[rises] = np.maximum.accumulate(positions[rises], axis=1)
        positions[~rises] = np.minimum.accumulate(positions[~rises], axis=1)
        _keep_between_rows(positions, speeds, rate_hz)
        return positions.T, speeds.T

    def _in_step(self, positions: Floats, speeds: Floats) -> tuple[Floats, Floats]:
        """Return positions and velocities of all joints, from those of the trajectory, (…, ticks)."""
        paces, number = np.unique(self.pacers, return_inverse=True)
        if paces.size == self.start.size:
            return positions, speeds
        positions, speeds = positions[number], speeds[number]
        shares = _shares(self.target - self.start, self.pacers)
        for joint in np.flatnonzero(self.pacers != np.arange(self.start.size)):
            gone = positions[joint] - self.start[self.pacers[joint]]
            positions[joint] = self.start[joint] + shares[joint] * gone
            speeds[joint] *= shares[joint]
        return positions, speeds


def plan_way(
    start: Floats,
    target: Floats,
    velocity: Floats,
    acceleration: Floats,
    jerk: Floats,
    *,
    leaders: Indices | None = None,
) -> Way:
    """Plan all joints, arrays of shape (joints,), to arrive at the same time.

    `leaders`: the joint that each follows, and moves in step with; itself, where it follows none.

    Raises `WayError` if the bounds are such that there is none.
    """
    goes = target - start
    with np.errstate(divide="ignore", invalid="ignore"):
        pacers = _pacers(np.abs(goes) / velocity, leaders)
    paces = np.unique(pacers)
    shares = np.abs(_shares(goes, pacers))
    bounds = [_narrowed(bound, shares, pacers)[paces] for bound in (velocity, acceleration, jerk)]
    wanted = InputParameter(paces.size)
    wanted.current_position, wanted.target_position = start[paces], target[paces]
    wanted.max_velocity, wanted.max_jerk = bounds[0], bounds[2]
    failure: Exception | None = None
    for share in SHARES:
        wanted.max_acceleration = share * bounds[1]
        trajectory = Trajectory(paces.size)
        try:
            Ruckig(paces.size).calculate(wanted, trajectory)
        except (RuckigError, ValueError) as error:  # the latter for codes that ruckig itself does not name
            failure = error
        else:
            return Way(start, target, pacers, trajectory)
    raise WayError(str(failure)) from failure


def _pacers(least_s: Floats, leaders: Indices | None) -> Indices:
    """Return in step with which joint each moves: of a leader and its followers, the one that takes longest.

    `least_s`: shape (joints,): how long each takes at its highest speed
    """
    pacers = np.arange(least_s.size)
    if leaders is not None:
        for leader in np.unique(leaders):
            group = np.flatnonzero(leaders == leader)
            pacers[group] = group[least_s[group].argmax()]
    return pacers


def _shares(goes: Floats, pacers: Indices) -> Floats:
    """Return how far each joint goes, of what its pacer goes; 1 for a pacer; shape (joints,)."""
    shares = np.divide(goes, goes[pacers], out=np.zeros_like(goes), where=goes[pacers] != 0.0)
    shares[np.unique(pacers)] = 1.0
    return shares


def _narrowed(bound: Floats, shares: Floats, pacers: Indices) -> Floats:
    """Return what bounds of all joints leave to those that pace them, shape (joints,)."""
    narrowed = bound.copy()
    allowed = np.divide(bound, shares, out=np.full_like(bound, np.inf), where=shares != 0.0)
    np.minimum.at(narrowed, pacers, allowed)
    return narrowed


def _keep_between_rows(positions: Floats, speeds: Floats, rate_hz: float) -> None:
    """Bound speeds, shape (joints, ticks), so that the cubic curve through the rows passes none of them.

    A slope of up to three times the smaller of the secants beside it keeps the curve monotone (Fritsch and
    Carlson 1980); at both ends there is rest.
    """
    secants = np.abs(np.diff(positions, axis=1)) * rate_hz
    bound = np.zeros_like(speeds)
    np.minimum(secants[:, 1:], secants[:, :-1], out=bound[:, 1:-1])
    bound *= 3.0
    np.clip(speeds, -bound, bound, out=speeds)


def sample(trajectory: Trajectory, at: Floats) -> tuple[Floats, Floats]:
    """Evaluate all profiles at once; `trajectory.at_time` takes a call for each tick.

    - `at` (ndarray, shape (ticks,)): in s, increasing

    Returns positions and velocities, each of shape (joints, ticks).
    """
    # Ten states a joint: the beginnings of two phases of braking, from beyond a bound, and of the seven
    # phases of constant jerk, and rest at the end.
    states = np.array(
        [
            (
                (*one.brake.p, *one.p),
                (*one.brake.v, *one.v),
                (*one.brake.a, *one.a),
                (*one.brake.j, *one.j, 0.0),
                (0.0, *one.brake.t, *one.t),
            )
            for one in trajectory.profiles[0]
        ]
    ).swapaxes(0, 1)
    p, v, a, j, begins = states
    v[:, -1], a[:, -1] = 0.0, 0.0
    np.cumsum(begins, axis=1, out=begins)
    edges = np.full((len(begins), begins.shape[1] + 1), at.size)
    edges[:, :-1] = np.searchsorted(at, begins)
    edges[:, 0] = 0
    counts = np.diff(edges).ravel()

    def spread(values: Floats) -> Floats:
        return np.repeat(values, counts).reshape(len(begins), at.size)

    since = at - spread(begins)
    positions, velocities = spread(j / 6), spread(j / 2)
    for lower in (a / 2, v, p):
        positions *= since
        positions += spread(lower)
    for lower in (a, v):
        velocities *= since
        velocities += spread(lower)
    return positions, velocities
