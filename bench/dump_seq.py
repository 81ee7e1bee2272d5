"""Writing .seq files beside `orjson.dumps` of the same array, written to a file too.

python -m bench.dump_seq
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import orjson

from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable

FRAMES, JOINTS, RATE_HZ = 600_000, 30, 1000.0
TIMES = 5
NUMPY = orjson.OPT_SERIALIZE_NUMPY


def walk(frames: int, joints: int, rate_hz: float) -> formats.Motion:
    """Return a motion of smooth joints."""
    rng = np.random.default_rng(1)
    times = np.arange(frames) / rate_hz
    phases = times[:, None] * rng.uniform(0.5, 3, joints) + rng.uniform(0, 6, joints)
    return formats.Motion("walk", (), rate_hz, times, np.sin(phases))


def seconds(call: Callable[[], object]) -> float:
    """Return the median time of some calls."""
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken)


def main() -> None:
    motion = walk(FRAMES, JOINTS, RATE_HZ)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "walk.seq")
        ours = seconds(lambda: formats.dump_motion(motion, path, precision=9))
        size = path.stat().st_size
        exact = seconds(lambda: formats.dump_motion(motion, path, precision=None))
        by_orjson = seconds(lambda: path.write_bytes(orjson.dumps(motion.positions, option=NUMPY)))
    print(f"write {FRAMES} frames x {JOINTS} joints, {size / 1e6:.0f} MB; median of {TIMES}")
    for name, taken in (("motiond, 9 digits", ours), ("motiond, exact", exact), ("orjson, exact", by_orjson)):
        print(f"  {name:<21} {taken:>8.2f} s")
    print(f"  {exact / by_orjson:.2f} and, of 9 digits, {ours / by_orjson:.2f} times as long as orjson")


if __name__ == "__main__":
    main()
