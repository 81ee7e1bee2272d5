"""Behaviour of the daemon's log: one line an event, at the level that an operator would filter by."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api.reports import Report, ReportHub
from motiond.daemon.service.logs import _Journal, _Lines, log_report, write_journal
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


def formatted(formatter: logging.Formatter, message: str, *values: object, **more: Any) -> str:
    return formatter.format(
        logging.LogRecord("motiond", logging.WARNING, "here.py", 1, message, values, more.get("error"))
    )


@pytest.mark.parametrize(
    ("quoted", "line"),
    [
        ("x\x1b[2J\x07y", r"arm: x\x1b[2J\x07y"),
        ("x\ry", r"arm: x\x0dy"),
        ("x\x85\u2028\u202ey", r"arm: x\x85\u2028\u202ey"),
        ("\udcff", r"arm: \xff"),
        ("Wëllê 波 \u3000", "arm: Wëllê 波 \u3000"),
        (
            "x\n2026-11-22 10:00:00,000 INFO    arm: online",
            "arm: x\n    | 2026-11-22 10:00:00,000 INFO    arm: online",
        ),
        ("x\n\n", "arm: x\n    | \n    | "),
        ("x" * 10**6, "arm: " + "x" * 3994 + "…"),
    ],
)
def test_nothing_that_a_record_quotes_passes_for_another_record(quoted: str, line: str) -> None:
    assert formatted(_Lines("%(message)s"), "%s: %s", "arm", quoted) == line
    in_journal = formatted(_Journal("%(message)s"), "%s: %s", "arm", quoted)
    assert in_journal == "\n".join(f"<4>{one}" for one in line.split("\n"))


def refuse(text: str) -> None:
    raise ValueError(text)


def test_a_traceback_keeps_its_lines_whatever_the_error_quotes() -> None:
    with pytest.raises(ValueError, match="forged") as caught:
        refuse("x\n<3>forged\x1b[0m")
    error = (caught.type, caught.value, caught.tb)
    first, second, *others = formatted(_Journal("%(message)s"), "failed", error=error).split("\n")
    assert (first, second) == ("<4>failed", "<4>    | Traceback (most recent call last):")
    assert others[-2:] == ["<4>    | ValueError: x", r"<4>    | <3>forged\x1b[0m"]


def test_of_a_record_without_end_the_last_lines_are_kept() -> None:
    lines = formatted(_Lines("%(message)s"), "%s", "\n".join(map(str, range(10_000)))).split("\n")
    assert lines[:3] == ["0", "    | 9799 lines are left out", "    | 9800"]
    assert (len(lines), lines[-1]) == (202, "    | 9999")


def test_of_very_many_motions_a_part_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "motiond")
    good = [{"name": f"m{number}", "ok": True} for number in range(500)]
    bad = [{"name": f"b{number}", "ok": False, "reason": f"b{number}: torn"} for number in range(500)]
    log_report(Report("arm", "motions", {"motions": [*good, *bad], "more": 99_000}))
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
