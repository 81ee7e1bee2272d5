"""What a daemon has reported since a test began."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from motiond.client import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from motiond.client import Report

    T = TypeVar("T")

LOOK_S = 0.05
SUBJECTS = ("description", "state", "result", "event", "telemetry")
RETAINED = frozenset({"description", "state"})


class Reports:
    """All reports on `SUBJECTS` since the test began, by robot and subject; a thread receives them.

    Parameters
    ----------
    stream : iterable of Report
        Its end, or the end of the connection, ends the thread.
    commands : callable
        Returns how many commands a robot's driver has received.

    Attributes
    ----------
    ends : dict
        How many there were when a goal's result arrived, by `goal_id`.
    lost : dict
        How many there were when a robot was last reported to be off line, by its name. Virtual time begins
        anew then, so those before tell nothing of what is measured afterwards.
    """

    def __init__(self, stream: Iterable[Report], commands: Callable[[str], int]) -> None:
        self.ends: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        self._commands = commands
        self._received: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self._receive, args=(stream,), name="motiond.reports", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _receive(self, stream: Iterable[Report]) -> None:
        with suppress(ConnectionLost):  # the daemon has gone, which `MotiondDaemon.check` reports
            for report in stream:
                self.add(report)

    def add(self, report: Report) -> None:
        """Keep a report."""
        with self._changed:
            if report.subject == "result":
                self.ends[report.data["goal_id"]] = self._commands(report.robot)
            elif report.subject == "state" and self._goes_off_line(report):
                self.lost[report.robot] = self._commands(report.robot)
            self._received[report.robot, report.subject].append(report.data)
            self._changed.notify_all()

    def _goes_off_line(self, report: Report) -> bool:
        """Return whether a robot was on line and is not any more; before, there is no log of commands."""
        before = self._received[report.robot, "state"][-1:]
        return report.data["state"] == "offline" and any(state["state"] != "offline" for state in before)

    def of(self, robot: str, subject: str) -> list[dict[str, Any]]:
        """Return the data of all reports of a robot on a subject, oldest first."""
        with self._changed:
            return list(self._received[robot, subject])

    def forget(self) -> None:
        """Drop all reports but the latest on each retained subject."""
        with self._changed:
            for (_, subject), received in self._received.items():
                del received[: -1 if subject in RETAINED else None]

    def wait(self, find: Callable[[], T | None], timeout_s: float, check: Callable[[], None]) -> T | None:
        """Return what `find` returns as soon as that is not None, or None after `timeout_s`.

        `check` is called before each wait; what it raises ends the wait.
        """
        __tracebackhide__ = True
        deadline_s = time.monotonic() + timeout_s
        while (found := find()) is None and (left_s := deadline_s - time.monotonic()) > 0:
            check()
            with self._changed:
                self._changed.wait(min(LOOK_S, left_s))
        return found
