"""What the setpoints of each goal in a recording reach, and how far feedback is from them, tick by tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.run import PlayedGoal
from ..model.timing import NS
from .goal_phases import GoalsOfPhases, ends_in
from .ticks import IDLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..arrays import Floats, Integers
    from .ticks import Phase, Report, Ticks


class PeaksOfGoals:
    """Collects the peaks of all goals from their first rows on, of ticks that come some at a time."""

    def __init__(self) -> None:
        self._goals: list[_Peaks] = []
        self._found = GoalsOfPhases()
        # the phases whose first tick is the last row of a goal
        self._rests: dict[int, int] = {}
        # the last ticks before those that come next, at most two
        self._stamps: Integers = np.empty(0, np.int64)
        self._reference: Floats | None = None

    def add(self, ticks: Ticks, phases: Sequence[Phase], reference: Floats, error: Floats) -> None:
        """Add ticks, in their order, with their setpoints and errors, shape (n, joints)."""
        owners = np.array([*self._owners(phases), -1])[ticks.phases]  # the last stands for ticks before them
        for phase, goal in self._rests.items():
            if 0 <= (row := phases[phase].first - ticks.first) < owners.size:
                owners[row] = goal
        earlier = self._stamps.size
        stamps = np.concatenate([self._stamps, ticks.stamps])
        if self._reference is not None:
            reference = np.concatenate([self._reference, reference])
        for goal in np.unique(owners[owners >= 0]).tolist():
            chosen = np.flatnonzero(owners == goal)
            peaks = self._goals[goal]
            if not peaks.rows and peaks.from_motion:
                before = slice(max(0, earlier + chosen[0] - 2), earlier + chosen[0])
                peaks.lead(stamps[before], reference[before])
            peaks.add(ticks.stamps[chosen], reference[earlier + chosen], error[chosen])
        self._stamps, self._reference = stamps[-2:], reference[-2:]

    def _owners(self, phases: Sequence[Phase]) -> list[int]:
        """Return the goal that each phase belongs to, and note how those begin and end that are new."""
        known, found = len(self._found.owners), self._found
        found.add(phases)
        for goal in found.goals[len(self._goals) :]:
            self._goals.append(_Peaks(has_base=goal.has_base))
        for place in range(known, len(phases)):
            before = found.owners[place - 1] if place else -1
            owner = found.owners[place]
            if owner < 0 <= before and ends_in(phases, place):
                self._rests[place] = before
            if 0 <= before != owner:
                is_same = phases[place].goal == phases[place - 1].goal
                self._goals[before].to_rest = is_same and phases[place].state == IDLE
            if owner >= 0 and found.goals[owner].first == place:
                self._goals[owner].from_rest = place > 0 and not phases[place - 1].is_moving()
                self._goals[owner].from_motion = place > 0 and phases[place - 1].is_moving()
        return found.owners

    def found(self, joints: tuple[str, ...], results: Sequence[Report]) -> tuple[PlayedGoal, ...]:
        """Return the peaks of each goal, in their order; `results`: all that were reported."""
        begun = [one for one in results if one.data.get("played_s") is not None]
        of_bases = iter([one.data for one in begun if not one.data.get("beside")])
        others = [one for one in begun if one.data.get("beside")]
        return tuple(
            goal.found(joints, next(of_bases, None) if goal.has_base else goal.first_of(others))
            for goal in self._goals
        )


class Errors:
    """How far joints are from their setpoints: at most, when, and over all; each of shape (joints,)."""

    def __init__(self, joints: int) -> None:
        self._worst, self._worst_s, self._squares, self._known = np.zeros((4, joints))

    def add(self, times: Floats, error: Floats) -> None:
        """Add errors, shape (n, joints), NaN where they are not known or do not count, with their times."""
        known = np.isfinite(error)
        size = np.where(known, np.abs(error), 0.0)
        worst = size.argmax(axis=0)
        found = size[worst, np.arange(size.shape[1])]
        is_worse = found > self._worst
        self._worst[is_worse], self._worst_s[is_worse] = found[is_worse], times[worst][is_worse]
        self._squares += (size**2).sum(axis=0)
        self._known += known.sum(axis=0)

    def found(self) -> tuple[Floats, Floats, Floats]:
        """Return the largest, their times and the RMS; NaN where none is known."""
        is_known = self._known > 0
        squares = np.where(is_known, self._squares / np.maximum(self._known, 1.0), np.nan)
        return (
            np.where(is_known, self._worst, np.nan),
            np.where(is_known, self._worst_s, np.nan),
            np.sqrt(squares),
        )


class _Peaks:
    """The peaks of one goal.

    - `has_base`: whether a base plays in it
    - `from_rest`, `to_rest`: whether the file has its beginning from rest, and its end
    - `from_motion`: whether the file has what moved before its first row
    """

    def __init__(self, *, has_base: bool) -> None:
        self.rows = 0
        self.has_base = has_base
        self.from_rest = self.from_motion = self.to_rest = False
        self._first_ns = 0
        self._start(0)
        # the last two rows, and the velocity between them
        self._stamp_ns, self._step_s = 0, 0.0
        self._last: Floats | None = None
        self._speed: Floats | None = None

    def _start(self, joints: int) -> None:
        self._lowest, self._highest = np.full(joints, np.inf), np.full(joints, -np.inf)
        self._velocity, self._acceleration = np.zeros((2, joints))
        self._errors = Errors(joints)

    def lead(self, stamps: Integers, reference: Floats) -> None:
        """Take up to two ticks before the first row."""
        if len(stamps) > 1 and stamps[1] > stamps[0]:
            self._step_s = float(stamps[1] - stamps[0]) / NS
            self._speed = (reference[1] - reference[0]) / self._step_s
        self._stamp_ns, self._last = int(stamps[-1]), reference[-1]

    def add(self, stamps: Integers, reference: Floats, error: Floats) -> None:
        """Add rows."""
        if not self.rows:
            self._first_ns = int(stamps[0])
            self._start(reference.shape[1])
        self._lowest = np.fmin(self._lowest, np.fmin.reduce(reference))
        self._highest = np.fmax(self._highest, np.fmax.reduce(reference))
        if self._last is not None:
            stamps = np.concatenate([[self._stamp_ns], stamps])
            reference = np.concatenate([self._last[None], reference])
        self._derive(np.diff(stamps) / NS, np.diff(reference, axis=0))
        self._errors.add((stamps[-len(error) :] - self._first_ns) / NS, error)
        self.rows += len(error)
        self._stamp_ns, self._last = int(stamps[-1]), reference[-1]

    def _derive(self, steps: Floats, differences: Floats) -> None:
        """Take steps, in s, and by how much the joints moved in each."""
        if not steps.size:
            return
        speeds = differences / steps[:, None]
        self._velocity = np.fmax(self._velocity, np.fmax.reduce(np.abs(speeds)))
        if self._speed is not None:
            speeds = np.concatenate([self._speed[None], speeds])
            steps = np.concatenate([[self._step_s], steps])
        elif self.from_rest:
            self._acceleration = np.fmax(self._acceleration, np.abs(speeds[0]) / steps[0])
        if len(speeds) > 1:
            changes = np.diff(speeds, axis=0) / ((steps[:-1] + steps[1:]) / 2.0)[:, None]
            self._acceleration = np.fmax(self._acceleration, np.fmax.reduce(np.abs(changes)))
        self._speed, self._step_s = speeds[-1], float(steps[-1])

    def first_of(self, others: list[Report]) -> Mapping[str, Any] | None:
        """Return the first result since the first row, and take it and those before it out."""
        while others:
            one = others.pop(0)
            if one.time_ns >= self._first_ns:
                return one.data
        return None

    def found(self, joints: tuple[str, ...], result: Mapping[str, Any] | None) -> PlayedGoal:
        """Return what they are."""
        acceleration = self._acceleration
        if self.to_rest and self._speed is not None:
            acceleration = np.fmax(acceleration, np.abs(self._speed) / self._step_s)
        error, error_time_s, error_rms = self._errors.found()
        return PlayedGoal(
            result=result,
            joints=joints if self.rows else (),
            rows=self.rows,
            duration_s=(self._stamp_ns - self._first_ns) / NS,
            lowest=self._lowest,
            highest=self._highest,
            velocity=self._velocity,
            acceleration=acceleration,
            error=error,
            error_time_s=error_time_s,
            error_rms=error_rms,
        )
