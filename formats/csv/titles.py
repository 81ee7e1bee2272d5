"""What the title of a column says: a joint, what of it, and in which unit; a time; or the row's number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal["position", "velocity", "effort", "acceleration", "time", "nanoseconds", "counter", "other"]

# Unit as written, in lower case -> what it is called here, and how many of it are one in SI.
_LENGTHS = dict.fromkeys(("m", "meter", "meters", "metre", "metres"), ("m", 1.0)) | {
    "cm": ("cm", 100.0),
    "mm": ("mm", 1000.0),
}
_ANGLES = dict.fromkeys(("rad", "rads", "radian", "radians"), ("rad", 1.0)) | dict.fromkeys(
    ("deg", "degs", "degree", "degrees", "°"), ("deg", 180 / math.pi)
)
_POSITIONS = _ANGLES | _LENGTHS
_TIMES = (
    dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0))
    | dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), ("ms", 1e3))
    | dict.fromkeys(("us", "µs", "μs", "usec", "usecs", "micros", "microseconds"), ("us", 1e6))
    | dict.fromkeys(("ns", "nanos", "nanoseconds"), ("ns", 1e9))
)
_VELOCITIES = {f"{unit}/s": (f"{name}/s", per_si) for unit, (name, per_si) in _POSITIONS.items()}
_EFFORTS = dict.fromkeys(("nm", "n·m", "n*m", "n.m", "n m"), ("Nm", 1.0)) | {"n": ("N", 1.0)}
_OF_JOINTS = _POSITIONS | _VELOCITIES | _EFFORTS
# Rad or m; the name before it stands as it is, whatever else it would say.
LITERAL = " [SI]"

_TIME_NAMES = frozenset(("time", "t", "timestamp", "timestamps", "time_stamp", "stamp", "rostime")) | {
    *("time_from_start", "elapsed", "elapsed_time"),
}
_NANOSECONDS = frozenset(("nsec", "nsecs", "nanosec", "nanosecs"))
_COUNTERS = frozenset(("", "index", "frame", "frames", "row", "sample", "seq", "no", "nr", "unnamed: 0"))
_ON_A_LINE_OF_UNITS = _OF_JOINTS.keys() | _TIMES.keys() | {""}
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("position", "positions", "pos", "value"), "position"),
    **dict.fromkeys(("velocity", "velocities", "vel", "speed"), "velocity"),
    **dict.fromkeys(("effort", "efforts", "torque"), "effort"),
    **dict.fromkeys(("acceleration", "accelerations", "acc"), "acceleration"),
}
_OF_ROLES = frozenset(_ROLES.values())
_UR: dict[str, Role] = {"q": "position", "qd": "velocity", "qdd": "acceleration"}
_WORD = "|".join(word for word in _ROLES if word not in {"value", "speed"})

_BEHIND = re.compile(r"(?:[\s_.:/-]+|(?=°))(?P<unit>[^\s_.:/-]+)\Z")
_LONGEST_ENDING = 20
_CLOSING = ("]", ")", "}", ">")
_PATH = re.compile(rf"(?:.*/)?(?P<name>[^/]+)/(?P<word>{_WORD}|value|speed)", re.IGNORECASE)
_DOTTED = re.compile(rf"(?P<name>.+)\.(?P<word>{_WORD})", re.IGNORECASE)
_LED = re.compile(rf"(?:.*[./])?(?P<word>{_WORD})[./](?P<name>[^/]+)", re.IGNORECASE)
_NUMBERED = re.compile(rf"(?:.*[./])?(?P<word>{_WORD})(?P<number>_?\d+|\[\d+\])", re.IGNORECASE)
_OF_UR = re.compile(r"(?P<whose>actual|target)_(?P<word>qd?d?)_(?P<number>\d)")
_BEFORE_WORD = re.compile(rf"(?P<name>.+)[_\s-](?P<word>{_WORD})", re.IGNORECASE)
_BEHIND_WORD = re.compile(rf"(?P<word>{_WORD})[_\s-](?P<name>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Title:
    """What a title says."""

    text: str
    name: str  # the joint's
    role: Role = "position"
    # Whether the role is said in a way that no joint's name is; else, whether it is said in one that may be.
    is_marked: bool = False
    is_hinted: bool = False
    unit: str = ""  # as it is called here; '' where none is stated
    per_si: float = 1.0  # how many of the unit are one in SI
    # Whether the unit may as well be the end of the name.
    may_be_name: bool = False
    unknown_unit: str = ""

    @property
    def is_of_joint(self) -> bool:
        """Whether the column says something of a joint."""
        return self.role in _OF_ROLES

    def is_joined_by(self, other: Title) -> bool:
        """Whether a column of nanoseconds is of these seconds, as `stamp.nsecs` is of `stamp.secs`."""
        seconds, nanoseconds = self.text.lower(), other.text.lower()
        return any(
            seconds == nanoseconds.removesuffix(end) + of
            for of in ("sec", "secs")
            for end in _NANOSECONDS
            if nanoseconds.endswith(end)
        )

    def without_unit(self) -> Title:
        """Return the title with what looked like a unit as a part of its name."""
        return Title(self.text, *_role(self.text))

    def as_name(self) -> Title:
        """Return the title with what looked like a role as a part of its name."""
        return replace(self, name=_split(self.text)[0], role="position", is_hinted=False)


def read_title(text: str) -> Title:
    """Return what a title says by itself."""
    if text.endswith(LITERAL):
        return Title(text, text.removesuffix(LITERAL), unit="SI")
    base, unit, may_be_name = _split(text)
    if found := _time(text, base, unit):
        return found
    if not unit and _last(base) in _COUNTERS:
        return Title(text, base, "counter")
    title = Title(text, *_role(base), may_be_name=may_be_name)
    return _with_unit(title, unit) if unit else title


def with_unit(title: Title, cell: str) -> Title:
    """Return a title whose unit stands below it."""
    unit = _bare(cell)
    if not unit or title.role in {"counter", "nanoseconds", "other"}:
        return title
    if title.role == "time":
        called, per_si = _TIMES.get(unit, ("", 1.0))
        return replace(title, unit=called, per_si=per_si, unknown_unit="" if called else unit)
    return _with_unit(title, unit)


def is_unit(cell: str) -> bool:
    """Whether a cell may stand on a line of units."""
    return _bare(cell) in _ON_A_LINE_OF_UNITS


def resolve(titles: Sequence[Title]) -> list[Title]:
    """Return titles as the table means them.

    An ending as `_m` is a unit only where all columns of joints state one. A word as `_pos` says what a
    column is where all have one, and `_vel` where its joint has a column of its own, too.
    """
    if not all(one.unit for one in titles if one.is_of_joint):
        titles = [one.without_unit() if one.may_be_name else one for one in titles]
    joints = [one for one in titles if one.is_of_joint]
    if not all(one.is_marked or one.is_hinted for one in joints):
        names = {one.name for one in joints if one.role == "position" and not one.is_hinted}
        titles = [
            one.as_name() if one.is_hinted and (one.role == "position" or one.name not in names) else one
            for one in titles
        ]
    return list(titles)


def _split(text: str) -> tuple[str, str, bool]:
    """Return a title without its unit, the unit in lower case, and whether that may be the name's end."""
    if text[-1:] in _CLOSING:
        opening = max(map(text.rfind, "[({<"))
        unit = text[opening + 1 : -1].strip().lower()
        if opening >= 0 and unit and not unit.isdigit():
            return text[:opening].rstrip("_ "), unit, False
    found = _BEHIND.search(text, max(1, len(text) - _LONGEST_ENDING))
    if found and found.start():
        name, unit = text[: found.start()], found["unit"].lower()
        if unit in _POSITIONS or (unit in _TIMES and _is_time(name)):
            # In rad and m, the values are the same either way.
            return name, unit, _POSITIONS.get(unit, ("", 0.0))[1] == 1
    return text, "", False


def _last(base: str) -> str:
    return re.split(r"[./]", base.strip("%#_/ ").lower())[-1]


def _is_time(base: str) -> bool:
    return _last(base) in _TIME_NAMES


def _time(text: str, base: str, unit: str) -> Title | None:
    last = _last(base)
    if last in _NANOSECONDS and not unit:
        return Title(text, base, "nanoseconds")
    if last in _TIME_NAMES and unit not in _OF_JOINTS:
        called, per_si = _TIMES.get(unit, ("", 1.0))
        return Title(text, base, "time", unit=called, per_si=per_si, unknown_unit="" if called else unit)
    if last in _TIMES and len(last) > 1 and not unit:
        called, per_si = _TIMES[last]
        return Title(text, base, "time", unit=called, per_si=per_si)
    return None


def _with_unit(title: Title, unit: str) -> Title:
    if unit not in _OF_JOINTS:
        return replace(title, unknown_unit=unit)
    called, per_si = _OF_JOINTS[unit]
    role: Role = "velocity" if unit in _VELOCITIES else "effort" if unit in _EFFORTS else "position"
    if title.role == "position" and role != "position":
        return replace(title, role=role, is_marked=True, unit=called, per_si=per_si)
    if title.role != role:
        return replace(title, unknown_unit=unit)
    return replace(title, unit=called, per_si=per_si)


def _bare(cell: str) -> str:
    return cell.strip("[](){}<> ").lower().removeprefix("-")


def _role(base: str) -> tuple[str, Role, bool, bool]:
    """Return the joint's name, what the column is of it, and whether that is certain, or else said at all."""
    if found := _OF_UR.fullmatch(base):
        return f"{found['whose']}_q_{found['number']}", _UR[found["word"]], True, False
    if found := _NUMBERED.fullmatch(base):
        return f"position{found['number']}", _ROLES[found["word"].lower()], True, False
    for pattern in (_PATH, _DOTTED, _LED):
        if found := pattern.fullmatch(base):
            return found["name"], _ROLES[found["word"].lower()], True, False
    for pattern in (_BEFORE_WORD, _BEHIND_WORD):
        if found := pattern.fullmatch(base):
            return found["name"], _ROLES[found["word"].lower()], False, True
    return base, "position", False, False
