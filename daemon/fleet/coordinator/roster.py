"""Which robots and groups a broker knows, by what it keeps of them, and who of them is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.text import listed, nearest, shortened

from ...api import MOST_MEMBERS, RequestError
from ...mqtt.topics import DaemonTopic, ReportTopic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mqtt.topics import Meaning

MOST_GROUPS = 20  # of one robot, as configurations have it
LONGEST_TOLD = 60


@dataclass(slots=True)
class Robot:
    """What is told of a robot.

    Attributes
    ----------
    groups : tuple of str
    state : str or None
        Of its availability; None where it has told none.
    daemon : str or None
        Which daemon tells of it.
    last : dict
        Its latest report by subject, of `state`, `reservation` and `diagnostics`.
    """

    groups: tuple[str, ...] = ()
    state: str | None = None
    daemon: str | None = None
    last: dict[str, dict[str, Any]] | None = None


class Roster:
    """All robots and daemons that were heard of.

    Attributes
    ----------
    robots : dict of str to Robot
    daemons : dict of str to dict
        The availability of each daemon, by its id.
    """

    def __init__(self) -> None:
        self.robots: dict[str, Robot] = {}
        self.daemons: dict[str, dict[str, Any]] = {}

    def hear(self, meaning: Meaning, data: dict[str, Any]) -> None:
        """Take note of a report; an empty one clears what it told."""
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
                robot = self._robot(name)
                robot.last = {**(robot.last or {}), subject: data}

    def _robot(self, name: str) -> Robot:
        return self.robots.setdefault(name, Robot())

    def members(self, group: str) -> list[str]:
        """Return the names of a group's robots, in order."""
        return sorted(name for name, robot in self.robots.items() if group in robot.groups)

    def groups(self) -> dict[str, int]:
        """Return how many robots each group has."""
        return dict(sorted(Counter(one for robot in self.robots.values() for one in robot.groups).items()))

    def must_have(self, group: str) -> list[str]:
        """Return the names of a group's robots, of which there has to be one.

        Raises
        ------
        RequestError
            UNKNOWN_GROUP if there is none; INVALID_REQUEST if there are more than one commit can name.
        """
        members = self.members(group)
        if not members:
            known = self.groups()
            here = f"the groups here are {listed([*known])}" if known else "no robot here is in a group"
            hint = nearest(group, known) or "name it in `groups` of its robots"
            name = shortened(group, LONGEST_TOLD)
            raise RequestError("UNKNOWN_GROUP", name, "no robot is in this group", here, hint)
        if len(members) > MOST_MEMBERS:
            problem, reason = f"it has {len(members)} robots", f"a group has at most {MOST_MEMBERS}"
            raise RequestError("INVALID_REQUEST", group, problem, reason, "make several groups of it")
        return members

    def has_untold(self) -> bool:
        """Whether something is known of a robot, and not yet whose it is or whether its daemon is there."""
        return any(robot.daemon not in self.daemons for robot in self.robots.values())

    def absence(self, name: str) -> str:
        """Return why a robot takes no requests, as far as its daemon has told; '' where it takes them."""
        robot = self.robots.get(name, Robot())
        if robot.state is None or robot.daemon is None:
            return "no daemon tells of it"
        match self.daemons.get(robot.daemon, {}).get("state"):
            case "online":
                return "" if robot.state == "online" else f"its daemon '{robot.daemon}' does not run it now"
            case "broken":
                return f"its daemon '{robot.daemon}' has crashed, or has lost the broker"
            case _:
                return f"its daemon '{robot.daemon}' is offline"

    def requests_qos(self) -> int:
        """Return by which quality of service to ask: 0 where a daemon says that more of it takes longer."""
        online = [told for told in self.daemons.values() if told.get("state") == "online"]
        return 0 if any(told.get("requests_qos") == 0 for told in online) else 1

    def host(self, name: str) -> str | None:
        """Return on which machine a robot's daemon runs, or ran."""
        told: Mapping[str, Any] = self.daemons.get(self.robots[name].daemon or "", {})
        return str(told["host"]) if "host" in told else None


def _groups_in(description: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the groups that a description names; anything but a list of names is as good as none."""
    groups = description.get("groups")
    if not isinstance(groups, list):
        return ()
    return tuple(str(one) for one in groups[:MOST_GROUPS] if isinstance(one, str))
