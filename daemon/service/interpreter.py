"""How the interpreter shares its time: a program is loaded soon, and a daemon answers at once."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SWITCH_INTERVAL_S = 0.0005
"""How long a thread that reads motions may keep another waiting that has something to do."""
OBJECTS_A_PASS = 700
"""Python's own: so many new objects make the garbage collector look through the newest."""
OBJECTS_A_PASS_AT_FIRST = 200_000
"""While modules are loaded, none of which ever goes; a tenth of each start went into looking through them."""


@contextmanager
def few_passes() -> Iterator[None]:
    """Let the garbage collector seldom look for what is gone."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_PASS_AT_FIRST)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def prefer_latency() -> None:
    """Let threads take turns often, and passes of the garbage collector be short.

    A full pass goes through every object there is, and nothing else runs meanwhile; all modules, classes and
    settings are there for good (`gc.freeze`). Garbage of the start stays with them: to look for it would take
    40 ms, for 0.2 MB.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.freeze()
    gc.set_threshold(OBJECTS_A_PASS)
