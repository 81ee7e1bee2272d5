"""An open serial port, as a bus uses it."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import select
import time
from typing import TYPE_CHECKING, Any, Protocol

from ..base import DriverConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 4096
LONGEST_AWAKE_S = 400e-6
ASLEEP_AFTER_VAIN = 30
"""How many reads sleep after one that was awake in vain."""


class Line(Protocol):
    """What a bus does with an open port; each call raises OSError when the port is gone."""

    def now(self) -> float:
        """Return the monotonic time, in s, by which it waits."""

    def sleep(self, duration_s: float) -> None:
        """Wait, whatever comes in."""

    def write(self, frame: bytes | bytearray) -> int:
        """Send bytes and return how many; raises BlockingIOError if the port takes none."""

    def read(self, deadline_s: float, awake_s: float = math.inf) -> bytes:
        """Return what has come, or comes until a monotonic time; b'' if nothing does.

        `awake_s`: when to begin to wait without sleep, as the rest is expected soon; what comes before waits.
        """

    def discard(self) -> None:
        """Drop what has come and was not read."""

    def close(self) -> None:
        """Close the port; one that is gone too."""


def import_serial(driver: str) -> Any:
    """Import pyserial for a driver, named as in configurations.

    Raises DriverConfigError if it is not installed.
    """
    try:
        import serial  # noqa: PLC0415 - optional
    except ImportError as error:
        raise DriverConfigError(
            f"driver {driver}", "pyserial cannot be imported", str(error), f"pip install 'motiond[{driver}]'"
        ) from error
    return serial


class SerialLine:
    """A serial port of this machine, open for this program alone; a `Line`.

    Raises OSError, ValueError if it cannot be opened. Raises ImportError without pyserial.
    """

    now: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, port: str, baud_rate: int) -> None:
        from serial import Serial  # noqa: PLC0415 - optional

        self._serial = Serial(port, baud_rate, timeout=0, exclusive=True)
        self._descriptor = self._serial.fileno()
        self._asleep_reads = 0
        self._poller = select.poll()
        self._poller.register(self._descriptor, select.POLLIN)
        with contextlib.suppress(OSError, ValueError):  # only some adapters have it; `Bus.latency_s` shows
            self._serial.set_low_latency_mode(True)

    def write(self, frame: bytes | bytearray) -> int:
        """Send bytes, and return how many."""
        return os.write(self._descriptor, frame)

    def read(self, deadline_s: float, awake_s: float = math.inf) -> bytes:
        """Return what has come, or comes until a monotonic time."""
        is_there = awake_s < deadline_s and self._is_there_soon(awake_s, deadline_s)
        if not is_there and not self._poller.poll(max(0.0, (deadline_s - time.monotonic()) * 1000)):
            return b""
        chunk = os.read(self._descriptor, _CHUNK)
        if not chunk:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return chunk

    def _is_there_soon(self, awake_s: float, deadline_s: float) -> bool:
        """Sleep until a monotonic time, then wait without sleep, but not for long; False if nothing came.

        To be woken takes longer than the rest of an answer. Where it was in vain, as with adapters that hold
        bytes back, it is not tried again for a while.
        """
        if self._asleep_reads:
            self._asleep_reads -= 1
            return False
        now, poll = time.monotonic, self._poller.poll
        if (early_s := awake_s - now()) > 0:
            time.sleep(early_s)
        until_s = min(awake_s + LONGEST_AWAKE_S, deadline_s)
        while not poll(0):
            if now() > until_s:
                self._asleep_reads = ASLEEP_AFTER_VAIN
                return False
        return True

    def discard(self) -> None:
        """Drop what has come and was not read."""
        while self._poller.poll(0):
            if not os.read(self._descriptor, _CHUNK):
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def close(self) -> None:
        """Close the port."""
        with contextlib.suppress(OSError):  # a port that was pulled out cannot be closed properly
            self._serial.close()
