"""Behaviour of the daemon's log: one line an event, at the level that an operator would filter by."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api.reports import Report
from motiond.daemon.service.logs import log_report
from tests.daemon.programs import background
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.api.reports import Subject

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
        (
            "motions",
            {"motions": MOTIONS},
            [("INFO", "arm: motions: nod"), ("WARNING", "arm: reach: joint 'elbow' reaches 4 rad")],
        ),
        ("motions", {"motions": []}, [("INFO", "arm: motions: none")]),
        ("state", {"state": "playing"}, [("DEBUG", "arm: playing")]),
    ],
)
def test_a_report_is_logged_in_one_line_at_its_level(
    caplog: pytest.LogCaptureFixture, subject: Subject, data: dict[str, Any], logged: list[tuple[str, str]]
) -> None:
    caplog.set_level(logging.DEBUG, "motiond")
    log_report(Report("arm", subject, data))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == logged


def test_the_journal_gets_priorities_in_place_of_times(tmp_path: Path, free_port: int) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port}"}}
    journal = tmp_path / "journal"
    with journal.open("w") as stream:
        status = os.fstat(stream.fileno())
        named = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        with background("run", "-c", rig.config, stderr=stream, env=os.environ | named) as daemon:
            eventually(
                "the robot is told to be online, or the daemon has ended",
                journal.read_text,
                lambda text: "online" in text or daemon.poll() is not None,
            )
            assert daemon.poll() is None, journal.read_text()
            daemon.terminate()
            assert daemon.wait(PATIENCE_S) == 0
    lines = journal.read_text().splitlines()
    assert "<6>arm: motions: long, short" in lines
    assert lines[-1] == "<6>arm: offline"
