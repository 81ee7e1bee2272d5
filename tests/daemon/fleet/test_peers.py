"""What is made of the reports of robots and daemons that take part in starts."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.fleet.member.peers import LONGEST, NONE, Peers, Progress
from motiond.daemon.mqtt.topics import DaemonTopic, ReportTopic

RESERVED = ReportTopic("arm", "reservation")


def peers(state: str | None = None, daemon: object = "d1") -> Peers:
    peers = Peers()
    peers.take(ReportTopic("arm", "availability"), {"state": "online", "bridge": daemon})
    if state is not None:
        peers.take(DaemonTopic("d1"), {"state": state})
    return peers


@pytest.mark.parametrize(
    ("state", "absence"),
    [
        (None, ""),
        ("online", ""),
        ("offline", "its daemon 'd1' is offline"),
        ("broken", "its daemon 'd1' has crashed, or has lost the broker"),
    ],
)
def test_a_robot_is_absent_when_its_daemon_is(state: str | None, absence: str) -> None:
    assert peers(state).absence("arm") == absence
    assert peers(state).absence("stranger") == ""


@pytest.mark.parametrize("daemon", [None, 7, "d2"])
def test_a_daemon_that_a_robot_does_not_name_does_not_count(daemon: object) -> None:
    assert peers("broken", daemon).absence("arm") == ""


def test_the_last_report_of_a_reservation_counts() -> None:
    it = peers()
    assert it.progress("arm") == NONE
    it.take(RESERVED, {"start": "s1", "phase": "playing", "reason": None})
    assert it.progress("arm") == Progress("s1", "playing", "")
    it.take(RESERVED, {"start": "s1", "phase": "released", "reason": "a stop came"})
    assert it.progress("arm") == Progress("s1", "released", "a stop came")


@pytest.mark.parametrize("report", [{}, {"start": "s1"}, {"start": 7, "phase": "playing"}, {"start": None}])
def test_a_report_of_another_shape_is_ignored(report: dict[str, Any]) -> None:
    it = peers()
    it.take(RESERVED, report)
    assert it.progress("arm") == NONE


def test_what_others_report_is_kept_no_longer_than_needed() -> None:
    it = peers("x" * 60_000)
    it.take(RESERVED, {"start": "s1", "phase": "released", "reason": "x" * 60_000})
    assert len(it.progress("arm").reason) == LONGEST
    assert it.absence("arm") == "its daemon 'd1' is offline"
