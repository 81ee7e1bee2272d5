"""What is reported of a stream process's records."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from motiond.daemon.ipc import ring
from motiond.daemon.robots.telemetry_reporter import TelemetryReporter
from motiond.daemon.telemetry.observer import Observer

if TYPE_CHECKING:
    from motiond.daemon.api.reports import Subject


async def test_nothing_is_reported_before_the_first_record_and_diagnostics_are_whole_from_then_on() -> None:
    fd = ring.create(2)
    reader, writer = ring.RingReader(fd, 2), ring.RingWriter(fd, 2)
    os.close(fd)
    told: dict[Subject, dict[str, Any]] = {}
    reporter, observer = TelemetryReporter(told.__setitem__), Observer(reader, 2)
    observer.take()
    assert not reporter.take(observer, 1.0)
    assert told == {}
    writer.put(ring.Record(2).data)
    observer.take()
    assert reporter.take(observer, 1.0)
    assert told["diagnostics"].keys() >= {
        "tick_rate_hz",
        "missed_deadlines_total",
        "driver_errors",
        "records_lost",
    }
    assert told.keys() == {"telemetry", "diagnostics"}
    reader.close()
