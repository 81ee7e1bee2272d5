"""YAML of ROS to motions: whatever is a trajectory in it, however deep it stands.

- trajectory_msgs/JointTrajectory alone, in a goal of FollowJointTrajectory, in a RobotTrajectory of MoveIt,
  or as `ros2 topic echo` shows it, one document a message
- the motions of play_motion (points) and of play_motion2 (`positions` and `times_from_start` of all points),
  as their parameters
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from motiond.text import printable, quoted

from ..errors import Problems, Where
from ..io.beginning import is_body_motion
from ..io.text import utf8_text
from ..io.yaml.tree import MOST_VALUES, Mapping, Sequence, read_tree
from .trajectory import Trajectory, read_motion, read_trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..io.source import Source
    from ..io.yaml.tree import Value
    from ..model.motion import Motion

NAME, SUFFIXES = "ros", (".yaml", ".yml")

KIND = "a trajectory of ROS"
MOST_MOTIONS, LONGEST_NAME = 1_000, 255
# Bodies that float are no joints.
OF_BODIES = "multi_dof_joint_trajectory"

_DOCUMENT = re.compile(rb"^---[ \t\r]*$", re.MULTILINE)
_KEYS = [
    re.compile(rb"""(?:^|[\s{,-])["']?%s["']?\s*:""" % key)
    for key in (rb"(?:joint_names|joints)", rb"positions", rb"times?_from_start")
]


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has the keys of trajectories."""
    return all(key.search(head) for key in _KEYS) and not is_body_motion(head)


def load(data: bytes, source: Source) -> list[Motion]:
    """Read every trajectory in a file, in document order. Raises `FormatError` with every problem found."""
    problems = Problems(source.name)
    text = utf8_text(data, problems, KIND)
    # Before any is read: YAML takes some microseconds for each.
    if text.count(b",") + text.count(b"- ") > MOST_VALUES:
        reason = f"{MOST_VALUES} are read"
        raise problems.fail(1, "holds too many numbers", reason, "save it as MCAP or .npz")
    found: list[Trajectory] = []
    for line, document in _documents(text):
        tree, _ = read_tree(document, problems, KIND, line)
        for name, mapping in _trajectories(tree, "", problems):
            if len(found) == MOST_MOTIONS:
                reason = f"{MOST_MOTIONS} are read"
                raise problems.fail(mapping.line, "holds too many trajectories", reason, "split the file")
            read = read_trajectory if "joint_names" in mapping.entries else read_motion
            if trajectory := read(name, mapping, problems):
                found.append(trajectory)
    problems.raise_if_any()
    if not found:
        reason = (
            "trajectories have `joint_names` and `points`, motions of play_motion `joints` and `positions`"
        )
        raise problems.fail(min(1, len(text)), "holds no trajectory", reason, _hint(text))
    names = _names(found, printable(source.path.stem), problems)
    problems.raise_if_any()
    return [
        trajectory.motion(name, NAME, problems.oddities)
        for name, trajectory in zip(names, found, strict=True)
    ]


def _documents(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Return each document of a stream and the line that it begins on."""
    line, start = 1, 0
    for end in [*(found.start() for found in _DOCUMENT.finditer(text)), len(text)]:
        yield line, text[start:end]
        line += text.count(b"\n", start, end)
        # The mark stays, as the first line of what follows it.
        start = end


def _trajectories(tree: Value | None, name: str, problems: Problems) -> Iterator[tuple[str, Mapping]]:
    """Return every trajectory in a tree, with the key that it stands under where that is its name."""
    if isinstance(tree, Sequence):
        for item in tree.items:
            yield from _trajectories(item, "", problems)
    if not isinstance(tree, Mapping):
        return
    keys = tree.entries.keys()
    if {"joint_names", "points"} <= keys:
        yield "", tree
    elif "joints" in keys and ("points" in keys or {"positions", "times_from_start"} <= keys):
        yield name, tree
    else:
        for key, entry in tree.entries.items():
            if key != OF_BODIES:
                yield from _trajectories(entry.value, key, problems)
            elif _has_names(entry.value):
                reason = "its bodies are no joints"
                problems.warn(entry.line, f"`{OF_BODIES}` is skipped", reason)


def _has_names(value: Value) -> bool:
    names = value.entries.get("joint_names") if isinstance(value, Mapping) else None
    return names is not None and isinstance(names.value, Sequence) and bool(names.value.items)


def _names(found: list[Trajectory], stem: str, problems: Problems) -> list[str]:
    """Return what each motion is called: by its key, else by the file, with a number where it has several."""
    unnamed = sum(not trajectory.name for trajectory in found)
    names: dict[str, int] = {}
    number = 0
    for trajectory in found:
        number += not trajectory.name
        name = printable(trajectory.name) or (f"{stem}_{number}" if unnamed > 1 else stem)
        if len(name) > LONGEST_NAME:
            what, reason = f"the motion's name has {len(name)} characters", f"it has at most {LONGEST_NAME}"
            Where(problems, trajectory.line).add(what, reason, "shorten it")
        if name in names:
            reason = f"the first is on line {names[name]}"
            Where(problems, trajectory.line).add(f"motion {quoted(name)} stands twice", reason, "rename one")
        names.setdefault(name, trajectory.line)
    return [*names]


def _hint(text: bytes) -> str:
    if re.search(rb"^position:", text, re.MULTILINE) and re.search(rb"^name:", text, re.MULTILINE):
        return "record JointState as MCAP: `ros2 bag record -s mcap /joint_states`"
    return "check that it is the right file"
