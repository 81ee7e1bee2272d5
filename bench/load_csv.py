"""Loading tables of 60,000 rows x 30 joints beside `numpy.loadtxt`, in processor time and peak memory.

    python -m bench.load_csv

Both take turns in processes of their own; a ratio is that of the medians. Memory is the highest resident size
while loading, less that before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench.dump_seq import walk
from bench.load_seq import memory_bytes
from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, JOINTS, RATE_HZ = 60_000, 30, 1000.0
ROUNDS = 5
FASTER_GOAL, MEMORY_GOAL = 1.5, 3
FEWER = 8
SLOWER_GOAL = 1.2
"""How much longer a row may take in a file of eight times as many."""

LOADERS: dict[str, Callable[[Path], object]] = {
    "motiond": formats.load_motion,
    "numpy.loadtxt": lambda path: np.loadtxt(path, delimiter=",", skiprows=1),
}


def layouts(path: Path) -> dict[str, Path]:
    """Write a table again in other ways of writing the same."""
    text = path.read_bytes()
    texts = {
        "semicolons": text.replace(b",", b";"),
        "blanks": text.replace(b",", b" "),
        "CRLF": text.replace(b"\n", b"\r\n"),
        "no zeros before points": text.replace(b",0.", b",.").replace(b",-0.", b",-."),
        "a comment for each row": text.replace(b"\n", b"\n# a row\n"),
    }
    paths = {layout: path.with_name(f"{number}.csv") for number, layout in enumerate(texts)}
    for layout, content in texts.items():
        paths[layout].write_bytes(content)
    return paths


def measure_here(loader: str, path: Path) -> dict[str, float]:
    """Load a file in this process: processor seconds and peak bytes."""
    formats.load_motion(path.with_name("short.csv"))  # what is imported on first use is no part of it
    # Writing 5 sets the high-water mark back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before, began_s = memory_bytes("VmRSS"), time.process_time()
    LOADERS[loader](path)
    return {"seconds": time.process_time() - began_s, "peak_bytes": memory_bytes("VmHWM") - before}


def measure(loader: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load_csv", "--measure", loader, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def medians(loader: str, paths: list[Path]) -> list[dict[str, float]]:
    """Return the medians for each file, which take turns."""
    rounds = [[measure(loader, path) for path in paths] for _ in range(ROUNDS)]
    return [
        {key: median(one[key] for one in of_file) for key in of_file[0]}
        for of_file in zip(*rounds, strict=True)
    ]


def compare_with_numpy(path: Path) -> None:
    size = path.stat().st_size
    rounds = [(measure("motiond", path), measure("numpy.loadtxt", path)) for _ in range(ROUNDS)]
    seconds = [median(one["seconds"] for one in of_one) for of_one in zip(*rounds, strict=True)]
    peaks = [median(one["peak_bytes"] for one in of_one) for of_one in zip(*rounds, strict=True)]
    print(f"load {ROWS:,} rows x {JOINTS} joints, {size / 1e6:.1f} MB; median of {ROUNDS}")
    for name, taken, peak in zip(LOADERS, seconds, peaks, strict=True):
        print(f"  {name:<15} {taken * 1e3:>8.1f} ms   peak {peak / size:>5.1f} x file")
    faster = seconds[1] / seconds[0]
    met = faster >= FASTER_GOAL and peaks[0] <= MEMORY_GOAL * size
    goal = f"at least {FASTER_GOAL} times, at most {MEMORY_GOAL} x file"
    print(f"  {faster:.1f} times faster; goal {goal}: {'met' if met else 'MISSED'}")


def compare_layouts(path: Path) -> None:
    others = layouts(path)
    plain, *taken = medians("motiond", [path, *others.values()])
    for layout, one in zip(others, taken, strict=True):
        print(f"  {layout:<24} {one['seconds'] / plain['seconds']:>5.1f} times as long")


def compare_lengths(short: Path, long: Path) -> None:
    few, many = medians("motiond", [short, long])
    ratio = many["seconds"] / few["seconds"] / FEWER
    goal = f"goal at most {SLOWER_GOAL}: {'met' if ratio <= SLOWER_GOAL else 'MISSED'}"
    print(f"  a row of {FEWER} times as many takes {ratio:.2f} times as long; {goal}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, f"{name}.csv") for name in ("short", "fewer", "walk")}
        for name, rows in (("short", 10), ("fewer", ROWS // FEWER), ("walk", ROWS)):
            formats.dump_motion(walk(rows, JOINTS, RATE_HZ), files[name])
        compare_with_numpy(files["walk"])
        compare_lengths(files["fewer"], files["walk"])
        compare_layouts(files["walk"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure_here(sys.argv[2], Path(sys.argv[3]))))
    else:
        main()
