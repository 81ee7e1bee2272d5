"""Time sources: the machine's clock, virtual time, and virtual time that rests with the robot.

Nothing else in the stream process asks what time it is, so the same code runs on real and on virtual time.
"""

from __future__ import annotations

import select
import time
from typing import Protocol


class Clock(Protocol):
    """What the streaming loop needs of time; seconds on a monotonic scale."""

    def now(self) -> float:
        """Return the present time in seconds."""

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, or at once if it has passed."""

    def rest_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, while nothing moves."""

    def listen_until(self, fd: int, deadline_s: float) -> None:
        """Return when `fd` can be read, at `deadline_s` at the latest; less exact than `sleep_until`."""

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Do as `listen_until`, while nothing moves."""

    def suspended_s(self) -> float:
        """Return for how long the machine was suspended since its start, in s; `now` stood still then."""


class RealClock:
    """The machine's monotonic clock; `now` is CLOCK_MONOTONIC itself, as it is asked often."""

    now = staticmethod(time.monotonic)

    def sleep_until(self, deadline_s: float) -> None:
        """Sleep to an absolute deadline; Python hands it to clock_nanosleep as such."""
        remaining_s = deadline_s - time.monotonic()
        if remaining_s > 0.0:
            time.sleep(remaining_s)

    rest_until = sleep_until

    def listen_until(self, fd: int, deadline_s: float) -> None:
        """Wait for a message or the deadline, whichever comes first."""
        select.select((fd,), (), (), max(0.0, deadline_s - time.monotonic()))

    wait_readable = listen_until

    def suspended_s(self) -> float:
        """Return by how much CLOCK_BOOTTIME, which goes on in a suspend, is ahead of CLOCK_MONOTONIC."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


class VirtualClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self, start_s: float = 0.0) -> None:
        self.time_s = start_s
        self.suspends_s = 0.0

    def now(self) -> float:
        """Return the virtual time in seconds."""
        return self.time_s

    def suspended_s(self) -> float:
        """Return for how long the machine is said to have been suspended."""
        return self.suspends_s

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once."""
        self.time_s = max(self.time_s, deadline_s)

    def rest_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once."""
        self.sleep_until(deadline_s)

    def listen_until(self, fd: int, deadline_s: float) -> None:
        """Let time pass to the deadline, unless there is a message already."""
        if not select.select((fd,), (), (), 0.0)[0]:
            self.time_s = max(self.time_s, deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Let time pass to the deadline, unless there is a message already."""
        self.listen_until(fd, deadline_s)


class FastForwardClock(VirtualClock):
    """Virtual time that passes at once while something moves, and no faster than real time at rest.

    Otherwise a robot that waits for somebody would keep a processor busy, and its time would run away.
    """

    def rest_until(self, deadline_s: float) -> None:
        """Sleep for as long as there is to the deadline."""
        time.sleep(max(0.0, deadline_s - self.time_s))
        self.sleep_until(deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Wait for a message for as long as there is to the deadline; with a message no time passes."""
        if not select.select((fd,), (), (), max(0.0, deadline_s - self.time_s))[0]:
            self.sleep_until(deadline_s)
