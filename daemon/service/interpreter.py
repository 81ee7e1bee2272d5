"""How the interpreter shares its time: for a daemon that answers at once, whatever its other threads do."""

from __future__ import annotations

import gc
import sys

SWITCH_INTERVAL_S = 0.0005
"""How long a thread that reads motions may keep another waiting that has something to do."""


def prefer_latency() -> None:
    """Let threads take turns often, and full passes of the garbage collector leave out what is loaded now.

    A full pass goes through every object there is, and nothing else runs meanwhile; all modules, classes and
    settings are there for good (`gc.freeze`).
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
