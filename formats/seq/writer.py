"""A motion to Choreonoid's standard body motion (.seq), format versions 1 to 4, written piece by piece.

The specification is Choreonoid's manual, "Standard body motion file format"; keys, names, order and layout of
each version are those that Choreonoid itself writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import yaml

from ..errors import FormatError, Problem
from ..io.writers.digits import ALL_DIGITS, CHUNK_NUMBERS, check_digits, rounded_within
from ..io.writers.losses import refuse_losses
from ..io.writers.motion_writing import first_not_finite
from ..io.writers.output import replacing
from ..model.interpolation import SAME_TIME_S
from ..model.motion import FASTEST_FRAME_RATE, FRAME_RATE_RULE, SLOWEST_FRAME_RATE, told_exactly
from .component import CONTENTS, JOINTS
from .node import SNAKE_CASE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from ..arrays import Floats
    from ..model.motion import Motion

OPTIONS = frozenset({"version"})
VERSIONS = (1, 2, 3, 4)

POSE_FORMAT = "XYZQWQXQYQZ"
KNOWN_TYPES = ("MultiValueSeq", "MultiSE3Seq", "Vector3Seq")
# Choreonoid writes SE3Format in camelCase in version 4 too.
_CAMEL_TO_SNAKE = {camel: snake for snake, camel in SNAKE_CASE.items() if camel != "SE3Format"}
_ORDER = ("LinkPosition", JOINTS)
_LINE = b"      - "
_INDENTED = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2
# The shortest text of a number has one digit before an exponent, or a point after it.
_BARE_MANTISSA = re.compile(rb"e(?:(?<=[^.\d]\de)|(?<=\A\de))")
_BARE_EXPONENT = re.compile(rb"e(?=\d)")
_BLANK_FOR_LINE_END = bytes.maketrans(b"\n", b" ")


def dump(
    motion: Motion,
    path: Path,
    *,
    version: int | None = None,
    precision: int | None = ALL_DIGITS,
    drop: Collection[str] = (),
) -> None:
    """Write a motion, as `dump_motion` does."""
    if version is not None and version not in VERSIONS:
        raise ValueError(f"version is {version}; versions {VERSIONS[0]} to {VERSIONS[-1]} are written")
    check_digits(precision)
    version = version or VERSIONS[-1]
    series = [
        one for name in _names(motion) if name not in drop and (one := _series(motion, name, precision))
    ]
    timed = ["times"] if any(one.times is not None for one in series) else []
    refuse_losses(path, _losses(motion, series, version), drop, [*_names(motion), *timed])
    _refuse_what_cannot_stand(path, motion, series)
    if "times" in drop:
        series = [replace(one, times=None) for one in series]
    with replacing(path) as out:
        out.write(_header(motion, version))
        for one in series:
            out.write(one.header(version))
            out.writelines(one.rows(precision))


@dataclass(frozen=True, slots=True)
class _Series:
    """One component as it will be in the file."""

    name: str
    type: str
    content: str
    values: Any  # shape (frames, parts); a list for an unknown type
    times: Floats | None = None  # shape (frames,); none if frames are at the frame rate
    keys: Mapping[str, Any] = field(default_factory=dict)  # further keys by their camelCase names
    # further keys, as in the file that the motion was read from
    unknown: Mapping[str, Any] = field(default_factory=dict)

    def header(self, version: int) -> bytes:
        """Return the lines of all keys, down to that of the frames."""
        keys = {"type": self.type, "content": self._content(version), **self.keys}
        if self.times is not None:
            keys["hasFrameTime"] = True
        if version == 1 and "SE3Format" in keys:
            keys["format"] = keys.pop("SE3Format")
        lines = [*_lines(keys, version), *_lines(self.unknown, version)]
        return b"".join([b"  - \n", *(b"    " + line for line in lines), b"    frames: \n"])

    def rows(self, precision: int | None) -> Iterator[bytes]:
        """Return the lines of the frames, in pieces."""
        if isinstance(self.values, list):
            yield from (_LINE + _flow(item).encode() + b"\n" for item in self.values)
            return
        step = max(1, CHUNK_NUMBERS // self.values[0].size)
        ends = self.values.min(axis=0), self.values.max(axis=0)
        for start in range(0, len(self.values), step):
            piece = slice(start, start + step)
            times = None if self.times is None else self.times[piece]
            yield _row_text(rounded_within(self.values[piece], precision, *ends), times)

    def _content(self, version: int) -> str:
        """Return the name that the version has for the content."""
        if version == 1 and self.name == "ZMP" and self.keys.get("isRootRelative"):
            return "RelativeZMP"
        for (type_, content), (name, versions) in CONTENTS.items():
            if (type_, name) == (self.type, self.name) and version in versions:
                return content
        return self.content


def _names(motion: Motion) -> list[str]:
    """Return the names of all series, in Choreonoid's order."""
    names = [*motion.components, *([JOINTS] if motion.positions.shape[1] else [])]
    return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def _series(motion: Motion, name: str, precision: int | None) -> _Series | None:
    """Return a series as it will be written; None if no type can hold it."""
    values = motion.positions if name == JOINTS else motion.components[name]
    about = motion.metadata.get("components", {}).get(name, {})
    type_ = about.get("type") or _type_of(name, values)
    content, unknown = about.get("content", name), about.get("unknown", {})
    if type_ not in KNOWN_TYPES:
        rows = values.tolist() if isinstance(values, np.ndarray) else values
        return (
            _Series(name, type_, content, rows, unknown=unknown) if isinstance(rows, list) and type_ else None
        )
    times = _own_times(motion, values, about)
    rate = about.get("frame_rate", motion.frame_rate)
    timed = None if _is_at_rate(times, rate, precision) else times
    labels = motion.joint_names if name == JOINTS else about.get("part_labels", ())
    keys = _keys(type_, values, rate, labels)
    if about.get("is_root_relative"):
        keys["isRootRelative"] = True
    return _Series(name, type_, content, values, timed, keys, unknown)


def _type_of(name: str, values: Any) -> str:
    """Return the type for a series that was not read from a .seq file; '' if none fits."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or not values.size:
        return ""
    if values.ndim == 3 and values.shape[2] == 7:
        return "MultiSE3Seq"
    if values.ndim != 2:
        return ""
    return "Vector3Seq" if name == "ZMP" and values.shape[1] == 3 else "MultiValueSeq"


def _own_times(motion: Motion, values: Floats, about: Mapping[str, Any]) -> Floats:
    times: Floats = about.get("times", motion.times)
    if len(times) != len(values):
        return np.arange(len(values)) / motion.frame_rate
    return times


def _is_at_rate(times: Floats, frame_rate: float, precision: int | None) -> bool:
    at_rate = np.arange(len(times)) / frame_rate
    if precision is None:
        return np.array_equal(times, at_rate)
    return bool(np.all(np.abs(times - at_rate) <= SAME_TIME_S))


def _keys(type_: str, values: Floats, rate: float, labels: tuple[str, ...]) -> dict[str, Any]:
    keys: dict[str, Any] = {"frameRate": rate, "numFrames": len(values)}
    if type_ != "Vector3Seq":
        keys["numParts"] = values.shape[1]
    if labels:
        keys["partLabels"] = list(labels)
    if type_ == "MultiSE3Seq":
        keys["SE3Format"] = POSE_FORMAT
    return keys


def _losses(motion: Motion, series: list[_Series], version: int) -> dict[str, str]:
    """Return what the file cannot hold, with the reasons."""
    written = {one.name for one in series}
    losses = dict.fromkeys(
        (name for name in _names(motion) if name not in written), "no type of .seq holds it"
    )
    losses |= {
        name: "a .seq file has no place for it"
        for name in ("attributes", "servos")
        if motion.metadata.get(name)
    }
    if version == 1 and any(one.times is not None for one in series):
        losses["times"] = "version 1 has frames at the frame rate only"
    return losses


def _refuse_what_cannot_stand(path: Path, motion: Motion, series: list[_Series]) -> None:
    problems = [
        Problem(str(path), 0, f"{one.name} holds {bad} in row {row}", "numbers are finite", "fix the motion")
        for one in series
        if isinstance(one.values, np.ndarray)
        for row, bad in first_not_finite(one.values)
    ]
    if not any(isinstance(one.values, np.ndarray) for one in series):
        problem, reason = "nothing is left to write", "a .seq file has one series at least"
        problems.append(Problem(str(path), 0, problem, reason, "drop less"))
    if not SLOWEST_FRAME_RATE <= motion.frame_rate <= FASTEST_FRAME_RATE:
        problem = f"the frame rate is {told_exactly(motion.frame_rate)}"
        problems.append(Problem(str(path), 0, problem, FRAME_RATE_RULE, "choose another rate"))
    if problems:
        raise FormatError(problems)


def _header(motion: Motion, version: int) -> bytes:
    keys = {
        "type": "CompositeSeq" if version > 1 else "BodyMotion",
        "content": "BodyMotion",
        "formatVersion": version,
        "frameRate": motion.frame_rate,
        "numFrames": motion.times.size,
    }
    unknown = motion.metadata.get("unknown", {})
    return b"".join([*_lines(keys, version), *_lines(unknown, version), b"components: \n"])


def _lines(keys: Mapping[str, Any], version: int) -> list[bytes]:
    """Return a line for each key, as the version spells it."""
    spelt = _CAMEL_TO_SNAKE if version >= 4 else SNAKE_CASE
    return [f"{_flow(spelt.get(key, key))}: {_flow(value)}\n".encode() for key, value in keys.items()]


def _flow(value: Any) -> str:
    """Return a value in flow style, in which every YAML reader takes it for the same."""
    match value:
        case np.ndarray():
            return _flow(value.tolist())
        case list() | tuple():
            return f"[ {', '.join(map(_flow, value))} ]" if value else "[ ]"
        case dict():
            return "{ " + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + " }"
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int() | float():
            return _as_yaml(orjson.dumps(value)).decode().removesuffix(".0")
    return _quoted(str(value))


def _quoted(text: str) -> str:
    """Return a plain word as it is, and anything that YAML could take for something else in quotes."""
    if text.isidentifier() and text.isascii() and not isinstance(yaml.safe_load(text), (bool, type(None))):
        return text
    quoted: str = yaml.dump(text, default_style='"', allow_unicode=True, width=float("inf"))
    return quoted.rstrip("\n")


def _row_text(values: Floats, times: Floats | None) -> bytes:
    """Return the lines of some frames."""
    values = np.ascontiguousarray(values)
    # Indented JSON, its blanks removed and its line ends turned into blanks, is `[ [ a, b ], [ c, d ] ]`.
    listed = orjson.dumps(values, option=_INDENTED).translate(_BLANK_FOR_LINE_END, b" ")[2:-2]
    between = b"], [" if values.ndim == 2 else b"] ], [ ["
    text = _LINE + listed.replace(between, between.replace(b", ", b"\n" + _LINE)) + b"\n"
    return _as_yaml(text) if times is None else _as_yaml(_with_times(text, times))


def _as_yaml(text: bytes) -> bytes:
    """Return a text with numbers as YAML 1.1 wants them: `1.0e-8` and `1.5e+22`; it has `1e-8` for a text."""
    return _BARE_EXPONENT.sub(b"e+", _BARE_MANTISSA.sub(b".0e", text)) if b"e" in text else text


def _with_times(text: bytes, times: Floats) -> bytes:
    """Put a time into each line; times are not rounded, as rounding could make two of them equal."""
    start = _LINE + b"[ "
    stamps = orjson.dumps(np.ascontiguousarray(times), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    lines = text.splitlines(keepends=True)
    return b"".join(
        start + stamp + b", " + line[len(start) :] for stamp, line in zip(stamps, lines, strict=True)
    )
