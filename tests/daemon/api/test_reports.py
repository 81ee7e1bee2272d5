from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from motiond.daemon.api import RETAINED, STREAMED, Report, ReportHub
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.daemon.api import Subject, Subscription


def report(subject: Subject, number: int = 0) -> Report:
    return Report("arm", subject, {"number": number})


def queued(subscription: Subscription) -> list[tuple[Subject, int]]:
    reports = iter(subscription.get_now, None)
    return [(report.subject, report.data["number"]) for report in reports]


def test_the_hub_remembers_the_latest_of_what_lasts() -> None:
    hub = ReportHub()
    for number in range(2):
        hub.publish(report("state", number))
        hub.publish(report("event", number))
    assert hub.latest() == [report("state", 1)]


def test_the_hub_remembers_how_a_robots_last_motion_ended_until_the_robot_is_gone() -> None:
    hub = ReportHub()
    ended = [Report("arm", "result", {"played_s": played_s}) for played_s in (1.0, 2.0, None)]
    for one in ended:
        hub.publish(one)
    assert hub.results() == [ended[1]]
    hub.forget("arm")
    assert hub.results() == []


def test_a_full_queue_drops_what_can_best_be_missed() -> None:
    with ReportHub().subscribe(length=3) as reports:
        for subject in ("result", "telemetry", "state", "event", "diagnostics", "result"):
            reports.put(report(subject))
        assert reports.dropped == 3
        assert queued(reports) == [("result", 0), ("state", 0), ("result", 0)]


def test_a_queue_full_of_events_keeps_the_latest_state() -> None:
    with ReportHub().subscribe(length=3) as reports:
        reports.put(report("state", 1))
        reports.put(report("state", 2))
        for number in range(5):
            reports.put(report("event", number))
        assert queued(reports) == [("state", 2), ("event", 3), ("event", 4)]


def test_news_of_how_far_a_motion_is_wait_but_once_for_a_slow_listener() -> None:
    with ReportHub().subscribe() as reports:
        reports.put(report("state", 1))
        for number in range(2, 5):
            reports.put(Report("arm", "state", {"number": number}, renews=True))
            reports.put(Report("leg", "state", {"number": 10 * number}, renews=True))
        reports.put(report("state", 5))
        reports.put(Report("arm", "state", {"number": 6}, renews=True))
        assert reports.dropped == 0
        assert [number for _, number in queued(reports)] == [1, 4, 40, 5, 6]


def test_a_queue_full_of_results_drops_the_oldest() -> None:
    with ReportHub().subscribe(length=2) as reports:
        for number in range(3):
            reports.put(report("result", number))
        assert queued(reports) == [("result", 1), ("result", 2)]


def test_a_listener_gets_what_it_listens_to_until_it_leaves() -> None:
    hub = ReportHub()
    with hub.subscribe(STREAMED) as streams:
        hub.publish(report("telemetry"))
        hub.publish(report("state"))
    hub.publish(report("telemetry", 1))
    assert queued(streams) == [("telemetry", 0)]


def test_what_was_put_back_comes_next_and_what_was_discarded_does_not_come() -> None:
    with ReportHub().subscribe() as reports:
        for subject in ("result", "state", "event"):
            reports.put(report(subject))
        first = reports.get_now()
        assert first is not None
        reports.put_back(first)
        reports.discard(lambda one: one.subject in RETAINED)
        assert queued(reports) == [("result", 0), ("event", 0)]


async def test_a_listener_waits_for_what_comes() -> None:
    hub = ReportHub()
    with hub.subscribe() as reports:
        waiting = asyncio.create_task(reports.get())
        await asyncio.sleep(0)
        hub.publish(report("state", 7))
        assert await asyncio.wait_for(waiting, PATIENCE_S) == report("state", 7)
