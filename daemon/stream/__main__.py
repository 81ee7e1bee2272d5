"""Where the interpreter begins a stream process.

Started as `python -m motiond.daemon.stream SOCKET_FD ROBOT`, by the daemon alone; the name is for those who
look at the list of processes.
"""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing that is loaded now ever goes; `realtime.prepare` leaves it off
from .process import main  # noqa: E402 - a twentieth of each start would be spent on looking through it

if __name__ == "__main__":
    sys.exit(main())
