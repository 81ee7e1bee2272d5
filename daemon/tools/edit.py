"""A motion changed step by step, in the order in which that is asked for, and what becomes of its peaks.

ValueError
└── EditError        a step that cannot be understood
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from motiond.formats import (
    FormatError,
    Problem,
    blend,
    ease,
    load_map,
    mirror,
    offset,
    retime,
    reverse,
    select,
    smooth,
    trim,
)
from motiond.text import printable

from .convert import read_motion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

    from .convert import Conversion

CURVES_HZ = 500.0
"""How often the curve through way-points is looked at."""
MOST_OF_CURVES = 100_000


class EditError(ValueError):
    """A step that cannot be understood; `str()` is `option value: problem; reason; hint`."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Step:
    """What one step made of a motion.

    Attributes
    ----------
    edit, value : str
        As they were asked for: `--trim` and `1.2:4`.
    deviation : mapping, optional
        Of a step that smooths: by how much each joint leaves what it was at most, in rad or m.
    """

    edit: str
    value: str
    duration_s: float
    rows: int
    deviation: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """The largest velocity, acceleration and jerk of a joint, in rad or m and s, from rest and to rest."""

    joint: str
    velocity: float
    acceleration: float
    jerk: float


@dataclass(frozen=True, slots=True)
class Edited:
    """A motion before and after its steps."""

    before: Motion
    after: Motion
    steps: tuple[Step, ...]

    def payload(self) -> dict[str, Any]:
        """Return all but the rows JSON-ready."""
        return {
            "motion": self.after.name,
            "edits": [asdict(step) for step in self.steps],
            "before": _payload(self.before),
            "after": _payload(self.after),
        }


def edited(source: Path, edits: Sequence[tuple[str, str]], wanted: Conversion) -> tuple[Edited, list[str]]:
    """Read a motion and apply edits, each an option and its value, one after the other.

    Returns it with what `wanted.drop` names besides its components, as `read_motion` does.

    Raises
    ------
    EditError
        If an edit cannot be understood.
    FormatError, MotionError, ConversionError
        If a file cannot be read, or an edit cannot be made.
    """
    steps = [(option, value, _edit(option, value, wanted)) for option, value in edits]
    before, drop = read_motion(source, wanted)
    motion, made = before, []
    for option, value, apply in steps:
        motion, deviation = apply(motion)
        left = dict(zip(_labels(motion), deviation.tolist(), strict=True)) if deviation is not None else None
        made.append(Step(option, value, motion.duration_s, motion.times.size, left))
    return Edited(before, motion, tuple(made)), drop


def peaks_of(motion: Motion) -> list[Peaks]:
    """Return the peaks of each joint: of its rows, as differences over their time.

    Of way-points they are those of the curve through them, as it is played.
    """
    even = replace(motion, components={})
    if not motion.is_uniform:
        even = even.resampled(min(CURVES_HZ, MOST_OF_CURVES / motion.duration_s))
    zeros = np.zeros((1, even.positions.shape[1]))
    rates = [even.positions]
    for _ in range(3):
        changes = np.diff(rates[-1], axis=0) * even.frame_rate
        rates.append(np.concatenate([zeros, changes, zeros]))
    peaks = np.stack([np.abs(rate).max(axis=0) for rate in rates[1:]], axis=1)
    return [Peaks(name, *each) for name, each in zip(_labels(motion), peaks.tolist(), strict=True)]


def _labels(motion: Motion) -> tuple[str, ...]:
    return motion.joint_names or tuple(map(str, range(motion.positions.shape[1])))


def _payload(motion: Motion) -> dict[str, Any]:
    peaks = [asdict(peak) for peak in peaks_of(motion)]
    return {
        "duration_s": motion.duration_s,
        "rows": motion.times.size,
        "rate_hz": motion.frame_rate,
        "peaks": peaks,
    }


# -- edits --------------------------------------------------------------------------------------------------

Applied: TypeAlias = "tuple[Motion, Floats | None]"
"""The new motion, and by how much each joint leaves what it was, where that is bounded."""


def _edit(option: str, value: str, wanted: Conversion) -> Callable[[Motion], Applied]:
    """Return what an option asks for.

    Raises EditError if its value cannot be understood, FormatError if a file that it names cannot be read.
    """
    text = f"{option} {value}"
    if option == "--smooth":
        return _smoothing(text, value)
    make = _PLAIN[option](text, value, wanted)
    return lambda motion: (make(motion), None)


def _number(text: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise EditError(f"{text}: '{printable(value)}' is no number; it takes one; write it as 0.1")
    return number


def _of_joint(text: str, value: str) -> tuple[str, float]:
    joint, equals, number = value.rpartition("=")
    if not (joint and equals):
        raise EditError(f"{text}: names no joint; it is JOINT=VALUE; write it as elbow=0.1")
    return joint, _number(text, number)


def _trimming(text: str, value: str, _: Conversion) -> Callable[[Motion], Motion]:
    start, colon, end = value.partition(":")
    if not colon or value == ":":
        raise EditError(f"{text}: is no range; it is FROM:TO in s, of which one may be left out; write 1.2:4")
    start_s, end_s = (_number(text, each) if each else None for each in (start, end))

    def trimmed(motion: Motion) -> Motion:
        begin_s = float(motion.times[0])
        return trim(
            motion,
            None if start_s is None else begin_s + start_s,
            None if end_s is None else begin_s + end_s,
        )

    return trimmed


def _smoothing(text: str, value: str) -> Callable[[Motion], Applied]:
    joint, bound = _of_joint(text, value) if "=" in value else ("", _number(text, value))

    def smoothed(motion: Motion) -> Applied:
        if not joint:
            return smooth(motion, bound)
        select(motion, [joint])  # refuses one that the motion does not have
        return smooth(motion, [bound if name == joint else 0.0 for name in motion.joint_names])

    return smoothed


def _retiming(text: str, value: str, _: Conversion) -> Callable[[Motion], Motion]:
    speed = _number(text, value)
    return lambda motion: retime(motion, speed)


def _resampling(text: str, value: str, _: Conversion) -> Callable[[Motion], Motion]:
    rate_hz = _number(text, value)
    return lambda motion: motion.resampled(rate_hz)


def _offsetting(text: str, value: str, _: Conversion) -> Callable[[Motion], Motion]:
    joint, by = _of_joint(text, value)
    return lambda motion: offset(motion, {joint: by})


def _mirroring(_: str, value: str, __: Conversion) -> Callable[[Motion], Motion]:
    table = _mirror_table(Path(value))
    return lambda motion: mirror(motion, table)


def _mirror_table(path: Path) -> dict[str, tuple[str, float]]:
    """Read which joint moves as which other does.

    Raises FormatError if the file is no motion map, or says anything else.
    """
    map_ = load_map(path)
    others = {
        "rate": map_.rate_hz,
        "units": map_.units,
        "topic": map_.topic,
        "ignore": map_.ignored or map_.ignores_others,
    }
    reason = "a mirror has joints alone, each with `from` and `sign`"
    problems = [
        Problem(str(path), 0, f"{key} has no meaning for a mirror", reason, "remove it")
        for key, value in others.items()
        if value
    ]
    for name, joint in map_.joints.items():
        if not isinstance(joint.column, str) or joint.offset or joint.unit:
            problem = f"joint '{name}' does not simply move as another joint does"
            problems.append(Problem(str(path), 0, problem, reason, "write `l_hip: {from: r_hip, sign: -1}`"))
    if problems:
        raise FormatError(problems)
    return {name: (str(joint.column), joint.sign) for name, joint in map_.joints.items()}


def _blending(text: str, value: str, wanted: Conversion) -> Callable[[Motion], Motion]:
    file, _, seconds = value.rpartition(":")
    if not file:
        raise EditError(f"{text}: names no overlap; it is FILE:SECONDS; write it as wave.seq:0.5")
    overlap_s = _number(text, seconds)
    other, _ = read_motion(Path(file), replace(wanted, motion=None))

    def blended(motion: Motion) -> Motion:
        is_same = math.isclose(other.frame_rate, motion.frame_rate, rel_tol=1e-9)
        fitting = other if other.is_uniform and is_same else other.resampled(motion.frame_rate)
        return blend(motion, fitting, overlap_s)

    return blended


_PLAIN: Mapping[str, Callable[[str, str, Conversion], Callable[[Motion], Motion]]] = {
    "--trim": _trimming,
    "--retime": _retiming,
    "--rate": _resampling,
    "--mirror": _mirroring,
    "--offset": _offsetting,
    "--blend": _blending,
    "--reverse": lambda *_: reverse,
    "--ease": lambda *_: ease,
}
"""What makes an edit of an option's text and value."""
