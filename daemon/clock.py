"""Time: the machine's, a virtual one, and the trajectory's.

In come deadlines and wished rates, out come the present time and the place on a trajectory. Nothing else in
the streaming process asks what time it is, so the same code runs on real and on virtual time.
"""

from __future__ import annotations

import select
import time
from typing import Protocol


class Clock(Protocol):
    """What the streaming loop needs of time; seconds on a monotonic scale."""

    def now(self) -> float:
        """Give the present time in seconds."""

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, or at once if it has passed."""

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Return when `fd` can be read, at `deadline_s` at the latest."""


class RealClock:
    """The machine's monotonic clock; `now` is CLOCK_MONOTONIC itself, as it is asked often."""

    now = staticmethod(time.monotonic)

    def sleep_until(self, deadline_s: float) -> None:
        """Sleep to an absolute deadline; Python hands it to clock_nanosleep as such."""
        remaining_s = deadline_s - time.monotonic()
        if remaining_s > 0.0:
            time.sleep(remaining_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Wait for a message or the deadline, whichever comes first."""
        select.select((fd,), (), (), max(0.0, deadline_s - time.monotonic()))


class VirtualClock:
    """Time that passes only when somebody sleeps.

    Parameters
    ----------
    start_s : float
        The time at first.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self.time_s = start_s

    def now(self) -> float:
        """Give the virtual time in seconds."""
        return self.time_s

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once."""
        self.time_s = max(self.time_s, deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Let time pass to the deadline, unless there is a message already."""
        if not select.select((fd,), (), (), 0.0)[0]:
            self.sleep_until(deadline_s)


class TrajectoryClock:
    """Where on a trajectory the robot is, in ticks, and how fast that place moves.

    The rate changes at a bounded pace, so the robot slows down and speeds up on the path. At rate 1 the place
    stays a whole number, which is how rows reach the actuators bit for bit.

    Attributes
    ----------
    position : float
        Rows from the first one; a fraction lies between two rows.
    rate : float
        Rows per tick; 1 plays at the file's speed.
    """

    __slots__ = ("_ramp", "_target", "position", "rate")

    def __init__(self) -> None:
        self.position = 0.0
        self.rate = 0.0
        self._target = 0.0
        self._ramp = 1.0

    def start(self, rate: float, ramp_per_tick: float) -> None:
        """Stand so that the next tick is at row 0, moving at `rate`.

        Parameters
        ----------
        rate : float
            Rows per tick.
        ramp_per_tick : float
            How much the rate may change in one tick.
        """
        self.position = -rate
        self.rate = self._target = rate
        self._ramp = ramp_per_tick

    def aim(self, rate: float) -> None:
        """Ramp to another rate from the next tick on."""
        self._target = rate

    @property
    def at_rest(self) -> bool:
        """Whether the rate has come down to 0."""
        return self.rate == 0.0

    def advance(self, ticks: int) -> float:
        """Move on by so many ticks and give the new position.

        The place moves by the integral of the linearly ramped rate: (old + new) / 2 in each tick.
        """
        for _ in range(ticks):
            if self.rate == self._target:
                self.position += self.rate
            else:
                before = self.rate
                self.rate = _step_towards(before, self._target, self._ramp)
                self.position += 0.5 * (before + self.rate)
        return self.position


def _step_towards(value: float, target: float, step: float) -> float:
    if abs(target - value) <= step:
        return target
    return value + step if target > value else value - step
