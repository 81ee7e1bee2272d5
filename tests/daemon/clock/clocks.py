"""Clocks for tests: states of a machine's clock, and a machine whose clock is slewed and stepped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.daemon.clock.kernel import KernelClock
from motiond.daemon.clock.monitor import ClockMonitor
from motiond.daemon.stream.timing.clocks import VirtualClock

if TYPE_CHECKING:
    from motiond.daemon.clock.chrony import Tracking

START_S, UNIX_S = 100.0, 1_800_000_000.0
GOOD = KernelClock(synchronised=True, estimated_error_s=0.000_2, max_error_s=0.004)
OFF = KernelClock(synchronised=True, estimated_error_s=0.02, max_error_s=0.5)
UNESTIMATED = KernelClock(synchronised=True, estimated_error_s=None, max_error_s=0.5)
ADRIFT = KernelClock(synchronised=False, estimated_error_s=16.0, max_error_s=16.0)


class HandedClock(ClockMonitor):
    """A monitor of a clock that a test sets: what kernel and chrony say, and how often chrony was asked."""

    def __init__(self, kernel: KernelClock | OSError = GOOD, max_error_s: float | None = None) -> None:
        super().__init__(max_error_s, read_kernel=self._read, ask_chrony=self._ask)
        self.kernel = kernel
        self.tracking: Tracking | None = None
        self.asked = 0

    def _read(self) -> KernelClock:
        if isinstance(self.kernel, OSError):
            raise self.kernel
        return self.kernel

    async def _ask(self) -> Tracking | None:
        self.asked += 1
        return self.tracking


class Machine(VirtualClock):
    """The clock of a stream process on virtual time, beside the Unix time of its machine.

    `slew`: by how much faster than its crystal the machine runs both, to make up for an error.
    `oversleep_s`: by how much the next wait for a tick is too long.
    """

    def __init__(self, slew: float = 0.0) -> None:
        super().__init__(START_S)
        self.oversleep_s = 0.0
        self._slew = slew
        self._stepped_s = 0.0

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline, and once beyond."""
        late_s, self.oversleep_s = self.oversleep_s, 0.0
        super().sleep_until(deadline_s + late_s)

    def step(self, by_s: float) -> None:
        """Set Unix time, as `settimeofday` does."""
        self._stepped_s += by_s

    def unix_less_monotonic(self) -> float:
        """Return Unix time less the time of the stream."""
        return UNIX_S - START_S + self._stepped_s

    @property
    def unix_s(self) -> float:
        """Unix time now."""
        return self.time_s + self.unix_less_monotonic()

    @property
    def crystal_s(self) -> float:
        """For how long the machine has run, by its crystal."""
        return (self.time_s - START_S) / (1.0 + self._slew)
