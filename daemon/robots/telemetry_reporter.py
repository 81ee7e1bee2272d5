"""Reports what a stream process records: telemetry at each reading, diagnostics once a second."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.reports import Subject
    from ..telemetry.observer import Observer


class TelemetryReporter:
    """Reports one robot's records.

    Parameters
    ----------
    report : callable
        Tells the world of a subject.
    """

    def __init__(self, report: Callable[[Subject, dict[str, Any]], None]) -> None:
        self._report = report
        self._second_s = 0.0

    def take(self, observer: Observer, frames_per_tick: float) -> bool:
        """Report what an observer has read, and return whether another second has gone by.

        Parameters
        ----------
        frames_per_tick : float
            The file's frames in a row of the plan that plays.
        """
        if observer.sample is None:  # there is no record yet
            return False
        self._report("telemetry", observer.sample.payload(frames_per_tick))
        now_s = asyncio.get_running_loop().time()
        if now_s < self._second_s:
            return False
        self._second_s = now_s + 1.0
        self._report("diagnostics", observer.diagnostics())
        observer.start_second()
        return True
