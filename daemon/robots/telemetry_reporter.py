"""Reports what a stream process records: telemetry as often as configured, diagnostics once a second."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api import Subject
    from ..telemetry import Observer

WATCH_PERIOD_S = 0.05
"""How often the records are looked at, or more often: a process that hangs is noticed by them as well."""


@dataclass(frozen=True, slots=True)
class TelemetryRates:
    """How often samples are published while a motion plays, while none does, and to pages; 0 is never."""

    moving_hz: float
    idle_hz: float
    page_hz: float = 0.0

    @property
    def watch_period_s(self) -> float:
        """How often to look at the records so that each sample is published in time, in s."""
        fastest_hz = max(self.moving_hz, self.page_hz)
        if not fastest_hz:
            return WATCH_PERIOD_S
        period_s = 1.0 / fastest_hz
        return period_s / math.ceil(period_s / WATCH_PERIOD_S)


class TelemetryReporter:
    """Reports one robot's records.

    - `report`: publishes on a subject
    - `is_heard`: whether anybody listens to a subject
    - `beside`: what diagnostics hold that no record has

    What an observer has kept on virtual time is reported whole, in place of its newest sample.
    """

    def __init__(
        self,
        report: Callable[[Subject, dict[str, Any]], None],
        rates: TelemetryRates,
        is_heard: Callable[[Subject], bool],
        beside: Callable[[], dict[str, Any]],
    ) -> None:
        self._report = report
        self._is_heard = is_heard
        self._beside = beside
        self._telemetry = _Beat(rates.moving_hz, rates.idle_hz)
        self._samples = _Beat(rates.page_hz, rates.page_hz)
        self._second_s = 0.0

    def take(self, observer: Observer, frames_per_tick: float, *, moving: bool) -> bool:
        """Report what an observer has read, and return whether another second has gone by.

        - `frames_per_tick`: the file's frames in a row of the plan that plays
        - `moving`: whether a motion plays. After its end one more sample is published: where the robot rests.
        """
        if observer.sample is None:  # there is no record yet
            return False
        now_s = asyncio.get_running_loop().time()
        kept = observer.take_kept()
        beats: tuple[tuple[Subject, _Beat], ...] = ("telemetry", self._telemetry), ("samples", self._samples)
        for subject, beat in beats:
            is_due = beat.is_due(now_s, moving=moving or bool(kept))
            if not self._is_heard(subject):
                if is_due:
                    observer.pass_over(subject)
                continue
            if subject == "telemetry" and (kept or observer.is_keeping):
                for sample in kept:
                    self._report(subject, sample)
            elif is_due:
                self._report(subject, observer.payload(subject, frames_per_tick))
        if now_s < self._second_s:
            return False
        self._second_s = now_s + 1.0
        self._report("diagnostics", observer.diagnostics() | self._beside())
        observer.start_second()
        return True


class _Beat:
    """When the next sample is due to one kind of listener."""

    def __init__(self, moving_hz: float, idle_hz: float) -> None:
        self._period_s = 1.0 / moving_hz if moving_hz else math.inf
        self._idle_period_s = 1.0 / idle_hz if idle_hz else math.inf
        self._published_s = -math.inf
        self._was_moving = False

    def is_due(self, now_s: float, *, moving: bool) -> bool:
        """Whether a sample is due now; the mean rate is kept also where readings come a little late."""
        ended, self._was_moving = self._was_moving and not moving, moving
        period_s = self._period_s if moving or ended else self._idle_period_s
        if math.isinf(period_s) or (not ended and now_s - self._published_s < period_s):
            return False
        self._published_s = max(self._published_s + period_s, now_s - period_s / 2)
        return True
