"""Two runs beside each other: by how much they differ, which joint, and when.

A run is what a recording holds of a goal, what a trace of a dry run holds, or a motion. It begins with the
first row of the motion: when that was, and the approach to it, do not count.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from motiond.formats import FormatError, Problem, ReadOptions, load_motions, load_run
from motiond.formats.io import Topic
from motiond.formats.model import interpolate, si_unit
from motiond.text import listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

RunSource: TypeAlias = Literal["reference", "feedback"]
"""What is compared of files that have both."""
SAME_ROW = 0.01
"""Of a period: rows whose times differ by no more are at one time."""


@dataclass(frozen=True, slots=True, eq=False)
class PlayedRows:
    """What was played once.

    - `units`: `rad` or `m` by joint, where that is known
    - `times`: in s, from the first row, shape (rows,)
    - `positions`: in rad or m, NaN where nothing is known, shape (rows, joints)
    - `code`: how it ended, where that is known
    - `continuous`: the joints that turn without end, where that is known
    """

    name: str
    joints: tuple[str, ...]
    units: Mapping[str, str]
    times: Floats
    positions: Floats
    code: str | None = None
    continuous: frozenset[str] = frozenset()

    @property
    def period_s(self) -> float:
        """From a row to the next."""
        return float(np.median(np.diff(self.times))) if self.times.size > 1 else 0.0


@dataclass(frozen=True, slots=True)
class JointDifference:
    """By how much a joint differs; values in `unit`, times in s.

    - `largest`, `time_s`, `values`: where it differs most, by how much, and where it is in both
    - `rms`: over all rows
    - `bound`, `rows_beyond`, `first_beyond_s`: in how many rows it differs by more than that, and since when
    """

    joint: str
    unit: str
    largest: float
    time_s: float
    values: tuple[float, float]
    rms: float
    bound: float
    rows_beyond: int
    first_beyond_s: float | None

    def __str__(self) -> str:
        one, other = self.values
        return (
            f"joint '{self.joint}' differs by {self.largest:.4g} {self.unit} at {self.time_s:.3f} s "
            f"({one:.6g} and {other:.6g}); the bound is {self.bound:g} {self.unit}, "
            f"passed from {self.first_beyond_s:.3f} s on in {self.rows_beyond} rows"
        )


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Two runs.

    - `names`, `rows`: of both
    - `joints`: those that both have
    - `others`: what differs besides, in words
    - `notes`: what is different and does not count
    """

    names: tuple[str, str]
    rows: tuple[int, int]
    joints: tuple[JointDifference, ...]
    others: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        """What differs beyond the bounds, in words."""
        return [*self.others, *(str(joint) for joint in self.joints if joint.rows_beyond)]


@dataclass(frozen=True, slots=True)
class Bounds:
    """By how much two runs may differ and be alike, in rad and in m."""

    rad: float = 0.01
    m: float = 0.001


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs of two files."""

    runs: tuple[RunDifference, ...]
    others: tuple[str, ...]

    @property
    def is_alike(self) -> bool:
        """Whether nothing differs by more than the bounds."""
        return not self.others and not any(run.problems for run in self.runs)

    def payload(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        runs = [{**asdict(run), "problems": run.problems} for run in self.runs]
        return {"alike": self.is_alike, "runs": runs, "others": list(self.others)}


def compare_files(one: Path, other: Path, source: RunSource, bounds: Bounds) -> Comparison:
    """Compare the runs in two files, the first with the first, and so on.

    Raises `FormatError` if one cannot be read, or has no run.
    """
    runs = runs_in(one, source), runs_in(other, source)
    pairs = list(zip_longest(*runs))
    found = tuple(compare(a, b, bounds) for a, b in pairs if a is not None and b is not None)
    one_has, other_has = map(len, runs)
    others = (f"there are {one_has} runs in one, and {other_has} in the other",)
    return Comparison(found, others if one_has != other_has else ())


# -- reading ------------------------------------------------------------------------------------------------


def runs_in(path: Path, source: RunSource) -> list[PlayedRows]:
    """Read what was played, in a recording, a trace, or a file of motions.

    Raises `FormatError` if it cannot be read.
    """
    is_recording = path.suffix.lower() == ".mcap"
    options = ReadOptions(topic=Topic.FEEDBACK if is_recording and source == "feedback" else None)
    motions = load_motions(path, options=options)
    if path.suffix.lower() == ".npz" and (trace := _trace_in(path, motions[0], source)):
        return [trace]
    codes = _codes_in(path) if is_recording else []
    return [rows_of(motion, code) for motion, code in zip_longest(motions, codes[: len(motions)])]


def rows_of(motion: Motion, code: str | None = None) -> PlayedRows:
    """Return the rows of a motion as what was played."""
    continuous = frozenset(motion.metadata.get("continuous", ()))
    times = motion.times - motion.times[0]
    return PlayedRows(motion.name, _joints(motion), _units(motion), times, motion.positions, code, continuous)


def _joints(motion: Motion) -> tuple[str, ...]:
    return motion.joint_names or tuple(map(str, range(motion.positions.shape[1])))


def _units(motion: Motion) -> dict[str, str]:
    units = {joint: si_unit(unit) for joint, unit in motion.metadata.get("units", {}).items()}
    return {joint: unit for joint, unit in units.items() if unit != "SI"}


def _codes_in(path: Path) -> list[str | None]:
    """Return how each goal of a recording has ended, that came to its first row."""
    try:
        goals = load_run(path, points=4).goals
    except FormatError:  # a recording of another program
        return []
    return [goal.result["code"] if goal.result else None for goal in goals if goal.rows]


def _trace_in(path: Path, motion: Motion, source: RunSource) -> PlayedRows | None:
    """Return what the trace of a dry run holds, from the first row of the motion on; None if it is none."""
    with np.load(path, allow_pickle=False) as arrays:
        if not {"state", "frame", "result", "feedback_position"} <= set(arrays.files):
            return None
        states, frames = arrays["state"], arrays["frame"]
        positions = arrays[f"{source}_position"]
        code = str(arrays["result"])
        turning = arrays["joints"][arrays["continuous"]].tolist() if "continuous" in arrays else ()
    played = np.flatnonzero(states == "playing")
    if not played.size:
        reason = "the motion did not come to its first row"
        raise FormatError(
            [Problem(printable(str(path)), 0, "has nothing to compare", reason, "play it again")]
        )
    first = int(played[0])
    # The tick in which the approach ends puts out the first row, too.
    first += first > 0 and first + 1 < frames.size and bool(frames[first] == frames[first + 1])
    times = motion.times[first:] - motion.times[first]
    rows = times, positions[first:], code, frozenset(turning)
    return PlayedRows(motion.name, _joints(motion), _units(motion), *rows)


# -- comparing ----------------------------------------------------------------------------------------------


def compare(one: PlayedRows, other: PlayedRows, bounds: Bounds) -> RunDifference:
    """Compare two runs, row by row from the first; at other rates, at the times of the first one's rows.

    Whole turns by which a joint that turns without end is away at the beginning do not count.
    """
    slower_s = max(one.period_s, other.period_s)
    notes, at, sampled = [], one.times, other.positions
    common = min(one.times.size, other.times.size)
    if not _are_same(one.times[:common], other.times[:common], slower_s):
        if abs(one.period_s - other.period_s) > SAME_ROW * slower_s:
            notes.append(
                f"rows are {one.period_s:.6g} s apart in one, and {other.period_s:.6g} s in the other"
            )
        at = one.times[one.times <= other.times[-1] + SAME_ROW * slower_s]
        common = at.size
        sampled = interpolate(at, other.times, other.positions, "linear")
    differences = []
    for column, name in enumerate(one.joints):
        if name not in other.joints:
            continue
        values, others = one.positions[:common, column], sampled[:common, other.joints.index(name)]
        if name in one.continuous | other.continuous and (turns := _turns_between(values, others)):
            notes.append(f"joint '{name}' begins {turns:+d} turns away in the other")
            others = others - 2.0 * np.pi * turns
        unit = one.units.get(name) or other.units.get(name) or "rad"
        differences.append(_difference(name, unit, at[:common], (values, others), bounds))
    return RunDifference(
        (one.name, other.name),
        (one.times.size, other.times.size),
        tuple(differences),
        tuple(_others(one, other, slower_s)),
        tuple(notes),
    )


def _are_same(times: Floats, others: Floats, period_s: float) -> bool:
    return bool(np.all(np.abs(times - others) <= SAME_ROW * period_s))


def _turns_between(values: Floats, others: Floats) -> int:
    """Return by how many whole turns the others are away, in the first row that is known of both."""
    away = others - values
    return int(np.rint(away[np.isfinite(away)][:1] / (2.0 * np.pi)).sum())


def _others(one: PlayedRows, other: PlayedRows, slower_s: float) -> Iterator[str]:
    """Return what differs besides positions."""
    for only, rest, which in ((one, other, "first"), (other, one, "second")):
        if missing := [name for name in only.joints if name not in rest.joints]:
            names = listed(missing, "'")
            yield f"only the {which} has joint {names}"
    lasts = [float(run.times[-1]) for run in (one, other)]
    if abs(lasts[0] - lasts[1]) > (1.0 + SAME_ROW) * slower_s:
        yield f"one lasts {lasts[0]:.6g} s, and the other {lasts[1]:.6g} s"
    if one.code and other.code and one.code != other.code:
        yield f"one ended with {one.code}, and the other with {other.code}"


def _difference(
    name: str, unit: str, times: Floats, of_both: tuple[Floats, Floats], bounds: Bounds
) -> JointDifference:
    values, others = of_both
    bound = bounds.m if unit == "m" else bounds.rad
    away = np.abs(values - others)
    # What is known in one alone differs by any measure.
    away[np.isnan(values) & np.isnan(others)] = 0.0
    away[np.isnan(away)] = np.inf
    worst = int(away.argmax())
    beyond = np.flatnonzero(away > bound)
    return JointDifference(
        joint=name,
        unit=unit,
        largest=float(away[worst]),
        time_s=float(times[worst]),
        values=(float(values[worst]), float(others[worst])),
        rms=float(np.sqrt(np.mean(np.square(away)))),
        bound=bound,
        rows_beyond=int(beyond.size),
        first_beyond_s=float(times[beyond[0]]) if beyond.size else None,
    )
