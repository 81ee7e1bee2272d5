"""Who a daemon is, and whose a robot's name is where several daemons on one broker have such a robot."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import orjson

from motiond.text import shortened

from ...config.types import NAME

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class Identity:
    """One run of a daemon."""

    daemon_id: str
    host: str = field(default_factory=socket.gethostname)
    instance: str = field(default_factory=lambda: uuid4().hex[:8])

    @property
    def will(self) -> bytes:
        """What the broker publishes once the connection to the daemon is lost."""
        return orjson.dumps(self.availability("broken"))

    def availability(self, state: Literal["online", "offline", "broken"]) -> dict[str, Any]:
        """Return what the daemon's availability topic holds; `broken` is for the last will alone."""
        return {"state": state, "host": self.host, "instance": self.instance}

    def online(self, requests_qos: int) -> dict[str, Any]:
        """Return that it takes requests, and by which quality of service they get to it soonest."""
        return {**self.availability("online"), "requests_qos": requests_qos}


log = logging.getLogger(__name__)

MOST_DAEMONS = 10_000
LONGEST_HOST = 255


class Claims:
    """What one daemon knows of who has the names of its robots.

    A robot's availability names the daemon that publishes it. The broker delivers what is published on a
    topic to all in one order, so the first daemon whose claim comes by has the robot, and every daemon sees
    the same one as the first. A claim is good for as long as its daemon is online.
    """

    def __init__(self, daemon_id: str, robots: Collection[str]) -> None:
        self._daemon_id = daemon_id
        self._robots = robots
        self._ours: set[str] = set()
        self._rivals: dict[str, str] = {}
        self._online: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._is_settled = True

    def forget(self) -> None:
        """Begin on a new connection: another daemon may have taken a name meanwhile.

        Until `settle`, who had a name before still has it.
        """
        self._is_settled = False
        self._ours.clear()
        self._rivals.clear()
        self._online.clear()

    def settle(self) -> None:
        """Note that all that was kept at the broker has come."""
        self._is_settled = True
        self._log()

    def take_daemon(self, daemon_id: str, data: dict[str, Any]) -> None:
        """Note a daemon's availability."""
        if data.get("state") == "online":
            if daemon_id in self._online or len(self._online) < MOST_DAEMONS:
                self._online[daemon_id] = shortened(str(data.get("host", "an unknown host")), LONGEST_HOST)
        else:
            self._online.pop(daemon_id, None)
        self._log()

    def take_robot(self, robot: str, data: dict[str, Any]) -> None:
        """Note a robot's availability."""
        claimed_by = data.get("bridge", "")
        if robot in self._robots and claimed_by is None:  # it is released
            self._rivals.pop(robot, None)
            self._log()
        if robot not in self._robots or not isinstance(claimed_by, str) or not NAME.fullmatch(claimed_by):
            return
        if claimed_by == self._daemon_id:
            if self._rivals.get(robot) not in self._online:
                self._ours.add(robot)
        elif robot not in self._ours:
            self._rivals[robot] = claimed_by
        self._log()

    def holder(self, robot: str) -> str | None:
        """Return the other daemon that has a robot's name; None if it is ours to use."""
        rival = self._rivals.get(robot)
        if rival in self._online:
            return rival
        return None if self._is_settled else self._refused.get(robot)

    def is_ours(self, robot: str) -> bool:
        """Whether no other daemon has a robot's name."""
        return self.holder(robot) is None

    def _log(self) -> None:
        """Log whose the names are, where that has changed."""
        if not self._is_settled:
            return
        for robot in sorted(self._robots):
            holder, before = self.holder(robot), self._refused.get(robot)
            if holder == before:
                continue
            if holder is None:
                del self._refused[robot]
                log.warning("%s: daemon '%s' has released the name; it is ours now", robot, before)
            else:
                self._refused[robot] = holder
                what = (
                    "%s: daemon '%s' on %s has a robot of this name on this broker; "
                    "ours publishes nothing and takes nothing but stops; rename one of the two"
                )
                log.error(what, robot, holder, self._online[holder])
