"""Loading motions of 30 joints in every format, beside what else reads such text, in turn.

Of each format, files of a number of rows and of eight times as many are read in processes of their own. Times
are of the processor: a row of the many takes as long as one of the few, where a reader is linear. Memory is
the highest resident size while loading, less that before, beside the size of the file. What is read besides
is the same file, or its rows as JSON.

    python -m bench.load_motions [FORMAT …]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import orjson
import yaml
from lxml import etree
from mcap.reader import make_reader

from bench.dump_seq import NUMPY, walk
from fuzz.readers import MEMORY_TIMES
from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JOINTS, RATE_HZ, KEY_POSES_HZ = 30, 100.0, 10
NAMES = tuple(f"j{number}" for number in range(JOINTS))
FEWER, ROUNDS = 8, 3
LONGER_GOAL, LONGER_LAYOUT_GOAL = 1.5, 4
"""How much longer a row may take in a file of eight times as many, and in another layout of the same rows."""


def write_bvh(motion: formats.Motion, path: Path) -> None:
    chain = "".join(f"JOINT {name} {{\nOFFSET 0 0 1\nCHANNELS 1 Xrotation\n" for name in NAMES[1:])
    root = f"HIERARCHY\nROOT {NAMES[0]} {{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n"
    with path.open("w") as out:
        out.write(f"{root}{chain}{'}' * JOINTS}\nMOTION\nFrames: {len(motion.times)}\n")
        out.write(f"Frame Time: {1 / RATE_HZ}\n")
        np.savetxt(out, np.degrees(motion.positions), "%.6g")


def write_pseq(motion: formats.Motion, path: Path) -> None:
    joints = ", ".join(map(str, range(JOINTS)))
    with path.open("w") as out:
        out.write("type: PoseSeq\nrefs:\n")
        for number, row in enumerate(motion.positions):
            pose = f"type: Pose, joints: [ {joints} ], q: [ {', '.join(f'{value:.6g}' for value in row)} ]"
            out.write(f"  - {{ time: {number / KEY_POSES_HZ:g}, refer: {{ {pose} }} }}\n")


def rows_as_json(path: Path) -> object:
    return orjson.loads(path.with_suffix(".json").read_bytes())


def by_yaml(path: Path) -> object:
    with path.open("rb") as file:
        return yaml.load(file, yaml.CSafeLoader)


def by_mcap(path: Path) -> object:
    with path.open("rb") as file:
        return sum(len(message.data) for _, _, message in make_reader(file).iter_messages())


def by_numpy(separator: str | None, head: int) -> Callable[[Path], object]:
    return lambda path: np.loadtxt(path, delimiter=separator, skiprows=head)


class Case(NamedTuple):
    """One format: how many rows, how they are written, and what else reads them."""

    rows: int
    suffix: str
    yardstick: str
    read: Callable[[Path], object]
    write: Callable[[formats.Motion, Path], object] = formats.dump_motion
    faster_goal: float = 0.0
    memory_goal: float = MEMORY_TIMES  # as a multiple of the file; that of fuzzing unless given


CASES = {
    "seq": Case(80_000, ".seq", "orjson of the rows", rows_as_json, faster_goal=1.5, memory_goal=3),
    "csv": Case(60_000, ".csv", "numpy.loadtxt", by_numpy(",", 1), faster_goal=1.5, memory_goal=3),
    "npz": Case(200_000, ".npz", "numpy.load", lambda path: dict(np.load(path))),
    "mcap": Case(16_000, ".mcap", "mcap, undecoded", by_mcap),
    "ros": Case(4_000, ".yaml", "yaml.CSafeLoader", by_yaml),
    "webots_motion": Case(16_000, ".motion", "orjson of the rows", rows_as_json),
    "bvh": Case(32_000, ".bvh", "numpy.loadtxt", by_numpy(None, 3 * JOINTS + 5), write_bvh),
    "pseq": Case(4_000, ".pseq", "yaml.CSafeLoader", by_yaml, write_pseq, memory_goal=30),
    "xmdi": Case(16_000, ".xmdi", "lxml", etree.parse),
}


def seq_layouts(text: bytes) -> dict[str, bytes]:
    """Return a file of Choreonoid's in each layout that is not its own."""
    document = yaml.load(text, yaml.CSafeLoader)
    return {
        "JSON": json.dumps(document).encode(),
        "indented JSON": json.dumps(document, indent=2).encode(),
        "comments": text.replace(b" ]\n", b" ]  # a row\n"),
        "wrapped": yaml.dump(document, Dumper=yaml.CSafeDumper, default_flow_style=None).encode(),
        "blocks": yaml.dump(document, Dumper=yaml.CSafeDumper, default_flow_style=False).encode(),
    }


def csv_layouts(text: bytes) -> dict[str, bytes]:
    """Return a table in other ways of writing the same."""
    return {
        "semicolons": text.replace(b",", b";"),
        "blanks": text.replace(b" [SI]", b"").replace(b",", b" "),
        "CRLF": text.replace(b"\n", b"\r\n"),
        "no zeros before points": text.replace(b",0.", b",.").replace(b",-0.", b",-."),
        "a comment for each row": text.replace(b"\n", b"\n# a row\n"),
    }


LAYOUTS: Mapping[str, Callable[[bytes], dict[str, bytes]]] = {"seq": seq_layouts, "csv": csv_layouts}


def memory_bytes(what: str) -> int:
    """Read this process's `VmRSS` (resident now) or `VmHWM` (highest so far)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    raise LookupError(what)


def measure_here(loader: str, name: str, path: Path) -> dict[str, float]:
    """Load a file in this process: processor seconds and peak bytes."""
    load = formats.load_motion if loader == "motiond" else CASES[name].read
    load(path.with_name(f"short{path.suffix}"))  # what is imported on first use is no part of it
    # Writing 5 sets the high-water mark back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before, began_s = memory_bytes("VmRSS"), time.process_time()
    kept = load(path)
    taken_s = time.process_time() - began_s
    del kept
    return {"seconds": taken_s, "peak_bytes": memory_bytes("VmHWM") - before}


def measure(*asked: tuple[str, str, Path]) -> list[dict[str, float]]:
    """Measure in turn, in processes of their own; return the medians of each."""
    rounds = [[_measured(*map(str, one)) for one in asked] for _ in range(ROUNDS)]
    return [
        {key: median(one[key] for one in of_one) for key in of_one[0]} for of_one in zip(*rounds, strict=True)
    ]


def _measured(*asked: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load_motions", "--measure", *asked]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(name: str, case: Case, folder: Path) -> None:
    """Print how long a row takes in a small file and a large one, and how much memory the large one takes."""
    short, few, many = (folder / f"{which}{case.suffix}" for which in ("short", "few", "many"))
    for path, rows in ((short, 10), (few, case.rows // FEWER), (many, case.rows)):
        motion = replace(walk(rows, JOINTS, RATE_HZ), joint_names=NAMES)
        case.write(motion, path)
        path.with_suffix(".json").write_bytes(orjson.dumps(motion.positions, option=NUMPY))
    of_few, of_many, other = measure(*(("motiond", name, one) for one in (few, many)), ("", name, many))
    row_us = [one["seconds"] / case.rows * 1e6 for one in (of_many, other)]
    longer, faster = of_many["seconds"] / of_few["seconds"] / FEWER, row_us[1] / row_us[0]
    size = many.stat().st_size
    peak, other_peak = (one["peak_bytes"] / size for one in (of_many, other))
    met = longer <= LONGER_GOAL and peak <= case.memory_goal and faster >= case.faster_goal
    goal = f"at most {LONGER_GOAL} and {case.memory_goal} x file"
    goal += f", {case.faster_goal} times as fast" * bool(case.faster_goal)
    print(f"{name}, {case.rows:,} rows, {size / 1e6:.1f} MB; goal {goal}: {'met' if met else 'MISSED'}")
    print(f"  {'motiond':<18} {row_us[0]:>8.2f} µs a row   peak {peak:>5.1f} x file")
    print(f"  {case.yardstick:<18} {row_us[1]:>8.2f} µs a row   peak {other_peak:>5.1f} x file")
    print(f"  {faster:.2f} times as fast; a row takes {longer:.2f} times as long as in an eighth of the file")
    if name in LAYOUTS:
        compare_layouts(name, few)


def compare_layouts(name: str, plain: Path) -> None:
    paths = {}
    for number, (layout, text) in enumerate(LAYOUTS[name](plain.read_bytes()).items()):
        paths[layout] = plain.with_name(f"{number}{plain.suffix}")
        paths[layout].write_bytes(text)
    as_written, *taken = measure(*(("motiond", name, path) for path in (plain, *paths.values())))
    for layout, one in zip(paths, taken, strict=True):
        longer = one["seconds"] / as_written["seconds"]
        verdict = "met" if longer <= LONGER_LAYOUT_GOAL else "MISSED"
        print(f"  {layout:<22} {longer:>8.1f} times as long; goal at most {LONGER_LAYOUT_GOAL}: {verdict}")


def main(names: tuple[str, ...] = tuple(CASES)) -> None:
    print(f"load motions of {JOINTS} joints; processor time and peak memory, medians of {ROUNDS}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, CASES[name], Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure_here(sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
    else:
        main(tuple(sys.argv[1:]) or tuple(CASES))
