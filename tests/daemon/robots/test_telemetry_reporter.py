"""What is reported of a stream process's records."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.ipc import ring
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.robots.telemetry_reporter import TelemetryRates, TelemetryReporter
from motiond.daemon.telemetry.observer import Observer

if TYPE_CHECKING:
    from motiond.daemon.api import Subject


async def test_nothing_is_reported_before_the_first_record_and_diagnostics_are_whole_from_then_on() -> None:
    fd = ring.create(2)
    reader, writer = ring.RingReader(fd, 2), ring.RingWriter(fd, 2)
    os.close(fd)
    reports: dict[Subject, dict[str, Any]] = {}
    reporter, observer = (
        TelemetryReporter(
            reports.__setitem__, TelemetryRates(20.0, 20.0), lambda _: True, lambda: {"clock": None}
        ),
        Observer(reader, 2),
    )
    observer.take()
    assert not reporter.take(observer, 1.0, moving=False)
    assert reports == {}
    writer.put(ring.Record(2).data)
    observer.take()
    assert reporter.take(observer, 1.0, moving=False)
    assert reports["diagnostics"].keys() >= {
        "tick_rate_hz",
        "missed_deadlines_total",
        "driver_errors",
        "records_lost",
        "clock",
    }
    assert reports.keys() == {"telemetry", "diagnostics"}
    reader.close()


class Reported:
    """An observer that always has a sample, and what is made of it on a clock of the test's own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rates: TelemetryRates) -> None:
        self.now_s = 100.0
        self.times: list[float] = []
        self.sample, self.diagnostics, self.start_second = self, dict, lambda: None
        self.take_kept: Any = list
        self.is_keeping = False
        self._period_s = rates.watch_period_s
        self.page_times: list[float] = []
        self._reporter = TelemetryReporter(self._report, rates, lambda _: True, dict)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now_s)

    def payload(self, _: Subject, __: float) -> dict[str, Any]:
        return {}

    def _report(self, subject: Subject, _: dict[str, Any]) -> None:
        if subject == "telemetry":
            self.times.append(self.now_s)
        if subject == "samples":
            self.page_times.append(self.now_s)

    def during(self, duration_s: float, *, moving: bool) -> int:
        before, until_s = len(self.times), self.now_s + duration_s
        while self.now_s < until_s:
            self._reporter.take(cast("Observer", self), 1.0, moving=moving)
            self.now_s += self._period_s + 1e-4  # a timer is never early, and always a little late
        return len(self.times) - before


@pytest.mark.parametrize("rate_hz", [0.5, 7.0, 20.0, 200.0])
@pytest.mark.parametrize("page_hz", [0.0, 5.0, 50.0])
async def test_telemetry_and_the_samples_of_pages_are_reported_each_as_often_as_configured(
    monkeypatch: pytest.MonkeyPatch, rate_hz: float, page_hz: float
) -> None:
    reports = Reported(monkeypatch, TelemetryRates(rate_hz, rate_hz, page_hz))
    assert reports.during(100.0, moving=True) == pytest.approx(100.0 * rate_hz, rel=0.03, abs=2)
    assert reports.during(100.0, moving=False) == pytest.approx(100.0 * rate_hz, rel=0.03, abs=2)
    assert len(reports.page_times) == pytest.approx(200.0 * page_hz, rel=0.03, abs=2)


async def test_on_virtual_time_telemetry_comes_by_the_time_of_the_robot() -> None:
    """A motion of 2 s is looked at three times, once while no tick has come; else it rests."""
    fd = ring.create(1)
    reader, writer, record = ring.RingReader(fd, 1), ring.RingWriter(fd, 1), ring.Record(1)
    os.close(fd)
    reports: list[tuple[Subject, dict[str, Any]]] = []
    rates = TelemetryRates(20.0, 0.0)
    reporter = TelemetryReporter(lambda *report: reports.append(report), rates, lambda _: True, dict)
    observer = Observer(reader, 1, keep_every_s=0.05)

    def ticks(first: int, last: int, state: State) -> None:
        for number in range(first, last):
            scalars = {"deadline_s": number / 100.0, "state": STATES.index(state), "frame": float(number)}
            record.set_scalars(*(scalars.get(name, 0.0) for name in ring.SCALARS))
            record["position"][0] = float(number)
            writer.put(record.data)

    def told(*, moving: bool = False) -> list[tuple[Subject, float, float]]:
        reporter.take(observer, 1.0, moving=moving)
        samples = [(subject, data) for subject, data in reports if subject != "diagnostics"]
        reports.clear()
        return [(subject, data["feedback"]["position"][0], data["frame"]) for subject, data in samples]

    ticks(0, 100, State.IDLE)
    observer.take()
    assert told() == []
    observer.start_goal(None, 2.0)
    ticks(100, 200, State.PLAYING)
    observer.take()
    assert told(moving=True) == [("telemetry", float(number), 2.0 * number) for number in range(100, 200, 5)]
    await asyncio.sleep(1.0)
    observer.take()
    assert told(moving=True) == []
    ticks(200, 250, State.PLAYING)
    observer.take()
    ticks(250, 300, State.PLAYING)
    ticks(300, 310, State.IDLE)
    observer.take()
    assert told() == [("telemetry", float(number), 2.0 * number) for number in range(200, 300, 5)]
    observer.take()
    assert told() == [("telemetry", 309.0, 309.0)]  # where it rests
    ticks(310, 400, State.IDLE)
    observer.take()
    assert told() == []
    reader.close()


async def test_at_no_rate_nothing_is_reported_and_the_records_are_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports = Reported(monkeypatch, TelemetryRates(0.0, 0.0))
    assert reports.during(10.0, moving=True) + reports.during(10.0, moving=False) == 0
    assert [TelemetryRates(hz, 0.0).watch_period_s for hz in (0.0, 0.01, 20.0)] == [0.05, 0.05, 0.05]
