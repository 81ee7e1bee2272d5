"""Behaviour of the daemon's log: one line an event, at the level that an operator would filter by."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.service.logs import log_report, write_journal
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.daemon.api import Subject

MOTIONS = [
    {"name": "nod", "ok": True},
    {"name": "reach", "ok": False, "reason": "reach: joint 'elbow' reaches 4 rad"},
]


@pytest.mark.parametrize(
    ("subject", "data", "logged"),
    [
        ("availability", {"state": "online"}, [("INFO", "arm: online")]),
        (
            "result",
            {"motion": "nod", "code": "SUCCESSFUL", "message": "the last row is out and held"},
            [("INFO", "arm: nod ended with SUCCESSFUL; the last row is out and held")],
        ),
        (
            "result",
            {"motion": "nod", "code": "HARDWARE_FAULT", "message": "servo 7: overheated"},
            [("WARNING", "arm: nod ended with HARDWARE_FAULT; servo 7: overheated")],
        ),
        ("event", {"kind": "fault", "message": "overheated"}, [("WARNING", "arm: overheated")]),
        ("event", {"kind": "stream_lost", "message": "gone"}, [("DEBUG", "arm: gone")]),
        ("event", {"kind": "back", "message": "there again"}, [("INFO", "arm: there again")]),
        ("event", {"kind": "marker", "message": "wave: clap"}, [("DEBUG", "arm: wave: clap")]),
        ("event", {"kind": "teaching", "message": "it holds"}, [("INFO", "arm: it holds")]),
        (
            "event",
            {"kind": "teaching", "message": "it has no torque", "details": {"holds": False}},
            [("WARNING", "arm: it has no torque")],
        ),
        (
            "motions",
            {"motions": MOTIONS},
            [("INFO", "arm: motions: nod"), ("WARNING", "arm: reach: joint 'elbow' reaches 4 rad")],
        ),
        ("motions", {"motions": []}, [("INFO", "arm: motions: none")]),
        ("state", {"state": "idle", "torque": False, "goal_id": None}, [("DEBUG", "arm: idle")]),
    ],
)
def test_a_report_is_logged_in_one_line_at_its_level(
    caplog: pytest.LogCaptureFixture, subject: Subject, data: dict[str, Any], logged: list[tuple[str, str]]
) -> None:
    caplog.set_level(logging.DEBUG, "motiond")
    log_report(Report("arm", subject, data), {})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == logged


def test_of_very_many_motions_a_part_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "motiond")
    good = [{"name": f"m{number}", "ok": True} for number in range(500)]
    bad = [{"name": f"b{number}", "ok": False, "reason": f"b{number}: torn"} for number in range(500)]
    log_report(Report("arm", "motions", {"motions": [*good, *bad], "more": 99_000}), {})
    known = ", ".join(f"m{number}" for number in range(20))
    assert caplog.messages == [
        f"arm: motions: {known} and 480 more",
        *(f"arm: b{number}: torn" for number in range(20)),
        "arm: 480 more motions cannot be played; `motiond check` says why",
        "arm: 99000 more motions; `motiond check` names them",
    ]


async def test_a_report_that_cannot_be_logged_ends_no_journal(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "motiond")
    hub = ReportHub()
    journal = asyncio.create_task(write_journal(hub))
    await asyncio.sleep(0)
    hub.publish(Report("arm", "result", {"no": "code"}))
    hub.publish(Report("arm", "event", {"kind": "fault", "message": "overheated"}))
    async with asyncio.timeout(PATIENCE_S):
        while len(caplog.messages) < 2:  # noqa: ASYNC110 - the log has no event to wait for
            await asyncio.sleep(0.001)
    assert caplog.messages == ["arm: result could not be logged", "arm: overheated"]
    journal.cancel()
    await asyncio.wait((journal,), timeout=PATIENCE_S)


async def test_motions_are_told_again_only_where_they_have_changed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "motiond")
    hub = ReportHub()
    journal = asyncio.create_task(write_journal(hub))
    await asyncio.sleep(0)
    for names in (["wave"], ["wave"], ["wave", "nod"], ["wave", "nod"], ["wave"]):
        hub.publish(Report("arm", "motions", {"motions": [{"name": name, "ok": True} for name in names]}))
    hub.publish(Report("arm", "availability", {"state": "online"}))
    async with asyncio.timeout(PATIENCE_S):
        while "arm: online" not in caplog.messages:  # noqa: ASYNC110 - the log has no event to wait for
            await asyncio.sleep(0.001)
    assert caplog.messages[:-1] == ["arm: motions: wave", "arm: motions: wave, nod", "arm: motions: wave"]
    journal.cancel()
    await asyncio.wait((journal,), timeout=PATIENCE_S)


def test_of_states_the_log_has_what_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "motiond")
    before: dict[str, Any] = {}
    for state, torque, goal_id in (
        ("offline", False, None),
        ("idle", False, None),
        ("approaching", True, "g1"),
        ("playing", True, "g1"),
        ("playing", True, "g1"),
        ("playing", True, "g2"),
        ("idle", True, None),
        ("idle", False, None),
        ("offline", False, None),
        ("idle", True, None),
        ("offline", False, None),
    ):
        data = {"state": state, "torque": torque, "goal_id": goal_id, "motion": goal_id and "wave"}
        log_report(Report("arm", "state", data), before)
        before = data
    assert [f"{record.levelname} {record.getMessage()}" for record in caplog.records] == [
        "DEBUG arm: offline",
        "DEBUG arm: idle",
        "INFO arm: torque is on",
        "INFO arm: wave begins",
        "DEBUG arm: approaching",
        "DEBUG arm: playing",
        "INFO arm: wave begins",
        "DEBUG arm: idle",
        "INFO arm: torque is off",
        "DEBUG arm: offline",  # nothing is known of torque then
        "INFO arm: torque is on",
        "DEBUG arm: idle",
        "DEBUG arm: offline",
    ]
