"""Entries of systemd's journal: what they hold, and what becomes of them where there is no journal."""

from __future__ import annotations

import logging
import os
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import Report
from motiond.daemon.log import journal
from motiond.daemon.log.lines import start_logging
from motiond.daemon.service.logs import log_report
from tests.daemon.programs import logging_as_before

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger("motiond.test")


@pytest.fixture
def journald(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Stands in for systemd-journald, at the other end of this process's stderr."""
    status = os.fstat(2)
    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours, logging_as_before():
        ours.bind(str(tmp_path / "socket"))
        start_logging(logging.DEBUG, str(tmp_path / "socket"))
        yield ours
        for handler in logging.getLogger().handlers:
            handler.close()


def entry(journald: socket.socket) -> dict[str, str]:
    """Take an entry apart as systemd-journald does."""
    left, fields = journald.recv(1 << 20), {}
    while left:
        name, _, left = left.partition(b"\n")
        (length,) = struct.unpack("<Q", left[:8])
        fields[name.decode()] = left[8 : 8 + length].decode()
        assert left[8 + length : 9 + length] == b"\n"
        left = left[9 + length :]
    return fields


def test_a_result_can_be_found_by_robot_goal_and_code(journald: socket.socket) -> None:
    data = {"motion": "wave", "goal_id": "g7", "code": "CANCELED", "message": "stopped"}
    log_report(Report("arm", "result", data), {})
    assert entry(journald) == {
        "MESSAGE": "arm: wave ended with CANCELED; stopped",
        "PRIORITY": "6",
        "SYSLOG_IDENTIFIER": "motiond",
        "LOGGER": "motiond.daemon.service.logs",
        "MOTIOND_ROBOT": "arm",
        "MOTIOND_GOAL": "g7",
        "MOTIOND_CODE": "CANCELED",
    }


def test_events_and_states_can_be_found_by_robot(journald: socket.socket) -> None:
    log_report(Report("arm", "event", {"kind": "fault", "message": "the bus is lost", "goal_id": "g7"}), {})
    log_report(Report("arm", "availability", {"state": "offline"}), {})
    told = {name: value for name, value in entry(journald).items() if name.startswith("MOTIOND")}
    assert told == {"MOTIOND_ROBOT": "arm", "MOTIOND_GOAL": "g7"}
    assert entry(journald)["MOTIOND_ROBOT"] == "arm"


def test_nothing_that_a_record_quotes_becomes_a_field(journald: socket.socket) -> None:
    quoting = logging.getLogger("motiond.test.quoting")
    quoting.propagate = False  # what is no text breaks the reports of pytest's workers
    for handler in logging.getLogger().handlers:
        if isinstance(handler, journal.JournalHandler):
            quoting.addHandler(handler)
    quoting.error("forged\nMOTIOND_ROBOT=leg\nPRIORITY\n%s", "\udcff\x1b[0m")
    told = entry(journald)
    assert told["MESSAGE"] == "forged\n    | MOTIOND_ROBOT=leg\n    | PRIORITY\n    | \\xff\\x1b[0m"
    assert told.keys() == {"MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "LOGGER"}
    assert told["PRIORITY"] == "3"


def test_what_the_journal_does_not_take_goes_to_stderr(
    journald: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    journald.close()
    log.warning("arm: hot")
    assert capsys.readouterr().err == "<4>arm: hot\n"


def test_a_journal_that_does_not_read_holds_nothing_up(
    journald: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(10_000):
        log.info("number %d", number)
        if told := capsys.readouterr().err:
            break
    assert told == f"<6>number {number}\n"
    assert entry(journald)["MESSAGE"] == "number 0"
