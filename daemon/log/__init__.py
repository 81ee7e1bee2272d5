"""What the processes of motiond write to stderr.

- `journal`: log records as entries of systemd's journal
- `lines`: log records as lines that nothing quoted in them can forge
- `rate_limited`: the log of refusals, which no client can flood
"""

from .lines import LEVELS, has_terminal, level_name, set_level, start_logging
from .rate_limited import RateLimitedLog

__all__ = ["LEVELS", "RateLimitedLog", "has_terminal", "level_name", "set_level", "start_logging"]
