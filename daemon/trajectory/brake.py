"""From any velocity to rest, each joint for itself: how a robot is caught that somebody moves by hand.

Joints that follow another brake in step with it, so that two of one mechanism come to rest together.

A joint's velocity falls along `1 - 3 u² + 2 u³`, with u the share of its time T that has passed: so the
acceleration is 0 at both ends and at most 1.5 v / T between, and the joint goes on by v T / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from .followers import of_all

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats, Indices

STEEPEST = 1.5
"""The greatest acceleration, of v / T."""
UNLIMITED = 1e9
"""An acceleration, in rad/s² or m/s², that stands for none."""
LEAST_S = 1e-9
SLOWEST = 1e-12
"""In rad/s or m/s; what is slower rests."""


def longest_braking_s(velocity: Floats, acceleration: Floats, duration_s: float) -> float:
    """Return a bound of how long braking takes from velocities, shape (joints,), that are no higher."""
    with np.errstate(invalid="ignore"):
        braking_s = STEEPEST * velocity / acceleration
    return float(np.max(braking_s, initial=duration_s, where=np.isfinite(braking_s)))


@dataclass(frozen=True, slots=True)
class Brake:
    """The way of all joints to rest.

    - `position`, `velocity`: shape (joints,): where it begins, and how fast
    - `lasts_s`: shape (joints,): how long each joint moves
    - `period_s`: between two ticks
    """

    position: Floats
    velocity: Floats
    lasts_s: Floats
    period_s: float

    @classmethod
    def plan(
        cls,
        position: Floats,
        velocity: Floats,
        *,
        lower: Floats,
        upper: Floats,
        acceleration: Floats,
        duration_s: float,
        period_s: float,
        leaders: Indices | None = None,
    ) -> Self:
        """Plan to come to rest within limits of acceleration and position; all arrays of shape (joints,).

        A joint takes `duration_s`, longer where its acceleration limit asks for it, and shorter where it
        would pass a position limit otherwise. Where it would do so even then, it begins more slowly than it
        is: its actuator brakes it harder. One that leaves its limits further stays where it is.

        `leaders`: the joint that each follows; itself, where it follows none. A leader and its followers take
        the same time, and begin with the same share of their velocities.
        """
        acceleration = np.minimum(acceleration, UNLIMITED)
        room = np.maximum(np.where(velocity > 0.0, upper - position, position - lower), 0.0)
        speed = np.abs(velocity)
        shortest_s = STEEPEST * speed / acceleration
        within_s = np.divide(2.0 * room, speed, out=np.full_like(speed, np.inf), where=speed > SLOWEST)
        if leaders is not None:
            shortest_s = of_all(np.maximum, shortest_s, leaders)
            within_s = of_all(np.minimum, within_s, leaders)
        # Slowed to a share, a joint needs so much less than its shortest time, and has so much more.
        of_speed = np.ones_like(speed)
        np.divide(within_s, shortest_s, out=of_speed, where=within_s < shortest_s)
        np.sqrt(of_speed, out=of_speed)
        speed *= of_speed
        moves = speed > SLOWEST
        within_s = np.divide(within_s, of_speed, out=np.zeros_like(speed), where=of_speed > 0.0)
        lasts_s = np.clip(np.minimum(duration_s, within_s), of_speed * shortest_s, None)
        return cls(
            position.copy(),
            np.copysign(np.where(moves, speed, 0.0), velocity),
            np.where(moves, lasts_s, LEAST_S),
            period_s,
        )

    def sample(self, ticks: int, position: Floats, velocity: Floats) -> bool:
        """Fill in where the joints are after so many ticks, shape (joints,); return whether all rest."""
        u = np.minimum(ticks * self.period_s / self.lasts_s, 1.0)
        position[:] = self.position + self.velocity * self.lasts_s * u * (1.0 - u * u * (1.0 - u / 2.0))
        velocity[:] = self.velocity * (1.0 - u * u * (3.0 - 2.0 * u))
        return bool((u >= 1.0).all())
