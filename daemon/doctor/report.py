"""What the checks of a machine found, as one document, and as lines for people."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Verdict(StrEnum):
    """What is to be thought of a finding, from harmless to grave."""

    NOT_APPLICABLE = "not applicable"
    """There was nothing to look at."""
    OK = "ok"
    WARNING = "warning"
    """motiond runs, but not as well as it could."""
    FAILURE = "failure"
    """Something that the configuration asks for cannot work."""


CheckName = Literal[
    "configuration",
    "broker",
    "certificate",
    "clock",
    "real-time",
    "wake-ups",
    "kernel",
    "governor",
    "port",
    "latency timer",
    "hebi",
    "disk",
    "versions",
]


class Check(BaseModel):
    """One look at the machine; texts are plain English, each without a full stop at its end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    check: CheckName
    subject: str | None = None
    """What was looked at, where a check looks at several: a broker, a port, a folder."""
    verdict: Verdict
    found: str
    means: str
    """What it means for robots on this machine."""
    hint: str | None = None
    """What to do; null where there is nothing to do."""
    figures: dict[str, float | str | None] = {}
    """What was measured; names end in their units."""


def nothing(check: CheckName, found: str, means: str, hint: str | None = None) -> Check:
    """Return that there was nothing to look at."""
    return Check(check=check, verdict=Verdict.NOT_APPLICABLE, found=found, means=means, hint=hint)


class Report(BaseModel):
    """All that the doctor found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    """Of motiond."""
    stamp_utc: str
    """When it was asked, ISO 8601."""
    verdict: Verdict
    """The gravest of all checks."""
    checks: list[Check]


GRAVITY = list(Verdict)
"""Verdicts, the gravest last."""


def gravest(checks: list[Check]) -> Verdict:
    """Return the gravest verdict of some checks."""
    return max((one.verdict for one in checks), key=GRAVITY.index, default=Verdict.NOT_APPLICABLE)


WIDTH = max(len(verdict) for verdict in Verdict)


def lines_of(report: Report, paint: Callable[[Verdict, str], str]) -> Iterator[str]:
    """Yield what each check found, with what it means and what to do below; `paint` colours verdicts."""
    for check in report.checks:
        name = check.check if check.subject is None else f"{check.check} {check.subject}"
        first, *others = check.found.splitlines()
        yield f"{paint(check.verdict, check.verdict)}{'':{WIDTH - len(check.verdict)}}  {name}: {first}"
        for line in (*others, check.means, *([f"do: {check.hint}"] if check.hint else [])):
            yield f"{'':{WIDTH}}    {line}"
    verdicts = [check.verdict for check in report.checks]
    counts = [(verdict, verdicts.count(verdict)) for verdict in reversed(Verdict)]
    yield ""
    yield ", ".join(f"{count} {paint(verdict, verdict)}" for verdict, count in counts if count)
