"""Messages about joints to rows of all joints.

A row is at each stamp of the joints that are published most often, and where others go on before or after
them, at theirs. Joints of other messages, as a gripper's beside an arm's, are on lines between their own, and
hold before the first and after the last; and so is a joint whose position is NaN in some messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.text import listed, quoted

from ..errors import FormatError, Where
from ..io.joint_names import MOST_JOINTS, check_joint_names
from ..model.timing import NS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..arrays import AnyArray, Floats, Integers
    from ..errors import Problems
    from .decoding import State

COMPONENTS = {"velocity": "JointVelocity", "effort": "JointEffort"}
# Of int64, with room for differences.
LATEST_NS = 1 << 62
# Joints of different messages are many rows of few bytes: what rows of all joints may hold.
MOST_VALUES = 50_000_000


@dataclass(slots=True)
class _Group:
    """The messages about the same joints."""

    names: tuple[str, ...]
    numbers: list[int] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    rows: dict[str, list[Floats]] = field(
        default_factory=lambda: {"position": [], "velocity": [], "effort": []}
    )
    times: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    values: dict[str, Floats] = field(default_factory=dict)

    def add(self, number: int, stamp: int, state: State) -> None:
        """Add a message, which may name its joints in another order."""
        self.numbers.append(number)
        self.stamps.append(stamp)
        same = state.names == self.names
        order = [] if same else [state.names.index(name) for name in self.names]
        for key, rows in self.rows.items():
            values = getattr(state, key)
            rows.append(values if same or values.size != len(order) else values[order])

    def close(self, problems: Problems) -> None:
        """Make arrays of the messages, each time once; note what is wrong with them."""
        self.times = np.array(self.stamps, np.int64)
        steps = np.diff(self.times)
        positions = _stacked(self.rows["position"], len(self.names))
        if (steps < 0).any():
            row = int(np.flatnonzero(steps < 0)[0])
            number, back = self.numbers[row], -steps[row] / NS
            what = f"message {self.numbers[row + 1]} is stamped {back:.9g} s before {number}"
            problems.add(0, what, "time does not go back", "cut the recording there: `mcap filter`")
        again = np.flatnonzero(steps == 0)
        for row in again:
            if positions is not None and not np.array_equal(
                positions[row], positions[row + 1], equal_nan=True
            ):
                what = f"messages {self.numbers[row]} and {self.numbers[row + 1]} have one stamp"
                problems.add(0, what, "their positions differ", "record what one node publishes")
                break
        kept = np.append(steps != 0, True)
        self.times = self.times[kept]
        for key, rows in self.rows.items():
            if (stacked := _stacked(rows, len(self.names))) is not None:
                self.values[key] = stacked[kept]
        self.rows = {}


_Held: TypeAlias = tuple[_Group, int]


def _stacked(rows: list[Floats], width: int) -> Floats | None:
    """Return arrays as one, shape (messages, joints); None where not all have a value for each joint."""
    return np.array(rows, np.float64) if all(row.size == width for row in rows) else None


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows of all joints; times in s from the first."""

    joints: tuple[str, ...]
    start_ns: int
    times: Floats
    positions: Floats
    components: dict[str, Floats]


def join(messages: Iterable[tuple[int, int, State]], problems: Problems) -> Joined:
    """Join messages, each with its number in the topic and its time in ns.

    Raises `FormatError` with everything that is wrong with them.
    """
    groups: dict[tuple[str, ...], _Group] = {}
    for number, stamp, state in messages:
        if state.position.size and (group := _group(groups, number, stamp, state, problems)):
            group.add(number, stamp, state)
    if not groups:
        if not problems.found:
            problems.add(
                0, "has no positions of joints in this topic", "its messages are empty", "choose another"
            )
        raise FormatError(problems.found)
    for group in groups.values():
        group.close(problems)
    problems.raise_if_any()
    return _joined([*groups.values()], problems)


def join_rows(joints: tuple[str, ...], stamps: Integers, values: Floats, problems: Problems) -> Joined:
    """Return rows of joints that all messages have, as `join` does.

    `stamps`: in ns, increasing, shape (n,). `values`: positions, velocities and efforts, (n, 3, joints), of
    which velocities or efforts are left out where some are not known.
    """
    series = zip(("position", *COMPONENTS), np.moveaxis(values, 1, 0), strict=True)
    known = {key: rows for key, rows in series if key == "position" or np.isfinite(rows).all()}
    return _joined([_Group(joints, times=stamps, values=known)], problems)


def _group(
    groups: dict[tuple[str, ...], _Group], number: int, stamp: int, state: State, problems: Problems
) -> _Group | None:
    if state.position.size != len(state.names):
        what = f"message {number} has {state.position.size} positions of {len(state.names)} joints"
        problems.add(0, what, "each joint has one", "record it again")
        return None
    if abs(stamp) > LATEST_NS:
        problems.add(0, f"message {number} is stamped {stamp / NS:g} s", "no clock shows that", "correct it")
        return None
    if np.isinf(state.position).any():
        joint = quoted(state.names[int(np.flatnonzero(np.isinf(state.position))[0])])
        problems.add(0, f"message {number} has inf for joint {joint}", "positions are finite", "cut it out")
        return None
    joints = tuple(sorted(state.names))
    group = groups.get(joints)
    if group is None and check_joint_names(state.names, Where(problems, 0)):
        group = groups[joints] = _Group(state.names)
    return group


def _joined(groups: list[_Group], problems: Problems) -> Joined:
    most = max(groups, key=lambda group: group.times.size)
    holders = _holders(groups)
    at = _time_base(most, groups)
    start = int(at[0])
    if len(holders) > MOST_JOINTS or len(holders) * at.size > MOST_VALUES:
        what, reason = f"holds {len(holders)} joints at {at.size} times", f"{MOST_VALUES} positions are made"
        raise problems.fail(0, what, reason, "split it: `mcap filter`")
    columns: dict[str, Floats] = {}
    for name, held in holders.items():
        column = _column(name, "position", held, at, problems)
        if column is None:
            reason = "it is NaN in every message"
            problems.warn(0, f"joint {quoted(name)} is left out", reason)
        else:
            columns[name] = column
    times = (at - start) / NS
    for row in np.flatnonzero(np.diff(times) <= 0)[:1]:
        what = f"messages are {at[row + 1] - at[row]} ns apart, {times[row]:.9g} s after the first one"
        reason = "so late, times differ by more"
        problems.add(0, what, reason, "cut the first ones out: `mcap filter`")
    problems.raise_if_any()
    if not columns:
        raise problems.fail(0, "has no positions of joints in this topic", "all are NaN", "choose another")
    if len(groups) > 1:
        reason = f"rows are at those of {listed(most.names)}, and the others on lines between"
        problems.warn(0, f"joints are published in {len(groups)} kinds of messages", reason)
    components = {}
    for key, component in COMPONENTS.items():
        have = [key in group.values for group in groups]
        found = [_column(name, key, holders[name], at, problems) for name in columns if all(have)]
        if found and all(column is not None for column in found):
            components[component] = np.stack([column for column in found if column is not None], axis=1)
        elif any(have):
            problems.warn(0, f"`{key}` is skipped", "not every message has it for every joint")
    return Joined(tuple(columns), start, times, np.stack([*columns.values()], axis=1), components)


def _holders(groups: list[_Group]) -> dict[str, list[_Held]]:
    """Return for each joint where it stands in which groups."""
    holders: dict[str, list[_Held]] = {}
    for group in groups:
        for column, name in enumerate(group.names):
            holders.setdefault(name, []).append((group, column))
    return holders


def _time_base(most: _Group, groups: list[_Group]) -> Integers:
    """Return the stamps of the most messages, and of others where they are more than a period outside."""
    first, last = most.times[0], most.times[-1]
    period = (last - first) // max(most.times.size - 1, 1)
    others = np.unique(np.concatenate([group.times for group in groups]))
    return np.concatenate(
        [others[others < first - period], most.times, others[others > last + period]], dtype=np.int64
    )


def _column(name: str, key: str, held: list[_Held], at: Integers, problems: Problems) -> Floats | None:
    """Return a joint's values at some times; None where there are none."""
    times = np.concatenate([group.times for group, _ in held])
    values = np.concatenate([group.values[key][:, column] for group, column in held])
    known = np.isfinite(values)
    if not known.any():
        return None
    missing = int((~known).sum())
    if missing and key == "position":
        reason = "it is on lines between the others"
        problems.warn(0, f"joint {quoted(name)} is NaN in {missing} of {known.size} messages", reason)
    order = np.argsort(times[known], kind="stable")
    times, values = times[known][order], values[known][order]
    if len(held) > 1:
        _refuse_contradictions(name, times, values, problems)
    found: Floats = values
    if not np.array_equal(times, at):
        found = np.interp((at - at[0]) / NS, (times - at[0]) / NS, values)
    return found


def _refuse_contradictions(name: str, times: AnyArray, values: Floats, problems: Problems) -> None:
    apart = np.flatnonzero((np.diff(times) == 0) & (np.diff(values) != 0))
    if apart.size:
        at = (times[apart[0]] - times[0]) / NS
        what = f"joint {quoted(name)} has two positions at {at:.9g} s"
        problems.add(0, what, "messages contradict each other", "record what one node publishes")
