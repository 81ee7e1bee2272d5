"""Passes on what robots at a broker report, and whether each of them is online."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...api import RETAINED, SUBJECTS, Report
from ...config.section import SettingError
from ...config.types import topic_safe
from ...mqtt.topics import DaemonTopic, ReportTopic, Topics
from ..answers import json_object
from ..coordinator import Robot, Roster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import aiomqtt

    from ...api import ReportHub, Subject

log = logging.getLogger(__name__)

MOST_ROBOTS = 2000
MOST_BYTES = 1_000_000
MOST_BYTES_IN_ALL = 100_000_000
"""The payloads of the reports that are kept: 50 kB for each of 2000 robots."""
MOST_DAEMON_BYTES = 10_000
MOST_JOINTS = 1000
SIDES, QUANTITIES = ("reference", "feedback"), ("position", "velocity", "effort")
SUBSCRIBED = SUBJECTS - {"telemetry"}
"""For every robot; telemetry only for those that a client watches."""


class RemoteReports:
    """All that is known of the robots at a broker; `hub` receives every report.

    The availability that is passed on has more than a robot's own: `bridge`, the id of its daemon; `host`,
    that daemon's machine; `absence`, why it takes no requests, '' where it takes them; and `since_utc`, since
    when it does not, as far as that is known.
    """

    def __init__(
        self,
        topics: Topics,
        hub: ReportHub,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        most_robots: int = MOST_ROBOTS,
        most_bytes_in_all: int = MOST_BYTES_IN_ALL,
    ) -> None:
        self._most_robots, self._most_bytes_in_all = most_robots, most_bytes_in_all
        self.robots: tuple[str, ...] = ()
        self.roster = Roster()
        self._topics = topics
        self._hub = hub
        self._now = now
        self._since: dict[str, str | None] = {}
        self._availability: dict[str, dict[str, Any]] = {}
        self._unseen: set[str] = set()
        self._unseen_daemons: set[str] = set()
        self._is_full = False
        self._sizes: dict[str, dict[str, int]] = {}
        self._kept_bytes = 0

    @property
    def is_deserted(self) -> bool:
        """Whether no daemon is reported online."""
        return not any(daemon.get("state") == "online" for daemon in self.roster.daemons.values())

    def topics_of_all(self) -> list[str]:
        """Return what has to be subscribed to."""
        return [self._topics.daemon(), *(self._topics.report("+", subject) for subject in SUBSCRIBED)]

    def telemetry_of(self, robots: Iterable[str]) -> list[str]:
        """Return where robots publish telemetry."""
        return [self._topics.report(robot, "telemetry") for robot in robots if robot in self._availability]

    # -- the connection -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a connection: the broker will deliver what it retains of all that it knows."""
        self._unseen, self._unseen_daemons = set(self.robots), set(self.roster.daemons)

    def settle(self) -> None:
        """Report daemons and robots absent of which this broker has delivered nothing."""
        for daemon_id in self._unseen_daemons:
            del self.roster.daemons[daemon_id]
        self._unseen_daemons.clear()
        for name in self._unseen:
            robot = self.roster.robots[name]
            robot.state = robot.daemon = None
        for name in self.robots:
            self._publish_availability(name, at_once=False)

    def drop_unseen(self) -> None:
        """Remove robots of which this broker has still delivered nothing."""
        for name in sorted(self._unseen):
            self._forget(name)

    # -- reports --------------------------------------------------------------------------------------------

    def take(self, message: aiomqtt.Message) -> None:
        """Take a message; one that cannot be understood is ignored."""
        meaning = self._topics.meaning(message.topic.value)
        payload, retained = message.payload, message.retain
        if not isinstance(payload, bytes) or len(payload) > MOST_BYTES:
            return
        if isinstance(meaning, ReportTopic) and not payload:
            if meaning.subject == "availability":
                self._forget(meaning.robot)
            return
        data = json_object(payload)
        if data is None:
            return
        match meaning:
            case DaemonTopic(daemon_id) if len(payload) <= MOST_DAEMON_BYTES:
                self._take_daemon(meaning, daemon_id, data, retained=retained)
            case ReportTopic(name, "telemetry"):
                self._take_telemetry(name, data)
            case ReportTopic(name, subject) if subject in SUBJECTS and self._knows(name, subject):
                if self._has_room(name, subject, len(payload)):
                    self._take_report(meaning, data, retained=retained)

    def _take_daemon(
        self, meaning: DaemonTopic, daemon_id: str, data: dict[str, Any], *, retained: bool
    ) -> None:
        if daemon_id not in self.roster.daemons and len(self.roster.daemons) >= self._most_robots:
            return
        self._unseen_daemons.discard(daemon_id)
        self.roster.take(meaning, data)
        for name in self.robots:
            if self.roster.robots[name].daemon == daemon_id:
                self._publish_availability(name, at_once=not retained)

    def _take_report(self, meaning: ReportTopic, data: dict[str, Any], *, retained: bool) -> None:
        name, subject = meaning.robot, cast("Subject", meaning.subject)
        self._unseen.discard(name)
        if not _is_sound(subject, data):
            return
        before = self.roster.robots[name].last.get(subject, {})
        self.roster.take(meaning, data)
        if subject != "availability":
            same = subject == "state" and all(
                before.get(key) == data.get(key) for key in ("state", "motion", "goal_id", "message")
            )
            self._hub.publish(Report(name, subject, data, renews=same))
        if subject in {"availability", "state"}:
            self._publish_availability(name, at_once=not retained)

    def _take_telemetry(self, name: str, data: dict[str, Any]) -> None:
        """Pass a sample on as pages receive it; ignore what is not a sample."""
        if name not in self._availability or not self._hub.has_listeners("samples"):
            return
        try:
            arrays = {
                side: {name: np.asarray(data[side][name], dtype=np.float64) for name in QUANTITIES}
                for side in SIDES
            }
            sample = {"stamp_s": float(data["stamp_s"]), "frame": float(data["frame"]), **arrays}
        except (KeyError, TypeError, ValueError):
            return
        shapes = {array.shape for side in arrays.values() for array in side.values()}
        if len(shapes) == 1 and len(shape := shapes.pop()) == 1 and shape[0] <= MOST_JOINTS:
            self._hub.publish(Report(name, "samples", sample, renews=True))

    # -- robots --------------------------------------------------------------------------------------------

    def _knows(self, name: str, subject: str) -> bool:
        """Whether there is such a robot; a retained report makes one known."""
        if name in self._availability:
            return True
        if subject not in RETAINED or name == "bridge":
            return False
        try:
            topic_safe(name)
        except SettingError:
            return False
        if len(self.robots) >= self._most_robots:
            self._warn_full(name, f"more than {self._most_robots} robots")
            return False
        self.roster.robots[name] = Robot()
        self._availability[name] = {}
        self.robots = tuple(sorted(self._availability))
        return True

    def _has_room(self, name: str, subject: str, size: int) -> bool:
        """Whether a report can be kept in place of the one before; count it if so."""
        sizes = self._sizes.setdefault(name, {})
        grown = size - sizes.get(subject, 0)
        if grown > 0 and self._kept_bytes + grown > self._most_bytes_in_all:
            self._warn_full(name, f"more than {self._most_bytes_in_all // 1_000_000} MB of reports")
            return False
        sizes[subject] = size
        self._kept_bytes += grown
        return True

    def _warn_full(self, name: str, problem: str) -> None:
        if not self._is_full:
            hint = "`motiond forget` clears those that are gone"
            log.warning("%s: %s; others are not shown; %s", name, problem, hint)
        self._is_full = True

    def _forget(self, name: str) -> None:
        self._unseen.discard(name)
        if self._availability.pop(name, None) is None:
            return
        self._kept_bytes -= sum(self._sizes.pop(name, {}).values())
        del self.roster.robots[name]
        self._since.pop(name, None)
        self.robots = tuple(sorted(self._availability))
        self._hub.forget(name)

    def _publish_availability(self, name: str, *, at_once: bool) -> None:
        """Publish whether a robot takes requests, where that has changed; `at_once`: just now."""
        absence, before = self.roster.absence(name), self._availability[name]
        if not absence:
            self._since[name] = None
        elif before.get("state") != "offline":
            self._since[name] = _stamp(self._now()) if at_once and before else None
        last = self.roster.robots[name].last.get("state", {}).get("stamp_utc")
        data = {
            "state": "offline" if absence else "online",
            "bridge": self.roster.robots[name].daemon,
            "host": self.roster.host(name),
            "absence": absence,
            "since_utc": (self._since[name] or last) if absence else None,
        }
        if data != before:
            self._availability[name] = data
            self._hub.publish(Report(name, "availability", data))


def _is_sound(subject: Subject, data: dict[str, Any]) -> bool:
    """Whether a report has what pages need: one invalid report must not break the page of all robots."""
    match subject:
        case "availability" | "state":
            return isinstance(data.get("state"), str)
        case "description":
            return _are_named(data.get("joints"))
        case "motions":
            return _are_named(data.get("motions"))
        case _:
            return True


def _are_named(items: Any) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    )


def _stamp(now: datetime) -> str:
    return f"{now.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
