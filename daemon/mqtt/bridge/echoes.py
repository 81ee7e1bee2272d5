"""Whether what the daemon publishes comes back to it: an access list may swallow it without a word."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..client import RAISE_IT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

log = logging.getLogger(__name__)

LONGEST_WAY_S, TOLD_AFTER_S = 3.0, 5.0
"""What has not come back by then counts as swallowed; it is told once one topic was silent for longer."""


class Echoes:
    """When something was first published on each topic that the daemon hears itself, and where it came back.

    Parameters
    ----------
    now : callable
        Returns a time in s.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._first_said_s: dict[str, float] = {}
        self._bytes: dict[str, int] = {}
        self._heard: set[str] = set()
        self._now = now
        self._tells_silence = True

    def say(self, topic: str, length: int = 0) -> None:
        """Take note that something of so many bytes is published on a topic."""
        self._first_said_s.setdefault(topic, self._now())
        self._bytes[topic] = length

    def hear(self, topic: str) -> None:
        """Take note that the broker delivers something on a topic."""
        if topic in self._first_said_s:
            self._heard.add(topic)

    def complain_of_silence(self, known: Collection[str]) -> list[str]:
        """Tell once of topics on which nothing of what was said is heard: an access list swallows it.

        A broker may drop what is too long for it as silently. Where all that is silent is longer than all
        that is heard, these topics are returned.

        Parameters
        ----------
        known : collection of str
            Topics of which it was told already.
        """
        now_s = self._now()
        silent = {
            topic: now_s - said_s
            for topic, said_s in self._first_said_s.items()
            if topic not in self._heard and topic not in known and now_s - said_s > LONGEST_WAY_S
        }
        if max(silent.values(), default=0.0) <= TOLD_AFTER_S:
            return []
        nor_on = {1: "", 2: ", nor on another topic"}
        others = nor_on.get(len(silent), f", nor on {len(silent) - 1} others")
        problem = "what is published there does not come back"
        hint = "permit the daemon to publish and subscribe there in the broker's access list"
        shortest = min(self._bytes[topic] for topic in silent)
        is_longer = shortest > max((self._bytes[topic] for topic in self._heard), default=shortest)
        if is_longer:
            hint = f"it has {shortest} bytes or more, what comes back fewer; {RAISE_IT}, or {hint}"
        if self._tells_silence:
            log.warning("%s: %s%s; %s", next(iter(silent)), problem, others, hint)
        self._tells_silence = False
        return list(silent) if is_longer else []

    def leave(self, topics: Iterable[str]) -> None:
        """Listen for some topics no more."""
        for topic in topics:
            self._first_said_s.pop(topic, None)
            self._bytes.pop(topic, None)
            self._heard.discard(topic)

    def forget(self) -> None:
        """Begin anew on a new connection."""
        self._first_said_s.clear()
        self._bytes.clear()
        self._heard.clear()
