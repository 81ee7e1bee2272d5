"""What the daemon tells the world about its robots, and how listeners get it.

In come reports from the supervisor, out they go to every listener (MQTT, the live table) through bounded
queues, so that a slow listener never holds anything up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

Subject = Literal[
    "availability", "description", "motions", "state", "result", "telemetry", "diagnostics", "event"
]
LASTING: frozenset[Subject] = frozenset({"availability", "description", "motions", "state"})
QUEUE_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Report:
    """One message about one robot; `data` is JSON-ready (numpy arrays allowed)."""

    robot: str
    subject: Subject
    data: dict[str, Any]


class Subscription:
    """One listener's bounded queue; when it overflows, the oldest report that does not last is dropped."""

    def __init__(self, length: int = QUEUE_LENGTH) -> None:
        self._reports: deque[Report] = deque()
        self._length = length
        self._arrived = asyncio.Event()
        self.dropped = 0

    def put(self, report: Report) -> None:
        """Queue a report without ever waiting."""
        if len(self._reports) >= self._length:
            self._drop_one()
        self._reports.append(report)
        self._arrived.set()

    def _drop_one(self) -> None:
        index = next((i for i, old in enumerate(self._reports) if old.subject == "telemetry"), 0)
        del self._reports[index]
        self.dropped += 1

    async def get(self) -> Report:
        """Wait for the next report."""
        while not self._reports:
            self._arrived.clear()
            await self._arrived.wait()
        return self._reports.popleft()

    async def __aiter__(self) -> AsyncIterator[Report]:
        while True:
            yield await self.get()


class ReportHub:
    """Hands every report to every listener, and remembers the last of each kind that lasts."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._latest: dict[tuple[str, Subject], Report] = {}

    def publish(self, report: Report) -> None:
        """Give a report to all listeners."""
        if report.subject in LASTING:
            self._latest[report.robot, report.subject] = report
        for subscription in self._subscriptions:
            subscription.put(report)

    def latest(self) -> list[Report]:
        """Give the newest of every lasting report, for a listener that has just come (back)."""
        return list(self._latest.values())

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Listen from now on, until the context ends."""
        subscription = Subscription()
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)
