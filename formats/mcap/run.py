"""A recording of motiond to look at: what happened, its largest errors, and its ticks, thinned."""

from __future__ import annotations

import math
import os
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from motiond.text import printable

from ..errors import Problems, Where
from ..io.joint_names import check_joint_names
from ..io.ros2 import Topic
from ..model.run import Run
from ..model.timing import NS
from .container import CHANNEL, CHUNK, FOOTER, MAGIC, records_of, refuse_others, refusing_damage
from .peaks import Errors, PeaksOfGoals
from .thinning import Thinned
from .ticks import IDLE, PLAYING, OwnRecording, Phase, is_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..io.source import Source
    from .ticks import Ticks

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
            file.seek(len(MAGIC))
            if not any(opcode in {CHUNK, CHANNEL, FOOTER} for opcode, _ in records_of(file)):
                hint = "wait a second where it is being written, else record again"
                raise problems.fail(0, "was cut short before its first chunk", "it holds no ticks", hint)
            reason = "it has neither its metadata nor its topics"
            raise problems.fail(0, "is no recording of motiond", reason, "look at it by `motiond inspect`")
        file.seek(len(MAGIC))
        own = OwnRecording.of(size, (Topic.REFERENCE, Topic.FEEDBACK), ("event", "result", "timing"))
        series = None
        for ticks in own.ticks(records_of(file)):
            series = series or _Series(len(own.joints), int(ticks.stamps[0]), points)
            with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no robot has
                series.add(ticks, own.phases)
        if series is None:
            raise problems.fail(0, "has no ticks", "it ends before the first", "record again")
    if not check_joint_names(own.joints, Where(problems, 0)):
        problems.raise_if_any()
    return series.run(own, _about(own, printable(source.path.name), series))


class _Series:
    """What is kept of the ticks of a recording.

    - `first_ns`: the stamp of the first, in ns since 1970; `last_ns`: of the last
    - `points`: how many are kept at most
    """

    def __init__(self, joints: int, first_ns: int, points: int) -> None:
        self.first_ns = self.last_ns = first_ns
        self._thinned = Thinned(3 * joints, points)
        self._errors, self._goals = Errors(joints), PeaksOfGoals()

    def seconds(self, time_ns: int) -> float:
        """Return a time in s, from the first tick."""
        return (time_ns - self.first_ns) / NS

    @property
    def every(self) -> int:
        """How many ticks two points stand for."""
        return self._thinned.every

    def add(self, ticks: Ticks, phases: list[Phase]) -> None:
        """Add ticks, in their order."""
        reference, feedback = (ticks.values[topic][:, 0] for topic in (Topic.REFERENCE, Topic.FEEDBACK))
        self.last_ns = int(ticks.stamps[-1])
        times = (ticks.stamps - self.first_ns) / NS
        holds, moves = ticks.where(phases, attrgetter("torque")), ticks.where(phases, Phase.is_moving)
        error = np.where(holds[:, None], reference - feedback, np.nan)
        self._thinned.add(times, np.concatenate([reference, feedback, error], axis=1))
        self._errors.add(times, np.where(moves[:, None], error, np.nan))
        self._goals.add(ticks, phases, reference, error)

    def worst(self, joints: tuple[str, ...]) -> dict[str, dict[str, float] | None]:
        """Return the largest error by joint, when it was, and the RMS error; None where none is known."""
        found = np.stack(self._errors.found(), axis=1).tolist()
        return {
            joint: None if math.isnan(worst) else {"max": worst, "time": time_s, "rms": rms}
            for joint, (worst, time_s, rms) in zip(joints, found, strict=True)
        }

    def run(self, own: OwnRecording, about: dict[str, Any]) -> Run:
        """Return all of it."""
        results = [report for report in own.reports if report.subject == "result"]
        goals = self._goals.found(own.joints, results)
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
        if phase.beside and phase.state == IDLE:
            item["state"] = PLAYING
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
