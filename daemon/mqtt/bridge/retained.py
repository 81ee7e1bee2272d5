"""What the daemon keeps at the broker, and what has become of it there: others may clear or overwrite it."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

log = logging.getLogger(__name__)

SETTLED_S = 1.0
QUIET_S = 60.0
MOST_UNDER_WAY = 1000


class RetainedTopics:
    """What was last published on each topic that lasts, held against what is heard there.

    A broker or a machine that is held up delivers late. So what was said before is taken for one's own
    however late it comes back, as long as it has not come back yet; it is known again by its hash.

    Parameters
    ----------
    now : callable
        Returns a time in s.
    will : bytes, optional
        What the broker says by itself once it takes this client's connection for lost.
    """

    def __init__(self, now: Callable[[], float], will: bytes | None = None) -> None:
        self._will = will
        self._said: dict[str, tuple[bytes, float]] = {}
        self._foreign: dict[str, bytes] = {}
        self._under_way: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=MOST_UNDER_WAY))
        self._warned_s: dict[str, float] = {}
        self._now = now

    def say(self, topic: str, payload: bytes) -> None:
        """Take note of what is published."""
        self._said[topic] = payload, self._now()
        self._under_way[topic].append(hash(payload))

    def hear(self, topic: str, payload: bytes) -> None:
        """Take note of what the broker delivers."""
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
        """Begin anew on a new connection, on which a session may bring what was said on the one before."""
        self._said.clear()
        self._foreign.clear()

    def _warn(self, topic: str, what: str, now_s: float) -> None:
        if now_s - self._warned_s.get(topic, -QUIET_S) >= QUIET_S:
            self._warned_s[topic] = now_s
            log.warning("%s: %s by another client; it is told again; see who may publish there", topic, what)
