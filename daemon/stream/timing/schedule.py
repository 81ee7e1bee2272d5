"""When ticks are due: absolute deadlines on a grid, and what becomes of those that were missed.

Between two deadlines that are far apart there are looks, at `CHECK_PERIOD_S` or less from each other and from
the deadlines: times to receive commands and to read feedback, so that neither waits for a slow motion's next
row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .clocks import Clock

ROUNDING = 1e-9  # of a time in periods
CHECK_PERIOD_S = 0.01


class Schedule:
    """The deadlines of one loop.

    At rest each deadline is one idle period after the tick before; in motion, deadlines lie on a grid.

    `idle_period_s`: between two ticks at rest. `max_lateness_s`: a tick that is later skips nothing, as the
    motion is to stop. `max_skip_s`: how far a late tick may move the trajectory on beyond its own row.
    `read_period_s`: the shortest time from one reading of feedback to the next, and to the next tick.
    `index`: the number of the present tick on the grid; ticks that were missed count. `deadline_s`: when the
    present tick was due; where several have become due, the first of them. `ticks_per_check`: how many
    periods make up `CHECK_PERIOD_S`, at least 1. `looks`: into how many parts looks divide a period: 1 where
    there are none. `ticked_s`: when the last setpoint was due. `skipped`: rows passed over because of them.
    `grids`: how many grids were begun.
    """

    __slots__ = (
        "_looks_a_read",
        "_origin_s",
        "_read_period_s",
        "clock",
        "deadline_s",
        "grids",
        "idle_period_s",
        "index",
        "looks",
        "max_lateness_s",
        "max_skip_s",
        "missed",
        "period_s",
        "skipped",
        "ticked_s",
        "ticks_per_check",
    )

    def __init__(
        self,
        clock: Clock,
        idle_period_s: float,
        max_lateness_s: float,
        max_skip_s: float,
        read_period_s: float = 0.0,
    ) -> None:
        self.clock = clock
        self.idle_period_s = idle_period_s
        self.max_lateness_s = max_lateness_s
        self.max_skip_s = max_skip_s
        self._read_period_s = read_period_s
        self.missed = self.skipped = self.grids = 0
        self.ticked_s = clock.now()
        self._start(idle_period_s, clock.now())

    def wait_at_rest(self, fd: int) -> float:
        """Wait for the next tick of a robot at rest, or for a message on `fd`; return how late it is in s."""
        clock = self.clock
        due_s = clock.now() + self.idle_period_s
        self.index = 0
        clock.wait_readable(fd, due_s)
        now_s = clock.now()
        self._origin_s = self.deadline_s = min(due_s, now_s)  # a message is obeyed at once
        return max(0.0, now_s - due_s)

    def wait_for_look(self, number: int, fd: int | None, *, paused: bool) -> bool:
        """Wait for a look before the next deadline of the grid, or for a message.

        `number`: from 1 to `looks - 1`. `fd`: where a message may come; None where the daemon has gone.
        Returns whether the look is due; otherwise a message has come first.
        """
        clock = self.clock
        due_s = self._origin_s + (self.index + number / self.looks) * self.period_s
        if fd is None:
            clock.sleep_until(due_s)
        elif paused:
            clock.wait_readable(fd, due_s)
        else:
            clock.listen_until(fd, due_s)
        self.deadline_s = clock.now()  # of the tick that is made at once where a command ends the motion
        return self.deadline_s >= due_s

    def is_time_to_read(self, number: int) -> bool:
        """Return whether feedback can be read at a look, and be there before the next tick."""
        return number % self._looks_a_read == 0 and self.looks - number >= self._looks_a_read

    def look_after(self, number: int) -> int:
        """Return the look that comes next; those whose time has passed are left out."""
        passed = (self.clock.now() - self._origin_s) / self.period_s - self.index
        return max(number, int(passed * self.looks)) + 1

    def wait(self, *, paused: bool) -> tuple[int, float]:
        """Wait for the next deadline of the grid.

        Returns `due`: how many ticks have become due: more than 1 where deadlines were missed. Returns
        `lateness_s`: since the first of them.
        """
        clock = self.clock
        self.index += 1
        self.deadline_s = deadline_s = self._origin_s + self.index * self.period_s
        if paused:
            clock.rest_until(deadline_s)
        else:
            clock.sleep_until(deadline_s)
        lateness_s = clock.now() - deadline_s
        if lateness_s < self.period_s:
            return 1, lateness_s
        missed = int(lateness_s / self.period_s)
        self.index += missed
        self.missed += missed
        return 1 + missed, lateness_s

    def ticks_to_move(self, due: int, lateness_s: float, *, active: bool) -> int:
        """Return how many of the ticks that are due the trajectory moves on by.

        A late tick plays where the clock is now. Further than `max_skip_s` that would be a lunge: what is
        left is caught up by ending later.
        """
        if lateness_s > self.max_lateness_s:
            return 1
        skipped = min(due - 1, int(self.max_skip_s / self.period_s + ROUNDING))
        self.skipped += skipped if active else 0
        return 1 + skipped

    def start_grid(self, period_s: float) -> None:
        """Put the next deadline one period from now, and the following ones on its grid."""
        self._start(period_s, self.clock.now())

    def start_grid_for(self, period_s: float, due_s: float) -> int:
        """Put a deadline on a given time, and the others on its grid; return how many ticks it is away."""
        ticks = math.ceil((due_s - self.clock.now()) / period_s - ROUNDING)
        self._start(period_s, due_s - ticks * period_s)
        return ticks

    def go_on(self, period_s: float) -> None:
        """Put the next deadline one period from the present one, or as many more as have passed since."""
        ticks = math.floor((self.deadline_s - self._origin_s) / self.period_s + ROUNDING)
        missed_s = (self.index - ticks) * self.period_s
        self._start(period_s, self.deadline_s)
        self.index = int(missed_s / period_s + ROUNDING)

    def _start(self, period_s: float, origin_s: float) -> None:
        self.grids += 1
        self.period_s = period_s
        self.ticks_per_check = max(1, round(CHECK_PERIOD_S / period_s))
        self.looks = max(1, math.ceil(period_s / CHECK_PERIOD_S - ROUNDING))
        self._looks_a_read = max(1, math.ceil(self._read_period_s * self.looks / period_s - ROUNDING))
        self._origin_s = self.deadline_s = origin_s
        self.index = 0
