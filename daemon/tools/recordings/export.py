"""What was played in a recording, or all of it, as a motion file of another format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from motiond.formats import FormatError, Problem, ReadOptions, load_motions, without
from motiond.text import listed, printable

from ..convert import Conversion, refuse_overwriting, write_motion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.formats import Motion

TOPICS = {"reference": "/reference", "feedback": "/joint_states"}


@dataclass(frozen=True, slots=True)
class Export:
    """What is written of a recording.

    - `source`: what was commanded, or what was measured; by default the former, and the latter where nothing
      was played
    - `goal`: which of several, from 1
    - `whole`: all ticks, and not those of a goal
    - `rate_hz`: in place of that of the ticks
    - `drop`: series that may be lost, as `JointEffort`
    """

    source: Literal["reference", "feedback"] | None = None
    goal: int | None = None
    whole: bool = False
    rate_hz: float | None = None
    format: str | None = None
    drop: Sequence[str] = ()
    overwrite: bool = False


def export_recording(file: Path, target: Path, wanted: Export) -> Motion:
    """Write what was played in a recording, and return what was written.

    Raises
    ------
    FormatError
        If it cannot be read, holds several goals and none is chosen, is there already, or something would be
        lost that `drop` does not name.
    MotionError
        If it cannot be resampled.
    """
    refuse_overwriting(target, forced=wanted.overwrite)
    topic = TOPICS[wanted.source] if wanted.source else TOPICS["reference"] if wanted.whole else None
    motions = load_motions(file, options=ReadOptions(topic=topic, whole=wanted.whole))
    motion = _chosen(file, motions, wanted.goal)
    dropped = [name for name in wanted.drop if name in motion.components]
    motion = without(motion, dropped)
    if wanted.rate_hz is not None:
        motion = motion.resampled(wanted.rate_hz)
    how = Conversion(format=wanted.format, precision=None)
    return write_motion(file, motion, target, how, [name for name in wanted.drop if name not in dropped])


def _chosen(file: Path, motions: Sequence[Motion], goal: int | None) -> Motion:
    if goal is None and len(motions) == 1:
        return motions[0]
    if goal is not None and 1 <= goal <= len(motions):
        return motions[goal - 1]
    problem = f"has no goal {goal}" if goal is not None else f"holds {len(motions)} goals"
    known = listed([f"{number} ({one.duration_s:.3f} s)" for number, one in enumerate(motions, 1)])
    hint = "choose one by --goal, or --whole"
    raise FormatError([Problem(printable(str(file)), 0, problem, f"there are {known}", hint)])
