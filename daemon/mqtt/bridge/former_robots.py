"""Robots that were taken out of the configuration, of which the broker still keeps what this daemon said."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

log = logging.getLogger(__name__)

MOST = 1000


class FormerRobots:
    """What one daemon hears of robots that are no longer its own.

    A robot's availability names the daemon that told it last, so another daemon's robot is never among them.

    Parameters
    ----------
    daemon_id : str
    robots : collection of str
        The daemon's own by the configuration, as of now.
    """

    def __init__(self, daemon_id: str, robots: Collection[str]) -> None:
        self._daemon_id = daemon_id
        self._robots = robots
        self._former: set[str] = set()
        self._cleared: set[str] = set()

    @property
    def names(self) -> list[str]:
        """Those whose topics are to be cleared."""
        return sorted(self._former)

    def hear(self, robot: str, data: dict[str, Any]) -> None:
        """Take note of a robot's availability; without content it has been cleared."""
        if robot in self._cleared and not data:
            self._cleared.discard(robot)
            log.info("%s: is not configured any more; what the broker kept of it is cleared", robot)
        if robot in self._robots or data.get("bridge") != self._daemon_id:
            self._former.discard(robot)
        elif len(self._former) < MOST:
            self._former.add(robot)

    def expect_cleared(self, robot: str) -> None:
        """Take note that a robot's topics are being cleared."""
        self._cleared.add(robot)
