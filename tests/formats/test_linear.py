"""Loading takes calls in proportion to what a file has many of.

Calls are the same on every machine; `python -m bench load_xml` measures time, with many more parts.
"""

from __future__ import annotations

import importlib
import io
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench.load_xml import FEWER, FILES, GOOD
from motiond.formats.io.source import Source
from tests.formats.mcap.recordings import recording, state

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

pytestmark = pytest.mark.slow

# Half more than what is proportional; calls that grow with the square would be FEWER times.
MOST = 1.5 * FEWER
LEAST_PARTS = 64
SHARE = 32


def calls_of_loading(what: str, parts: int) -> int:
    """Return how many functions are called, Python's and others, while a file of so many parts loads."""
    name, make, _ = FILES[what]
    return calls_of(name, make(parts).encode(), Source(GOOD / f"many.{name}"))


def calls_of(name: str, data: bytes, source: Source) -> int:
    module: Any = importlib.import_module(f"motiond.formats.{name}")
    calls = 0

    def count(_frame: FrameType, event: str, _function: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    sys.setprofile(count)
    try:
        module.load(data, source)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("what", FILES)
def test_eight_times_the_parts_take_about_eight_times_the_calls(what: str) -> None:
    parts = max(LEAST_PARTS, FILES[what][2] // SHARE)
    calls_of_loading(what, 1)  # imports, and what is made once
    assert calls_of_loading(what, parts) < MOST * calls_of_loading(what, parts // FEWER)


def arrays(rows: int) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, positions=np.zeros((rows, 2)), names=["a", "b"], t=np.arange(rows) / 50)
    return stream.getvalue()


def motors(poses: int) -> str:
    rows = "".join(f"{pose},p,{pose},*\n" for pose in range(1, poses + 1))
    return f"#WEBOTS_MOTION,V1.0,hip,knee\n0,p,0,0\n{rows}"


def skeleton(joints: int) -> str:
    chain = "".join(f"JOINT j{number} {{\nCHANNELS 1 Xrotation\n" for number in range(joints))
    return f"HIERARCHY\n{chain}{'}' * joints}\nMOTION\nFrames: 1\nFrame Time: 1\n{'0 ' * joints}\n"


def key_poses(count: int) -> str:
    refs = (f"- {{ time: {n}, refer: {{ type: Pose, joints: [0], q: [{n}] }} }}\n" for n in range(count))
    return f"type: PoseSeq\nrefs:\n{''.join(refs)}"


ROW = "      - [ 0 ]  # a row\n"


def sequence(rows: int) -> str:
    series = "  - type: MultiValueSeq\n    content: JointDisplacement\n    numParts: 1\n    frames:\n"
    head = "type: CompositeSeq\nformatVersion: 4\nframeRate: 100\ncomponents:\n"
    return f"{head}{series}{ROW * rows}"


MADE_OF_ROWS: dict[str, Callable[[int], bytes]] = {
    "npz": arrays,
    "webots_motion": lambda poses: motors(poses).encode(),
    "bvh": lambda joints: skeleton(joints).encode(),
    "pseq": lambda poses: key_poses(poses).encode(),
    "csv": lambda rows: b"t,a\n" + b"".join(b"%d,.5\n# a row\n" % row for row in range(rows)),
    "seq": lambda rows: sequence(rows).encode(),
    "mcap": lambda rows: recording(state(("a", "b"), [row, 0], stamp=row + 1) for row in range(rows)),
    "ros": lambda rows: (
        "joint_names: [a]\npoints:\n"
        + "".join(f"- {{positions: [0], time_from_start: {row}}}\n" for row in range(rows))
    ).encode(),
}


@pytest.mark.parametrize("name", MADE_OF_ROWS)
def test_eight_times_the_rows_take_at_most_about_eight_times_the_calls(name: str) -> None:
    def calls(rows: int) -> int:
        return calls_of(name, MADE_OF_ROWS[name](rows), Source(GOOD / f"many.{name}"))

    calls(1)
    assert calls(200 * FEWER) < MOST * calls(200)
