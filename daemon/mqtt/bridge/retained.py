"""What the broker keeps of what the daemon publishes, and whether that comes back to it."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from ..client import RAISE_IT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

log = logging.getLogger(__name__)

SETTLED_S = 1.0
QUIET_S = 60.0
MOST_UNDER_WAY = 1000


class RetainedTopics:
    """What was last published on each topic that lasts, held against what is heard there.

    A broker or a machine that is held up delivers late. So what was said before is taken for one's own
    however late it comes back, as long as it has not come back yet; it is known again by its hash.
    """

    def __init__(self, now: Callable[[], float], will: bytes | None = None) -> None:
        self._will = will
        self._said: dict[str, tuple[bytes, float]] = {}
        self._foreign: dict[str, bytes] = {}
        self._under_way: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=MOST_UNDER_WAY))
        self._warned_s: dict[str, float] = {}
        self._now = now

    def say(self, topic: str, payload: bytes) -> None:
        """Note what is published."""
        self._said[topic] = payload, self._now()
        self._under_way[topic].append(hash(payload))

    def hear(self, topic: str, payload: bytes) -> None:
        """Note what the broker delivers."""
        if topic not in self._said:
            return
        if self._comes_back(topic, payload):
            self._foreign.pop(topic, None)  # what is newer is still under way, however long that takes
        else:
            self._foreign[topic] = payload

    def _comes_back(self, topic: str, payload: bytes) -> bool:
        """Whether this was said and not heard yet; what was said before it has then passed, too."""
        under_way, sought = self._under_way[topic], hash(payload)
        if sought not in under_way:
            return False
        while under_way.popleft() != sought:
            pass
        return True

    def overwritten(self) -> Iterator[tuple[str, bytes]]:
        """Yield the topics that hold something that was not said, with what they should hold."""
        now_s = self._now()
        for topic, heard in list(self._foreign.items()):
            payload, said_s = self._said[topic]
            if heard != payload and now_s - said_s > SETTLED_S:
                if heard != self._will:
                    self._warn(topic, "cleared" if not heard else "overwritten", now_s)
                yield topic, payload

    def leave(self, topics: Iterable[str]) -> None:
        """Look after some topics no more."""
        for topic in topics:
            self._said.pop(topic, None)
            self._foreign.pop(topic, None)
            self._under_way.pop(topic, None)
            self._warned_s.pop(topic, None)

    def forget(self) -> None:
        """Begin on a new connection, on which a session may bring what was said on the one before."""
        self._said.clear()
        self._foreign.clear()

    def _warn(self, topic: str, what: str, now_s: float) -> None:
        if now_s - self._warned_s.get(topic, -QUIET_S) >= QUIET_S:
            self._warned_s[topic] = now_s
            log.warning(
                "%s: %s by another client; it is published again; see who may publish there", topic, what
            )


LONGEST_WAY_S, TOLD_AFTER_S = 3.0, 5.0
"""What has not come back by then counts as swallowed; it is logged once one topic was silent for longer."""


class Echoes:
    """When something was first published on each topic, and on which of them it came back."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._first_said_s: dict[str, float] = {}
        self._bytes: dict[str, int] = {}
        self._heard: set[str] = set()
        self._now = now
        self._logs_silence = True

    def say(self, topic: str, length: int = 0) -> None:
        """Note that something of so many bytes is published on a topic."""
        self._first_said_s.setdefault(topic, self._now())
        self._bytes[topic] = length

    def hear(self, topic: str) -> None:
        """Note that the broker delivers something on a topic."""
        if topic in self._first_said_s:
            self._heard.add(topic)

    def log_silence(self, known: Collection[str]) -> list[str]:
        """Log once the topics on which nothing comes back: an access list drops it.

        A broker may drop what is too long for it as silently. Where all that is silent is longer than all
        that is heard, these topics are returned.
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
        if self._logs_silence:
            log.warning("%s: %s%s; %s", next(iter(silent)), problem, others, hint)
        self._logs_silence = False
        return list(silent) if is_longer else []

    def leave(self, topics: Iterable[str]) -> None:
        """Listen for some topics no more."""
        for topic in topics:
            self._first_said_s.pop(topic, None)
            self._bytes.pop(topic, None)
            self._heard.discard(topic)

    def forget(self) -> None:
        """Begin on a new connection."""
        self._first_said_s.clear()
        self._bytes.clear()
        self._heard.clear()
