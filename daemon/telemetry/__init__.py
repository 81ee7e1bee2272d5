"""Reads the ring: samples, timing, traces.

- `observer`: the newest sample, and the timing of a second or of a goal
- `timing`: statistics of durations and ticks
- `extremes`: the largest error and effort of a goal
- `drift`: how far the ticks of a motion were from their appointed times
- `npz`: every tick of a play as a file
"""

from .drift import Drift
from .extremes import Extremes
from .npz import PlayTrace, save_trace
from .observer import Observer, Sample, Tap
from .timing import Timing

__all__ = ["Drift", "Extremes", "Observer", "PlayTrace", "Sample", "Tap", "Timing", "save_trace"]
