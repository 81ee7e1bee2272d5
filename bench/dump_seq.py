"""Writing .seq files beside `orjson.dumps` of the same array as nested lists.

python -m bench.dump_seq
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson

from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable

FRAMES, JOINTS, RATE_HZ = 600_000, 30, 1000.0
TIMES = 3


def walk(frames: int, joints: int, rate_hz: float) -> formats.Motion:
    """Return a motion of smooth joints."""
    rng = np.random.default_rng(1)
    times = np.arange(frames) / rate_hz
    phases = times[:, None] * rng.uniform(0.5, 3, joints) + rng.uniform(0, 6, joints)
    return formats.Motion("walk", (), rate_hz, times, np.sin(phases))


def seconds(call: Callable[[], object]) -> float:
    """Return the shortest time of some calls."""
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    motion = walk(FRAMES, JOINTS, RATE_HZ)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "walk.seq")
        ours = seconds(lambda: formats.dump_motion(motion, path))
        size = path.stat().st_size
        exact = seconds(lambda: formats.dump_motion(motion, path, precision=None))
    as_lists = seconds(lambda: orjson.dumps(motion.positions.tolist()))
    lists = motion.positions.tolist()
    lists_alone = seconds(lambda: orjson.dumps(lists))
    print(f"write {FRAMES} frames x {JOINTS} joints, {size / 1e6:.0f} MB")
    for name, taken in (
        ("motiond, 9 digits", ours),
        ("motiond, exact", exact),
        ("orjson of lists", as_lists),
        ("  lists there already", lists_alone),
    ):
        print(f"  {name:<21} {taken:>8.2f} s")
    print(f"  goal at most {as_lists:.2f} s: {'met' if ours <= as_lists else 'MISSED'}")


if __name__ == "__main__":
    main()
