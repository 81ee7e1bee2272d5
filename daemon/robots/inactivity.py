"""Lets a robot that nobody uses rest: torque off, or at the pose `park`, as `rest_after_s` asks for."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NoReturn

from ..api import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .robot import Robot

log = logging.getLogger(__name__)

LOOKS = 20
"""In `rest_after_s`: so much later than asked for may it rest, in shares of that."""


class Inactivity:
    """The rest of one robot; a way to `park` is tried once, as what stopped or blocked it may be there still.

    While something keeps the robot from beginning anything, such as heat, it is tried again.

    - `in_use`: whether anything is played, promised or under control
    """

    def __init__(self, robot: Robot, rest_after_s: float, in_use: Callable[[], bool]) -> None:
        self._robot = robot
        self._rest_after_s = rest_after_s
        self._in_use = in_use
        self._since_s = 0.0
        self._parked_by: str | None = None
        self._parked_after: object = self
        self._is_hindered = False

    async def watch(self) -> NoReturn:
        """Look now and then whether it is time to rest."""
        time_s = asyncio.get_running_loop().time
        self._since_s = time_s()
        while True:
            await asyncio.sleep(min(1.0, self._rest_after_s / LOOKS))
            try:
                self.look(time_s())
            except Exception:
                log.exception("%s: failed inside motiond", self._robot.name)

    def look(self, now_s: float) -> None:
        """Let the robot rest if nothing has happened for long enough."""
        session = self._robot.session
        if not session.known.torque:
            self._parked_by, self._parked_after = None, self
        used, session.used = session.used or session.leaving, False
        if used or not session.is_ready or self._in_use():
            self._since_s = now_s
        elif now_s - self._since_s >= self._rest_after_s:
            self._since_s = now_s
            self._rest()

    def _rest(self) -> None:
        robot, session = self._robot, self._robot.session
        reason = f"nothing was asked of the robot for {self._rest_after_s:g} s (rest_after_s)"
        if robot.settings.rest == "release":
            self._report("rested", f"{reason}; torque is switched off")
            session.release()
            return
        try:
            if self._has_tried:
                return
            self._parked_by, self._parked_after = None, session.last
            if not self._is_parked:
                goal = robot.park_goal("rest_after_s")
                session.start_soon(goal)
                self._is_hindered = False
                self._parked_by = goal.goal_id
                self._report("rested", f"{reason}; it goes to the pose park")
        except RequestError as error:
            self._note_refusal(error)

    def _note_refusal(self, error: RequestError) -> None:
        """Report why the robot does not go to `park`; once, where it is tried again."""
        was_hindered, self._is_hindered = (
            self._is_hindered,
            self._robot.session.gate.hindrance() is not None,
        )
        if self._is_hindered:
            self._parked_after = self
        if not (was_hindered and self._is_hindered):
            self._report("not_parked", str(error))

    @property
    def _is_parked(self) -> bool:
        """Whether the robot holds at the pose `park` already."""
        reference = self._robot.session.known.reference
        return reference is not None and self._robot.planner.is_parked(reference)

    @property
    def _has_tried(self) -> bool:
        """Whether a way to `park` was refused, stopped or failed, and nothing has ended or released since."""
        last = self._robot.session.last
        return last is self._parked_after or (last is not None and last.goal_id == self._parked_by)

    def _report(self, kind: str, message: str) -> None:
        self._robot.report("event", {"kind": kind, "message": message})
