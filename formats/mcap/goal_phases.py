"""Which phases of a recording belong to which goal.

A goal is the base with whatever plays beside it: it goes on until all of that rests, or the next base begins.
What plays beside or is added while no base plays, from rest on, stands for a goal of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .ticks import IDLE, ON_A_MOTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .ticks import Phase


@dataclass(slots=True)
class GoalPhases:
    """The phases of one goal, by their place in the file.

    - `begin`: the first, which may be an approach
    - `first`: that of its first row; None where it did not come to it
    - `last`: the last one
    - `has_base`: whether a base plays; else what is beside has the robot to itself
    """

    begin: int
    has_base: bool
    first: int | None = None
    last: int = -1


@dataclass(slots=True)
class GoalsOfPhases:
    """The goals of a recording, as its phases come.

    `owners`: of each phase, which of the `goals` it belongs to; -1 where none has come to its first row.
    """

    goals: list[GoalPhases] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    def add(self, phases: Sequence[Phase]) -> None:
        """Take the phases so far, of which some may be new."""
        for place in range(len(self.owners), len(phases)):
            owner = self._owner(phases, place)
            self.owners.append(owner)
            if owner >= 0:
                self.goals[owner].last = place

    def _owner(self, phases: Sequence[Phase], place: int) -> int:
        phase, before = phases[place], phases[place - 1] if place else None
        if phase.is_on_its_way():
            if before is None or before.goal != phase.goal or not before.is_on_its_way():
                self.goals.append(GoalPhases(place, has_base=True))
            elif self.owners[-1] >= 0:
                return self.owners[-1]
            if phase.state not in ON_A_MOTION:
                return -1
            self.goals[-1].first = place
            return len(self.goals) - 1
        if not phase.beside:
            return -1
        if before is not None and before.is_moving() and self.owners[-1] >= 0:
            return self.owners[-1]
        self.goals.append(GoalPhases(place, has_base=False, first=place))
        return len(self.goals) - 1


def ends_in(phases: Sequence[Phase], place: int) -> bool:
    """Whether the first tick of a phase is the last row of what was played before it."""
    phase, before = phases[place], phases[place - 1]
    return phase.state == IDLE and phase.goal == before.goal and before.is_on_its_way()
