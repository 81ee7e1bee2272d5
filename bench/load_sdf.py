"""How long an SDFormat robot of 200 nested frames takes to load, beside lxml parsing the same text alone."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lxml import etree

from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Callable

FRAMES, TIMES, GOAL_S = 200, 30, 0.050
POSE = "0.01 0 0.02 0.1 0.2 0.3"


def nested_frames(count: int) -> str:
    """Return a model in which each frame is attached to the one before and placed in it."""
    before = ["base", *(f"frame{number}" for number in range(count))]
    frames = "".join(
        f'<frame name="frame{number}" attached_to="{before[number]}"><pose>{POSE}</pose></frame>\n'
        for number in range(count)
    )
    return f'<sdf version="1.9">\n<model name="mast">\n<link name="base"/>\n{frames}</model>\n</sdf>\n'


def nested_models(count: int) -> str:
    """Return a model with a chain of joints between nested models of two links and a frame."""
    models = "".join(
        f'<model name="m{number}"><pose>{POSE}</pose><link name="a"/>'
        f'<link name="b"><pose relative_to="turn"/></link><frame name="tip" attached_to="b"/>'
        '<joint name="turn" type="revolute"><pose relative_to="a">0 0 1 0 0 0</pose>'
        '<parent>a</parent><child>b</child><axis><xyz expressed_in="__model__">0 1 0</xyz></axis>'
        "</joint></model>\n"
        for number in range(count)
    )
    joints = "".join(
        f'<joint name="j{number}" type="fixed"><parent>m{number - 1}::tip</parent>'
        f"<child>m{number}::a</child></joint>\n"
        for number in range(1, count)
    )
    return f'<sdf version="1.9">\n<model name="snake">\n{models}{joints}</model>\n</sdf>\n'


def median_s(run: Callable[[], object]) -> float:
    """Time something several times, after once to warm up."""
    run()
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken)


def compare(what: str, text: str, path: Path) -> float:
    """Print how long a text takes to load, and give it."""
    path.write_text(text)
    ours_s = median_s(lambda: formats.load_robots(path))
    lxml_s = median_s(lambda: etree.fromstring(text.encode()))
    print(f"load {what}, {len(text) / 1e3:.0f} kB")
    print(f"  motiond {ours_s * 1e3:>12.2f} ms")
    print(f"  lxml alone {lxml_s * 1e3:>9.2f} ms   motiond takes {ours_s / lxml_s:.0f} times as long")
    return ours_s


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.sdf")
        taken_s = compare(f"SDFormat with {FRAMES} nested frames", nested_frames(FRAMES), path)
        print(f"  goal under {GOAL_S * 1e3:.0f} ms: {'met' if taken_s < GOAL_S else 'MISSED'}")
        compare("SDFormat with 50 nested models, 99 joints", nested_models(50), path)


if __name__ == "__main__":
    main()
