"""Three daemons with a robot each on virtual time, at a broker that delivers late and that one may lose."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, cast

from motiond.daemon.api import CommitRequest
from motiond.daemon.fleet.member import GroupMember
from motiond.daemon.mqtt.topics import DaemonTopic, ReportTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.daemon.robots import Reservation

    Topic = DaemonTopic | ReportTopic

START, DAEMONS, ROBOTS = "s1", ("d1", "d2", "d3"), ("r1", "r2", "r3")
COMMIT_S, BEGIN_S, READY_S, FIRST_ROW_S, LASTS_S = 0.1, 1.0, 1.4, 2.0, 5.0
"""When commits are sent, approaches begin and end, and first rows are due; how long the motion is."""
STOP_S = 0.3
LATENCY_S = (0.001, 0.02)


class FakeReservation:
    """Stands in for a robot's reservation, with what its robot does."""

    def __init__(self, begun_s: float) -> None:
        self._begun_s = begun_s
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        self.committed: CommitRequest | None = None
        self.first_s: float | None = None
        self.stopped_s: float | None = None
        self.reason = ""
        self._phase: str | None = "reserved"

    def phase_of(self, _start: str) -> str | None:
        return self._phase

    def commit(self, request: CommitRequest) -> None:
        self.committed = request
        self._enter("committed")
        for at_s, phase in ((READY_S, "ready"), (FIRST_ROW_S, "playing"), (FIRST_ROW_S + LASTS_S, "ended")):
            asyncio.get_running_loop().call_at(self._begun_s + at_s, self._enter, phase)

    def break_off(self, _start: str, reason: str, _member: str | None = None) -> None:
        if self._phase is not None:
            self._phase, self.reason = None, reason
            if self.first_s is not None:
                self.stopped_s = asyncio.get_running_loop().time() - self._begun_s + STOP_S
            self._report("released")

    def _enter(self, phase: str) -> None:
        if self._phase is None:
            return
        self._phase = None if phase == "ended" else phase
        if phase == "playing":
            self.first_s = asyncio.get_running_loop().time() - self._begun_s
        self._report(phase)

    def _report(self, phase: str) -> None:
        for listener in self.listeners:
            listener({"start": START, "phase": phase, "reason": self.reason or None})


@dataclass
class Mishap:
    """What goes wrong with d2, from one time to another.

    Attributes
    ----------
    kind : str
        `killed`, `cut off` from the broker, or its robot is `stopped`.
    is_reported : bool
        Whether the broker reports that the daemon is broken.
    """

    kind: str
    at_s: float
    to_s: float = inf
    is_reported: bool = True


@dataclass
class Outcome:
    """What became of a start.

    Attributes
    ----------
    played_s : dict of str to float
        How long each robot that came to its first row played.
    reasons : dict of str to str
        Why each that was released was.
    """

    played_s: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


class VirtualGroup:
    """One start of three robots, each with a daemon; times count from when it is made."""

    def __init__(self, mishap: Mishap | None, commits: tuple[str, ...], then: str, seed: int) -> None:
        self._mishap = mishap
        self._commits = commits
        self._is_cut = False
        self._commit = CommitRequest(
            start=START,
            token="token",  # noqa: S106 - of this test
            robots=[*ROBOTS],
            start_at=FIRST_ROW_S,
            on_member_failure=cast("Any", then),
        )
        self._chance = random.Random(seed)
        self._begun_s = asyncio.get_running_loop().time()
        self._reservations = {robot: FakeReservation(self._begun_s) for robot in ROBOTS}
        self._retained: dict[Topic, dict[str, Any]] = {}
        self._members: dict[str, GroupMember] = {}

    async def run(self) -> Outcome:
        tasks = {}
        for daemon, robot in zip(DAEMONS, ROBOTS, strict=True):
            own = cast("dict[str, Reservation]", {robot: self._reservations[robot]})
            self._members[daemon] = GroupMember(own, unix_now=self._now)
            listener = self._listener(daemon, ReportTopic(robot, "reservation"))
            self._reservations[robot].listeners.append(listener)
            is_connected = self._connection_of(daemon)
            tasks[daemon] = asyncio.create_task(self._members[daemon].run(is_connected))
            self._publish(daemon, DaemonTopic(daemon), {"state": "online"})
            self._publish(daemon, ReportTopic(robot, "availability"), {"state": "online", "bridge": daemon})
        await asyncio.sleep(0.0)
        for robot in self._commits:
            at_s = COMMIT_S + self._chance.uniform(*LATENCY_S)
            self._at(at_s, self._reservations[robot].commit, self._commit)
        if self._mishap is not None:
            self._at(self._mishap.at_s, self._go_wrong, self._mishap, tasks["d2"])
            if self._mishap.to_s < inf:
                self._at(self._mishap.to_s, self._come_back)
        await asyncio.sleep(FIRST_ROW_S + LASTS_S + 1.0)
        for task in tasks.values():
            task.cancel()
        await asyncio.wait(tasks.values())
        return Outcome(
            {
                name: (one.stopped_s or FIRST_ROW_S + LASTS_S) - one.first_s
                for name, one in self._reservations.items()
                if one.first_s is not None
            },
            {name: one.reason for name, one in self._reservations.items() if one.reason},
        )

    def _now(self) -> float:
        return asyncio.get_running_loop().time() - self._begun_s

    def _at(self, at_s: float, act: Callable[..., object], *what: Any) -> None:
        asyncio.get_running_loop().call_at(self._begun_s + at_s, act, *what)

    def _go_wrong(self, mishap: Mishap, d2: asyncio.Task[Any]) -> None:
        if mishap.kind == "stopped":
            self._reservations["r2"].break_off(START, "a stop came")
            return
        self._is_cut = True
        if mishap.kind == "killed":
            d2.cancel()
            self._reservations["r2"].break_off(START, "its daemon has gone")
        if mishap.is_reported:
            self._deliver(DaemonTopic("d2"), {"state": "broken"}, away="d2")

    def _come_back(self) -> None:
        """Publish what waited at d2, and receive what is retained."""
        self._is_cut = False
        self._publish("d2", DaemonTopic("d2"), {"state": "online"})
        for topic, report in list(self._retained.items()):
            self._members["d2"].take(topic, report)

    def _listener(self, daemon: str, topic: Topic) -> Callable[[dict[str, Any]], None]:
        return lambda report: self._publish(daemon, topic, report)

    def _connection_of(self, daemon: str) -> Callable[[], bool]:
        return lambda: not self._is_away(daemon)

    def _is_away(self, daemon: str) -> bool:
        return daemon == "d2" and self._is_cut

    def _publish(self, daemon: str, topic: Topic, report: dict[str, Any]) -> None:
        """Publish at once, or as soon as the daemon is back."""
        if not self._is_away(daemon):
            self._deliver(topic, report)
        elif self._mishap is not None and self._mishap.to_s < inf and self._mishap.kind == "cut off":
            self._at(self._mishap.to_s, self._deliver, topic, report)

    def _deliver(self, topic: Topic, report: dict[str, Any], away: str = "") -> None:
        self._retained[topic] = report
        for daemon in DAEMONS:
            if daemon != away:
                latency_s = self._chance.uniform(*LATENCY_S)
                asyncio.get_running_loop().call_later(latency_s, self._arrive, daemon, topic, report)

    def _arrive(self, daemon: str, topic: Topic, report: dict[str, Any]) -> None:
        if not self._is_away(daemon):
            self._members[daemon].take(topic, report)


async def outcome(
    mishap: Mishap | None = None, commits: tuple[str, ...] = ROBOTS, then: str = "stop", seed: int = 0
) -> Outcome:
    """Let three robots start together, and return what became of it."""
    return await VirtualGroup(mishap, commits, then, seed).run()
