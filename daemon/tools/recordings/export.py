"""What was played in a recording, or all of it, as a motion file of another format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.formats import FormatError, Problem, load_motions, without
from motiond.text import listed, printable

from ..convert import refuse_overwriting, write_motion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.formats import Motion

    from ..convert import Conversion


def export_recording(file: Path, target: Path, wanted: Conversion, goal: int | None = None) -> Motion:
    """Write what was played in a recording, and return what was written.

    `goal`: which of several, from 1.

    Raises FormatError if it cannot be read, holds several goals and none is chosen, is there already, or
    something would be lost that `drop` does not name; MotionError if it cannot be resampled.
    """
    refuse_overwriting(target, forced=wanted.overwrite)
    motion = _chosen(file, load_motions(file, options=wanted.reading), goal)
    dropped = [name for name in wanted.drop if name in motion.components]
    motion = without(motion, dropped)
    if wanted.rate_hz is not None:
        motion = motion.resampled(wanted.rate_hz)
    return write_motion(file, motion, target, wanted, [name for name in wanted.drop if name not in dropped])


def _chosen(file: Path, motions: Sequence[Motion], goal: int | None) -> Motion:
    if goal is None and len(motions) == 1:
        return motions[0]
    if goal is not None and 1 <= goal <= len(motions):
        return motions[goal - 1]
    problem = f"has no goal {goal}" if goal is not None else f"holds {len(motions)} goals"
    known = listed([f"{number} ({one.duration_s:.3f} s)" for number, one in enumerate(motions, 1)])
    hint = "choose one by --goal, or --whole"
    raise FormatError([Problem(printable(str(file)), 0, problem, f"there are {known}", hint)])
