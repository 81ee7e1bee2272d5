"""From one file to another: a robot, or a motion with joints picked and renamed, at another rate.

A file is written whole or not at all, and only what was named is lost.

    ValueError
    └── ConversionError  an option that the format written does not have, or has not with such a value
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from motiond.formats import (
    FormatError,
    NothingToDropError,
    Problem,
    ReadOptions,
    Source,
    dump_motion,
    dump_robot,
    load_motion,
    load_robot,
    name_joints,
    rename,
    select,
    without,
)
from motiond.formats.io import refuse_no_file
from motiond.formats.registry import MOTIONS, ROBOTS, SHARED_SUFFIXES
from motiond.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from motiond.formats import Interpolation, Motion, RobotModel

DEFAULTS = ReadOptions()
KEY_FRAMED = "xmdi"
"""The format of motions that are key frames."""


class ConversionError(ValueError):
    """An option that the format written does not have, or has not with such a value."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Conversion:
    """What becomes of a motion or a robot between one file and another; None and empty leave it as it is."""

    motion: str | None = None  # which one, where the file holds several
    robot: str | None = None  # which one, where the file holds several
    joint_names: Sequence[str] = ()  # for a motion that has none
    joints: Sequence[str] = ()  # to keep, by their names in the file
    renamed: Mapping[str, str] = field(default_factory=dict)  # old name to new
    rate_hz: float | None = None
    interpolation: Interpolation | None = None  # by default cubic, and linear between key frames
    format: str | None = None
    version: int | None = None
    precision: int | None = 17  # all digits
    tolerance: float | None = None
    frame_period_s: float | None = None  # of XMDI, read or written
    reading: ReadOptions = DEFAULTS  # what the file leaves open, besides key frames
    drop: Sequence[str] = ()
    allow_short: bool = False
    overwrite: bool = False


def convert_file(source: Path, target: Path, wanted: Conversion) -> Motion:
    """Read a motion, change it, write it, and give what was written.

    A motion that is called as its file is called as the one written: XMDI holds the name, and two motions of
    one name cannot be in one folder. Names in `drop` that it does not hold are among its warnings.

    Raises
    ------
    FormatError
        If the file cannot be read, ends too early or is there already, or something would be lost.
    MotionError
        If the motion has no such joints or components, or cannot be resampled.
    ConversionError
        If the format written has no such option, or not with such a value.
    """
    refuse_overwriting(target, forced=wanted.overwrite)
    motion, others = read_motion(source, wanted)
    if wanted.interpolation and wanted.rate_hz is None and motion.metadata.get("format") != KEY_FRAMED:
        reason = "no other rate is asked for, and the file has no key frames"
        raise ConversionError(f"{source}: nothing is interpolated; {reason}; leave the interpolation out")
    return write_motion(source, _changed(motion, wanted), target, wanted, others)


def read_motion(source: Path, wanted: Conversion) -> tuple[Motion, list[str]]:
    """Read a motion without what `drop` names of its components; return it and what else `drop` names.

    Raises as `convert_file` does.
    """
    motion = load_motion(source, wanted.motion, options=_read_options(source, wanted))
    if not wanted.allow_short:
        _refuse_short(source, motion)
    dropped = [name for name in wanted.drop if name in motion.components]
    gone = {*dropped, *motion.metadata.get("dropped", ())}
    motion = without(motion, dropped)
    if wanted.joint_names:
        motion = name_joints(motion, wanted.joint_names)
    return motion, [name for name in wanted.drop if name not in gone]


def write_motion(
    source: Path, motion: Motion, target: Path, wanted: Conversion, drop: Sequence[str]
) -> Motion:
    """Write a motion that was read from a file, and return what was written.

    Raises as `convert_file` does.
    """
    if motion.name == printable(source.stem):
        motion = replace(motion, name=printable(target.stem))
    try:
        _write(motion, target, wanted, drop)
    except NothingToDropError as error:
        # What is to be lost need not be there: one command may be for many files.
        _write(motion, target, wanted, [name for name in drop if name not in error.names])
        return replace(motion, warnings=(*motion.warnings, *str(error).splitlines()))
    return motion


def holds_robot(source: Path) -> bool:
    """Whether a file is a robot's description, by its suffix or else by how it looks."""
    suffix = source.suffix.lower()
    if suffix not in SHARED_SUFFIXES and suffix in (*ROBOTS.suffixes, *MOTIONS.suffixes):
        return suffix in ROBOTS.suffixes
    file = Source(source)
    return ROBOTS.fitting(file.read(MOTIONS.size), file) is not None


def convert_robot(source: Path, target: Path, wanted: Conversion) -> tuple[RobotModel, tuple[str, ...]]:
    """Read a robot, write it, and give it with what is odd about either; of `wanted`, what is said of robots.

    Raises `FormatError` if the file cannot be read or is there already, or something would be lost.
    """
    refuse_overwriting(target, forced=wanted.overwrite)
    model = load_robot(source, wanted.robot)
    try:
        lines = dump_robot(model, target, wanted.format, drop=wanted.drop)
    except NothingToDropError as error:
        drop = [name for name in wanted.drop if name not in error.names]
        lines = (*str(error).splitlines(), *dump_robot(model, target, wanted.format, drop=drop))
    return model, (*model.warnings, *lines)


def _refuse_short(source: Path, motion: Motion) -> None:
    """Raise `FormatError` if a series ends early: what is written would not show it, and would be played."""
    reason = "so does a copy that was interrupted"
    hint = "copy it again, or convert what there is with --allow-short"
    ends = [
        f"{motion.name}: {series} ends after {frames} of the {stated} frames that it states"
        for series, (frames, stated) in motion.missing_frames().items()
    ]
    if ends:
        raise FormatError([Problem(str(source), 0, problem, reason, hint) for problem in ends])


def refuse_overwriting(target: Path, *, forced: bool) -> None:
    """Raise `FormatError` if a file is there already and may not be replaced, or what is there is no file."""
    refuse_no_file(target)
    if target.exists() and not forced:
        reason, hint = "it would be overwritten", "name another file, or --force it"
        raise FormatError([Problem(str(target), 0, "exists already", reason, hint)])


def _read_options(source: Path, wanted: Conversion) -> ReadOptions:
    period_s = DEFAULTS.frame_period_s if wanted.frame_period_s is None else wanted.frame_period_s
    interpolation = wanted.interpolation or DEFAULTS.interpolation
    try:
        return replace(
            wanted.reading,
            frame_period_s=period_s,
            interpolation=interpolation,
            drop=frozenset(wanted.drop),
        )
    except ValueError as error:
        raise ConversionError(f"{source}: {error}") from error


def _changed(motion: Motion, wanted: Conversion) -> Motion:
    if wanted.joints:
        motion = select(motion, wanted.joints)
    if wanted.renamed:
        motion = rename(motion, wanted.renamed)
    if wanted.rate_hz is not None:
        motion = motion.resampled(wanted.rate_hz, wanted.interpolation or "cubic")
    return motion


def _write(motion: Motion, target: Path, wanted: Conversion, drop: Sequence[str]) -> None:
    written = wanted.format or target.suffix.lower().removeprefix(".")
    # A period that was needed to read one XMDI is no option of another format that is written.
    used = motion.metadata.get("format") == KEY_FRAMED and written != KEY_FRAMED
    try:
        dump_motion(
            motion,
            target,
            wanted.format,
            precision=wanted.precision,
            drop=drop,
            version=wanted.version,
            tolerance=wanted.tolerance,
            frame_period_s=None if used else wanted.frame_period_s,
        )
    except FormatError:
        raise
    except ValueError as error:
        raise ConversionError(f"{target}: {error}") from error
