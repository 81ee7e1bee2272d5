"""The weight of what is added to a motion: it comes and goes smoothly, whenever that is asked for.

It comes by the share s(u) = 10u³ - 15u⁴ + 6u⁵ of its time and goes by 1 - s; both at once where it is to go
before it has come. So it is smooth up to its second derivative, and so is what it weighs.
"""

from __future__ import annotations

FASTEST, SHARPEST = 1.875, 12.32
"""The greatest slope and the greatest second derivative, over the time of a ramp and its square.

The first is s'(1/2). The second is that of s(u) (1 - s(u - u0)) for any u0 from 0 on, rounded up; by itself s
has 5.78.
"""


class FadeAway:
    """A weight from 0 to 1, and to 0 again.

    `weight`, `slope`: now, the latter per s. `is_over`: whether it has gone.
    """

    def __init__(self, ramp_s: float) -> None:
        self._ramp_s = ramp_s
        self._come_s = self._gone_s = 0.0
        self._leaves = self.is_over = False
        self.weight = self.slope = 0.0

    def leave(self) -> None:
        """Let it go from now on."""
        self._leaves = True

    def move(self, time_s: float) -> None:
        """Let so much time pass."""
        ramp_s = self._ramp_s
        self._come_s = min(self._come_s + time_s, ramp_s)
        come, rises = _smooth(self._come_s / ramp_s)
        if not self._leaves:
            self.weight, self.slope = come, rises / ramp_s
            return
        self._gone_s = min(self._gone_s + time_s, ramp_s)
        gone, falls = _smooth(self._gone_s / ramp_s)
        self.is_over = self._gone_s >= ramp_s
        self.weight = come * (1.0 - gone)
        self.slope = (rises * (1.0 - gone) - come * falls) / ramp_s


def _smooth(u: float) -> tuple[float, float]:
    """Return s(u) and its slope, for u from 0 to 1."""
    return u**3 * (10.0 - u * (15.0 - 6.0 * u)), 30.0 * (u * (1.0 - u)) ** 2
