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

    def clear(self) -> list[Goal]:
        """Remove all goals and return them."""
        cleared = list(self._goals)
        self._goals.clear()
        return cleared
