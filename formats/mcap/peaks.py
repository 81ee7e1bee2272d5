"""What the setpoints of each goal in a recording reach, and how far feedback is from them, tick by tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.run import GoalPeaks
from ..model.timing import NS
from .ticks import FEEDBACK, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..arrays import Floats, Integers
    from .ticks import Phase, Ticks

PLAYING, IDLE = "playing", "idle"


class PeaksOfGoals:
    """Collects the peaks of all goals from their first rows on, of ticks that come some at a time."""

    def __init__(self) -> None:
        self._goals: list[_Peaks] = []
        # of each phase, which of the goals it belongs to; -1 where none has come to its first row
        self._owners: list[int] = []
        # the phases whose first tick is the last row of a goal, where the robot came to rest
        self._rests: dict[int, int] = {}

    def add(self, ticks: Ticks, phases: Sequence[Phase]) -> None:
        """Add ticks, in their order."""
        for phase in range(len(self._owners), len(phases)):
            self._owners.append(self._owner(phases, phase))
        owners = np.array([*self._owners, -1])[ticks.phases]  # the last stands for ticks before the first
        for phase, goal in self._rests.items():
            if 0 <= (row := phases[phase].first - ticks.first) < owners.size:
                owners[row] = goal
        for goal in np.unique(owners[owners >= 0]).tolist():
            chosen = owners == goal
            torque = np.array([*(phase.torque for phase in phases), False])[ticks.phases[chosen]]
            reference, feedback = (ticks.values[topic][chosen, 0] for topic in (REFERENCE, FEEDBACK))
            error = np.where(torque[:, None], reference - feedback, np.nan)
            self._goals[goal].add(ticks.stamps[chosen], reference, error)

    def _owner(self, phases: Sequence[Phase], number: int) -> int:
        """Return the goal that a phase belongs to; with its first row, one begins."""
        phase = phases[number]
        if not phase.is_on_its_way:
            if number and phase.state == IDLE and phase.goal == phases[number - 1].goal:
                self._rests[number] = self._owners[-1]
            return -1
        before = number and phases[number - 1]
        if before and before.is_on_its_way and before.goal == phase.goal and self._owners[-1] >= 0:
            return self._owners[-1]
        if phase.state != PLAYING:
            return -1
        self._goals.append(_Peaks(from_rest=number > 0))
        return len(self._goals) - 1

    def found(self, joints: tuple[str, ...]) -> tuple[GoalPeaks, ...]:
        """Return the peaks of each goal, in their order."""
        return tuple(
            goal.found(joints, to_rest=number in self._rests.values())
            for number, goal in enumerate(self._goals)
            if goal.rows
        )


class _Peaks:
    """The peaks of one goal; `from_rest`: whether the file has its beginning."""

    def __init__(self, *, from_rest: bool) -> None:
        self.rows = 0
        self._from_rest = from_rest
        self._first_ns = 0
        # the last two rows, and the velocity between them
        self._stamp_ns, self._step_s = 0, 0.0
        self._last: Floats = np.empty(0)
        self._speed: Floats | None = None

    def add(self, stamps: Integers, reference: Floats, error: Floats) -> None:
        if not self.rows:
            joints = reference.shape[1]
            self._first_ns = int(stamps[0])
            self._lowest, self._highest = np.full(joints, np.inf), np.full(joints, -np.inf)
            self._velocity, self._acceleration = np.zeros(joints), np.zeros(joints)
            self._worst, self._worst_s, self._squares = np.zeros((3, joints))
            self._known = np.zeros(joints, np.int64)
        else:
            stamps = np.concatenate([[self._stamp_ns], stamps])
            reference = np.concatenate([self._last[None], reference])
        self._lowest = np.fmin(self._lowest, np.fmin.reduce(reference))
        self._highest = np.fmax(self._highest, np.fmax.reduce(reference))
        self._derive(np.diff(stamps) / NS, np.diff(reference, axis=0))
        self._compare((stamps[-len(error) :] - self._first_ns) / NS, error)
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
        elif self._from_rest:
            self._acceleration = np.fmax(self._acceleration, np.abs(speeds[0]) / steps[0])
        if len(speeds) > 1:
            changes = np.diff(speeds, axis=0) / ((steps[:-1] + steps[1:]) / 2.0)[:, None]
            self._acceleration = np.fmax(self._acceleration, np.fmax.reduce(np.abs(changes)))
        self._speed, self._step_s = speeds[-1], float(steps[-1])

    def _compare(self, times: Floats, error: Floats) -> None:
        known = np.isfinite(error)
        size = np.where(known, np.abs(error), 0.0)
        worst = size.argmax(axis=0)
        found = size[worst, np.arange(size.shape[1])]
        is_worse = found > self._worst
        self._worst[is_worse], self._worst_s[is_worse] = found[is_worse], times[worst][is_worse]
        self._squares += (size**2).sum(axis=0)
        self._known += known.sum(axis=0)

    def found(self, joints: tuple[str, ...], *, to_rest: bool) -> GoalPeaks:
        acceleration = self._acceleration
        if to_rest and self._speed is not None:
            acceleration = np.fmax(acceleration, np.abs(self._speed) / self._step_s)
        is_known = self._known > 0
        return GoalPeaks(
            joints=joints,
            rows=self.rows,
            duration_s=(self._stamp_ns - self._first_ns) / NS,
            lowest=self._lowest,
            highest=self._highest,
            velocity=self._velocity,
            acceleration=acceleration,
            error=np.where(is_known, self._worst, np.nan),
            error_time_s=np.where(is_known, self._worst_s, np.nan),
            error_rms=np.sqrt(np.where(is_known, self._squares / np.maximum(self._known, 1), np.nan)),
        )
