"""Joins limits that a robot's actuators report with the others, and has all motions checked again."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ...joints import has_ends

if TYPE_CHECKING:
    from motiond.drivers import ActuatorLimits

    from ...joints import JointMap
    from ...planning import MotionLibrary
    from .motion_loader import MotionLoader

log = logging.getLogger(__name__)

WAIT_S = 4.0


class LearnedLimits:
    """The limits of one robot's actuators.

    - `joint_map`: with the limits of the description and the configuration alone
    - `library`: gets the joined limits
    - `motions`: checks its motions
    """

    def __init__(self, joint_map: JointMap, library: MotionLibrary, motions: MotionLoader) -> None:
        self._own = joint_map
        self._library = library
        self._motions = motions
        self._changed, self._checked = asyncio.Event(), asyncio.Event()
        self._checked.set()

    def take(self, allowed: ActuatorLimits) -> None:
        """Join what the actuators allow with the other limits; a change of any has motions checked again.

        Until a motion has been checked, it is not played (`GoalPlanner`).
        """
        joined = self._own.within(allowed)
        if not joined.has_limits_of(self._library.joint_map):
            if (warning := has_ends(self._own, joined)) and warning != has_ends(
                self._own, self._library.joint_map
            ):
                log.warning("%s: %s", joined.robot, warning)
            self._library.joint_map = joined
            self._checked.clear()
            self._changed.set()

    async def watch(self) -> NoReturn:
        """Check all motions again whenever the limits have changed."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._motions.check_again()
            if not self._changed.is_set():
                self._checked.set()

    async def checked(self) -> None:
        """Wait until motions are checked, but not so long that a request would not be answered in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                await self._checked.wait()
