"""The clock along a movement: it begins and ends at rest, and runs at the movement's own pace in between.

While it is eased in, its rate rises as u²(3 - 2u) with the share u of the time of easing, by which it comes
along half of that time, u³ - u⁴/2 of it: what is moved keeps to its path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.model import interpolate

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

STEEPEST = 1.5
"""Of the rate, at the middle of easing, over the time of easing."""
EASING, GENTLE_S = 6.0, 0.3
MOST_POINTS = 4096


@dataclass(frozen=True, slots=True)
class EasedClock:
    """A clock over a movement of `duration_s`, with as much easing at its beginning and its end."""

    duration_s: float
    begin_s: float
    end_s: float

    @property
    def lasts_s(self) -> float:
        """How long the movement takes by this clock."""
        return self.duration_s + (self.begin_s + self.end_s) / 2.0

    def place(self, at: Floats) -> Floats:
        """Return how far along the movement the clock is at some times, in s."""
        until_end = self.lasts_s - at
        place = at - self.begin_s / 2.0
        place = np.where(at < self.begin_s, _eased(at, self.begin_s), place)
        place = np.where(until_end < self.end_s, self.duration_s - _eased(until_end, self.end_s), place)
        return np.asarray(np.clip(place, 0.0, self.duration_s))

    def time_at(self, place: Floats) -> Floats:
        """Return when the clock is at some places, in s; to a millionth of the easing."""
        shares = np.linspace(0.0, 1.0, MOST_POINTS)
        times = np.concatenate((self.begin_s * shares, self.lasts_s - self.end_s * shares[::-1]))
        return np.asarray(np.interp(place, self.place(times), times))


def _eased(since_s: Floats, easing_s: float) -> Floats:
    u = np.clip(since_s / easing_s, 0.0, 1.0) if easing_s else np.zeros_like(since_s)
    return easing_s * (u**3 - u**4 / 2.0)


def eased(
    times: Floats, positions: Floats, acceleration: Floats, gentle: Floats, rate_hz: float
) -> EasedClock:
    """Return the clock by which a movement begins and ends at rest within accelerations.

    The acceleration along the path is q'' r² + q' dr/dt with the clock's rate r, which rises by `STEEPEST`
    over the time of easing at most. After `EASING` speeds over accelerations, half of the acceleration and
    more is left for the movement's own, q''.

    - `times`: in s, from 0 on, shape (rows,); `positions`: shape (rows, columns)
    - `acceleration`, `gentle`: the limits, and what is preferred to them for up to `GENTLE_S`, (columns,)
    - `rate_hz`: of the ticks in which it is played. Where half of `gentle` is enough for a step from rest to
      the speed of an end, nothing is eased there
    """
    duration_s = float(times[-1])
    steps_s = np.array(
        [0.0, min(1.0 / rate_hz, duration_s), max(0.0, duration_s - 1.0 / rate_hz), duration_s]
    )
    ends = interpolate(steps_s, times, positions, "cubic")
    speeds = np.abs(np.diff(ends, axis=0))[[0, 2]] * rate_hz
    needed_s, wanted_s = (EASING * (speeds / most).max(axis=1) for most in (acceleration, gentle))
    easing_s = np.minimum(np.maximum(needed_s, np.minimum(wanted_s, GENTLE_S)), duration_s)
    easing_s[(speeds * rate_hz <= gentle / 2.0).all(axis=1)] = 0.0
    return EasedClock(duration_s, *easing_s.tolist())
