"""The goals that wait for the one that plays, first come, first served."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..api.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .goal import Goal

LONGEST = 100


class GoalQueue:
    """At most `LONGEST` goals.

    Parameters
    ----------
    robot : str
        The robot's name, for messages.
    """

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self._goals: deque[Goal] = deque()

    def __len__(self) -> int:
        return len(self._goals)

    def __iter__(self) -> Iterator[Goal]:
        return iter(self._goals)

    def add(self, goal: Goal) -> int:
        """Append a goal and return its place, from 1.

        Raises
        ------
        RequestError
            BUSY, if too many wait already.
        """
        if len(self._goals) >= LONGEST:
            what = f"{LONGEST} motions wait already"
            raise RequestError("BUSY", self._robot, what, "no more fit in", "clear the queue or wait")
        self._goals.append(goal)
        return len(self._goals)

    def take(self) -> Goal:
        """Remove the first goal and return it.

        Raises
        ------
        IndexError
            If none waits.
        """
        return self._goals.popleft()

    def remove(self, goal_id: str) -> Goal:
        """Remove one goal and return it.

        Raises
        ------
        RequestError
            UNKNOWN_GOAL, if it does not wait here.
        """
        goal = self._find(goal_id)
        self._goals.remove(goal)
        return goal

    def move(self, goal_id: str, place: int) -> None:
        """Let a goal wait at another place, from 1; beyond the last it is the last.

        Raises
        ------
        RequestError
            UNKNOWN_GOAL, if it does not wait here.
        """
        goal = self.remove(goal_id)
        self._goals.insert(place - 1, goal)

    def _find(self, goal_id: str) -> Goal:
        for goal in self._goals:
            if goal.goal_id == goal_id:
                return goal
        what, mend = f"no goal '{goal_id}' waits", "list those that do by `queue`"
        raise RequestError("UNKNOWN_GOAL", self._robot, what, "it plays, has ended or never was", mend)

    def clear(self) -> list[Goal]:
        """Remove all goals and return them."""
        cleared = list(self._goals)
        self._goals.clear()
        return cleared
