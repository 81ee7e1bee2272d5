"""One component of a .seq file: a series of joint positions, of poses, of vectors, or of an unknown type.

A `Series` has neutral values: poses are x y z qw qx qy qz, and contents have the names of the newest version.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, nearest, printable

from ..arrays import Floats, frozen
from ..errors import MOST_PROBLEMS
from ..io.joint_names import NAME_RULE, can_be_shown
from ..io.yaml.errors import NO_BLANK
from ..io.yaml.tree import Scalar, Sequence
from ..model.motion import FASTEST_FRAME_RATE, FRAME_RATE_RULE, SLOWEST_FRAME_RATE
from ..model.timing import LATEST_S
from .frames import as_it_stood, read_frames
from .regions import Layout

if TYPE_CHECKING:
    from .frames import Frames
    from .node import Field, Node

# The rate that Choreonoid assumes for time-specified frames in a file that states none.
DEFAULT_FRAME_RATE = 100.0
MOST_PARTS = 10_000
# Shorter than this, a quaternion says nothing of a rotation; files of four digits are this far from length 1.
NO_LENGTH, UNIT_WITHIN = 1e-9, 1e-3

JOINTS = "JointDisplacement"
# (type, content in the file) -> (neutral name, versions that spell it so)
CONTENTS: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("MultiValueSeq", "JointPosition"): (JOINTS, (1,)),
    ("MultiValueSeq", "JointDisplacement"): (JOINTS, (2, 4)),
    ("MultiValueSeq", "MultiJointDisplacementSeq"): (JOINTS, (3,)),
    ("MultiSE3Seq", "LinkPosition"): ("LinkPosition", (1, 2, 4)),
    ("MultiSE3Seq", "MultiLinkPositionSeq"): ("LinkPosition", (3,)),
    ("Vector3Seq", "ZMP"): ("ZMP", (1, 2, 4)),
    ("Vector3Seq", "ZMPSeq"): ("ZMP", (3, 4)),
    ("Vector3Seq", "RelativeZMP"): ("ZMP", (1,)),
    ("Vector3Seq", "RelativeZmp"): ("ZMP", (1,)),
}
OLD_TYPES = {"MultiSe3Seq": "MultiSE3Seq", "MultiAffine3Seq": "MultiSE3Seq"}
# Format -> the places of x y z qw qx qy qz in a pose, or nothing where they must be computed
POSE_FORMATS: dict[str, tuple[int, ...]] = {
    "XYZQWQXQYQZ": (0, 1, 2, 3, 4, 5, 6),
    "XYZQXQYQZQW": (0, 1, 2, 6, 3, 4, 5),
    "XYZRPY": (),
}
SHARED_KEYS = {"type", "content", "purpose", "frameRate", "numFrames", "hasFrameTime", "frames"}
KEYS = SHARED_KEYS | {"numParts", "partLabels", "SE3Format", "format", "isRootRelative"}


@dataclass(frozen=True, slots=True)
class Series:
    """One component as read."""

    name: str  # the neutral name of its content
    line: int
    values: Any  # shape (frames, ...); for an unknown type, its frames as they stand in the file
    times: Floats  # shape (frames,); in s; empty for an unknown type
    frame_rate: float
    part_labels: tuple[str, ...]
    about: dict[str, Any]  # what else the file says of it


def read_component(node: Node, version: float) -> Series | None:
    """Read a component; return None where something is wrong with it, which has been noted."""
    type_, content = node.text("type"), node.text("content")
    if version < 2:
        type_, content = OLD_TYPES.get(type_, type_), content or node.text("purpose")
    if not type_ or not content:
        for key in [key for key, text in (("type", type_), ("content", content)) if not text]:
            node.missing(key, "it says what the component is")
        return None
    if type_ not in {"MultiValueSeq", "MultiSE3Seq", "Vector3Seq"}:
        return _unknown(node, type_, content)
    return _known(node, type_, content, version)


def _known(node: Node, type_: str, content: str, version: float) -> Series | None:
    about = {"type": type_, "content": content} | _kept_aside(node, KEYS)
    name = _neutral_name(node, type_, content, version)
    layout = _layout(node, type_, version)
    frame_rate = _frame_rate(node, version)
    rows = _rows(node, layout) if layout else None
    labels = _part_labels(node, layout.parts if layout else 0, needed=name == JOINTS)
    _compare_count(node, rows, about)
    if type_ == "Vector3Seq":
        about["is_root_relative"] = node.truth("isRootRelative") or content.startswith("Relative")
    if layout is None or rows is None or frame_rate is None:
        return None
    times = _times(node, layout, rows, frame_rate)
    values = rows.values[:, layout.timed :]
    if type_ == "MultiSE3Seq":
        values = _neutral_poses(values, layout.parts, POSE_FORMATS[layout.pose_format])
        _check_quaternions(node, values, rows)
    return Series(name, node.line, frozen(np.ascontiguousarray(values)), times, frame_rate, labels, about)


def _unknown(node: Node, type_: str, content: str) -> Series:
    kind = node.own["type"]
    node.problems.warn(
        kind.line, f"unknown type {echoed(type_)}", "a newer program's", "its frames are kept as they stand"
    )
    about = {"type": type_, "content": content} | _kept_aside(node, {"type", "content", "frames"}, warn=False)
    frames = as_it_stood(node.own["frames"].value, node.problems) if "frames" in node.own else None
    return Series(content, node.line, frames, np.empty(0), 0.0, (), about)


def _kept_aside(node: Node, known: set[str], *, warn: bool = True) -> dict[str, Any]:
    unknown = node.unknown(known, warn=warn)
    return {"unknown": {one.key: as_it_stood(one.value, node.problems) for one in unknown}} if unknown else {}


def _neutral_name(node: Node, type_: str, content: str, version: float) -> str:
    name, versions = CONTENTS.get((type_, content), (content, ()))
    if versions and int(version) not in versions:
        found = node.get("content") or node.get("purpose")
        reason = f"that is version {versions[0]}'s name, and this is version {version:g}"
        node.problems.warn(
            found.line if found else node.line, f"content {echoed(content)}", reason, f"read as {name}"
        )
    return name


def _layout(node: Node, type_: str, version: float) -> Layout | None:
    timed = _is_timed(node, version)
    if type_ == "Vector3Seq":
        if found := node.own.get("numParts"):
            what = f"{found.key} stands in a Vector3Seq"
            node.problems.warn(found.line, what, "a vector has 3 numbers, and no parts", "remove it")
        return Layout(timed, 3, "a vector has 3")
    rule = f"a {type_} has 1 to {MOST_PARTS} parts"
    found, parts = node.get("numParts"), node.number("numParts", 1, MOST_PARTS, rule, whole=True)
    if found is None:
        node.missing("numParts", f"a {type_} needs it")
    pose_format = _pose_format(node, version) if type_ == "MultiSE3Seq" else ""
    if found is None or parts is None or pose_format is None:
        return None
    width = len(POSE_FORMATS[pose_format]) or 6 if pose_format else 0
    return Layout(timed, int(parts), f"{found.key} is {parts:g}", found.key, width, pose_format)


def _is_timed(node: Node, version: float) -> bool:
    found = node.get("hasFrameTime")
    if found and version < 2:
        node.wrong(found, "version 1 does not allow it", "remove it or set formatVersion to 2")
        return False
    return node.truth("hasFrameTime")


def _pose_format(node: Node, version: float) -> str | None:
    key = "SE3Format" if version >= 2 else "format"
    found = node.get(key)
    if found is None:
        node.missing(key, f"a MultiSE3Seq needs it ({', '.join(POSE_FORMATS)})")
        return None
    text = found.value.text if isinstance(found.value, Scalar) else ""
    if text not in POSE_FORMATS:
        node.wrong(found, f"known are {', '.join(POSE_FORMATS)}", nearest(text, POSE_FORMATS) or "correct it")
        return None
    return text


def _frame_rate(node: Node, version: float) -> float | None:
    if node.get("frameRate"):
        return node.number("frameRate", SLOWEST_FRAME_RATE, FASTEST_FRAME_RATE, FRAME_RATE_RULE)
    if version >= 2 and node.truth("hasFrameTime"):
        return DEFAULT_FRAME_RATE
    node.missing("frameRate", "neither has the top node")
    return None


def _rows(node: Node, layout: Layout) -> Frames | None:
    found = node.get("frames")
    if found is None:
        node.missing("frames", "a component holds frames")
        return None
    if not isinstance(found.value, Sequence) or not (found.value.items or found.value.cut):
        reason, hint = "a component has at least one row", "add the rows"
        if isinstance(found.value, Scalar) and found.value.plain and found.value.text.startswith("-["):
            reason, hint = NO_BLANK
        node.wrong(found, reason, hint)
        return None
    return read_frames(found.value, layout, node.problems)


def _compare_count(node: Node, rows: Frames | None, about: dict[str, Any]) -> None:
    """Warn of a count that is not the number of rows; note in `about` one that is greater."""
    stated = node.number("numFrames", 0, float("inf"), "it is a whole number", whole=True)
    found = node.get("numFrames")
    if rows is None or stated is None or found is None or stated == len(rows.values):
        return
    what = f"{found.key} is {stated:g} and {node.label} has {len(rows.values)} frames"
    node.problems.warn(found.line, what, "the frames count", f"correct {found.key} if none are missing")
    if stated > len(rows.values):
        about["frames_stated"] = int(stated)


def _check_quaternions(node: Node, poses: Floats, rows: Frames) -> None:
    """Note quaternions of no length, and warn of those of another than 1."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(poses[..., 3:], axis=-1)
    for row in np.flatnonzero((lengths < NO_LENGTH).any(axis=1))[:MOST_PROBLEMS]:
        problem = f"row {row} has a quaternion of length 0"
        node.problems.add(
            rows.line_of(int(row)), problem, "it is no rotation", "write 1 for qw if none is meant"
        )
    off = np.abs(lengths - 1) > UNIT_WITHIN
    if off.any():
        row = int(off.any(axis=1).argmax())
        length = lengths[row][off[row]][0]
        problem = f"row {row} has a quaternion of length {length:.4g}"
        more = int(np.count_nonzero(off)) - 1
        reason = "that of a rotation is 1" + (f"; {more:,} more are as wrong" if more else "")
        node.problems.warn(
            rows.line_of(row), problem, reason, "it is kept as it stands; divide it by its length"
        )


def _part_labels(node: Node, parts: int, *, needed: bool) -> tuple[str, ...]:
    found = node.get("partLabels")
    if found is None or not parts:
        return ()
    items = found.value.items if isinstance(found.value, Sequence) else []
    if len(items) != parts and not needed and "partLabels" not in node.own:
        # The top node's labels are those of the joints; other components need not have as many parts.
        return ()
    labels = tuple(f"{item:g}" if isinstance(item, float) else getattr(item, "text", "") for item in items)
    _check_labels(node, found, labels, parts)
    return labels


def _check_labels(node: Node, found: Field, labels: tuple[str, ...], parts: int) -> None:
    if len(labels) != parts:
        noun = "label" if len(labels) == 1 else "labels"
        reason = f"{node.label} has {parts} parts"
        node.problems.add(found.line, f"{found.key} has {len(labels)} {noun}", reason, "give each part one")
    for label, count in Counter(labels).items():
        if count > 1 or not label:
            problem = (
                f"{found.key} has '{echoed(label)}' {count} times"
                if label
                else f"{found.key} has an empty label"
            )
            node.problems.add(found.line, problem, "a label names one part", "give each part its own")
        elif not can_be_shown(label):
            what = f"{found.key} has '{echoed(printable(label))}'"
            node.problems.add(found.line, what, NAME_RULE, "rename it")


def _times(node: Node, layout: Layout, rows: Frames, frame_rate: float) -> Floats:
    if not layout.timed:
        return frozen(np.arange(len(rows.values)) / frame_rate)
    times = rows.values[:, 0].copy()
    far = np.flatnonzero(np.abs(times) > LATEST_S)[:MOST_PROBLEMS]
    for row in far:
        reason = f"times lie between {-LATEST_S:g} and {LATEST_S:g} s"
        node.problems.add(
            rows.line_of(int(row)), f"row {row} is at {times[row]:g} s", reason, "correct the times"
        )
    back = () if far.size else np.flatnonzero(np.diff(times) <= 0)[:MOST_PROBLEMS] + 1
    for row in back:
        problem = f"row {row} is at {times[row]:g} s, row {row - 1} at {times[row - 1]:g} s"
        node.problems.add(rows.line_of(int(row)), problem, "time must increase", "correct the times")
    return frozen(times)


def _neutral_poses(rows: Floats, parts: int, order: tuple[int, ...]) -> Floats:
    poses = rows.reshape(len(rows), parts, -1)
    return poses[..., order] if order else _with_quaternions(poses)


def _with_quaternions(poses: Floats) -> Floats:
    """Turn x y z roll pitch yaw into x y z qw qx qy qz: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    half = poses[..., 3:] / 2
    (cr, cp, cy), (sr, sp, sy) = np.moveaxis(np.cos(half), -1, 0), np.moveaxis(np.sin(half), -1, 0)
    quaternions = (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    return np.concatenate([poses[..., :3], np.stack(quaternions, axis=-1)], axis=-1)
