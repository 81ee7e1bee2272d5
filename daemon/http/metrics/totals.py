"""Adds up what the robots report, from the daemon's start on: what metrics are made of.

A report of diagnostics is about one second, and its own totals restart with each stream process; here they
go on. The work is done once a second for each robot, whoever asks.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from ...ipc.states import ResultCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ...api import Report, ReportHub, Subject

log = logging.getLogger(__name__)

COUNTED: frozenset[Subject] = frozenset({"availability", "diagnostics", "result"})


@dataclass(slots=True)
class RobotTally:
    """What one robot's reports add up to."""

    totals: Counter[str] = field(default_factory=Counter)
    """Of ticks, missed deadlines, skipped rows, driver errors and lost records, by their keys."""
    bounds_s: Sequence[float] = ()
    """Of the histogram of lateness; empty before the first diagnostics."""
    lateness: list[int] = field(default_factory=list)
    """How many ticks were no later than each bound, and later than the one before; at last, later."""
    lateness_sum_s: float = 0.0
    results: Counter[ResultCode] = field(default_factory=Counter)
    temperature_c: Sequence[float] = ()
    voltage_v: Sequence[float] = ()
    servo_errors: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By kind and joint, since the daemon's start."""
    _before: dict[str, int] = field(default_factory=dict)

    def add_second(self, data: Mapping[str, Any]) -> None:
        """Add the diagnostics of a second."""
        histogram = data["lateness_histogram"]
        if not self.bounds_s:
            self.bounds_s = tuple(histogram["up_to_s"])
            self.lateness = [0] * (len(self.bounds_s) + 1)
        self.lateness = [sum(pair) for pair in zip(self.lateness, histogram["counts"], strict=True)]
        self.lateness_sum_s += histogram["sum_s"]
        for name in ("ticks", "missed_deadlines", "skipped_rows"):
            self.totals[name] += data[name]
        for name in ("driver_errors", "records_lost"):  # these restart with the stream process
            before, now = self._before.get(name, 0), data.get(name, 0)
            self.totals[name] += now - before if now >= before else now
            self._before[name] = now
        self.temperature_c = data.get("temperature_c", ())
        self.voltage_v = data.get("voltage_v", ())
        self.servo_errors = data.get("errors", {})

    def go_offline(self) -> None:
        """Forget what is known of the actuators; totals restart with the next stream process."""
        self.temperature_c = self.voltage_v = ()
        self._before.clear()


class Tally:
    """What the reports of all robots add up to."""

    def __init__(self, known: Callable[[], Collection[str]]) -> None:
        self._known = known
        self._robots: dict[str, RobotTally] = {}

    @property
    def robots(self) -> dict[str, RobotTally]:
        """By robot; a new one begins with nothing, and one that has gone is forgotten."""
        self._robots = {name: self._robots.get(name) or RobotTally() for name in self._known()}
        return self._robots

    async def run(self, hub: ReportHub) -> NoReturn:
        """Add reports as they come, until cancelled."""
        with hub.subscribe(COUNTED) as reports:
            async for report in reports:
                try:
                    self.take(report)
                except Exception:  # a report that cannot be counted ends no server
                    log.exception("%s: %s could not be counted", report.robot, report.subject)
        raise AssertionError  # a subscription never ends by itself

    def take(self, report: Report) -> None:
        """Add a report."""
        if report.robot not in self._known():
            self._robots.pop(report.robot, None)
            return
        tally = self._robots.setdefault(report.robot, RobotTally())
        match report.subject:
            case "diagnostics":
                tally.add_second(report.data)
            case "result":
                tally.results[ResultCode(report.data["code"])] += 1
            case "availability" if report.data["state"] == "offline":
                tally.go_offline()
            case _:
                pass
