"""The robots and groups that a broker knows, by what it retains of them, and which of them are there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from motiond.text import listed, nearest, shortened

from ...api import MOST_MEMBERS, RequestError
from ...mqtt.topics import DaemonTopic, ReportTopic

if TYPE_CHECKING:
    from ...mqtt.topics import Meaning

MOST_GROUPS = 20  # of one robot, as configurations have it
LONGEST_NAME = 60


@dataclass(slots=True)
class Robot:
    """What is known of a robot."""

    groups: tuple[str, ...] = ()
    state: str | None = None
    """Of its availability; None where it has reported none."""
    daemon: str | None = None
    """The id of its daemon."""
    last: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Its latest report by subject, of `state`, `reservation` and `diagnostics`."""


class Roster:
    """All robots by name, and the availability of all daemons by id."""

    def __init__(self) -> None:
        self.robots: dict[str, Robot] = {}
        self.daemons: dict[str, dict[str, Any]] = {}

    def take(self, meaning: Meaning, data: dict[str, Any]) -> None:
        """Take a report; an empty one clears what was reported before."""
        match meaning:
            case DaemonTopic(daemon_id):
                self.daemons[daemon_id] = data
            case ReportTopic(name, "description"):
                self._robot(name).groups = _groups_in(data)
            case ReportTopic(name, "availability"):
                robot, daemon = self._robot(name), data.get("bridge")
                robot.state = str(data["state"]) if "state" in data else None
                robot.daemon = daemon if isinstance(daemon, str) else None
            case ReportTopic(name, ("state" | "reservation" | "diagnostics") as subject):
                self._robot(name).last[subject] = data

    def _robot(self, name: str) -> Robot:
        return self.robots.setdefault(name, Robot())

    def members(self, group: str) -> list[str]:
        """Return the names of a group's robots, in order."""
        return sorted(name for name, robot in self.robots.items() if group in robot.groups)

    def must_have(self, group: str) -> list[str]:
        """Return the names of a group's robots; raise RequestError if there is none, or too many."""
        members = self.members(group)
        if not members:
            known = Counter(name for robot in self.robots.values() for name in robot.groups)
            here = f"the groups here are {listed(sorted(known))}" if known else "no robot here is in a group"
            hint = nearest(group, known) or "name it in `groups` of its robots"
            name = shortened(group, LONGEST_NAME)
            raise RequestError("UNKNOWN_GROUP", name, "no robot is in this group", here, hint)
        if len(members) > MOST_MEMBERS:
            problem, reason = f"it has {len(members)} robots", f"a group has at most {MOST_MEMBERS}"
            raise RequestError("INVALID_REQUEST", group, problem, reason, "make several groups of it")
        return members

    def is_incomplete(self) -> bool:
        """Whether a robot is known whose daemon, or the daemon's availability, is not."""
        return any(robot.daemon not in self.daemons for robot in self.robots.values())

    def absence(self, name: str) -> str:
        """Return why a robot takes no requests, by its daemon's reports; '' where it takes them."""
        robot = self.robots.get(name, Robot())
        if robot.state is None or robot.daemon is None:
            return "no daemon reports it"
        match self.daemons.get(robot.daemon, {}).get("state"):
            case "online":
                return "" if robot.state == "online" else f"its daemon '{robot.daemon}' does not run it now"
            case "broken":
                return f"its daemon '{robot.daemon}' has crashed, or has lost the broker"
            case _:
                return f"its daemon '{robot.daemon}' is offline"

    def host(self, name: str) -> str | None:
        """Return the machine on which a robot's daemon runs, or ran."""
        daemon = self.daemons.get(self.robots[name].daemon or "", {})
        return str(daemon["host"]) if "host" in daemon else None


def _groups_in(description: dict[str, Any]) -> tuple[str, ...]:
    """Return the groups that a description names; () for anything but a list of names."""
    groups = description.get("groups")
    if not isinstance(groups, list):
        return ()
    return tuple(name for name in groups[:MOST_GROUPS] if isinstance(name, str))
