"""How long robot descriptions take to load, beside lxml parsing the same text alone, in turn."""

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

FRAMES, MODELS, JOINTS = 200, 50, 40
TIMES, GOAL_S = 31, 0.050
ARM = Path(__file__).parents[1] / "config" / "robots" / "six_axis.hrdf"
POSE = "0.01 0 0.02 0.1 0.2 0.3"


def nested_frames(count: int) -> str:
    """Return an SDFormat model in which each frame is attached to the one before and placed in it."""
    before = ["base", *(f"frame{number}" for number in range(count))]
    frames = "".join(
        f'<frame name="frame{number}" attached_to="{before[number]}"><pose>{POSE}</pose></frame>\n'
        for number in range(count)
    )
    return f'<sdf version="1.9">\n<model name="mast">\n<link name="base"/>\n{frames}</model>\n</sdf>\n'


def nested_models(count: int) -> str:
    """Return an SDFormat model with a chain of joints between nested models of two links and a frame."""
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


def skel_chain(joints: int) -> str:
    """Return a SKEL robot, a chain of bodies on ball joints, each with shapes as such files have them."""
    shape = "<geometry><box><size>0.01 0.05 0.01</size></box></geometry>"
    parts = []
    for number in range(joints):
        parent = f"link {number - 1}" if number else "world"
        parts.append(f"""
            <body name="link {number}">
                <transformation>0 {-0.05 * number} 0 0 0 0</transformation>
                <inertia> <mass>0.1</mass> <offset>0 0 0</offset> </inertia>
                <visualization_shape>{shape}</visualization_shape>
                <collision_shape>{shape}</collision_shape>
            </body>
            <joint type="ball" name="joint {number}">
                <parent>{parent}</parent>
                <child>link {number}</child>
                <transformation>0 0.025 0 0 0 0</transformation>
                <init_pos>0.1 0.2 0.3</init_pos>
            </joint>""")
    return (
        f'<skel version="1.0"><world name="w"><skeleton name="s">{"".join(parts)}</skeleton></world></skel>'
    )


def medians_s(*runs: Callable[[], object]) -> list[float]:
    """Time calls several times, in turn, after once to warm up; the median of each."""
    taken: list[list[float]] = [[] for _ in runs]
    for turn in range(TIMES + 1):
        for run, times in zip(runs, taken, strict=True):
            start = time.perf_counter()
            run()
            if turn:
                times.append(time.perf_counter() - start)
    return [median(times) for times in taken]


def compare(what: str, path: Path) -> None:
    """Print how long a file takes to load."""
    text = path.read_bytes()
    ours_s, lxml_s = medians_s(lambda: formats.load_robots(path), lambda: etree.fromstring(text))
    print(f"load {what}, {len(text) / 1e3:.1f} kB")
    verdict = "met" if ours_s < GOAL_S else "MISSED"
    print(f"  motiond {ours_s * 1e3:>12.2f} ms   goal under {GOAL_S * 1e3:.0f} ms: {verdict}")
    print(f"  lxml alone {lxml_s * 1e3:>9.2f} ms   motiond takes {ours_s / lxml_s:.0f} times as long")


def main() -> None:
    """Print the times of a small file and of three large ones."""
    compare("the demonstration's arm (HRDF)", ARM)
    with tempfile.TemporaryDirectory() as folder:
        for what, name, text in (
            (f"SDFormat with {FRAMES} nested frames", "frames.sdf", nested_frames(FRAMES)),
            (f"SDFormat with {MODELS} nested models", "models.sdf", nested_models(MODELS)),
            (f"SKEL with {JOINTS} ball joints", "chain.skel", skel_chain(JOINTS)),
        ):
            path = Path(folder, name)
            path.write_text(text)
            compare(what, path)


if __name__ == "__main__":
    main()
