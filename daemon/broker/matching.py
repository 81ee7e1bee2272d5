"""Topics and filters: what is one, and which match.

Exception
└── TopicError       not a topic, or not a filter
"""

from __future__ import annotations

import re
from typing import Generic, TypeVar

Subscriber = TypeVar("Subscriber")


class TopicError(Exception):
    """A text that is no topic, or no filter."""


def check_topic(topic: str) -> None:
    """Check that a message may be published to a topic."""
    if not topic:
        raise TopicError("an empty topic")
    if "+" in topic or "#" in topic:
        raise TopicError(f"the topic {topic[:60]!r}, which has a wildcard")


def check_filter(filter_: str) -> None:
    """Check that one can subscribe to a filter."""
    if not filter_:
        raise TopicError("an empty topic filter")
    *before, last = filter_.split("/")
    is_wrong = any("#" in level or "+" in level[:-1] + level[1:] for level in before)
    if is_wrong or (len(last) > 1 and ("#" in last or "+" in last)):
        raise TopicError(f"the topic filter {filter_[:60]!r}, whose wildcard is no whole level at its place")


def pattern_of(filter_: str) -> re.Pattern[str]:
    """Return the expression that the whole of each topic has that a filter matches."""
    levels = filter_.split("/")
    hidden = r"(?!\$)" if levels[0] in {"#", "+"} else ""
    if levels == ["#"]:
        return re.compile(hidden + ".*", re.DOTALL)
    rest = "(?:/.*)?" if levels[-1] == "#" else ""
    known = levels[:-1] if rest else levels
    parts = ("[^/]*" if level == "+" else re.escape(level) for level in known)
    return re.compile(hidden + "/".join(parts) + rest, re.DOTALL)


class _Node(Generic[Subscriber]):
    """One level of filters that begin alike."""

    __slots__ = ("children", "subscribers")

    def __init__(self) -> None:
        self.children: dict[str, _Node[Subscriber]] = {}
        self.subscribers: dict[Subscriber, int] = {}


class SubscriptionTree(Generic[Subscriber]):
    """Subscriptions, level by level, so that a message costs little however many there are."""

    def __init__(self) -> None:
        self._root: _Node[Subscriber] = _Node()
        self.count = 0

    def add(self, filter_: str, subscriber: Subscriber, qos: int) -> None:
        """Add a subscription, or replace the one to the same filter."""
        node = self._root
        for level in filter_.split("/"):
            node = node.children.setdefault(level, _Node())
        self.count += subscriber not in node.subscribers
        node.subscribers[subscriber] = qos

    def remove(self, filter_: str, subscriber: Subscriber) -> None:
        """Remove a subscription that is there, with all levels that nobody needs any more."""
        levels = filter_.split("/")
        path = [self._root]
        for level in levels:
            path.append(path[-1].children[level])
        del path[-1].subscribers[subscriber]
        self.count -= 1
        for level in reversed(levels):
            node = path.pop()
            if node.children or node.subscribers:
                break
            del path[-1].children[level]

    def match(self, topic: str) -> dict[Subscriber, int]:
        """Return who has subscribed to a topic, each with the highest QoS of all filters that match."""
        found: dict[Subscriber, int] = {}
        levels = topic.split("/")
        nodes = [self._root]
        wildcards = not topic.startswith("$")
        for level in levels:
            below = []
            for node in nodes:
                children = node.children
                if wildcards:
                    if "#" in children:
                        _collect(children["#"], found)
                    if "+" in children:
                        below.append(children["+"])
                if level in children:
                    below.append(children[level])
            nodes, wildcards = below, True
            if not nodes:
                return found
        for node in nodes:
            _collect(node, found)
            if "#" in node.children:
                _collect(node.children["#"], found)
        return found


def _collect(node: _Node[Subscriber], found: dict[Subscriber, int]) -> None:
    for subscriber, qos in node.subscribers.items():
        if found.get(subscriber, -1) < qos:
            found[subscriber] = qos
