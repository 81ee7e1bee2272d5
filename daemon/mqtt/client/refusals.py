"""Topics on which the broker refuses what is published (MQTT 5): those of a moment are logged in one line."""

from __future__ import annotations

import asyncio
import logging

log = logging.getLogger(__name__)

MOST = 20
MOST_NAMED = 3
QUIET_S = 1.0
REFUSED = "the broker refuses what is published there; permit it in the broker's access list"


class Refusals:
    """What one client is refused; each topic is logged once.

    An access list that permits nothing refuses a report of each kind within milliseconds: they are logged
    together, once `QUIET_S` has passed without another one, or at the end.
    """

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self._waiting: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def note(self, topic: str, *, to_be_logged: bool) -> None:
        """Note a refusal."""
        if topic in self.topics or len(self.topics) >= MOST:
            return
        self.topics.add(topic)
        if to_be_logged:
            self._waiting.append(topic)
            self._cancel()
            self._timer = asyncio.get_running_loop().call_later(QUIET_S, self.report)

    def report(self) -> None:
        """Log what is not logged yet."""
        self._cancel()
        if self._waiting:
            named, others = self._waiting[:MOST_NAMED], len(self._waiting) - MOST_NAMED
            more = f" and {others} more" if others > 0 else ""
            log.warning("%s%s: %s", ", ".join(named), more, REFUSED)
            self._waiting.clear()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
