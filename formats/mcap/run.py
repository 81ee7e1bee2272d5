"""A recording of motiond to look at: what happened, its largest errors, and its ticks, thinned."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from motiond.text import printable

from ..errors import Problems, Where
from ..io.joint_names import check_joint_names
from ..model.run import Run
from ..model.timing import NS
from .container import MAGIC, records_of, refuse_others, refusing_damage
from .peaks import PeaksOfGoals
from .thinning import Thinned
from .ticks import FEEDBACK, REFERENCE, OwnRecording, is_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..arrays import Booleans, Floats
    from ..io.source import Source
    from ..model.run import GoalPeaks
    from .ticks import Phase, Ticks

OF_PHASES = ("state", "torque", "goal", "loop", "frame", "period_s")
MOST_SHOWN, MOST_SHOWN_BYTES = 10_000, 2_000_000
"""Of phases, gaps, events and results together."""


def load_run(source: Source, points: int) -> Run:
    """Read a recording of motiond, of any length, a chunk at a time.

    - `points`: how many ticks, or extremes of ticks, are returned at most

    Raises `FormatError` if it is none, or with what is wrong with it.
    """
    problems = Problems(source.name)
    with source.opened() as file, refusing_damage(problems):
        size = os.fstat(file.fileno()).st_size
        refuse_others(file.read(len(MAGIC)), problems)
        if not is_own(records_of(file), size):
            reason = "it has neither its metadata nor its topics"
            raise problems.fail(0, "is no recording of motiond", reason, "look at it by `motiond inspect`")
        file.seek(len(MAGIC))
        own = OwnRecording.of(size, (REFERENCE, FEEDBACK), ("event", "result", "timing"))
        series, peaks = None, PeaksOfGoals()
        for ticks in own.ticks(records_of(file)):
            series = series or _Series(len(own.joints), int(ticks.stamps[0]), points)
            series.add(ticks, own.phases)
            with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no robot has
                peaks.add(ticks, own.phases)
        if series is None:
            raise problems.fail(0, "has no ticks", "it ends before the first", "record again")
    if not check_joint_names(own.joints, Where(problems, 0)):
        problems.raise_if_any()
    return series.run(_about(own, printable(source.path.name), series), peaks.found(own.joints))


class _Series:
    """What is kept of the ticks of a recording.

    - `first_ns`: the stamp of the first, in ns since 1970; `last_ns`: of the last
    - `points`: how many are kept at most
    """

    def __init__(self, joints: int, first_ns: int, points: int) -> None:
        self.first_ns = self.last_ns = first_ns
        self._thinned = Thinned(3 * joints, points)
        self._worst, self._worst_s, self._squares = np.zeros((3, joints))
        self._counts = np.zeros(joints, np.int64)

    def seconds(self, time_ns: int) -> float:
        """Return a time in s, from the first tick."""
        return (time_ns - self.first_ns) / NS

    @property
    def every(self) -> int:
        """How many ticks two points stand for."""
        return self._thinned.every

    def add(self, ticks: Ticks, phases: list[Phase]) -> None:
        """Add ticks, in their order."""
        reference, feedback = (ticks.values[topic][:, 0] for topic in (REFERENCE, FEEDBACK))
        self.last_ns = int(ticks.stamps[-1])
        times = (ticks.stamps - self.first_ns) / NS
        # The last stands for ticks before the first phase.
        holds = np.array([*(phase.torque for phase in phases), False])[ticks.phases]
        moves = np.array([*(phase.is_on_its_way for phase in phases), False])[ticks.phases]
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no robot has
            error = np.where(holds[:, None], reference - feedback, np.nan)
            self._thinned.add(times, np.concatenate([reference, feedback, error], axis=1))
            self._compare(times, error, moves)

    def _compare(self, times: Floats, error: Floats, moves: Booleans) -> None:
        """Find the largest error of each joint while a goal was on its way, and add up their squares."""
        known = np.isfinite(error) & moves[:, None]  # and torque is on
        size = np.where(known, np.abs(error), 0.0)
        worst = size.argmax(axis=0)
        found = size[worst, np.arange(size.shape[1])]
        is_worse = found > self._worst
        self._worst[is_worse], self._worst_s[is_worse] = found[is_worse], times[worst][is_worse]
        self._squares += (size**2).sum(axis=0)
        self._counts += known.sum(axis=0)

    def worst(self, joints: tuple[str, ...]) -> dict[str, dict[str, float] | None]:
        """Return the largest error by joint, when it was, and the RMS error; None where none is known."""
        return {
            joint: {
                "max": float(self._worst[column]),
                "time": float(self._worst_s[column]),
                "rms": float(np.sqrt(self._squares[column] / count)),
            }
            if (count := int(self._counts[column]))
            else None
            for column, joint in enumerate(joints)
        }

    def run(self, about: dict[str, Any], goals: tuple[GoalPeaks, ...]) -> Run:
        """Return all of it."""
        times, values = self._thinned.points()
        reference, feedback, error = np.split(values, 3, axis=1)
        return Run(about | {"points": times.size}, times, reference, feedback, error, goals)


def _about(own: OwnRecording, file: str, series: _Series) -> dict[str, Any]:
    about, units = own.about, own.units()
    shown: dict[str, list[Any]] = {"results": [], "gaps": [], "phases": [], "events": []}
    room, count = MOST_SHOWN_BYTES, 0
    for kind, item in _happened(own, series):
        room -= len(orjson.dumps(item))
        if room < 0 or count == MOST_SHOWN:
            break
        shown[kind].append(item)
        count += 1
    total = len(own.phases) + len(own.gaps) + sum(report.subject != "timing" for report in own.reports)
    return {
        "name": file.removesuffix(".part").removesuffix(".mcap"),
        "file": file,
        **{key: about.get(key) or None for key in ("robot", "began_utc", "why", "driver", "version")},
        "duration_s": series.seconds(series.last_ns),
        "ticks": own.count,
        "is_whole": own.recording.is_whole,
        "joints": list(own.joints),
        "units": [units.get(joint, "rad") for joint in own.joints],
        "every": series.every,
        **shown,
        "timing": _timing(report.data for report in own.reports if report.subject == "timing"),
        "worst": series.worst(own.joints),
        "attachments": [
            {"name": printable(one.name), "bytes": one.size, "sha256": about.get(f"sha256 {one.name}")}
            for one in own.recording.attachments
        ],
        "more": total - count,
    }


def _happened(own: OwnRecording, series: _Series) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return results, gaps, phases and events, what says most first."""
    for subject, kind in (("result", "results"), ("event", "events")):
        if subject == "event":
            yield from _changes(own, series)
        for report in own.reports:
            if report.subject == subject:
                yield kind, {"time": series.seconds(report.time_ns), **report.data}


def _changes(own: OwnRecording, series: _Series) -> Iterator[tuple[str, dict[str, Any]]]:
    for gap in own.gaps:
        yield "gaps", {"time": series.seconds(gap.time_ns), "ticks": gap.ticks, "reason": gap.reason}
    for phase in own.phases:
        item = {key: getattr(phase, key) for key in OF_PHASES}
        yield "phases", {"time": series.seconds(phase.time_ns), **item}


def _timing(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return what the timing of each second adds up to; what is no number counts as nothing."""
    found: dict[str, Any] = {"ticks": 0, "missed": 0, "skipped": 0, "lateness_s": {"p99": 0.0, "max": 0.0}}
    for data in reports:
        for key in ("ticks", "missed", "skipped"):
            found[key] += _number(data.get(key))
        lateness, worst = data.get("lateness_s"), found["lateness_s"]
        for key in worst:
            value = _number(lateness.get(key)) if isinstance(lateness, dict) else 0
            worst[key] = max(worst[key], value)
    return found


def _number(value: object) -> float | int:
    return value if isinstance(value, int | float) else 0
