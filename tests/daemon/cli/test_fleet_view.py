"""What `motiond fleet monitor` shows, and what `motiond fleet serve` refuses."""

from __future__ import annotations

import io
import signal
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from motiond.daemon.api import Report
from motiond.daemon.cli.requests.fleet_table import FleetTable, clock_words
from tests.daemon import answers
from tests.daemon.cli.program import Program
from tests.daemon.fleet.members import members
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.conftest import Embedded

BROKER = "mqtt://127.0.0.1:1883: connected"
STAMP = "2026-11-22T12:30:00.000Z"


def table_of(*robots: str) -> FleetTable:
    return FleetTable(lambda: robots, lambda: BROKER)


def tell(table: FleetTable, robot: str, state: str, online: str = "online", **more: Any) -> None:
    there = {"state": online, "bridge": "d1", "host": "bench", "since_utc": None, **more}
    table.take(Report(robot, "availability", there))
    moving = {"motion": "wave", "progress": 0.25} if state == "playing" else {}
    table.take(Report(robot, "state", answers.state(state, **moving)))


def test_each_robot_has_a_row_with_all_that_is_known() -> None:
    table = table_of("left", "right")
    tell(table, "left", "playing")
    table.take(Report("left", "description", {"groups": ["choir", "wind"]}))
    table.take(Report("left", "diagnostics", {"clock": {"synchronised": True, "estimated_error_s": 2e-4}}))
    tell(table, "right", "playing", "offline", since_utc=STAMP)
    since = "2026-11-22 12:30:00 UTC"
    assert table.rows(10) == (
        [
            ("left", "choir, wind", "playing", "wave", "25%", "d1 on bench", "within 0.2 ms", ""),
            ("right", "", "offline", "", "", "d1 on bench", "", since),
        ],
        0,
    )


def test_a_robot_that_follows_targets_has_no_progress() -> None:
    table = table_of("left")
    tell(table, "left", "following")
    table.take(Report("left", "state", answers.state("following", motion="follow", follow={})))
    ((_, _, state, motion, progress, *_),), _ = table.rows(10)
    assert (state, motion, progress) == ("following", "follow", "")


def test_the_line_counts_them_and_names_those_in_trouble() -> None:
    table = table_of("a", "b", "c")
    tell(table, "a", "playing")
    tell(table, "b", "fault")
    assert table.line() == f"{BROKER}; 3 robots: 1 fault, 1 offline, 1 playing; look at b, c"


def test_where_not_all_fit_those_in_trouble_and_those_that_move_are_shown() -> None:
    names = tuple(f"r{number:02}" for number in range(60))
    table = table_of(*names)
    for name in names:
        tell(table, name, "fault" if name == "r50" else "playing" if name == "r40" else "idle")
    shown, more = table.rows(3)
    assert ([row[0] for row in shown], more) == (["r00", "r40", "r50"], 57)
    text = io.StringIO()
    Console(file=text, width=120, height=24, force_terminal=True).print(table, height=24)
    lines = text.getvalue().splitlines()
    assert len(lines) <= 24
    assert any("… and 42 more" in line for line in lines)


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (None, ""),
        ({"synchronised": False, "estimated_error_s": 1.0}, "not synchronised"),
        ({"synchronised": True, "estimated_error_s": None}, "synchronised"),
        ({"synchronised": True, "estimated_error_s": 0.0012}, "within 1.2 ms"),
    ],
)
def test_a_clock_is_told_in_words(clock: Any, words: str) -> None:
    assert clock_words(clock) == words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--listen", "0.0.0.0:8090"),
            (
                "invalid value for --listen: '0.0.0.0:8090' is open to others without a token; whoever "
                "reaches it could move the robots; add token_file, or listen on 127.0.0.1"
            ),
        ),
        (
            ("--cert-file", "c.pem"),
            (
                "invalid value for --cert-file: 'cert_file' stands alone; a certificate needs its key; "
                "add key_file"
            ),
        ),
    ],
)
def test_a_page_is_not_served_to_whoever_comes(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    asked = ("fleet", "serve", "--broker", "mqtt://127.0.0.1:1", *options)
    assert run_here(capsys, *asked) == (2, "", f"motiond: {message}; see `motiond --help`\n")


def test_a_token_that_cannot_be_read_is_told_with_its_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    asked = ("fleet", "serve", "--broker", "mqtt://127.0.0.1:1", "--token-file", file)
    message = f"{file}: cannot be read; no such file or directory; correct --token-file\n"
    assert run_here(capsys, *asked) == (2, "", message)


def test_a_monitor_without_a_broker_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    url = "mqtt://127.0.0.1:1884"
    code, out, err = run_here(capsys, "fleet", "monitor", "--broker", url)
    assert (code, out) == (3, "")
    assert err.startswith(f"{url}: no connection to the broker; ")


@pytest.mark.usefixtures("programs")
async def test_a_monitor_tells_a_line_a_second_where_there_is_no_terminal(broker: Embedded) -> None:
    url = f"mqtt://{broker.settings.listen}"
    async with members(broker.settings) as crowd:
        crowd.add("left", "choir")
        crowd.report("left", "state", answers.state("idle"), retain=True)
        monitor = Program("fleet", "monitor", "--broker", url)
        await monitor.writes("1 idle\n")
        monitor.send_signal(signal.SIGINT)
        code, out, err = await monitor.end()
    assert (code, out.splitlines()[-1], err) == (0, f"{url}: connected; 1 robot: 1 idle", "")
