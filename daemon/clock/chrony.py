"""What chronyd knows of the machine's clock: `chronyc -n -c tracking`, and what its line says."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from asyncio.subprocess import Process

PROGRAM = "chronyc"
TIMEOUT_S = 2.0
_LONGEST_LINE = 1024
_LONGEST_NAME = 100
_LOCAL = "7F7F0101"
"""The reference id of a chronyd that follows the machine's own clock, by its directive `local`."""


class Tracking(NamedTuple):
    """What chronyd says of the clock that it synchronises."""

    source: str  # address or name of what it follows
    # what is still to be corrected, and the mean of what had to be (`System time`, `RMS offset`)
    estimated_error_s: float
    # of chrony's manual: what is still to be corrected, the root dispersion and half of the root delay
    max_error_s: float


async def ask_chrony(program: str = PROGRAM, timeout_s: float = TIMEOUT_S) -> Tracking | None:
    """Ask chronyd; None where it or its program is not there, is too slow, or is not synchronised.

    `program`: name or path.
    `timeout_s`: it is ended after that.
    """
    path = shutil.which(program)
    if path is None:
        return None
    try:
        line = await _first_line(path, timeout_s)
    except (OSError, TimeoutError, ValueError):  # a line too long is a ValueError of asyncio's
        return None
    return parse(line)


async def _first_line(path: str, timeout_s: float) -> str:
    """Return the first line that chronyc writes; it is ended whatever happens.

    Raises `OSError` or `TimeoutError` or `ValueError` if it cannot be started, takes too long, or writes too
    much.
    """
    process = await _started(path)
    try:
        async with asyncio.timeout(timeout_s):
            line = await process.stdout.readline() if process.stdout else b""
    finally:
        await _end(process)
    return line.decode(errors="replace").strip()


async def _started(path: str) -> Process:
    """Start it; where that is cancelled, it is started all the same, and ended."""
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            path,
            "-n",
            "-c",
            "tracking",
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: Process) -> None:
    """End it and whatever it has started, which may hold the pipe."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


def parse(line: str) -> Tracking | None:
    """Return what a line of `chronyc -c tracking` says; None where it says that nothing is followed.

    Its fields are, in this order: reference id, name, stratum, reference time, system time, last offset, RMS
    offset, frequency, residual frequency, skew, root delay, root dispersion, update interval, leap status;
    times in s.
    """
    fields = line.split(",")
    if len(fields) < 14 or fields[13] == "Not synchronised":
        return None
    try:
        system_s, rms_s, delay_s, dispersion_s = (abs(float(fields[place])) for place in (4, 6, 10, 11))
    except ValueError:
        return None
    estimated_s, most_s = system_s + rms_s, system_s + dispersion_s + delay_s / 2
    if not math.isfinite(estimated_s + most_s):
        return None
    name = fields[1] or ("local" if fields[0] == _LOCAL else fields[0])
    shown = "".join(letter for letter in name if letter.isprintable())
    return Tracking(shown[:_LONGEST_NAME], estimated_s, most_s)
