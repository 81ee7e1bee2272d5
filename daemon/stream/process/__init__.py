"""The life of stream processes.

- `process`: from the setup to the end
- `fork_server`: forks them from a process that has loaded all that they need
- `devices`: waits for devices, opens the driver, and finds lost actuators again
"""

from .devices import ShutdownRequested
from .process import Machine, main, stream

__all__ = ["Machine", "ShutdownRequested", "main", "stream"]
