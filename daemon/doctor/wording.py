"""What the checks found, in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .report import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .report import Check, Report

WIDTH = max(len(verdict) for verdict in Verdict)


def lines_of(report: Report) -> Iterator[tuple[Verdict, str]]:
    """Yield what each check found, with what it means and what to do below, each with its verdict."""
    for check in report.checks:
        for line in _lines(check):
            yield check.verdict, line
    yield report.verdict, ""
    yield report.verdict, summary(report)


def _lines(check: Check) -> Iterator[str]:
    name = check.check if check.subject is None else f"{check.check} {check.subject}"
    first, *others = check.found.splitlines()
    yield f"{check.verdict:{WIDTH}}  {name}: {first}"
    for line in (*others, check.means, *([f"do: {check.hint}"] if check.hint else [])):
        yield f"{'':{WIDTH}}    {line}"


def summary(report: Report) -> str:
    """Return how many checks came out how."""
    verdicts = [check.verdict for check in report.checks]
    counts = [(verdict, verdicts.count(verdict)) for verdict in reversed(Verdict)]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
