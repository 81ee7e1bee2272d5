"""What the setpoints of each goal in a recording reach, and how far feedback is from them, tick by tick."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.run import PlayedGoal
from ..model.timing import NS
from .ticks import IDLE, ON_A_MOTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..arrays import Floats, Integers
    from .ticks import Phase, Ticks


class PeaksOfGoals:
    """Collects the peaks of all goals from their first rows on, of ticks that come some at a time."""

    def __init__(self) -> None:
        self._goals: list[_Peaks] = []
        # of each phase, which of the goals it belongs to; -1 where none has come to its first row
        self._owners: list[int] = []
        # the phases whose first tick is the last row of a goal, where the robot came to rest
        self._rests: dict[int, int] = {}

    def add(self, ticks: Ticks, phases: Sequence[Phase], reference: Floats, error: Floats) -> None:
        """Add ticks, in their order, with their setpoints and errors, shape (n, joints)."""
        for phase in range(len(self._owners), len(phases)):
            self._owners.append(self._owner(phases, phase))
        owners = np.array([*self._owners, -1])[ticks.phases]  # the last stands for ticks before the first
        for phase, goal in self._rests.items():
            if 0 <= (row := phases[phase].first - ticks.first) < owners.size:
                owners[row] = goal
        for goal in np.unique(owners[owners >= 0]).tolist():
            chosen = owners == goal
            self._goals[goal].add(ticks.stamps[chosen], reference[chosen], error[chosen])

    def _owner(self, phases: Sequence[Phase], number: int) -> int:
        """Return the goal that a phase belongs to; -1 where it has not come to its first row."""
        phase, before = phases[number], phases[number - 1] if number else None
        is_same = before is not None and before.goal == phase.goal
        if not phase.is_on_its_way():
            if is_same and phase.state == IDLE:
                self._rests[number] = self._owners[-1]
            return -1
        if not (before and is_same and before.is_on_its_way()):
            self._goals.append(_Peaks())
        elif self._owners[-1] >= 0:
            return self._owners[-1]
        if phase.state not in ON_A_MOTION:
            return -1
        self._goals[-1].from_rest = number > 0
        return len(self._goals) - 1

    def found(self, joints: tuple[str, ...], results: Iterable[Mapping[str, Any]]) -> tuple[PlayedGoal, ...]:
        """Return the peaks of each goal, in their order; `results`: those of goals that have begun."""
        return tuple(
            goal.found(joints, result, to_rest=number in self._rests.values())
            for number, (goal, result) in enumerate(
                zip(self._goals, chain(results, repeat(None)), strict=False)
            )
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
    """The peaks of one goal; `from_rest`: whether the file has its beginning."""

    def __init__(self) -> None:
        self.rows = 0
        self.from_rest = False
        self._first_ns = 0
        self._start(0)
        # the last two rows, and the velocity between them
        self._stamp_ns, self._step_s = 0, 0.0
        self._last: Floats = np.empty(0)
        self._speed: Floats | None = None

    def _start(self, joints: int) -> None:
        self._lowest, self._highest = np.full(joints, np.inf), np.full(joints, -np.inf)
        self._velocity, self._acceleration = np.zeros((2, joints))
        self._errors = Errors(joints)

    def add(self, stamps: Integers, reference: Floats, error: Floats) -> None:
        if not self.rows:
            self._first_ns = int(stamps[0])
            self._start(reference.shape[1])
        else:
            stamps = np.concatenate([[self._stamp_ns], stamps])
            reference = np.concatenate([self._last[None], reference])
        self._lowest = np.fmin(self._lowest, np.fmin.reduce(reference))
        self._highest = np.fmax(self._highest, np.fmax.reduce(reference))
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

    def found(
        self, joints: tuple[str, ...], result: Mapping[str, Any] | None, *, to_rest: bool
    ) -> PlayedGoal:
        acceleration = self._acceleration
        if to_rest and self._speed is not None:
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
