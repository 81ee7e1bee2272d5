"""Loading .seq files beside `yaml.load(…, CSafeLoader)` into an array, in time and peak memory.

A long one is loaded beside `orjson.loads` of the same rows as JSON, one in other layouts beside itself as
Choreonoid writes it.

    python -m bench.load_seq [FILE.seq …]

Each measurement is a process of its own. Memory is the highest resident size while loading, less that before.
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
import orjson
import yaml

from bench.dump_seq import walk
from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WARM_UP = Path(__file__).parents[1] / "config" / "motions" / "nod.seq"
FASTER_GOAL, MEMORY_GOAL = 30, 4
FASTER_THAN_ORJSON_GOAL, LONG_MEMORY_GOAL = 1.5, 3
SLOWER_LAYOUT_GOAL = 4


def write_walk(path: Path, frames: int, joints: int, rate_hz: float, *, with_root: bool) -> None:
    """Write a motion of smooth joints as Choreonoid writes one, with nine significant digits."""
    rng = np.random.default_rng(1)
    times = np.arange(frames)[:, None] / rate_hz
    rows = np.sin(times * rng.uniform(0.5, 3, joints) + rng.uniform(0, 6, joints))
    with path.open("w") as out:
        out.write(f"type: CompositeSeq\ncontent: BodyMotion\nformatVersion: 2\nframeRate: {rate_hz:g}\n")
        out.write(f"numFrames: {frames}\ncomponents: \n")
        out.write(f"  - \n    type: MultiValueSeq\n    content: JointDisplacement\n    numParts: {joints}\n")
        out.write("    frames: \n")
        out.writelines(f"      - [ {', '.join(f'{value:.9g}' for value in row)} ]\n" for row in rows.tolist())
        if with_root:
            out.write("  - \n    type: MultiSE3Seq\n    content: LinkPosition\n    numParts: 1\n")
            out.write("    SE3Format: XYZQWQXQYQZ\n    frames: \n")
            out.writelines(f"      - [ [ {x:.9g}, 0, 0.713578, 1, 0, 0, 0 ] ]\n" for x in rows[:, 0])
            out.write("  - \n    type: Vector3Seq\n    content: ZMP\n    frames: \n")
            out.writelines(f"      - [ {x:.9g}, {y:.9g}, 0 ]\n" for x, y in rows[:, :2])


def load_ours(path: Path) -> NDArray[np.float64]:
    return formats.load_motion(path).positions


def load_by_yaml(path: Path) -> NDArray[np.float64]:
    with path.open("rb") as file:
        return np.array(yaml.load(file, yaml.CSafeLoader)["components"][0]["frames"])


def load_by_orjson(path: Path) -> object:
    return orjson.loads(path.with_suffix(".json").read_bytes())


LOADERS: dict[str, Callable[[Path], object]] = {
    "ours": load_ours,
    "yaml": load_by_yaml,
    "orjson": load_by_orjson,
}


def memory_bytes(what: str) -> int:
    """Read this process's `VmRSS` (resident now) or `VmHWM` (highest so far)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    raise LookupError(what)


def measure_here(loader: str, path: Path, times: int) -> dict[str, float]:
    """Load a file several times in this process: median seconds, and peak bytes of the first time."""
    load = LOADERS[loader]
    # What is imported on first use is no part of loading a file.
    load_ours(WARM_UP)
    # Writing 5 sets the high-water mark back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_bytes("VmRSS")
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        load(path)
        taken.append(time.perf_counter() - start)
        if len(taken) == 1:
            peak = memory_bytes("VmHWM") - before
    return {"seconds": median(taken), "peak_bytes": peak}


def measure(loader: str, path: Path, times: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load_seq", "--measure", loader, str(path), str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(what: str, path: Path, times_yaml: int) -> None:
    size = path.stat().st_size
    ours, by_yaml = measure("ours", path, 7), measure("yaml", path, times_yaml)
    faster = by_yaml["seconds"] / ours["seconds"]
    print(f"{what}, {size / 1e6:.1f} MB")
    for name, one in (("motiond", ours), ("yaml CSafeLoader", by_yaml)):
        print(f"  {name:<17} {one['seconds'] * 1e3:>10.1f} ms   peak {one['peak_bytes'] / size:>6.1f} x file")
    verdict = "met" if faster >= FASTER_GOAL and ours["peak_bytes"] <= MEMORY_GOAL * size else "MISSED"
    goal = f"at least {FASTER_GOAL} times, at most {MEMORY_GOAL} x file"
    print(f"  {faster:.0f} times faster; goal {goal}: {verdict}")


def compare_with_orjson(what: str, path: Path) -> None:
    motion = formats.load_motion(path)
    path.with_suffix(".json").write_bytes(orjson.dumps(motion.positions, option=orjson.OPT_SERIALIZE_NUMPY))
    del motion
    size = path.stat().st_size
    ours, by_orjson = measure("ours", path, 3), measure("orjson", path, 3)
    faster = by_orjson["seconds"] / ours["seconds"]
    print(f"{what}, {size / 1e6:.1f} MB")
    for name, one in (("motiond", ours), ("orjson.loads", by_orjson)):
        print(f"  {name:<17} {one['seconds'] * 1e3:>10.1f} ms   peak {one['peak_bytes'] / size:>6.1f} x file")
    met = faster >= FASTER_THAN_ORJSON_GOAL and ours["peak_bytes"] <= LONG_MEMORY_GOAL * size
    goal = f"at least {FASTER_THAN_ORJSON_GOAL} times, at most {LONG_MEMORY_GOAL} x file"
    print(f"  {faster:.1f} times faster; goal {goal}: {'met' if met else 'MISSED'}")


def in_other_layouts(path: Path) -> dict[str, Path]:
    """Write a motion again in each layout that is not Choreonoid's."""
    text = path.read_bytes()
    document = yaml.load(text, yaml.CSafeLoader)
    texts = {
        "JSON": json.dumps(document).encode(),
        "indented JSON": json.dumps(document, indent=2).encode(),
        "comments": text.replace(b" ]\n", b" ]  # a row\n"),
        "wrapped": yaml.dump(document, Dumper=yaml.CSafeDumper, default_flow_style=None).encode(),
        "blocks": yaml.dump(document, Dumper=yaml.CSafeDumper, default_flow_style=False).encode(),
    }
    paths = {layout: path.with_name(f"{layout}.seq".replace(" ", "_")) for layout in texts}
    for layout, content in texts.items():
        paths[layout].write_bytes(content)
    return paths


def compare_layouts(what: str, path: Path) -> None:
    fast = measure("ours", path, 15)["seconds"]
    print(f"{what}, {fast * 1e3:.1f} ms as Choreonoid writes it")
    for layout, other in in_other_layouts(path).items():
        taken = measure("ours", other, 15)["seconds"]
        verdict = "met" if taken <= SLOWER_LAYOUT_GOAL * fast else "MISSED"
        ratio = f"{taken / fast:>4.1f} times as long; goal at most {SLOWER_LAYOUT_GOAL}: {verdict}"
        print(f"  {layout:<17} {taken * 1e3:>10.1f} ms   {ratio}")


def main(paths: tuple[Path, ...] = ()) -> None:
    with tempfile.TemporaryDirectory() as folder:
        short, long, very_long = (Path(folder, f"{name}.seq") for name in ("walk", "long", "very_long"))
        write_walk(short, 4451, 29, 500, with_root=True)
        write_walk(long, 60_000, 30, 1000, with_root=False)
        for path in paths:
            compare(f"load {path.name}", path, 3)
        compare("load a walk of 4,451 frames x 29 joints, with root and ZMP", short, 3)
        compare_layouts("load the same walk in other layouts", short)
        compare("load 60,000 frames x 30 joints", long, 1)
        formats.dump_motion(walk(600_000, 30, 1000.0), very_long)
        compare_with_orjson("load 600,000 frames x 30 joints", very_long)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure_here(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
    else:
        main(tuple(map(Path, sys.argv[1:])))
