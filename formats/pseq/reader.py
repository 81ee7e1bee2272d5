"""Choreonoid's pose sequence (.pseq), version 1.0, to a motion of its joints.

There is no specification but Choreonoid's PoseSeqPlugin, whose `PoseSeq.cpp` and `BodyKeyPose.cpp` read the
file, and whose `PoseSeqInterpolator.cpp` makes a motion of it. What that takes besides joints, inverse
kinematics and a balance filter, is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import printable

from ..errors import MOST_PROBLEMS, Problems
from ..io.beginning import is_body_motion
from ..io.text import utf8_text
from ..io.yaml.tree import Mapping, Sequence, line_of, read_tree, warn_of_unknown
from ..model.interpolation import TooManyRows, rows_between
from ..model.motion import Motion
from ..model.timing import DEFAULT_RATE_HZ
from .curve import sampled
from .poses import BALANCE, Poses

if TYPE_CHECKING:
    from ..io.source import Source

NAME, SUFFIXES = "pseq", (".pseq",)

KIND = "a .pseq file"
TOP_KEYS = {"type", "name", "targetBody", "refs"}
# What the last pose's time may be beyond a row: decimals of times are rounded.
SAME_ROW = 1e-6

_TYPE = re.compile(rb"""(?:^|[{,])[ \t]*["']?type["']?\s*:\s*["']?PoseSeq\b""", re.MULTILINE)
# Where keys are sorted, the type comes last, after all poses.
_REFS = re.compile(rb"""(?:^|[{,])[ \t]*["']?refs["']?\s*:""", re.MULTILINE)
_REFER = re.compile(rb"""[\s{,-]["']?refer["']?\s*:""")


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this states that it is a pose sequence, or begins with its poses."""
    is_of_poses = _TYPE.search(head) or (_REFS.search(head) and _REFER.search(head))
    return bool(is_of_poses) and not is_body_motion(head)


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file, in rows at `source.options.rate_hz`, or 100 to the second.

    Raises `FormatError` with every problem found in it.
    """
    # The tree of the file is gone before the rows are made.
    drops = BALANCE in source.options.drop
    poses, line = _read_poses(data, Poses(Problems(source.name), drops_balance=drops))
    return [_motion(poses, source, line)]


def _read_poses(data: bytes, poses: Poses) -> tuple[Poses, int]:
    """Return the poses, and the line of their list. Raises `FormatError` with every problem found."""
    problems = poses.problems
    root, _ = read_tree(utf8_text(data, problems, KIND), problems, KIND)
    if root is None:
        raise problems.fail(0, "is empty", f"{KIND} holds a mapping", "copy the file again")
    if not isinstance(root, Mapping):
        hint = "begin with `type: PoseSeq`"
        raise problems.fail(line_of(root, 1), "is no mapping", f"{KIND} is one", hint)
    warn_of_unknown(root, TOP_KEYS, KIND, problems)
    refs = root.entries.get("refs")
    if refs is None or not isinstance(refs.value, Sequence):
        line = refs.line if refs else root.line
        raise problems.fail(line, "refs is no sequence", "it lists the poses", "add them")
    for ref in refs.value.items:
        poses.read(ref, refs.line)
        if len(problems.found) > MOST_PROBLEMS:
            break
    problems.raise_if_any()
    poses.finish()
    problems.raise_if_any()
    return poses, refs.line


def _motion(poses: Poses, source: Source, line: int) -> Motion:
    """Return the rows from 0 s to the last pose."""
    rate, columns = source.options.rate_hz or DEFAULT_RATE_HZ, len(poses.keys)
    frames = sum(map(len, poses.keys.values()))
    try:
        count = rows_between(poses.end_s, rate, frames=frames, columns=columns, slack=SAME_ROW)
    except TooManyRows as error:
        problem, reason, hint = str(error).split("; ")
        raise poses.problems.fail(line, problem, reason, hint) from error
    times = np.arange(count) / rate
    positions = np.empty((count, columns))
    for joint in range(columns):
        positions[:, joint] = sampled(poses.keys[joint], times)
    return Motion(
        name=printable(source.path.stem),
        joint_names=(),
        frame_rate=rate,
        times=times,
        positions=positions,
        metadata={"format": NAME} | ({"dropped": (BALANCE,)} if poses.drops_balance else {}),
        warnings=tuple(poses.problems.warnings),
    )
