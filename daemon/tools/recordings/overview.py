"""What recordings there are in a folder, and what is in one of them, as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from motiond.formats import FormatError, Problem
from motiond.text import listed, printable

from ...recording import PART, SUFFIX, RecordingSummary, list_entry, mark_of, read_summary
from ..tables import Column, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from motiond.formats import Run

    from ...api import ListedRecording

WHY = {
    "request": ", on request",
    "motion": ", for a motion",
    "always": ", as all is recorded",
    "teaching": ", as it was taught",
}
MOST_ROWS = 30
"""Of phases, gaps, events and results that are shown; JSON has more."""
RECORDING_COLUMNS = ("name", "began", "s", "ticks", "gaps", "MB", "why", "played", "")


def list_recordings(folder: Path) -> list[ListedRecording]:
    """Return the recordings in a folder, the newest first, as the verb `recordings` lists a robot's.

    Raises `FormatError` if it cannot be listed.
    """
    try:
        files = [path for path in folder.iterdir() if path.name.endswith((SUFFIX, SUFFIX + PART))]
        found = [(path, path.stat()) for path in files if path.is_file()]
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        problem = Problem(printable(str(folder)), 0, "cannot be listed", reason, "check the path")
        raise FormatError([problem]) from error
    found.sort(key=lambda one: one[1].st_mtime_ns, reverse=True)
    return [_entry(path, status.st_size) for path, status in found]


def _entry(path: Path, size: int) -> ListedRecording:
    is_part = path.name.endswith(PART)
    summary = RecordingSummary() if is_part else read_summary(path)
    is_kept = mark_of(path).exists()
    return list_entry(printable(path.name), size, summary, is_kept=is_kept, is_written=is_part)


def recording_row(recording: Mapping[str, Any]) -> list[str]:
    """Return the cells of one that is listed, by the columns of `RECORDING_COLUMNS`."""
    played = zip(recording["motions"], recording["codes"], strict=False)
    results = [motion if code == "SUCCESSFUL" else f"{motion} {code}" for motion, code in played]
    marks = ["kept"] * recording["kept"] + ["not finished"] * recording["is_written"]
    duration_s = recording["duration_s"]
    return [
        recording["name"],
        (recording["began_utc"] or "")[:19].replace("T", " "),
        "" if duration_s is None else f"{duration_s:.1f}",
        *("" if recording[key] is None else str(recording[key]) for key in ("ticks", "gaps")),
        f"{recording['bytes'] / 1e6:.1f}",
        recording["why"] or "",
        listed(results),
        listed(marks),
    ]


def show_run(run: Run, console: Console) -> None:
    """Print what is in a recording."""
    about = run.about
    for line in _lines(about):
        console.print(Text(line), soft_wrap=True)
    for columns, rows in _tables(about):
        print_rows(console, columns, rows)
    if about["more"]:
        console.print(Text(f"{about['more']} phases, gaps, events and results more"), soft_wrap=True)


def _lines(about: Mapping[str, Any]) -> Iterator[str]:
    began, why = about["began_utc"] or "an unknown time", WHY.get(about["why"], "")
    yield f"{about['name']}: {about['robot'] or 'a robot'}, from {began}{why}"
    yield (
        f"{about['ticks']} ticks in {about['duration_s']:.3f} s; {len(about['gaps'])} gaps; "
        f"driver {about['driver'] or 'unknown'}; motiond {about['version'] or 'unknown'}"
    )
    if not about["is_whole"]:
        yield "its end is missing, as it is being written or was cut short"
    timing = about["timing"]
    late = ", ".join(f"{key} {1e3 * value:.3f}" for key, value in timing["lateness_s"].items())
    yield f"lateness in ms: {late}; missed deadlines {timing['missed']}, rows left out {timing['skipped']}"
    if about["attachments"]:
        yield f"attached: {listed([one['name'] for one in about['attachments']])}"


def _tables(about: Mapping[str, Any]) -> Iterator[tuple[list[Column], list[list[str]]]]:
    for key, columns in (
        ("results", {"motion": "result of", "code": "code", "message": "message"}),
        ("gaps", {"ticks": "ticks missing", "reason": "reason"}),
        ("phases", {"state": "state", "torque": "torque", "goal": "goal", "loop": "pass"}),
        ("events", {"kind": "event", "message": "message"}),
    ):
        if about[key]:
            titles = [Column("at s", right=True), *(Column(title) for title in columns.values())]
            yield titles, [*_rows(about[key], [*columns])]
    titles = [Column("joint"), *(Column(title, right=True) for title in ("max error", "at s", "RMS error"))]
    yield (
        [*titles, Column("unit")],
        [
            [joint, *_worst(about["worst"].get(joint)), unit]
            for joint, unit in zip(about["joints"], about["units"], strict=True)
        ],
    )


def _rows(items: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> Iterator[list[str]]:
    shown = [*keys]
    for item in items[:MOST_ROWS]:
        yield [f"{item['time']:.3f}", *(_cell(item.get(key)) for key in shown)]
    if len(items) > MOST_ROWS:
        yield ["", f"and {len(items) - MOST_ROWS} more", *[""] * (len(shown) - 1)]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else printable(str(value))


def _worst(worst: Mapping[str, float] | None) -> list[str]:
    if worst is None:
        return ["", "", ""]
    return [f"{worst['max']:.5f}", f"{worst['time']:.3f}", f"{worst['rms']:.5f}"]
