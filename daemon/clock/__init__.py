"""The machine's clock: how well it is synchronised, and Unix time beside the time of setpoints.

- `state`: what is published of it, and Unix time less monotonic time
- `kernel`: what the kernel knows of it, by adjtimex(2)
- `chrony`: what chronyd knows of it, by `chronyc`
- `monitor`: its state, kept fresh
"""

from .chrony import Tracking, ask_chrony
from .monitor import ClockMonitor
from .state import ClockState, unix_less_monotonic, utc

__all__ = ["ClockMonitor", "ClockState", "Tracking", "ask_chrony", "unix_less_monotonic", "utc"]
