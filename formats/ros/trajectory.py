"""One trajectory or motion in YAML: its joints, and its points with the time of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import quoted

from ..errors import Where
from ..io.joint_names import check_joint_names
from ..io.yaml.tree import Mapping, Scalar, Sequence, as_number, line_of, warn_of_unknown
from ..model.motion import Motion
from ..model.timing import DEFAULT_RATE_HZ, LATEST_S, NS, frames_at

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..errors import Problems
    from ..io.yaml.tree import Entry, Value

COMPONENTS = {"velocities": "JointVelocity", "accelerations": "JointAcceleration", "effort": "JointEffort"}
TIME, TIMES = "time_from_start", "times_from_start"
# As ROS 1 and ROS 2 call the parts of a duration.
SECONDS, NANOSECONDS = ("sec", "secs"), ("nanosec", "nsecs", "nsec", "nanosecs")
# What `ros2 topic echo` puts for the rest of a long array.
CUT = "..."


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What was read of one trajectory; `name` is '' where it has none."""

    name: str
    line: int
    joints: tuple[str, ...]
    times: Floats
    positions: Floats
    components: dict[str, Floats]

    def motion(self, name: str, format_: str, warnings: tuple[str, ...]) -> Motion:
        """Return it as a motion, to be interpolated between its points."""
        times, frame_rate = frames_at(self.times, DEFAULT_RATE_HZ)
        return Motion(
            name=name,
            joint_names=self.joints,
            frame_rate=frame_rate,
            times=times,
            positions=self.positions,
            components=self.components,
            metadata={"format": format_},
            warnings=warnings,
        )


@dataclass(slots=True)
class _Points:
    """The points of a trajectory, as they are read."""

    problems: Problems
    joints: int
    lines: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    rows: dict[str, list[Floats]] = field(default_factory=lambda: {"positions": []})

    def add(self, point: Value, line: int) -> None:
        """Read one point."""
        where = Where(self.problems, line_of(point, line))
        if not isinstance(point, Mapping):
            where.add("a point is no mapping", f"it has `positions` and `{TIME}`", "correct it")
            return
        entries = point.entries
        time = _time(entries[TIME], self.problems) if TIME in entries else None
        positions = self._row("positions", entries.get("positions"), where)
        if TIME not in entries:
            where.add(f"a point has no `{TIME}`", "each says when it is reached", "add it")
        if time is None or positions is None:
            return
        self.lines.append(where.line)
        self.times.append(time)
        self.rows["positions"].append(positions)
        for key in COMPONENTS:
            entry = entries.get(key)
            if entry and not (isinstance(entry.value, Sequence) and not entry.value.items):
                row = self._row(key, entry, where)
                if row is not None:
                    self.rows.setdefault(key, []).append(row)
        warn_of_unknown(point, {"positions", TIME, *COMPONENTS}, "a point", self.problems)

    def _row(self, key: str, entry: Entry | None, where: Where) -> Floats | None:
        if entry is None:
            where.add(f"a point has no `{key}`", "each says where the joints are", "add them")
            return None
        numbers = read_numbers(key, entry, self.problems)
        if numbers is not None and numbers.size != self.joints:
            at = Where(self.problems, line_of(entry.value, entry.line))
            reason = f"the trajectory has {self.joints} joints"
            at.add(f"`{key}` has {numbers.size} numbers", reason, "give one for each joint")
            return None
        return numbers

    def trajectory(self, name: str, mapping: Mapping, joints: tuple[str, ...]) -> Trajectory | None:
        """Return the trajectory, unless something is wrong with it."""
        where = Where(self.problems, mapping.line)
        times = np.array(self.times)
        for row in np.flatnonzero(np.diff(times) <= 0):
            what = f"point {row + 1} is at {times[row + 1]:.9g} s after {times[row]:.9g} s"
            self.problems.add(self.lines[row + 1], what, "times increase from point to point", "correct them")
        if self.problems.found:
            return None
        components = {}
        for key, component in COMPONENTS.items():
            rows = self.rows.get(key, [])
            if len(rows) == len(times):
                components[component] = np.array(rows)
            elif rows:
                reason = f"{len(rows)} of {len(times)} points have them"
                where.warn(f"`{key}` are skipped", reason, "give them for all points")
        positions = np.array(self.rows["positions"])
        return Trajectory(name, mapping.line, joints, times, positions, components)


def read_trajectory(name: str, mapping: Mapping, problems: Problems) -> Trajectory | None:
    """Read a JointTrajectory; None if something is wrong with it, or it is empty."""
    names, points = mapping.entries["joint_names"], mapping.entries["points"]
    if _is_empty(names.value) and _is_empty(points.value):
        return None
    warn_of_unknown(mapping, {"header", "joint_names", "points"}, "a trajectory", problems)
    joints = _joints("joint_names", names, problems)
    return _of_points(name, mapping, joints, points, problems) if joints else None


def read_motion(name: str, mapping: Mapping, problems: Problems) -> Trajectory | None:
    """Read a motion of play_motion or play_motion2; None if something is wrong with it."""
    entries = mapping.entries
    known = {"joints", "points", "positions", TIMES, "meta"}
    warn_of_unknown(mapping, known, "a motion", problems)
    joints = _joints("joints", entries["joints"], problems)
    if not joints:
        return None
    if "points" in entries:
        return _of_points(name, mapping, joints, entries["points"], problems)
    times = read_numbers(TIMES, entries[TIMES], problems)
    positions = read_numbers("positions", entries["positions"], problems)
    if times is None or positions is None:
        return None
    if not times.size:
        _add_empty(mapping, problems)
    if positions.size != times.size * len(joints):
        what = f"`positions` has {positions.size} numbers"
        reason = f"{times.size} times of {len(joints)} joints are {times.size * len(joints)}"
        problems.add(entries["positions"].line, what, reason, "correct it")
        return None
    points = _Points(problems, len(joints), [entries[TIMES].line] * times.size, times.tolist())
    points.rows["positions"] = list(positions.reshape(times.size, len(joints)))
    return points.trajectory(name, mapping, joints)


def _of_points(
    name: str, mapping: Mapping, joints: tuple[str, ...], entry: Entry, problems: Problems
) -> Trajectory | None:
    points = _Points(problems, len(joints))
    if not isinstance(entry.value, Sequence):
        problems.add(entry.line, "`points` is no sequence", "it holds a mapping for each point", "correct it")
        return None
    if not entry.value.items:
        _add_empty(mapping, problems)
    for point in entry.value.items:
        points.add(point, entry.line)
    return points.trajectory(name, mapping, joints)


def _add_empty(mapping: Mapping, problems: Problems) -> None:
    problems.add(mapping.line, "a trajectory has no points", "nothing would move", "add some")


def _joints(key: str, entry: Entry, problems: Problems) -> tuple[str, ...]:
    items = entry.value.items if isinstance(entry.value, Sequence) else []
    where = Where(problems, line_of(entry.value, entry.line))
    if not items:
        where.add(f"`{key}` names no joints", "it is a sequence of names", "add them")
        return ()
    names = [item.text if isinstance(item, Scalar) else "" for item in items]
    if any(isinstance(item, Scalar) and item.text == CUT for item in items):
        _add_cut(key, where)
        return ()
    check_joint_names(names, where)
    return tuple(names)


def read_numbers(key: str, entry: Entry, problems: Problems) -> Floats | None:
    """Return a sequence of numbers; None, with a problem noted, if it is none."""
    where = Where(problems, line_of(entry.value, entry.line))
    if not isinstance(entry.value, Sequence):
        where.add(f"`{key}` is no sequence", "it holds numbers", "write it as [ ... ]")
        return None
    items = entry.value.items
    if all(isinstance(item, float) for item in items):
        return np.array(items, np.float64)
    wrong = next(item for item in items if not isinstance(item, float))
    if isinstance(wrong, Scalar) and wrong.text == CUT:
        _add_cut(key, where)
        return None
    shown = quoted(wrong.text) if isinstance(wrong, Scalar) else "a collection"
    Where(problems, line_of(wrong, where.line)).add(
        f"`{key}` holds {shown}", "it holds numbers", "correct it"
    )
    return None


def _add_cut(key: str, where: Where) -> None:
    where.add(f"`{key}` was cut", "`ros2 topic echo` shows the first 128", "echo with `--full-length`")


def _time(entry: Entry, problems: Problems) -> float | None:
    value = entry.value
    time = _duration(value.entries) if isinstance(value, Mapping) else as_number(value)
    if time is None or abs(time) > LATEST_S:
        reason = "it is a number of s, or has `sec` and `nanosec`"
        problems.add(entry.line, f"`{TIME}` is no time", reason, "correct it")
        return None
    return time


def _duration(entries: dict[str, Entry]) -> float | None:
    """Return the nearest number of s to whole seconds and nanoseconds."""
    nanoseconds = 0
    for key, entry in entries.items():
        number = as_number(entry.value)
        if number is None or not number.is_integer() or key not in (*SECONDS, *NANOSECONDS):
            return None
        nanoseconds += int(number) * (NS if key in SECONDS else 1)
    return nanoseconds / NS if entries and abs(nanoseconds) <= LATEST_S * NS else None


def _is_empty(value: Value) -> bool:
    return isinstance(value, Sequence) and not value.items
