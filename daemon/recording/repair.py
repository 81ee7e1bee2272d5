"""Makes a whole file of a recording that a crash left: what is whole stays, and gets index and summary.

The file is cut behind its last whole record and written on from there, so that it takes no room that it did
not have, and a repair that is interrupted is done again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import orjson

from motiond.formats.io import Topic

from .about import END, RecordingEnd
from .part import name_finished
from .ticks import NS

if TYPE_CHECKING:
    from pathlib import Path

    from .mcap_file import Salvage

REPAIRED = "it was cut short, as by a crash, and repaired"
_TEXT_AT = 8  # of a String in CDR: its encoding and its length stand before


def repair(part: Path) -> Path | None:
    """Make a whole file of a `.part` that nobody writes, and return it; one with nothing in it is removed.

    Raises `NoRecording` for a file of another kind, which stays as it is, and `OSError`.
    """
    from .mcap_file import Salvage  # noqa: PLC0415 - costly, and not every daemon has something to repair

    salvage = Salvage(Topic.RESULT)
    with part.open("r+b") as file:
        salvage.read(file)
        if salvage.found.chunks and not salvage.is_finished:
            file.seek(salvage.end)
            file.truncate()
            file.write(salvage.ending(END, _end_of(salvage)))
            file.flush()
            os.fsync(file.fileno())
    if not salvage.found.chunks:
        part.unlink()
        return None
    return name_finished(part)


def _end_of(salvage: Salvage) -> dict[str, str]:
    """Return what a recording says of its end."""
    end = RecordingEnd(
        ticks=salvage.count(Topic.REFERENCE), gaps=salvage.count(Topic.GAP), hashes=salvage.hashes
    )
    for message in salvage.noted:
        with suppress(ValueError):
            result = orjson.loads(message[_TEXT_AT:].rstrip(b"\0"))
            if isinstance(result, dict):
                end.add_result(result)
    return end.metadata(salvage.found.statistics.message_end_time / NS, REPAIRED)
