"""Subcommands that may take more than a second show on a terminal what they are at, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from motiond.daemon.doctor.report import Report, Verdict
from tests.daemon.programs import run_here
from tests.waiting import Awaited

DEMO = Path(__file__).parents[3] / "config" / "demo.yaml"
REPORT = Report(version="1", stamp_utc="2026-11-22T12:00:00", verdict=Verdict.OK, checks=[])
CASES: list[tuple[str, object, str, tuple[object, ...]]] = [
    ("motiond.daemon.tools.check.check_motions", [], "planning", ("check", "-c", DEMO)),
    ("motiond.drivers.dynamixel.scan", [], "scanning /dev/null", ("scan", "/dev/null")),
    ("motiond.daemon.tools.describe.describe_file", [], "reading", ("inspect", "a.seq", "b.seq")),
    ("motiond.daemon.doctor.examination.examine", REPORT, "looking at the machine", ("doctor",)),
]


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_progress_is_shown_while_it_works_and_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, object, str, tuple[object, ...]],
    *,
    is_terminal: bool,
) -> None:
    work, result, shown, words = case
    stderr = Awaited(shown)

    def console(**options: Any) -> Console:
        assert options == {"stderr": True}
        return Console(file=stderr, force_terminal=is_terminal, width=80)

    def work_until_it_is_shown(*_: object, **__: object) -> object:
        if is_terminal:
            stderr.wait()
        return result

    monkeypatch.setattr("motiond.daemon.tools.batch.QUIET_S", 0.0)
    monkeypatch.setattr("rich.console.Console", console)
    monkeypatch.setattr(work, work_until_it_is_shown)
    run_here(capsys, *words)
    assert stderr.has_come is is_terminal
