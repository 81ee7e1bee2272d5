"""The topics of motiond, made and read; no other module knows how they are spelled (docs/mqtt.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..api import RETAINED, STOPS, STREAMED_VERBS
from ..config.types import LONGEST_NAME, NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..api import Subject

ANY_ROBOT = "+"


class DaemonTopic(NamedTuple):
    """Where a daemon publishes its availability."""

    daemon_id: str


class HeartbeatTopic(NamedTuple):
    """Where a daemon receives what it publishes itself, by its id or on the way of a robot's requests."""

    name: str


class ReportTopic(NamedTuple):
    """Where a robot reports on a subject."""

    robot: str
    subject: str


OF_DAEMONS: dict[str, type[DaemonTopic | HeartbeatTopic]] = {
    "availability": DaemonTopic,
    "heartbeat": HeartbeatTopic,
}


class RequestTopic(NamedTuple):
    """Where a robot is asked for something."""

    robot: str
    verb: str

    @property
    def is_stop(self) -> bool:
        """Whether it is one that is never kept waiting."""
        return self.verb in STOPS

    @property
    def streams(self) -> bool:
        """Whether it comes many times a second, and nobody waits for an answer."""
        return self.verb in STREAMED_VERBS


class ResponseTopic(NamedTuple):
    """Where a robot answers."""

    robot: str
    verb: str


Meaning = DaemonTopic | HeartbeatTopic | ReportTopic | RequestTopic | ResponseTopic


@dataclass(frozen=True, slots=True)
class Topics:
    """All topics below a base, the first part of each (`mqtt.base`)."""

    base: str

    def daemon(self, daemon_id: str = "+") -> str:
        """Return where a daemon publishes its availability; without an id, the filter of all daemons."""
        return f"{self.base}/bridge/{daemon_id}/availability"

    def heartbeat(self, daemon_id: str) -> str:
        """Return where a daemon publishes to itself."""
        return f"{self.base}/bridge/{daemon_id}/heartbeat"

    def doctor(self, daemon_id: str, name: str) -> str:
        """Return where `motiond doctor` publishes to itself: a daemon may write there, and nobody listens."""
        return f"{self.base}/bridge/{daemon_id}/doctor/{name}"

    def report(self, robot: str, subject: str) -> str:
        """Return where a robot reports on a subject; `+` stands for any robot."""
        return f"{self.base}/{robot}/{subject}"

    def request(self, robot: str, verb: str) -> str:
        """Return where a robot is asked for something."""
        return f"{self.base}/{robot}/request/{verb}"

    def request_heartbeat(self, robot: str) -> str:
        """Return where a daemon publishes to itself to see whether requests to a robot come to it."""
        return self.request(robot, "heartbeat")

    def requests(self, robot: str) -> str:
        """Return the filter of all requests to a robot."""
        return self.request(robot, "#")

    def stops(self, robot: str) -> list[str]:
        """Return where a robot is stopped."""
        return [self.request(robot, verb) for verb in STOPS]

    def retained(self, robot: str) -> list[str]:
        """Return where a robot reports what is retained."""
        return self.reports(robot, RETAINED)

    def reports(self, robot: str, subjects: Iterable[Subject]) -> list[str]:
        """Return where a robot reports on some subjects."""
        return [self.report(robot, subject) for subject in sorted(subjects)]

    def response(self, robot: str, verb: str) -> str:
        """Return where a robot answers."""
        return f"{self.base}/{robot}/response/{verb}"

    def takes_response(self, topic: str) -> bool:
        """Whether a client may have an answer sent to a topic: a plain one, and none that is motiond's own.

        Whoever may only send requests could otherwise have the daemon forge states and results.
        """
        plain = bool(topic) and not topic.startswith("$") and not set(topic) & set("+#\x00")
        ours = topic == self.base or topic.startswith(f"{self.base}/")
        return plain and (not ours or isinstance(self.meaning(topic), ResponseTopic))

    def request_of(self, topic: str) -> RequestTopic | None:
        """Return what a topic asks for; None if it is no request."""
        meaning = self.meaning(topic)
        return meaning if isinstance(meaning, RequestTopic) else None

    def meaning(self, topic: str) -> Meaning | None:
        """Return what a topic is for; None if it is none of ours.

        A name that no configuration can give to a robot or a daemon makes it none, as listeners keep names.
        """
        match topic.removeprefix(f"{self.base}/").split("/"):
            case ["bridge", daemon_id, subject] if subject in OF_DAEMONS and _is_name(daemon_id):
                return OF_DAEMONS[subject](daemon_id)
            case [robot, *rest] if _is_name(robot):
                return _of_robot(robot, rest)
        return None


def _is_name(level: str) -> bool:
    return len(level) <= LONGEST_NAME and NAME.fullmatch(level) is not None


def _of_robot(robot: str, levels: list[str]) -> Meaning | None:
    match levels:
        case ["request", "heartbeat"]:
            return HeartbeatTopic(robot)
        case ["request", *verb]:
            return RequestTopic(robot, "/".join(verb))
        case ["response", *verb]:
            return ResponseTopic(robot, "/".join(verb))
        case [subject]:
            return ReportTopic(robot, subject)
    return None
