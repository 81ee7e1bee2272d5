"""Arrays to a motion: those that `writer` writes, those of a trace, and plain ones under the names in use.

Of a trace, the setpoints are the positions: to play it is to command again what was commanded. What was
measured lags behind that, and would lag twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed, printable, quoted

from ..errors import FormatError, Problems, Where
from ..io.beginning import first_member
from ..io.joint_names import check_joint_names
from ..model.mapping import IN_SI
from ..model.mapping import UNITS as KNOWN_UNITS
from ..model.motion import FASTEST_FRAME_RATE, SAME_SPACING, SERIES_TYPES, SLOWEST_FRAME_RATE, Motion
from ..model.timing import LATEST_S, frames_at
from .arrays import FLOATS, MAGIC, SUFFIX, Arrays, arrays_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..arrays import Floats
    from ..io.source import ReadOptions, Source

NAME, SUFFIXES = "npz", (".npz", ".npy")

# The first of each is what `writer` writes; a trace has `reference_position`, `time_s` and `joints`.
POSITIONS = (
    *("positions", "joint_positions", "joint_pos", "dof_positions", "dof_pos", "position", "q"),
    "reference_position",
)
VELOCITIES = (
    *("velocities", "joint_velocities", "joint_vel", "dof_velocities", "dof_vel", "velocity", "dq", "qd"),
    "reference_velocity",
)
EFFORTS = ("efforts", "joint_efforts", "effort", "torques", "tau")
NAMES = ("names", "joint_names", "dof_names", "joints")
TIMES = ("times", "time_s", "time", "t", "timestamps")
RATES, PERIODS = ("rate_hz", "frame_rate", "fps", "rate"), ("dt", "period_s")
UNITS = "units"
COMPONENT, TYPE = "component.", "type."
OF_A_TRACE = frozenset(
    {"state", "frame", "loop", "robot", "motion", "result", "message"}
    | {f"feedback_{name}" for name in ("position", "velocity", "effort")}
)
# Of a rate in single precision, or the inverse of a period.
SAME_RATE = 1e-6


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this is an array of NumPy, or an archive of them."""
    return head.startswith(MAGIC) or first_member(head).endswith(SUFFIX.encode())


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file. Raises `FormatError` with every problem found in it."""
    problems = Problems(source.name)
    arrays = arrays_of(data, problems)
    return [_Reader(problems, arrays, source.options).motion(printable(source.path.stem))]


@dataclass(slots=True)
class _Reader:
    problems: Problems
    arrays: Arrays
    options: ReadOptions

    def motion(self, name: str) -> Motion:
        positions = self._positions()
        rows, columns = positions.shape
        names = self._names(columns)
        scales = self._scales(names, columns)
        components = self._components(rows, columns, scales)
        times, frame_rate = self._timing(rows)
        self._refuse_infinite(positions, names)
        self.problems.raise_if_any()
        types = {component: {"type": self._type(component)} for component in components}
        metadata: dict[str, Any] = {"format": NAME}
        if typed := {component: about for component, about in types.items() if about["type"]}:
            metadata["components"] = typed
        if self._has(UNITS):
            stated = zip(names, self.arrays.texts(UNITS) or (), strict=True)
            metadata["units"] = {joint: unit for joint, unit in stated if unit}
        self._warn()
        return Motion(
            name=name,
            joint_names=names,
            frame_rate=frame_rate,
            times=times,
            positions=_scaled(positions, scales),
            components=components,
            metadata=metadata,
            warnings=self.problems.oddities,
        )

    def _has(self, name: str) -> bool:
        return name in self.arrays.members

    def _one(self, names: Sequence[str]) -> str:
        """Return which of some names the file has, '' if none; two of them are a problem."""
        found = [name for name in names if self._has(name)]
        if len(found) > 1:
            self._add(f"holds {listed(found)}", "they mean the same", "leave out all but one")
        return found[0] if found else ""

    def _add(self, problem: str, reason: str, hint: str) -> None:
        self.problems.add(0, problem, reason, hint)

    def _positions(self) -> Floats:
        name = "" if self._has("") else self._one(POSITIONS)
        if not self._has(name):
            held = listed(list(self.arrays.members)) or "nothing"
            hint = f"save them as one of {', '.join(POSITIONS[:-1])}"
            self._add("has no positions of joints", f"it holds {held}", hint)
            raise FormatError(self.problems.found)
        positions = self.arrays.numbers(name)
        if positions is not None and (positions.ndim != 2 or not positions.size):
            what = f"array '{name}'" if name else "the array"
            reason, hint = "it is (rows, joints)", "save it with a row for each moment"
            self._add(f"{what} has the shape {positions.shape}", reason, hint)
        if positions is None or self.problems.found:
            raise FormatError(self.problems.found)
        return positions

    def _names(self, columns: int) -> tuple[str, ...]:
        name = self._one(NAMES)
        names = self.arrays.texts(name) if name else None
        if names is None:
            return ()
        if len(names) != columns:
            reason = f"the positions have {columns} columns"
            self._add(f"'{name}' has {len(names)} names", reason, "save positions as (rows, joints)")
            return ()
        check_joint_names(names, Where(self.problems, 0))
        return tuple(names)

    def _scales(self, names: tuple[str, ...], columns: int) -> Floats:
        scales = np.ones(columns)
        units = self.arrays.texts(UNITS) if self._has(UNITS) else None
        if units is None:
            return scales
        if len(units) != columns or len(names) != columns:
            reason = f"there are {len(names)} names, and {columns} columns"
            self._add(f"'{UNITS}' has {len(units)} units", reason, "give each joint its name and unit")
            return scales
        for name, unit in zip(names, units, strict=True):
            if unit and unit not in KNOWN_UNITS:
                known = listed(KNOWN_UNITS)
                self._add(f"joint {quoted(name)} is in {quoted(unit)}", f"units are {known}", "convert it")
        return np.array([IN_SI[unit] if unit in KNOWN_UNITS else 1.0 for unit in units])

    def _components(self, rows: int, columns: int, scales: Floats) -> dict[str, Floats]:
        found = {"JointVelocity": self._one(VELOCITIES), "JointEffort": self._one(EFFORTS)}
        named = {kind: name for kind, name in found.items() if name}
        for name in self.arrays.members:
            if name.startswith(COMPONENT):
                named.setdefault(name.removeprefix(COMPONENT), name)
        components = {}
        for kind, name in named.items():
            values = self.arrays.numbers(name)
            if values is None:
                continue
            shape = _shape(kind, self._type(kind), rows, columns)
            if len(shape) != values.ndim or any(map(_differ, shape, values.shape)):
                wanted = " x ".join("any" if length is None else str(length) for length in shape)
                what = f"array '{name}' has the shape {values.shape}"
                self._add(what, f"with these positions {kind} is {wanted}", "correct it")
                continue
            components[kind] = _scaled(values, scales) if name in VELOCITIES else values
        return components

    def _type(self, component: str) -> str:
        name = f"{TYPE}{component}"
        texts = self.arrays.texts(name) if self._has(name) else None
        return texts[0] if texts and texts[0] in SERIES_TYPES else ""

    def _timing(self, rows: int) -> tuple[Floats, float]:
        """Return when each row is due, in s, and the frame rate."""
        stated, name = self._rate(), self._one(TIMES)
        times = self._times(name, rows) if name else None
        if name and times is None:
            return np.empty(0), 1.0
        if times is not None:
            shown = frames_at(times)[1]
            steps = np.diff(times)
            if stated and rows > 1 and np.ptp(steps) * stated < SAME_SPACING < abs(steps[0] * stated - 1.0):
                problem = f"states {stated:g} rows/s, and '{name}' has {1.0 / steps[0]:g}"
                self.problems.warn(0, problem, "the times count", "correct what is wrong")
                return times, shown
            return times, stated or shown
        rate = stated or self.options.rate_hz
        if rate is None and not self.problems.found:
            reason = f"neither times ({TIMES[0]}) nor a rate ({', '.join((*RATES, *PERIODS))}) are in it"
            self._add(
                "states no rate",
                reason,
                "save `fps`, or give `--file-rate HZ`, or `rate: HZ` in a motion map",
            )
        rate = rate or 1.0
        return np.arange(rows) / rate, rate

    def _rate(self) -> float | None:
        name = self._one((*RATES, *PERIODS))
        values = self.arrays.numbers(name) if name else None
        if values is None:
            return None
        value = float(values.ravel()[0]) if values.size == 1 else np.nan
        with np.errstate(divide="ignore"):
            rate = float(np.divide(1.0, value)) if name in PERIODS else value
        if not SLOWEST_FRAME_RATE <= rate <= FASTEST_FRAME_RATE:
            shown = f"{value:g}" if values.size == 1 else f"an array of {values.size}"
            reason = f"it is one number, for {SLOWEST_FRAME_RATE:g} to {FASTEST_FRAME_RATE:g} rows/s"
            self._add(f"'{name}' is {shown}", reason, "correct it")
            return None
        return float(round(rate)) if abs(rate - round(rate)) < SAME_RATE * rate else rate

    def _times(self, name: str, rows: int) -> Floats | None:
        times = self.arrays.numbers(name, FLOATS)
        if times is None:
            return None
        if times.ndim == 2 and 1 in times.shape:
            times = times.ravel()
        if times.shape != (rows,):
            hint = "save a time for each row"
            self._add(f"array '{name}' has the shape {times.shape}", f"there are {rows} rows", hint)
        elif not np.all(np.abs(times) <= LATEST_S):
            row = int(np.flatnonzero(~(np.abs(times) <= LATEST_S))[0])
            reason = f"times lie between {-LATEST_S:g} and {LATEST_S:g} s"
            self._add(f"row {row} is at {times[row]:g} s", reason, "correct the times")
        elif not np.all(np.diff(times) > 0):
            row = int(np.flatnonzero(np.diff(times) <= 0)[0]) + 1
            problem = f"row {row} is at {times[row]:.9g} s after {times[row - 1]:.9g} s"
            self._add(problem, "times increase from row to row", "correct their order")
        else:
            return times
        return None

    def _refuse_infinite(self, positions: Floats, names: tuple[str, ...]) -> None:
        bad = np.argwhere(~np.isfinite(positions))
        if bad.size:
            row, column = bad[0]
            joint = f"joint {quoted(names[column])}" if names else f"joint {column}"
            more = f"; it is the first of {len(bad)} such values" if len(bad) > 1 else ""
            problem = f"row {row} has {positions[row, column]:g} for {joint}"
            self._add(problem, f"positions are finite{more}", "fill it in, or leave the rows out")

    def _warn(self) -> None:
        known = {*POSITIONS, *VELOCITIES, *EFFORTS, *NAMES, *TIMES, *RATES, *PERIODS, UNITS, ""}
        if self._has(POSITIONS[-1]):
            known |= OF_A_TRACE
            result = self.arrays.texts("result") if self._has("result") else None
            if result and result[0] != "SUCCESSFUL":
                reason = "its setpoints are read as far as they go"
                self.problems.warn(
                    0, f"is the trace of a play that ended with {printable(result[0])}", reason
                )
        skipped = [
            name
            for name in self.arrays.members
            if name not in known and not name.startswith((COMPONENT, TYPE))
        ]
        if skipped:
            reason = "only what joints do is read"
            self.problems.warn(0, f"arrays are skipped: {listed(skipped)}", reason)


def _shape(kind: str, type_: str, rows: int, columns: int) -> tuple[int | None, ...]:
    """Return the shape that a component has; None where a length is any."""
    if (type_ or kind) in {"MultiSE3Seq", "LinkPosition"}:
        return rows, None, 7
    if (type_ or kind) in {"Vector3Seq", "ZMP"}:
        return rows, 3
    return rows, columns if kind in {"JointVelocity", "JointEffort", "JointAcceleration"} else None


def _differ(length: int | None, there: int) -> bool:
    return length not in {None, there}


def _scaled(values: Floats, scales: Floats) -> Floats:
    return values if np.all(scales == 1.0) else values * scales
