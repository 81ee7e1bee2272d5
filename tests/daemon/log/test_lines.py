"""Lines on stderr: one an event, of the same form from the daemon and its stream processes."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.log.lines import _Journal, _Lines
from tests.daemon.programs import background, streams_of
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S, eventually, started, still_running

if TYPE_CHECKING:
    from pathlib import Path

TIME = r"[0-9-]{10} [0-9:]{8},[0-9]{3}"


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


def test_a_journal_that_is_away_gets_lines_with_priorities_in_place_of_times(
    tmp_path: Path, free_port: int
) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port}"}}
    journal = tmp_path / "journal"
    with journal.open("w") as stream:
        status = os.fstat(stream.fileno())
        named = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        away = "from motiond.daemon.log import journal; journal.SOCKET = '/nowhere'"
        run = f"{away}; from motiond.daemon.cli.main import main; main(['run', '-c', '{rig.config}'])"
        with started([sys.executable, "-c", run], stderr=stream, env=os.environ | named) as daemon:
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


def test_lines_of_a_stream_process_have_the_form_of_the_daemons(tmp_path: Path, free_port: int) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port}"}}
    log = tmp_path / "log"
    with log.open("w") as stream, background("run", "-c", rig.config, stderr=stream) as daemon:
        eventually("the robot is on line", log.read_text, lambda text: "arm: online" in text)
        streams = streams_of(daemon)
        daemon.kill()
        daemon.wait(PATIENCE_S)
        left = still_running(streams)
    assert (len(streams), left) == (1, [])
    lines = log.read_text().splitlines()
    assert [
        line for line in lines if not re.match(rf"{TIME} (INFO   |WARNING) arm: |{TIME} INFO    mqtt", line)
    ] == [], lines
    assert re.fullmatch(f"{TIME} WARNING arm: the daemon has gone; stopping softly, then leaving", lines[-1])


FAILS = """
import logging, socket, sys
from motiond.daemon.log.lines import start_logging
from motiond.daemon.stream import process as stream

start_logging(logging.INFO)

class Setup:
    robot, clock = "arm", "real"

def fail(*_):
    raise ValueError("x\\n<3>forged\\x1b[0m")

stream._receive_setup = lambda _: (Setup, None)
stream._run = fail
sys.exit(stream.stream(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).detach()))
"""


def test_a_defect_in_a_stream_process_forges_no_line() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    first, *others = run.stderr.splitlines()
    assert re.fullmatch(f"{TIME} ERROR   arm: the stream process failed inside motiond", first), run.stderr
    assert others[-2:] == ["    | ValueError: x", r"    | <3>forged\x1b[0m"]
    assert run.returncode == 1


def test_a_warning_of_python_is_a_line_of_the_log() -> None:
    program = (
        "import warnings\n"
        "from motiond.daemon.log.lines import start_logging\n"
        "start_logging(20)\n"
        "warnings.warn('old', stacklevel=1)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    first, *others = run.stderr.splitlines()
    assert re.fullmatch(f"{TIME} WARNING <string>:4: UserWarning: old", first), run.stderr
    assert all(line.startswith("    | ") for line in others)
