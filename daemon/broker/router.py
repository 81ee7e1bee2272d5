"""Who receives what: sessions by client, their subscriptions, and retained messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import Limits, Memory
from .matching import SubscriptionTree, pattern_of
from .packets import FAILURE
from .session import Session

if TYPE_CHECKING:
    from ..log import RateLimitedLog
    from .packets import Message


class RetainedMessages:
    """The last retained message of each topic."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._messages: dict[str, Message] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def get(self, topic: str) -> Message | None:
        """Return the message of a topic."""
        return self._messages.get(topic)

    def put(self, message: Message) -> bool:
        """Keep a message, or forget the topic's where it is empty; return whether there was room."""
        before = self._messages.pop(message.topic, None)
        if before is not None:
            self._bytes -= before.size
        if not message.payload:
            return True
        total = self._bytes + message.size
        if len(self._messages) >= self._limits.retained or total > self._limits.retained_bytes:
            return False
        self._bytes = total
        self._messages[message.topic] = message
        return True

    def matching(self, filter_: str) -> list[str]:
        """Return the topics that a filter matches and that have a message."""
        if "+" not in filter_ and "#" not in filter_:
            return [filter_] if filter_ in self._messages else []
        matches = pattern_of(filter_).fullmatch
        return [topic for topic in self._messages if matches(topic)]


class Router:
    """All that the broker keeps."""

    def __init__(self, limits: Limits, rate_limited: RateLimitedLog) -> None:
        self.limits = limits
        self.memory = Memory(limits.held_bytes)
        self.rate_limited = rate_limited
        self._sessions: dict[str, Session] = {}
        self._absent: dict[str, Session] = {}  # those of absent clients, the longest absent first
        self._subscriptions: SubscriptionTree[Session] = SubscriptionTree()
        self._retained = RetainedMessages(limits)

    # -- sessions -------------------------------------------------------------------------------------------

    def make_room(self, client_id: str) -> bool:
        """Disconnect a client whose name another one takes; return whether there is room for that one."""
        session = self._sessions.get(client_id)
        if session is not None and session.connection is not None:
            session.connection.make_way()
        return len(self._sessions) - len(self._absent) < self.limits.clients

    def begin(self, client_id: str, *, clean: bool) -> tuple[Session, bool]:
        """Return the session of a client that connects, and whether it was there before."""
        session = self._sessions.get(client_id)
        if session is not None and (clean or session.clean):
            self._forget(session)
            session = None
        present = session is not None
        if session is None:
            session = Session(client_id, self.limits, self.memory, self._retained.get, self.rate_limited)
            self._sessions[client_id] = session
        self._absent.pop(client_id, None)
        session.clean = clean
        return session, present

    def leave(self, session: Session, now_s: float) -> None:
        """Note that a client has gone; its session is kept unless it asked for a clean one."""
        session.detach(now_s)
        if session.clean:
            self._forget(session)
            return
        self._absent[session.client_id] = session
        if len(self._absent) > self.limits.sessions:
            oldest = next(iter(self._absent.values()))
            self.rate_limited.warning(
                "client %.60r: its session is forgotten; %d of absent clients are kept; use clean sessions",
                oldest.client_id,
                self.limits.sessions,
            )
            self._forget(oldest)

    def forget_expired(self, now_s: float) -> None:
        """Forget the sessions of clients that have been absent for too long."""
        while self._absent:
            oldest = next(iter(self._absent.values()))
            if now_s - oldest.left_s < self.limits.session_s:
                return
            self._forget(oldest)

    def _forget(self, session: Session) -> None:
        for filter_ in session.subscriptions:
            self._subscriptions.remove(filter_, session)
        session.subscriptions.clear()
        session.end()
        del self._sessions[session.client_id]
        self._absent.pop(session.client_id, None)

    # -- messages -------------------------------------------------------------------------------------------

    def publish(self, publisher: str, message: Message) -> int:
        """Give a message to all who have subscribed to it; return how many there are."""
        found = self._subscriptions.match(message.topic)
        for session, qos in found.items():
            session.deliver(publisher, message, min(qos, message.qos))
        if message.retain and not self._retained.put(message):
            self.rate_limited.warning(
                "client %.60r: the message on %.60r is not retained; the broker keeps %d, in %d bytes; "
                "clear what is not needed",
                publisher,
                message.topic,
                self.limits.retained,
                self.limits.retained_bytes,
            )
        return len(found)

    def subscribe(self, session: Session, filter_: str, qos: int) -> int:
        """Subscribe; return the code for the SUBACK."""
        if reason := self._refusal(session, filter_):
            problem = "client %.60r: the subscription to %.60r is refused; %s"
            self.rate_limited.warning(problem, session.client_id, filter_, reason)
            return FAILURE
        session.subscriptions[filter_] = qos
        self._subscriptions.add(filter_, session, qos)
        session.send_retained(self._retained.matching(filter_), qos)
        return qos

    def unsubscribe(self, session: Session, filter_: str) -> None:
        """Unsubscribe, if there is such a subscription."""
        if session.subscriptions.pop(filter_, None) is not None:
            self._subscriptions.remove(filter_, session)

    def _refusal(self, session: Session, filter_: str) -> str:
        """Return why there can be no subscription, and how to fix it; nothing if there can."""
        limits = self.limits
        if len(filter_.encode()) > limits.topic_bytes or filter_.count("/") >= limits.topic_levels:
            most = f"{limits.topic_bytes} bytes and {limits.topic_levels} levels"
            return f"a filter has at most {most}; shorten it"
        if filter_ in session.subscriptions:
            return ""
        if len(session.subscriptions) >= limits.subscriptions:
            return f"a client has at most {limits.subscriptions}; use wildcards"
        if self._subscriptions.count >= limits.subscriptions_in_all:
            return f"there are {limits.subscriptions_in_all} of all clients; use wildcards"
        return ""
