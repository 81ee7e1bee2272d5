"""What the broker delivers of what the daemon publishes: whether it comes back, or others overwrite it."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..client import RAISE_IT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

log = logging.getLogger(__name__)

SETTLED_S = 1.0
QUIET_S = 60.0
MOST_UNDER_WAY = 1000
LONGEST_WAY_S, REPORTED_AFTER_S = 3.0, 5.0
"""What has not come back by then counts as dropped; it is logged once one topic was silent for longer."""


@dataclass(slots=True)
class PublishedTopic:
    """What was last published on a topic on this connection, and what has come back there."""

    first_s: float
    latest_s: float
    payload: bytes
    retained: bool
    returned: bool = False
    foreign: bytes | None = None


class PublishedTopics:
    """All topics on which something was published.

    A broker or a machine that is held up delivers late. So an earlier payload counts as the daemon's own
    however late it comes back, as long as it has not come back yet; it is recognised by its hash.
    """

    def __init__(self, now: Callable[[], float], will: bytes | None = None) -> None:
        self._now = now
        self._will = will
        self._topics: dict[str, PublishedTopic] = {}
        self._under_way: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=MOST_UNDER_WAY))
        self._warned_s: dict[str, float] = {}
        self._logs_silence = True

    def publish(self, topic: str, payload: bytes, *, retained: bool = True) -> None:
        """Note what is published."""
        now_s = self._now()
        topics = self._topics
        before = topics.get(topic)
        if before is None:
            topics[topic] = PublishedTopic(now_s, now_s, payload, retained)
        else:
            before.latest_s, before.payload = now_s, payload
        if retained:
            self._under_way[topic].append(hash(payload))

    def receive(self, topic: str, payload: bytes) -> None:
        """Note what the broker delivers."""
        published = self._topics.get(topic)
        if published is None:
            return
        published.returned = True
        if published.retained:  # what is newer is still under way, however long that takes
            published.foreign = None if self._comes_back(topic, payload) else payload

    def _comes_back(self, topic: str, payload: bytes) -> bool:
        """Whether this was published and has not come back yet; what was published before it then has."""
        under_way, sought = self._under_way[topic], hash(payload)
        if sought not in under_way:
            return False
        while under_way.popleft() != sought:
            pass
        return True

    def overwritten(self) -> Iterator[tuple[str, bytes]]:
        """Yield the topics that hold something of another client, with what they should hold."""
        now_s = self._now()
        for topic, published in list(self._topics.items()):
            foreign, payload = published.foreign, published.payload
            if foreign not in {None, payload} and now_s - published.latest_s > SETTLED_S:
                if foreign != self._will:
                    self._warn(topic, "overwritten" if foreign else "cleared", now_s)
                yield topic, payload

    def _warn(self, topic: str, what: str, now_s: float) -> None:
        if now_s - self._warned_s.get(topic, -QUIET_S) >= QUIET_S:
            self._warned_s[topic] = now_s
            log.warning(
                "%s: %s by another client; it is published again; see who may publish there", topic, what
            )

    def log_silence(self, known: Collection[str]) -> list[str]:
        """Log once the topics on which nothing comes back: an access list drops it.

        A broker may drop what is too long for it as silently. Where all that does not come back is longer
        than all that does, these topics are returned.
        """
        now_s = self._now()
        silent = {
            topic: published
            for topic, published in self._topics.items()
            if not published.returned and topic not in known and now_s - published.first_s > LONGEST_WAY_S
        }
        if not any(now_s - published.first_s > REPORTED_AFTER_S for published in silent.values()):
            return []
        nor_on = {1: "", 2: ", nor on another topic"}
        others = nor_on.get(len(silent), f", nor on {len(silent) - 1} others")
        problem = "what is published there does not come back"
        hint = "permit the daemon to publish and subscribe there in the broker's access list"
        shortest = min(len(published.payload) for published in silent.values())
        returned = [len(published.payload) for published in self._topics.values() if published.returned]
        is_longer = shortest > max(returned, default=shortest)
        if is_longer:
            hint = f"it has {shortest} bytes or more, what comes back fewer; {RAISE_IT}, or {hint}"
        if self._logs_silence:
            log.warning("%s: %s%s; %s", next(iter(silent)), problem, others, hint)
        self._logs_silence = False
        return list(silent) if is_longer else []

    def forget(self, topic: str) -> None:
        """Begin with a topic as if nothing had been published there."""
        self._topics.pop(topic, None)

    def begin(self) -> None:
        """Begin on a new connection, on which a session may bring what was published on the one before."""
        self._topics.clear()
