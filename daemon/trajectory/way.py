"""Ways from rest to rest: each joint on a jerk-limited profile, all arriving together, within bounds.

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
    from motiond.formats.arrays import Floats

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
    trajectory: Trajectory

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
        positions, speeds = sample(self.trajectory, np.arange(ticks + 1) / rate_hz)
        # Rounding in the last digit must not carry a joint beyond either end, maybe a limit, or turn it back.
        ends = np.minimum(start, target), np.maximum(start, target)
        np.clip(positions, ends[0][:, None], ends[1][:, None], out=positions)
        positions[:, -1] = target
        rises = target >= start
        positions[rises] = np.maximum.accumulate(positions[rises], axis=1)
        positions[~rises] = np.minimum.accumulate(positions[~rises], axis=1)
        _keep_between_rows(positions, speeds, rate_hz)
        return positions.T, speeds.T


def plan_way(start: Floats, target: Floats, velocity: Floats, acceleration: Floats, jerk: Floats) -> Way:
    """Plan all joints, arrays of shape (joints,), to arrive at the same time.

    Raises `WayError` if the bounds are such that there is none.
    """
    wanted = InputParameter(start.size)
    wanted.current_position, wanted.target_position = start, target
    wanted.max_velocity, wanted.max_jerk = velocity, jerk
    failure: Exception | None = None
    for share in SHARES:
        wanted.max_acceleration = share * acceleration
        trajectory = Trajectory(start.size)
        try:
            Ruckig(start.size).calculate(wanted, trajectory)
        except (RuckigError, ValueError) as error:  # the latter for codes that ruckig itself does not name
            failure = error
        else:
            return Way(start, target, trajectory)
    raise WayError(str(failure)) from failure


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
    # Eight states a joint: the beginnings of the seven phases of constant jerk, and rest at the end.
    states = np.array(
        [(one.p, one.v, one.a, (*one.j, 0.0), (0.0, *one.t)) for one in trajectory.profiles[0]]
    ).swapaxes(0, 1)
    p, v, a, j, begins = states
    v[:, 7], a[:, 7] = 0.0, 0.0
    np.cumsum(begins, axis=1, out=begins)
    edges = np.full((len(begins), 9), at.size)
    edges[:, :8] = np.searchsorted(at, begins)
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
