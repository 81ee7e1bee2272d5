"""The log of what clients cause: a few lines in each period, then a count."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

MOST = 10
PERIOD_S = 10.0


class RateLimitedLog:
    """Logs at most ten lines in ten seconds, and counts the others. `clock`: gives the time in s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin_s = -PERIOD_S
        self._logged = 0
        self._left_out = 0

    def warning(self, what: str, *details: object) -> None:
        """Log what is refused, unless there were too many lines recently."""
        self._log(logging.WARNING, what, details)

    def info(self, what: str, *details: object, extra: Mapping[str, object] | None = None) -> None:
        """Log what is asked for, likewise."""
        self._log(logging.INFO, what, details, extra)

    def _log(
        self, level: int, what: str, details: tuple[object, ...], extra: Mapping[str, object] | None = None
    ) -> None:
        now_s = self._clock()
        if now_s - self._begin_s >= PERIOD_S:
            if self._left_out:
                log.log(level, "%d more were not logged; they came faster than a log can", self._left_out)
            self._begin_s, self._logged, self._left_out = now_s, 0, 0
        if self._logged < MOST:
            self._logged += 1
            log.log(level, what, *details, extra=extra)
        else:
            self._left_out += 1
