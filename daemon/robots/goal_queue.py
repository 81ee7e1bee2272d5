"""The goals that wait for the one that plays, first come, first served."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from ..api.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .goal import Goal

LONGEST = 100


def refuse_endless(robot: str, order: Sequence[Goal]) -> None:
    """Refuse to let a goal wait for one that plays until something stops it: a stop clears the queue, too.

    Parameters
    ----------
    robot : str
        The robot's name, for messages.
    order : sequence of Goal
        In which they would play.

    Raises
    ------
    RequestError
        BUSY, with the `goal_id` of the one without end.
    """
    for goal, after in pairwise(order):
        if goal.is_endless:
            what, why = f"{after.motion} would wait for ever", f"{goal.motion}, before it, loops forever"
            mend = "stop that or send on_busy: replace"
            raise RequestError("BUSY", robot, what, why, mend, goal_id=goal.goal_id)


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
            BUSY, if too many wait already, or the last of them has no end.
        """
        if len(self._goals) >= LONGEST:
            what = f"{LONGEST} motions wait already"
            raise RequestError("BUSY", self._robot, what, "no more fit in", "clear the queue or wait")
        refuse_endless(self._robot, [*self._goals, goal])
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
            UNKNOWN_GOAL, if it does not wait here; BUSY, if a goal would then wait for one without end.
        """
        goal = self._find(goal_id)
        order = [one for one in self._goals if one is not goal]
        order.insert(place - 1, goal)
        refuse_endless(self._robot, order)
        self._goals = deque(order)

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
