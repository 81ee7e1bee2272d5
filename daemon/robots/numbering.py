"""Numbers and stamps what a robot reports, so that a listener knows what is newest and what is missing."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..api import Subject

NUMBERED: frozenset[Subject] = frozenset({"state", "result"})


class Numbering:
    """The numbers of one robot's reports.

    - `now`: returns the time, in UTC
    """

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._last: Counter[Subject] = Counter()

    def number(self, subject: Subject, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a report with its number, which counts from 1 for each subject, and with its time.

        Only what is in `NUMBERED` has both; anything else is returned as it is.
        """
        if subject not in NUMBERED:
            return data
        self._last[subject] += 1
        stamp = self._now().isoformat(timespec="milliseconds").removesuffix("+00:00")
        return {**data, "sequence": self._last[subject], "stamp_utc": f"{stamp}Z"}
