"""What a finished recording says of itself, read at its end alone, and how it is listed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast, get_args

import orjson

from motiond.formats.io import open_regular

from ..api import Why
from .about import ABOUT, END
from .part import PART, SUFFIX
from .ticks import NS

if TYPE_CHECKING:
    from pathlib import Path

    from ..api import ListedRecording

log = logging.getLogger(__name__)

MOST_SHOWN = 20
"""Of the results in a recording."""


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """What a recording says of itself; None where it does not.

    `motions`, `codes`: of the results in it.
    """

    began_utc: str | None = None
    duration_s: float | None = None
    ticks: int | None = None
    gaps: int | None = None
    why: Why | None = None
    motions: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)


def list_entry(
    file: str, size: int, summary: RecordingSummary, *, is_kept: bool = False, is_written: bool = False
) -> ListedRecording:
    """Return a recording as lists have it; `size`: in bytes."""
    return {
        "name": file.removesuffix(PART).removesuffix(SUFFIX),
        "file": file,
        "bytes": size,
        "began_utc": summary.began_utc,
        "duration_s": summary.duration_s,
        "ticks": summary.ticks,
        "gaps": summary.gaps,
        "why": summary.why,
        "motions": summary.motions[:MOST_SHOWN],
        "codes": summary.codes[:MOST_SHOWN],
        "kept": is_kept,
        "is_written": is_written,
    }


def read_summary(path: Path) -> RecordingSummary:
    """Return what a recording says of itself; nothing where it is damaged."""
    from mcap.reader import SeekingReader  # noqa: PLC0415 - costly, and not every daemon has recordings

    try:
        with open_regular(path) as file:
            reader = SeekingReader(file)
            summary: Any = reader.get_summary()
            if summary is None:
                return RecordingSummary()
            records = {record.name: record.metadata for record in reader.iter_metadata()}
            return _summary_of(summary.statistics, records)
    except Exception:  # noqa: BLE001 - the library raises what it likes where a file is damaged
        hint = "`motiond recording show` reads what is whole"
        log.warning("%s: has no summary; it was cut short or is damaged; %s", path, hint)
        return RecordingSummary()


def _summary_of(statistics: Any, records: dict[str, dict[str, str]]) -> RecordingSummary:
    about, end = records.get(ABOUT, {}), records.get(END, {})
    why = about.get("why")
    duration_ns = statistics.message_end_time - statistics.message_start_time if statistics else None
    return RecordingSummary(
        began_utc=about.get("began_utc"),
        duration_s=None if duration_ns is None else round(duration_ns / NS, 3),
        ticks=_number(end.get("ticks")),
        gaps=_number(end.get("gaps")),
        why=cast("Why", why) if why in get_args(Why) else None,
        motions=orjson.loads(end.get("motions", "[]")),
        codes=orjson.loads(end.get("codes", "[]")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text else None
