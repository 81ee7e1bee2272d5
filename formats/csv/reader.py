"""Tables of rows: CSV, TSV, hrpsys' `.pos`, OpenSim's `.mot` and `.sto`.

A column is a joint, or its velocity or effort, or the times. What the titles say is in `titles`, what stands
above the rows in `header`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, listed, printable

from ..errors import MOST_PROBLEMS, Problems
from ..io.text import utf8_text
from ..model.motion import SAME_SPACING, Motion, told_exactly
from ..model.timing import DEFAULT_RATE_HZ, LATEST_S, unrounded
from .columns import QUOTE, read_columns
from .header import read_header
from .rows import Rows, read_rows
from .titles import Title

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..io.source import Source
    from .header import Header
    from .titles import Role


NAME = "csv"
SUFFIXES = (".csv", ".tsv", ".pos", ".mot", ".sto")
KIND = "a table"
# Those of hrpsys have no titles, and times come first.
POS = ".pos"
# From such a time on, one without a unit is Unix time in parts of a second: how many of them are one.
UNIX_TIMES = ((1e17, "ns", 1e9), (1e14, "us", 1e6), (1e11, "ms", 1e3))
# No actuator's encoder counts turns on; angles beyond are degrees, more likely.
TWO_TURNS = 4 * np.pi
FEWEST_EVEN_ROWS, EVENLY = 3, 2e-3
# So near to what a stated rate makes of it is a period.
NEARLY = 0.01
# Times so far apart, or so many of whole numbers, may as well be ms.
LONG_STEP_S, MANY_ROWS = 2.0, 50
# Of a number of rows.
MOST_DIGITS = 12
GIVE_A_RATE = "give `--file-rate 30`, `rate: 30` in a motion map, a line `# rate: 30`, or a column `time`"
COMPONENTS: dict[Role, str] = {
    "velocity": "JointVelocity",
    "effort": "JointEffort",
    "acceleration": "JointAcceleration",
}


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file. Raises `FormatError` with every problem found in it."""
    problems = Problems(source.name)
    text = utf8_text(data, problems, KIND)
    if b"\n" not in text:
        text = text.replace(b"\r", b"\n")
    header = read_header(text, problems)
    if not text.endswith(b"\n"):
        what = "the last line has no line end"
        problems.warn(text.count(b"\n") + 1, what, "the file may have been cut short", "compare it")
    titles = read_columns(header, problems)
    reader = _Reader(header, problems, source, titles, read_rows(text, header, problems, header.texts))
    reader.read_times()
    problems.raise_if_any()
    motion = reader.motion()
    problems.raise_if_any()
    return [replace(motion, warnings=problems.oddities)]


@dataclass(slots=True)
class _Reader:
    header: Header
    problems: Problems
    source: Source
    titles: list[Title]  # of the columns of rows; none where the file has none
    rows: Rows
    time: int | None = field(init=False, default=None)  # the column of the times
    times: Floats = field(init=False, repr=False)

    def motion(self) -> Motion:
        """Return the motion of rows with which nothing is wrong."""
        times, rate = unrounded(self.times) if self.time is not None else self._at_a_rate()
        self._leave_out_counters()
        positions = self._positions()
        values = self._values(positions)
        if not (self.source.options.map and self.source.options.map.states_units):
            self._suspect_degrees(positions, values)
        metadata: dict[str, Any] = {"format": NAME}
        if units := {one.name: one.unit for _, one in positions if one.unit}:
            metadata["units"] = units
        if about := self._missing_frames():
            metadata["components"] = about
        return Motion(
            name=printable(self.source.path.stem),
            joint_names=tuple(one.name for _, one in positions) if self.titles else (),
            frame_rate=rate,
            times=times,
            positions=values,
            components=self._components([one.name for _, one in positions]),
            metadata=metadata,
        )

    def _warn(self, problem: str, reason: str = "", hint: str = "") -> None:
        """Warn of something about columns, on the line that says what they are."""
        self.problems.warn(self.header.titles_line or self.header.line, problem, reason, hint)

    def _add(self, problem: str, reason: str = "", hint: str = "") -> None:
        self.problems.add(self.header.titles_line or self.header.line, problem, reason, hint)

    def _columns(self, role: str) -> list[tuple[int, Title]]:
        return [(index, one) for index, one in enumerate(self.titles) if one.role == role]

    def _time_column(self) -> int | None:
        """Return which column has the times."""
        values = self.rows.values
        if not self.titles:
            return 0 if self._begins_with_times() else None
        columns = [index for index, _ in self._columns("time")]
        if not columns:
            return None
        increasing = (index for index in columns if (np.diff(values[:, index]) > 0).all())
        chosen = next(increasing, columns[0])
        if others := [self.titles[index].text for index in columns if index != chosen]:
            shown = f"times are read from '{echoed(self.titles[chosen].text)}'"
            self._warn(shown, f"left out {listed(others, QUOTE)}")
        return chosen

    def _begins_with_times(self) -> bool:
        """Whether the first of columns without titles has the times."""
        if self.source.path.suffix.lower() == POS:
            return True
        first = self.rows.values[:, 0]
        if len(first) < FEWEST_EVEN_ROWS or self.rows.values.shape[1] < 2:
            return False
        if rate := self._stated_rate():
            if _are_even(first) or _are_even(first / 1e3):
                self._refuse_times(first, rate)
            return False
        if not _are_even(first):
            return False
        self._warn(
            "column 1 has no title and increases evenly",
            "it is read as times in s",
            "give it the title `time`",
        )
        return True

    def _refuse_times(self, first: Floats, rate: float) -> None:
        """Refuse a first column that has the times of the rows, or counts them, and would move a joint."""
        step = float(first[-1] - first[0]) / (len(first) - 1)
        if self.source.options.map and self.source.options.map.joints:
            return  # which says by number what each column is
        if not np.isclose([step * rate, step * rate / 1e3, step], 1, rtol=NEARLY).any():
            self._warn(
                "column 1 has no title and increases evenly", "it is read as a joint, as a rate is given"
            )
            return
        what = f"column 1 increases by {step:.4g} from row to row, as times do"
        reason = f"{told_exactly(rate)} rows/s are stated as well, so that it would move a joint"
        self._add(what, reason, "remove it, give all columns titles, or number the joints in a motion map")

    def _stated_rate(self) -> float | None:
        return self.header.rate_hz or self.source.options.rate_hz

    def read_times(self) -> None:
        """Read the times, and note where they are wrong; where there are none, a rate is needed."""
        if not len(self.rows.values):
            return  # something is wrong with each, which has been noted
        self.time = self._time_column()
        if self.time is not None:
            self.times = self._seconds(self.time)
            self._check_times()
        elif self._stated_rate() is None:
            self._add("has no column of times", "nor a rate", GIVE_A_RATE)

    def _at_a_rate(self) -> tuple[Floats, float]:
        rate = float(self._stated_rate() or DEFAULT_RATE_HZ)
        return np.arange(len(self.rows.values)) / rate, rate

    def _seconds(self, column: int) -> Floats:
        raw = self.rows.values[:, column]
        title = self.titles[column] if self.titles else Title("", "", "time")
        per_si, unit = title.per_si, title.unit
        if not unit:
            per_si = self._guessed(raw)
        times: Floats = raw / per_si
        for index, one in self._columns("nanoseconds"):
            if title.is_joined_by(one):
                return times + self.rows.values[:, index] / 1e9
        return times

    def _guessed(self, raw: Floats) -> float:
        """Return how many of the unit of times are 1 s, where nothing states it."""
        for least, unit, per_si in UNIX_TIMES:
            if abs(raw[0]) >= least:
                self._warn(
                    f"times of {raw[0]:.4g}", f"read as Unix time in {unit}", f"call the column `time_{unit}`"
                )
                return per_si
        steps = np.diff(raw)
        slow = len(raw) >= FEWEST_EVEN_ROWS and np.median(steps) >= LONG_STEP_S
        if slow or (len(raw) >= MANY_ROWS and (raw == np.rint(raw)).all()):
            what = f"times are {np.median(steps):g} apart"
            self._warn(what, "they are read as s", "call the column `time_ms` if they are ms")
        return 1.0

    def _check_times(self) -> None:
        # Rows with which something is wrong are none to compare with.
        sound = np.flatnonzero(np.isfinite(self.times))
        times, lines = self.times[sound], self.rows.lines[sound]
        far = np.flatnonzero(np.abs(times) > LATEST_S)[:MOST_PROBLEMS]
        for row in far:
            reason = f"times lie between {-LATEST_S:g} and {LATEST_S:g} s"
            self.problems.add(int(lines[row]), f"a row is at {times[row]:g} s", reason, "correct the times")
        for row in () if far.size else np.flatnonzero(np.diff(times) <= 0)[:MOST_PROBLEMS] + 1:
            before, at = told_exactly(times[row - 1]), told_exactly(times[row])
            problem = f"a row is at {at} s, the one before at {before} s"
            self.problems.add(int(lines[row]), problem, "time must increase", "correct the times")

    def _leave_out_counters(self) -> None:
        """Take columns that count rows for no joints."""
        for index, one in self._columns("counter"):
            values = self.rows.values[:, index]
            if len(values) > 1 and (np.diff(values) > 0).all() and (values == np.rint(values)).all():
                self._warn(f"column '{echoed(one.text)}' counts rows", "it is no joint", "left out")
            elif not one.name:
                self._add(
                    f"column {index + 1} has no title", "a title names its joint", "give it one, or remove it"
                )
            else:
                self.titles[index] = replace(one, role="position")

    def _positions(self) -> list[tuple[int, Title]]:
        if not self.titles:
            count = self.rows.values.shape[1]
            return [(index, Title("", "")) for index in range(count) if index != self.time]
        positions = self._columns("position")
        if not positions and not self.problems.found:
            self._add("no column is a joint's", "a motion has a column of positions", "add one")
        self.problems.raise_if_any()
        map_ = self.source.options.map
        plain = [one.text for _, one in positions if not one.unit]
        if not (map_ and map_.states_units) and 0 < len(plain) < len(positions):
            self._warn(f"no unit is stated for {listed(plain, QUOTE)}", "others have one", "read as rad or m")
        return positions

    def _values(self, columns: list[tuple[int, Title]]) -> Floats:
        """Return columns in SI, shape (rows, columns)."""
        # By rows, as the motion keeps them; indexing would give columns one after another.
        values: Floats = np.take(self.rows.values, [index for index, _ in columns], axis=1)
        for at, (_, one) in enumerate(columns):
            if one.unit.startswith("deg"):
                values[:, at] = np.deg2rad(values[:, at])
            elif one.per_si != 1:
                values[:, at] /= one.per_si
        return values

    def _suspect_degrees(self, columns: list[tuple[int, Title]], values: Floats) -> None:
        greatest = np.maximum(values.max(axis=0), -values.min(axis=0))
        far = [at for at, (_, one) in enumerate(columns) if not one.unit and greatest[at] > TWO_TURNS]
        if far:
            names = [columns[at][1].text or f"column {columns[at][0] + 1}" for at in far]
            what = f"{listed(names, QUOTE)} reach {greatest[far].max():.4g}"
            hint = "if they are degrees or mm, give `--units deg` or `mm`, or `units:` in a motion map"
            self._warn(what, "no unit is stated, and rad or m is read", hint)

    def _components(self, joints: list[str]) -> dict[str, Floats]:
        """Return velocities and the like, where there is a column for each joint."""
        components = {}
        for role, name in COMPONENTS.items():
            columns = {one.name: (index, one) for index, one in self._columns(role)}
            if not columns:
                continue
            if set(columns) == set(joints):
                components[name] = self._values([self._like_position(*columns[joint]) for joint in joints])
            else:
                shown = listed([one.text for _, one in columns.values()], QUOTE)
                self._warn(f"left out {shown}", f"{name} has a column for each joint and no other")
        return components

    def _like_position(self, index: int, title: Title) -> tuple[int, Title]:
        """Return a column of velocities that states no unit with that of its joint's positions."""
        if title.unit or title.role == "effort":
            return index, title
        of = next(one for _, one in self._columns("position") if one.name == title.name)
        return index, replace(title, unit=of.unit, per_si=of.per_si)

    def _missing_frames(self) -> dict[str, Any]:
        """Return what the motion is to know of rows that the header states and the file has not."""
        stated, rows = self.header.keys.get("nrows", ""), len(self.rows.values)
        if not stated.isdecimal() or len(stated) > MOST_DIGITS or int(stated) == rows:
            return {}
        problem = f"nRows is {stated}, and there are {rows} rows"
        self.problems.warn(1, problem, "the rows count", "correct nRows if none are missing")
        return {"JointDisplacement": {"frames_stated": int(stated)}} if int(stated) > rows else {}


def _are_even(values: Floats) -> bool:
    """Whether values increase evenly, or would if they were not rounded as a text has them."""
    steps = np.diff(values)
    if not (steps > 0).all():
        return False
    if steps.max() <= steps.min() * (1 + EVENLY):
        return True
    times, rate = unrounded(values)
    return bool(np.all(np.abs(np.diff(times) * rate - 1) < SAME_SPACING))
