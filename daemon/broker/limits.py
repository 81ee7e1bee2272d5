"""How much the embedded broker keeps of everything, whatever its clients do (docs/mqtt.md has each)."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB = 1024, 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds, each with what happens at it."""

    clients: int = 500
    """Connected at a time; another is answered 'server unavailable'."""
    waiting: int = 128
    """Connections that have not sent their CONNECT; the one that has waited longest is closed."""
    connect_s: float = 5.0
    """How long a connection may take to send its CONNECT; then it is closed."""
    packet_bytes: int = 16 * MIB
    """Of one PUBLISH; with a longer one, the client is disconnected before the rest is read."""
    control_bytes: int = 384 * KIB
    """Of any other packet, which holds the longest CONNECT of the standard; likewise."""
    incoming_bytes: int = 64 * MIB
    """Of packets that have not come whole, of all clients; the client with the most is disconnected."""
    client_id_bytes: int = 256
    """Of a client identifier; a longer one is answered 'identifier rejected'."""
    topic_bytes: int = 1024
    """Of a topic, or who publishes is disconnected; of a filter, or the subscription is refused."""
    topic_levels: int = 32
    """Likewise."""
    subscriptions: int = 4_000
    """Of one client; another is refused in the SUBACK."""
    subscriptions_in_all: int = 10_000
    """Of all clients; likewise."""
    retained: int = 5_000
    """Retained messages; one on another topic is delivered, but not kept."""
    retained_bytes: int = 64 * MIB
    """Of all retained messages; likewise."""
    in_flight: int = 64
    """Messages of QoS 1 and 2 sent to one client and not acknowledged; more wait."""
    in_flight_bytes: int = 1 * MIB
    """Likewise; one message is always sent."""
    queued: int = 10_000
    """Messages that wait for one client; QoS 0 is dropped first, then the newest of who has most there."""
    queued_bytes: int = 16 * MIB
    """Likewise; one message may always wait."""
    held_bytes: int = 128 * MIB
    """Of all that waits or is under way to all clients; beyond it, only 64 KiB for each client."""
    unreleased: int = 1_000
    """Messages of QoS 2 that a client has sent and not released; with another, it is disconnected."""
    sessions: int = 200
    """Sessions of absent clients; the one that has been absent longest is forgotten."""
    session_s: float = 86_400.0
    """How long the session of an absent client is kept."""
    stalled_s: float = 15.0
    """How long a client may read nothing while something waits for it; then it is disconnected."""
    close_s: float = 2.0
    """How long a connection that is being closed may take for its last bytes."""


SMALL_BYTES = 64 * KIB
"""What each client may have under way even where `held_bytes` is reached."""


class Memory:
    """Counts what waits or is under way to all clients, in bytes."""

    __slots__ = ("_most", "held")

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be held."""
        return self.held + size <= self._most
