"""What was played in a recording of motiond, as motions: the setpoints of each goal, to the bit.

A motion begins with the first row of a goal and ends where the robot came to rest, with all that played
beside it; the way to the first row, and whatever came afterwards, is left out. What the hand of a person
moved, with torque off or while teaching, is a motion of feedback.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from motiond.text import listed, nearest, printable, quoted

from ..errors import BadText, Problems, Where
from ..io.joint_names import check_joint_names
from ..io.ros2 import Topic
from ..model.interpolation import hermite, interpolate
from ..model.motion import Motion
from ..model.timing import NS, frames_at
from .goal_phases import GoalsOfPhases, ends_in
from .joining import MOST_VALUES, join_rows
from .ticks import IDLE, ON_A_MOTION, TEACHING, OwnRecording, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..arrays import Booleans, Floats, Integers
    from ..io.source import ReadOptions
    from .container import Record
    from .joining import Joined
    from .ticks import Ticks

BEFORE_THE_FIRST = -1.0
"""`moved` in the tick in which an approach ends; the next is that of the first row."""
MOST_MADE_S = 0.1
"""Rows that are no further apart get those that are missing between them."""
EVEN = 0.5
"""Of a period: rows that are further apart than so much more lack others between them."""


class _Span(NamedTuple):
    """Ticks that make a motion, from one place in the file to another, both included."""

    first: int
    last: int
    # what they are called in messages
    name: str
    # whether an approach ends in the first tick
    follows_an_approach: bool = False
    # whether the file has only a part of it
    begins_late: bool = False
    ends_early: bool = False
    # whether it is all of the file, also what is at rest
    is_whole: bool = False


Rows: TypeAlias = "tuple[Integers, Integers, Integers, Floats]"
"""Of ticks that follow each other: their places in the file, stamps, numbers and values."""


class _Kept:
    """The ticks of one topic that may be of a motion."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []
        self._size = 0

    def add(self, ticks: Ticks, topic: str, chosen: Booleans) -> None:
        """Keep some ticks. Raises `BadText` if they become too many."""
        self._size += int(chosen.sum()) * ticks.values[topic].shape[2]
        if self._size > MOST_VALUES:
            reason = f"{MOST_VALUES} are read"
            raise BadText("holds more positions than a motion may have", reason, "filter it: `mcap filter`")
        places, stamps, numbers = (part[chosen] for part in (ticks.places, ticks.stamps, ticks.numbers))
        self._parts.append((places, stamps, numbers, ticks.values[topic][chosen]))

    def rows(self, spans: list[_Span]) -> Iterator[Rows]:
        """Yield the ticks of each span."""
        places, stamps, numbers, values = map(np.concatenate, zip(*self._parts, strict=True))
        for span in spans:
            within = slice(*np.searchsorted(places, (span.first, span.last + 1)))
            yield places[within], stamps[within], numbers[within], values[within]


def load_own(
    records: Iterable[Record], size: int, options: ReadOptions, stem: str, problems: Problems
) -> list[Motion]:
    """Read the motions in a recording of motiond.

    - `size`: of the file, in bytes
    - `options`: the topic, `REFERENCE` or `FEEDBACK`; by default the reference, and feedback where nothing
      was played; whether all ticks make one motion; which components are dropped

    Raises `FormatError` with what is wrong, or if nothing was played; `BadText` or another error of a damaged
    file.
    """
    own = OwnRecording.of(size, _topics(options.topic, problems))
    played, guided, whole = _Kept(), _Kept(), options.whole
    for ticks in own.ticks(records):
        is_played, is_guided = _of_interest(ticks, own.phases, whole=whole)
        played.add(ticks, own.topics[0], is_played)
        if not whole and not _starts(own.phases):
            guided.add(ticks, own.topics[-1], is_guided)
    if not own.joints:
        raise problems.fail(0, "has no ticks", "it ends before the first", "record again")
    if not check_joint_names(own.joints, Where(problems, 0)):
        problems.raise_if_any()
    if not own.recording.is_whole:
        _warn_cut(own, problems)
    topic, kept = own.topics[0], played
    spans = [_Span(0, own.count - 1, "the recording", is_whole=True)] if whole else [*_goals(own)]
    if not spans and own.topics[-1] == Topic.FEEDBACK:
        topic, kept, spans = Topic.FEEDBACK, guided, [*_guided(own)]
    if not spans:
        raise problems.fail(0, *_nothing_played(own, topic))
    names = [stem] if len(spans) == 1 else [f"{stem}_{number}" for number in range(1, len(spans) + 1)]
    motions = [
        _motion(own, rows, span, topic, Problems(problems.file, warnings=[*problems.warnings]))
        for span, rows in zip(spans, kept.rows(spans), strict=True)
    ]
    return [
        replace(_without(motion, options.drop), name=name)
        for name, motion in zip(names, motions, strict=True)
    ]


def _without(motion: Motion, drop: frozenset[str]) -> Motion:
    dropped = tuple(key for key in motion.components if key in drop)
    kept = {key: rows for key, rows in motion.components.items() if key not in drop}
    return replace(motion, components=kept, metadata={**motion.metadata, "dropped": dropped})


def _topics(wanted: str | None, problems: Problems) -> tuple[str, ...]:
    """Return the topics to read; both where none is wanted."""
    known = (Topic.REFERENCE, Topic.FEEDBACK)
    if wanted is None or wanted in known:
        return known if wanted is None else (wanted,)
    hint = nearest(wanted, known) or f"choose one: `--topic {Topic.REFERENCE}`"
    reason = f"a recording of motiond has {listed(known)}"
    raise problems.fail(0, f"has no joints in topic {quoted(wanted)}", reason, hint)


def _of_interest(ticks: Ticks, phases: list[Phase], *, whole: bool) -> tuple[Booleans, Booleans]:
    """Return which ticks may be of a goal, and which of a hand that moves the robot."""
    if whole:
        return np.ones(ticks.stamps.size, bool), np.zeros(ticks.stamps.size, bool)
    begins = np.isin(ticks.places, [phase.first for phase in phases])
    return ticks.where(phases, Phase.is_moving) | begins, ticks.where(phases, _is_guided)


def _is_guided(phase: Phase) -> bool:
    return phase.state == TEACHING or (phase.state == IDLE and not phase.torque)


def _starts(phases: list[Phase]) -> bool:
    return any(phase.beside or (phase.is_on_its_way() and phase.state in ON_A_MOTION) for phase in phases)


def _goals(own: OwnRecording) -> Iterator[_Span]:
    """Return the ticks of each goal that has come to its first row."""
    phases, found = own.phases, GoalsOfPhases()
    found.add(phases)
    for number, goal in enumerate((goal for goal in found.goals if goal.first is not None), 1):
        first = phases[goal.first or 0]
        after = phases[goal.last + 1] if goal.last + 1 < len(phases) else None
        last = own.count - 1 if after is None else after.first - (not ends_in(phases, goal.last + 1))
        yield _Span(
            first.first,
            last,
            f"goal {number}",
            follows_an_approach=first.moved == BEFORE_THE_FIRST,
            begins_late=goal.begin == goal.first == 0 and first.moved not in {0.0, BEFORE_THE_FIRST},
            ends_early=after is None,
        )


def _guided(own: OwnRecording) -> Iterator[_Span]:
    """Return the ticks of each time that torque was off, or the robot taught."""
    phases = own.phases
    ends = [phase.first for phase in phases[1:]] + [own.count] * bool(phases)
    spans = [(phase.first, end) for phase, end in zip(phases, ends, strict=True) if _is_guided(phase)]
    for number, (begin, end) in enumerate(_merged(spans), 1):
        yield _Span(begin, end - 1, f"movement {number}")


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans, those that follow each other at once as one."""
    found: list[tuple[int, int]] = []
    for begin, end in spans:
        follows = bool(found) and found[-1][1] == begin
        found.append((found.pop()[0] if follows else begin, end))
    return found


def _nothing_played(own: OwnRecording, topic: str) -> tuple[str, str, str]:
    hint = "`motiond recording export --whole` writes all its ticks"
    if not own.phases:
        reason = f"it has no `{Topic.PHASE}`, which says when a goal was played"
        return "has no motion", reason, hint
    states = listed(list(dict.fromkeys(phase.state for phase in own.phases)))
    reason = f"no goal came to its first row, and the robot was {printable(states)}"
    if any(map(_is_guided, own.phases)) and topic == Topic.REFERENCE:
        return "has no motion", f"{reason} without torque", f"choose `--topic {Topic.FEEDBACK}`"
    return "has no motion", reason, hint


def _warn_cut(own: OwnRecording, problems: Problems) -> None:
    begin = own.phases[0].time_ns if own.phases else own.recording.last_time
    seconds = (own.recording.last_time - begin) / NS
    reason = f"what is whole ends {seconds:.3f} s after its beginning"
    problems.warn(0, "was cut short", reason, "the daemon repairs it at its next start")


def _motion(
    own: OwnRecording,
    rows: Rows,
    span: _Span,
    topic: str,
    problems: Problems,
) -> Motion:
    _, stamps, numbers, values = rows
    infinite = np.argwhere(np.isinf(values[:, 0]))
    if infinite.size:
        row, joint = infinite[0].tolist()
        what = f"tick {numbers[row]} has {values[row, 0, joint]} for joint {quoted(own.joints[joint])}"
        raise problems.fail(0, what, "positions are finite", "cut it out: `mcap filter`")
    if span.follows_an_approach and _is_still(values[:2, 0], topic):
        stamps, numbers, values = stamps[1:], numbers[1:], values[1:]
    # At rest, commands bring about ticks of their own: on a virtual clock, several at one time.
    is_last = np.append(np.diff(stamps) > 0, True)
    joined = join_rows(own.joints, stamps[is_last], values[is_last], problems)
    times, frame_rate = frames_at(joined.times, 0.0)
    steps = _steps(times)
    if steps.size and steps.max() > 1:
        frame_rate = _rate_of(stamps[is_last], int(steps.sum()))
        if np.diff(times).max() <= MOST_MADE_S and _is_on_grid(times, steps, frame_rate):
            follows_velocities = topic == Topic.REFERENCE and not span.is_whole
            joined = _with_made_rows(joined, steps, frame_rate, follows_velocities=follows_velocities)
            times = joined.times
    _warn_of_gaps(own, span, stamps, numbers, problems)
    units = {joint: unit for joint, unit in own.units().items() if joint in joined.joints}
    return Motion(
        name=span.name,
        joint_names=joined.joints,
        frame_rate=frame_rate,
        times=times,
        positions=joined.positions,
        components=joined.components,
        metadata={
            "format": "mcap",
            "recorded_by": "motiond",
            "topic": topic,
            "start_ns": joined.start_ns,
            "units": units,
            "continuous": own.continuous(),
        },
        warnings=problems.oddities,
    )


def _is_still(positions: Floats, topic: str) -> bool:
    """Whether the first row is put out again in the second tick, as of a motion that does not begin at rest.

    `positions`: shape (2, joints).
    """
    return len(positions) == 2 and (topic == Topic.FEEDBACK or (positions[0] == positions[1]).all())


def _steps(times: Floats) -> Integers:
    """Return how many periods each row is behind the one before it, shape (rows - 1,)."""
    steps = np.diff(times)
    return np.rint(steps / np.median(steps)).astype(np.int64) if steps.size else np.zeros(0, np.int64)


def _rate_of(stamps: Integers, periods: int) -> float:
    """Return the rate of rows of which some are missing, in rows/s; there are so many periods in all."""
    period_ns = (stamps[-1] - stamps[0]) / periods
    return frames_at(np.arange(periods + 1) * period_ns / NS, 0.0)[1]


def _is_on_grid(times: Floats, steps: Integers, frame_rate: float) -> bool:
    """Whether each row is near a tick of its own at one rate; rows of goals of several rates are not."""
    off = np.cumsum(steps) - (times[1:] - times[0]) * frame_rate
    return bool(steps.min() > 0 and np.abs(off).max() < EVEN)


def _with_made_rows(
    joined: Joined, steps: Integers, frame_rate: float, *, follows_velocities: bool
) -> Joined:
    """Return rows with others between them where some are missing, so that they lie evenly.

    Those between setpoints of a goal are on the cubic curve that has their velocities (Hermite); others stay
    between the two rows around. Rows that were there stay, bit for bit, and near their times.
    """
    places = np.concatenate([[0], np.cumsum(steps)])
    ticks = np.arange(places[-1] + 1)
    at = np.interp(
        ticks, places, joined.times
    )  # what is made is between its neighbours, whatever their times
    velocities = joined.components.get("JointVelocity") if follows_velocities else None
    if velocities is None:
        positions = interpolate(at, joined.times, joined.positions, "cubic")
    else:
        positions, _ = hermite(at, joined.times, joined.positions, velocities)
    components = {
        key: interpolate(at, joined.times, rows, "linear") for key, rows in joined.components.items()
    }
    positions[places] = joined.positions
    for key, rows in components.items():
        rows[places] = joined.components[key]
    return replace(joined, times=ticks / frame_rate, positions=positions, components=components)


def _warn_of_gaps(
    own: OwnRecording, span: _Span, stamps: Integers, numbers: Integers, problems: Problems
) -> None:
    """Warn of ticks that are missing within a motion, and of a motion of which the file has only a part."""
    if span.begins_late or span.ends_early:
        part = listed(["beginning"] * span.begins_late + ["end"] * span.ends_early)
        reason = "one file ended, and another began, while it was on its way"
        problems.warn(0, f"lacks the {part} of {span.name}", reason, "raise `recording.minutes`")
    steps = np.diff(stamps)
    period = float(np.median(steps)) if steps.size else 0.0
    is_late = steps > (1.0 + EVEN) * period
    # At rest, ticks are as far apart as they like.
    late = np.flatnonzero(is_late & (np.diff(numbers) != 1) if span.is_whole else is_late)
    if late.size:
        numbered = np.diff(numbers)[late] - 1
        lost = numbered != 0
        missing = int(np.where(lost, np.maximum(numbered, 0), np.rint(steps[late] / period - 1.0)).sum())
        within = (gap.reason for gap in own.gaps if stamps[0] <= gap.time_ns <= stamps[-1])
        reasons = [*dict.fromkeys(within)] if lost.any() else []
        reasons += ["deadlines were missed"] if not lost.all() else []
        at = (stamps[late[0]] - stamps[0]) / NS
        what = f"lacks {missing} rows of {span.name}, the first of them {at:.3f} s after its beginning"
        reason = f"{listed(reasons)}; the others keep their times, and setpoints between them are made"
        problems.warn(0, what, reason, "record it again")
