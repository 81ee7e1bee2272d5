"""Which requests a stop has overtaken: it comes over a connection of its own, and so may come before them.

Every stop comes over the connection of the other requests as well, and what comes there before it was sent
before it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_S = 30.0
"""A stop that has not come by for so long was dropped by the broker; nothing that old is on its way."""


class StopOrder:
    """The stops to each robot, counted as they are taken and as they come by among the other requests.

    Parameters
    ----------
    now : callable
        Returns a time in s.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._taken: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._taken_s: dict[str, float] = {}

    def take(self, robot: str) -> None:
        """Count a stop that is served."""
        self._settle(robot)
        self._taken[robot] += 1
        self._taken_s[robot] = self._now()

    def pass_by(self, robot: str) -> None:
        """Count a stop that comes by among the other requests."""
        self._passed[robot] += 1

    def place(self, robot: str) -> int:
        """Return the place of a request that comes by now, among the stops."""
        self._settle(robot)
        return self._passed[robot]

    def is_overtaken(self, robot: str, place: int) -> bool:
        """Whether a stop was served that was sent after the request of that place."""
        return self._taken[robot] > place

    def start(self) -> None:
        """Begin anew on a new connection, where no earlier stop comes by any more."""
        self._passed = Counter(self._taken)

    def _settle(self, robot: str) -> None:
        """Take a stop that has not come by in time as one that never will."""
        if self._taken[robot] > self._passed[robot] and self._now() - self._taken_s[robot] > LONGEST_S:
            self._passed[robot] = self._taken[robot]
