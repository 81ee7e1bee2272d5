"""Looks at where goals lead before they begin, in a thread, while the robot holds."""

from __future__ import annotations

import asyncio
import logging
from threading import Event
from typing import TYPE_CHECKING, Any

from ..api import RequestError
from .session import MotionGoal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ipc.messages import Foreseen
    from .session import Goal, GoalPlanner, WayOver

log = logging.getLogger(__name__)


class LookAhead:
    """Has one robot's planner look ahead, at one goal at a time: another one ends the look at the one before.

    Goals that lead along the same rows from the same posture are one: a look goes on when nobody waits for it
    any more, so that whoever asks again finds it done.

    - `robot`: the robot's name, for messages
    - `on_done`: called once a look has ended, for who has waited for it
    """

    def __init__(self, robot: str, planner: GoalPlanner, on_done: Callable[[], None]) -> None:
        self._robot, self._planner, self._on_done = robot, planner, on_done
        self._key: tuple[Any, ...] | None = None
        self._goal: Goal | None = None  # whose rows the key says the places of
        self._stop = Event()
        self._looking: asyncio.Task[None] | None = None
        self._looking_over: asyncio.Task[None] | None = None

    def is_done(
        self, goal: Goal, start: Sequence[float], playing: Sequence[Goal], row: int | None = None
    ) -> bool:
        """Whether a goal could begin at once; where not, what it wants looked at is, or begins to be.

        - `start`: where the robot holds
        - `playing`: beside which it is to begin
        - `row`: to which it is to go, where it plays already
        """
        if not isinstance(goal, MotionGoal) or not self._planner.looks_ahead:
            return True
        key = self._planner.key_of(goal, start, playing, row)
        if key != self._key:
            self.end()
            self._key, self._goal, self._stop = key, goal, Event()
            look = self._look(goal, [*start], [*playing], row, self._stop)
            self._looking = asyncio.create_task(look, name=f"{self._robot}.look_ahead")
        return self._looking is None

    def end(self) -> None:
        """Let a look that is under way end soon; nothing comes of it."""
        self._stop.set()
        self._key = self._goal = self._looking = None

    def look_over(
        self, goal: Goal, foreseen: Foreseen, on_found: Callable[[WayOver | RequestError], None]
    ) -> None:
        """Look at the way by which a goal takes over from what moves; `on_found` takes it, or why not."""
        look = self._look_over(goal, foreseen, on_found)
        self._looking_over = asyncio.create_task(look, name=f"{self._robot}.look_over")

    async def _look_over(
        self, goal: Goal, foreseen: Foreseen, on_found: Callable[[WayOver | RequestError], None]
    ) -> None:
        found: WayOver | RequestError
        try:
            found = await asyncio.to_thread(self._planner.look_over, goal, foreseen)
        except RequestError as error:
            found = error
        except Exception as error:
            log.exception("%s: failed inside motiond", self._robot)
            hint = "the daemon's log says more"
            found = RequestError("INTERNAL", self._robot, "failed inside motiond", repr(error), hint)
        on_found(found)

    async def _look(
        self, goal: MotionGoal, start: list[float], playing: list[Goal], row: int | None, stop: Event
    ) -> None:
        try:
            await asyncio.to_thread(self._planner.look_ahead, goal, start, playing, row, stop.is_set)
        except Exception:
            log.exception("%s: failed inside motiond", self._robot)  # the planner meets it again
        if not stop.is_set():
            self._looking = None
            self._on_done()
