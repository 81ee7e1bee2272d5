"""Passes reports to every listener, each with a bounded queue: a slow one holds up nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .reports import RETAINED, STREAMED, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from .reports import Subject

QUEUE_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Report:
    """One message about one robot.

    Attributes
    ----------
    robot : str
    subject : Subject
    data : dict
        As `REPORTS` declares it for the subject; JSON-ready (numpy arrays allowed).
    renews : bool
        Whether it holds no more than the report before it did, with newer numbers: for a listener that falls
        behind it takes the place of an earlier one that still waits.
    """

    robot: str
    subject: Subject
    data: Any
    renews: bool = False


class Subscription:
    """One listener's bounded queue.

    When it overflows, the oldest report that can best be missed goes: one of a stream, for the next comes
    soon; else one that lasts and of which a newer one waits; else an event; else the oldest of all.

    Attributes
    ----------
    dropped : int
        How many reports went that way.
    lost : bool
        Whether one of them was the oldest of all, which nothing later makes up for.
    """

    def __init__(self, subjects: frozenset[Subject] = SUBJECTS, length: int = QUEUE_LENGTH) -> None:
        self._reports: deque[Report] = deque()
        self._subjects = subjects
        self._length = length
        self._arrived = asyncio.Event()
        self.dropped = 0
        self.lost = False

    @property
    def is_empty(self) -> bool:
        """Whether no report waits."""
        return not self._reports

    def includes(self, subject: Subject) -> bool:
        """Return whether a subject is listened to."""
        return subject in self._subjects

    def put(self, report: Report) -> None:
        """Queue a report without ever waiting, if its subject is listened to."""
        if report.subject not in self._subjects:
            return
        if report.renews and (waiting := self._last_like(report)) is not None:
            self._reports[waiting] = report
            return
        self._reports.append(report)
        if len(self._reports) > self._length:
            del self._reports[self._most_expendable()]
            self.dropped += 1
        self._arrived.set()

    def _last_like(self, report: Report) -> int | None:
        """Return where the last report on the same waits, if it renews one, too."""
        for index in reversed(range(len(self._reports))):
            waiting = self._reports[index]
            if waiting.robot == report.robot and waiting.subject == report.subject:
                return index if waiting.renews else None
        return None

    def put_back(self, report: Report) -> None:
        """Make a report that could not be delivered the next one again."""
        self._reports.appendleft(report)
        self._arrived.set()

    def _most_expendable(self) -> int:
        """Return where the report waits that can best be missed."""
        newest = {(one.robot, one.subject): index for index, one in enumerate(self._reports)}
        kinds: tuple[Callable[[int, Report], bool], ...] = (
            lambda _, one: one.subject in STREAMED,
            lambda index, one: one.subject in RETAINED and newest[one.robot, one.subject] > index,
            lambda _, one: one.subject == "event",
        )
        for is_expendable in kinds:
            for index, one in enumerate(self._reports):
                if is_expendable(index, one):
                    return index
        self.lost = True
        return 0

    def listen_to(self, subjects: frozenset[Subject]) -> None:
        """Queue reports on these subjects from now on; what waits stays."""
        self._subjects = subjects

    def discard(self, is_unwanted: Callable[[Report], bool]) -> None:
        """Forget some of the queued reports."""
        self._reports = deque(report for report in self._reports if not is_unwanted(report))

    async def get(self) -> Report:
        """Wait for the next report."""
        while not self._reports:
            self._arrived.clear()
            await self._arrived.wait()
        return self._reports.popleft()

    def get_now(self) -> Report | None:
        """Return the next report, if there is one."""
        return self._reports.popleft() if self._reports else None

    async def __aiter__(self) -> AsyncIterator[Report]:
        while True:
            yield await self.get()


class ReportHub:
    """Hands every report to every listener, and remembers the last of each kind that lasts, and results."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._latest: dict[tuple[str, Subject], Report] = {}
        self._results: dict[str, Report] = {}

    def publish(self, report: Report) -> None:
        """Hand a report to all listeners."""
        if report.subject in RETAINED:
            self._latest[report.robot, report.subject] = report
        elif report.subject == "result" and report.data.get("played_s") is not None:
            self._results[report.robot] = report
        for subscription in self._subscriptions:
            subscription.put(report)

    def forget(self, robot: str) -> None:
        """Forget what a robot has reported that is there no more."""
        for subject in RETAINED:
            self._latest.pop((robot, subject), None)
        self._results.pop(robot, None)

    def latest(self) -> list[Report]:
        """Return the newest of every lasting report, for a listener that has just come (back)."""
        return list(self._latest.values())

    def results(self) -> list[Report]:
        """Return each robot's last result of a motion that had begun."""
        return list(self._results.values())

    def has_listeners(self, subject: Subject) -> bool:
        """Return whether anybody listens to a subject, so that it is worth the work of a report."""
        return any(subscription.includes(subject) for subscription in self._subscriptions)

    @contextmanager
    def subscribe(
        self, subjects: frozenset[Subject] = SUBJECTS, length: int = QUEUE_LENGTH
    ) -> Iterator[Subscription]:
        """Listen from now on, until the context ends."""
        subscription = Subscription(subjects, length)
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)
