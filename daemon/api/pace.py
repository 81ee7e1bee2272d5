"""How often something may be done: freely for a while, then at a rate; what costs more counts more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


ROUNDING = 1e-9
BYTES_A_COST = 4096


def cost_of(size_bytes: int) -> float:
    """Return what a message of a client costs: 1, and 1 more for each 4 kB that are to be read."""
    return 1.0 + size_bytes / BYTES_A_COST


class Pace:
    """A token bucket, which may go into debt.

    Parameters
    ----------
    rate_hz : float
        How often, in the long run.
    burst : int
        How often at once, after a rest.
    now : callable
        Returns a time in s.
    """

    def __init__(self, rate_hz: float, burst: int, now: Callable[[], float]) -> None:
        self._rate_hz = rate_hz
        self._burst = burst
        self._now = now
        self._left, self._counted_s = float(burst), now()

    def take(self, cost: float = 1.0) -> float:
        """Do it once; return how long to wait before the next time, in s, 0 within a burst."""
        self._fill()
        self._left -= cost
        return -self._left / self._rate_hz if self._left < -ROUNDING else 0.0

    def allows(self, cost: float = 1.0) -> bool:
        """Do it once if it may be done now; return whether. What costs more than a burst needs a full one."""
        self._fill()
        if self._left < min(cost, self._burst):
            return False
        self._left -= cost
        return True

    def _fill(self) -> None:
        now_s = self._now()
        self._left = min(self._left + (now_s - self._counted_s) * self._rate_hz, float(self._burst))
        self._counted_s = now_s
