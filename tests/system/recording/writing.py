"""Writes a recording until it is killed: `python -m tests.system.recording.writing FILE`.

A line for each cut says how many ticks it has put on disk.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path

from motiond.daemon.recording import RecordingWriter
from tests.daemon.recording.recordings import about, records

BATCH, BATCHES_A_CUT = 20, 10


def main() -> None:
    """Write ticks as fast as they would come at 1 kHz."""
    writer = RecordingWriter(Path(sys.argv[1]), about())
    for batch in count():
        writer.add(records(BATCH, first=batch * BATCH))
        if batch % BATCHES_A_CUT == 0:
            writer.cut()
            print(writer.ticks - 1, flush=True)  # the last is written once the next is there
        time.sleep(BATCH / 1000)


if __name__ == "__main__":
    main()
