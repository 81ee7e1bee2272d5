"""How emulated motors move."""

from __future__ import annotations

import math

LAG_S = 0.02
NEAR_TICKS = 1e-3


def approach(way: float, fastest: float, duration_s: float) -> tuple[float, float]:
    """Return what is left of the way to a goal after a time, in ticks, and the velocity then, in ticks/s.

    It goes at full speed while it is far away, then with the time constant `LAG_S`. `fastest`: in ticks/s.
    """
    if abs(way) < NEAR_TICKS or not duration_s or not fastest:
        return way, 0.0
    cruise_s = min(duration_s, max(0.0, abs(way) / fastest - LAG_S))
    rest = way - math.copysign(fastest * cruise_s, way)
    rest *= math.exp(-(duration_s - cruise_s) / LAG_S)
    return rest, math.copysign(min(fastest, abs(rest) / LAG_S), rest)
