"""Unix time beside CLOCK_MONOTONIC, by which setpoints are put out.

Both are one clock to the kernel: whoever disciplines it slews both, so that their difference stays what it
is. A step sets Unix time alone. So the difference is read where a Unix time becomes a deadline, and again and
again while a motion plays to it.
"""

from __future__ import annotations

import time


def unix_less_monotonic() -> float:
    """Return Unix time less monotonic time in s: from the closest of a few readings of both."""
    readings = [(time.monotonic(), time.time(), time.monotonic()) for _ in range(5)]
    before_s, unix_s, after_s = min(readings, key=lambda reading: reading[2] - reading[0])
    return unix_s - (before_s + after_s) / 2
