"""The values in messages of joints, from the bytes of any encoding that ROS and Foxglove write.

CDR is that of OMG's DDS-XTypes 1.3, 7.4, version 1, of either byte order; ROS 1 has the same fields without
alignment, and a counter before the stamp.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from ..errors import BadText
from ..io.ros2 import JointStates
from ..model.timing import NS

if TYPE_CHECKING:
    from ..arrays import Floats

STATE, TRAJECTORY, FOXGLOVE = (
    "sensor_msgs/JointState",
    "trajectory_msgs/JointTrajectory",
    "foxglove.JointState",
)
ENCODINGS = ("cdr", "ros1", "json")
_NONE: Floats = np.empty(0)


class State(NamedTuple):
    """A JointState; its stamp in ns, 0 where it is not set."""

    stamp: int
    names: tuple[str, ...]
    position: Floats
    velocity: Floats
    effort: Floats


class Point(NamedTuple):
    """A point of a trajectory, its time in ns."""

    time: int
    positions: Floats
    velocities: Floats
    accelerations: Floats
    effort: Floats


class Trajectory(NamedTuple):
    """A JointTrajectory; its stamp in ns, 0 where it is not set."""

    stamp: int
    joints: tuple[str, ...]
    points: list[Point]


def kind_of(schema: str) -> str:
    """Return which kind of message a schema's name stands for, `STATE` or `TRAJECTORY`; '' if none."""
    name = schema.replace("/msg/", "/")
    if name.removesuffix("s") == FOXGLOVE:
        return STATE
    return name if name in {STATE, TRAJECTORY} else ""


@dataclass(slots=True)
class _Cursor:
    """Reads a message from its beginning; every size is checked before memory is spent."""

    data: bytes
    at: int
    order: str
    is_ros1: bool
    # what alignment counts from: behind the header of the encapsulation
    origin: int = 4

    @classmethod
    def of(cls, data: bytes, encoding: str) -> _Cursor:
        if encoding == "ros1":
            return cls(data, 0, "<", is_ros1=True)
        if data[:2] not in {b"\0\0", b"\0\1"} or len(data) < 4:
            raise BadText("is not in CDR", f"it begins with {data[:4].hex(' ')}", "record it by rosbag2")
        return cls(data, 4, "<" if data[1] else ">", is_ros1=False)

    def number(self, kind: str = "I") -> int:
        """Return an integer of four bytes."""
        self._align(4)
        try:
            (value,) = struct.unpack_from(self.order + kind, self.data, self.at)
        except struct.error as error:
            raise _ends_early() from error
        self.at += 4
        return int(value)

    def time(self) -> int:
        """Return a time or duration in ns."""
        seconds = self.number("I" if self.is_ros1 else "i")
        return seconds * NS + self.number()

    def duration(self) -> int:
        """Return a duration in ns, whose parts have signs in ROS 1."""
        return self.number("i") * NS + self.number("i" if self.is_ros1 else "I")

    def header(self) -> int:
        """Return a header's stamp in ns."""
        if self.is_ros1:
            self.number()
        stamp = self.time()
        self.text()
        return stamp

    def text(self) -> str:
        """Return a text."""
        length = self.number()
        end = self.at + length
        if end > len(self.data):
            raise _ends_early()
        found = self.data[self.at : end if self.is_ros1 else max(end - 1, self.at)]
        self.at = end
        return found.decode("utf-8", "backslashreplace")

    def texts(self) -> tuple[str, ...]:
        """Return an array of texts."""
        return tuple(self.text() for _ in range(self._count(4)))

    def doubles(self) -> Floats:
        """Return an array of doubles."""
        count = self._count(8)
        if count:
            self._align(8)
        if self.at + 8 * count > len(self.data):
            raise _ends_early()
        found = np.frombuffer(self.data, f"{self.order}f8", count, self.at)
        self.at += 8 * count
        return found

    def points(self) -> list[Point]:
        """Return the points of a trajectory."""
        found = []
        for _ in range(self._count(20)):
            arrays = [self.doubles() for _ in range(4)]
            found.append(Point(self.duration(), *arrays))
        return found

    def _count(self, least_bytes: int) -> int:
        count = self.number()
        if count * least_bytes > len(self.data) - self.at:
            raise _ends_early()
        return count

    def _align(self, size: int) -> None:
        if not self.is_ros1:
            self.at += -(self.at - self.origin) % size


def _ends_early() -> BadText:
    return BadText("ends early", "it has fewer bytes than it states", "copy the file again")


@dataclass(slots=True)
class StateDecoder:
    """Decodes JointStates, most of which have the names of the one before them."""

    encoding: str
    _names: tuple[str, ...] = ()
    # the bytes of the frame and of the names, and where they begin
    _fixed: bytes = b""
    _start: int = 0

    def __call__(self, data: bytes) -> State:
        """Return the values of a message. Raises `BadText` if it has none."""
        if self.encoding == "json":
            return _state_of_json(data)
        cursor = _Cursor.of(data, self.encoding)
        if cursor.is_ros1:
            cursor.number()
        stamp = cursor.time()
        start = cursor.at
        if self._fixed and data.startswith(self._fixed, start) and start == self._start:
            cursor.at += len(self._fixed)
        else:
            cursor.text()
            self._names = cursor.texts()
            self._fixed, self._start = data[start : cursor.at], start
        return State(stamp, self._names, cursor.doubles(), cursor.doubles(), cursor.doubles())


@dataclass(slots=True)
class StateBatch:
    """Decodes JointStates that motiond has packed, all of the same joints, many at once.

    `names`: of the joints, once the first is decoded.
    """

    topic: str
    names: tuple[str, ...] = ()
    _states: JointStates | None = None

    def __call__(self, messages: list[bytes]) -> Floats:
        """Return positions, velocities and efforts, shape (n, 3, joints); NaN where there are none.

        Raises `BadText` if they are no such messages.
        """
        if self._states is None:
            self._states = self._learned(messages[0])
        found = self._states.read(messages)
        if found is None:
            what = f"has messages of different joints in {self.topic}"
            raise BadText(what, "motiond writes all joints in each", "filter it: `mcap filter`")
        return found

    def _learned(self, data: bytes) -> JointStates:
        cursor = _Cursor.of(data, "cdr")
        if cursor.order != "<":
            raise BadText("is packed in big-endian CDR", "motiond writes it in little-endian")
        cursor.header()
        self.names = cursor.texts()
        return JointStates(self.names, [cursor.doubles().size > 0 for _ in range(3)])


def decode_text(data: bytes) -> str:
    """Return what a String says. Raises `BadText` if it is none."""
    return _Cursor.of(data, "cdr").text()


def decode_trajectory(data: bytes, encoding: str) -> Trajectory:
    """Return the values of a JointTrajectory. Raises `BadText` if it has none."""
    if encoding == "json":
        return _trajectory_of_json(data)
    cursor = _Cursor.of(data, encoding)
    return Trajectory(cursor.header(), cursor.texts(), cursor.points())


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadText("is no JSON", str(error), "check what wrote it") from error
    return _mapping(found)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _other(value, "an object")
    return value


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _other(value, "an array")
    return value


def _other(value: Any, wanted: str) -> BadText:
    return BadText(f"holds {type(value).__name__} where {wanted} belongs", "", "check what wrote it")


def _numbers(value: Any) -> Floats:
    """Return an array of numbers; null, by which JSON writes NaN, is NaN."""
    items = [np.nan if item is None else item for item in _sequence([] if value is None else value)]
    if any(type(item) not in {int, float} for item in items):
        raise _other(next(item for item in items if type(item) not in {int, float}), "a number")
    return np.array(items, np.float64)


def _names(value: Any) -> tuple[str, ...]:
    names = _sequence([] if value is None else value)
    if not all(isinstance(name, str) for name in names):
        raise _other(next(name for name in names if not isinstance(name, str)), "a name")
    return tuple(names)


def _time_of_json(value: Any) -> int:
    """Return a time or a duration in ns, as ROS 1, ROS 2 and Foxglove call its parts."""
    parts = _mapping({} if value is None else value)
    seconds = parts.get("sec", parts.get("secs", 0))
    rest = parts.get("nanosec", parts.get("nsec", parts.get("nsecs", 0)))
    if type(seconds) is not int or type(rest) is not int:
        raise _other(seconds, "a whole number")
    return seconds * NS + rest


def _stamp_of_json(message: dict[str, Any]) -> int:
    return _time_of_json(_mapping(message.get("header") or {}).get("stamp"))


def _state_of_json(data: bytes) -> State:
    found = _json(data)
    if "joints" in found:
        joints = [_mapping(joint) for joint in _sequence(found["joints"])]
        names = _names([joint.get("name") for joint in joints])
        columns = [[joint.get(key) for joint in joints] for key in ("position", "velocity", "effort")]
        arrays = [
            _numbers(column) if any(value is not None for value in column) else _NONE for column in columns
        ]
        return State(_time_of_json(found.get("timestamp")), names, *arrays)
    arrays = [_numbers(found.get(key)) for key in ("position", "velocity", "effort")]
    return State(_stamp_of_json(found), _names(found.get("name")), *arrays)


def _trajectory_of_json(data: bytes) -> Trajectory:
    found = _json(data)
    points = []
    for item in _sequence(found.get("points") or []):
        point = _mapping(item)
        keys = ("positions", "velocities", "accelerations", "effort")
        arrays = [_numbers(point.get(key)) for key in keys]
        points.append(Point(_time_of_json(point.get("time_from_start")), *arrays))
    return Trajectory(_stamp_of_json(found), _names(found.get("joint_names")), points)
