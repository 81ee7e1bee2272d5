"""Reads the ring: samples, timing, traces.

- `observer`: the newest sample, and the timing of a second or of a goal
- `timing`: statistics of durations and ticks
- `drift`: how far the ticks of a motion were from their appointed times
- `npz`: every tick of a play as a file
"""

from .drift import Drift
from .npz import PlayTrace, save_trace
from .observer import Observer, Sample, Tap
from .timing import Timing

__all__ = ["Drift", "Observer", "PlayTrace", "Sample", "Tap", "Timing", "save_trace"]
