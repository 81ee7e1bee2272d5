"""Threads for what may hang, as a disk or a network drive does.

- `daemon_thread`: one that no program waits for
"""

from .daemon_thread import DaemonThread

__all__ = ["DaemonThread"]
