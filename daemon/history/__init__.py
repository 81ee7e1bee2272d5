"""The last results of each robot, over restarts of the daemon.

- `history`: takes results, and returns them, without ever keeping the daemon waiting
- `store`: the SQLite file that has them, or memory where it cannot be used
"""

from .history import History

__all__ = ["History"]
