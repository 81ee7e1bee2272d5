"""Loading a SKEL robot of 40 ball joints beside lxml's parser alone.

python -m bench.load_skel
"""

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

GOAL_S = 0.050
JOINTS = 40
TIMES = 31


def chain(joints: int) -> str:
    """Return a chain of bodies on ball joints, each with shapes as such files have them."""
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


def seconds(call: Callable[[], object]) -> float:
    """Return the median time of several calls."""
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.skel")
        path.write_text(chain(JOINTS))
        ours = seconds(lambda: formats.load_robot(path))
        lxml = seconds(lambda: etree.fromstring(path.read_bytes()))
    print(f"load SKEL with {JOINTS} ball joints")
    print(f"  motiond           {ours * 1e3:>10.2f} ms")
    print(f"  lxml's tree alone {lxml * 1e3:>10.2f} ms")
    print(f"  goal under {GOAL_S * 1e3:.0f} ms: {'met' if ours < GOAL_S else 'MISSED'}")


if __name__ == "__main__":
    main()
