"""Where the interpreter begins the fork server, and each stream process that it forks.

Started as `python -m motiond.daemon.stream SOCKET_FD`, by the daemon alone.
"""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing that is loaded now ever goes; `realtime.prepare` leaves it off
from .process import main  # noqa: E402 - a twentieth of the start would be spent on looking through it

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
