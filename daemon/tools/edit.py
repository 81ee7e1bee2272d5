"""A motion changed step by step, in the order in which that is asked for, and what becomes of its peaks.

ValueError
└── EditError        a step that cannot be understood
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

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
from motiond.formats.model import peaks
from motiond.text import printable

from .convert import read_motion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

    from .convert import Conversion


class EditError(ValueError):
    """A step that cannot be understood; `str()` is `option value: problem; reason; hint`."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Step:
    """What one step made of a motion.

    - `edit`, `value`: as they were asked for: `--trim` and `1.2:4`
    - `deviation`: of a step that smooths: by how much each joint leaves what it was at most, in rad or m
    """

    edit: str
    value: str
    duration_s: float
    rows: int
    deviation: Mapping[str, float] | None = None


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

    Raises EditError if an edit cannot be understood; FormatError, MotionError and ConversionError if a file
    cannot be read, or an edit cannot be made.
    """
    steps = [(option, value, _edit(option, value, wanted)) for option, value in edits]
    before, drop = read_motion(source, wanted)
    motion, made = before, []
    for option, value, apply in steps:
        motion, deviation = apply(motion)
        left = dict(zip(_labels(motion), deviation.tolist(), strict=True)) if deviation is not None else None
        made.append(Step(option, value, motion.duration_s, motion.times.size, left))
    return Edited(before, motion, tuple(made)), drop


def _labels(motion: Motion) -> tuple[str, ...]:
    return motion.joint_names or tuple(map(str, range(motion.positions.shape[1])))


def _payload(motion: Motion) -> dict[str, Any]:
    kinds = ("joint", "velocity", "acceleration", "jerk")
    return {
        "duration_s": motion.duration_s,
        "rows": motion.times.size,
        "rate_hz": motion.frame_rate,
        "peaks": [{kind: getattr(peak, kind) for kind in kinds} for peak in peaks(motion)],
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
        first, last = (None if each is None else motion.times[0] + each for each in (start_s, end_s))
        return trim(motion, first, last)

    return trimmed


def _smoothing(text: str, value: str) -> Callable[[Motion], Applied]:
    joint, bound = _of_joint(text, value) if "=" in value else ("", _number(text, value))

    def smoothed(motion: Motion) -> Applied:
        if not joint:
            return smooth(motion, bound)
        select(motion, [joint])  # refuses one that the motion does not have
        return smooth(motion, [bound if name == joint else 0.0 for name in motion.joint_names])

    return smoothed


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
    "--retime": lambda text, value, _: partial(retime, speed=_number(text, value)),
    "--rate": lambda text, value, _: methodcaller("resampled", _number(text, value)),
    "--mirror": lambda _, value, __: partial(mirror, table=_mirror_table(Path(value))),
    "--offset": lambda text, value, _: partial(offset, by=dict([_of_joint(text, value)])),
    "--blend": _blending,
    "--reverse": lambda *_: reverse,
    "--ease": lambda *_: ease,
}
"""What makes an edit of an option's text and value."""
