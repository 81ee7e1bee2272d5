"""Makes a whole file of a recording that a crash left: what is whole stays, and gets index and summary.

The file is cut behind its last whole record and written on from there, so that it takes no room that it did
not have, and a repair that is interrupted is done again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .part import name_finished

if TYPE_CHECKING:
    from pathlib import Path


def repair(part: Path) -> Path | None:
    """Make a whole file of a `.part` that nobody writes, and return it; one with nothing in it is removed.

    Raises `NoRecording` for a file of another kind, which stays as it is, and `OSError`.
    """
    from .ending import ending  # noqa: PLC0415 - costly, and not every daemon has something to repair
    from .salvage import Salvage  # noqa: PLC0415 - as above

    salvage = Salvage()
    with part.open("r+b") as file:
        salvage.read(file)
        if salvage.chunks and not salvage.is_finished:
            file.seek(salvage.end)
            file.truncate()
            file.write(ending(salvage))
            file.flush()
            os.fsync(file.fileno())
    if not salvage.chunks:
        part.unlink()
        return None
    return name_finished(part)
