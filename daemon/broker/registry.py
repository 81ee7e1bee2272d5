"""All connections of the embedded broker: how many there may be, and how much may come on them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .client import ClientLink
    from .connection import Connection
    from .limits import Limits
    from .login import Login


class ConnectionRegistry:
    """All connections, and which of them are whose."""

    def __init__(self, limits: Limits, login: Login | None) -> None:
        self.login = login
        self._limits = limits
        self._connections: dict[Connection, None] = {}  # the oldest first
        self._clients: dict[str, ClientLink] = {}
        self._incoming = 0

    @property
    def connections(self) -> list[Connection]:
        """All that are open now."""
        return list(self._connections)

    def opened(self, connection: Connection) -> None:
        """Note a connection; where too many have not said who they are, the oldest of those goes."""
        self._connections[connection] = None
        if len(self._connections) > self._limits.waiting:
            strangers = [one for one in self._connections if one.is_unknown]
            if len(strangers) > self._limits.waiting:
                strangers[0].refuse(f"{self._limits.waiting} others have not sent a CONNECT; let it send one")
                strangers[0].abort()

    def make_room(self) -> bool:
        """End the oldest connection that has not said who it is; return whether there was one."""
        stranger = next((one for one in self._connections if one.is_unknown), None)
        if stranger is None:
            return False
        stranger.abort()
        return True

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)

    def let_in(self, name: str, link: ClientLink) -> bool:
        """Let a client in, in place of one of its name; return whether there is room."""
        if name in self._clients:
            self._clients[name].make_way()
        if len(self._clients) >= self._limits.clients:
            return False
        self._clients[name] = link
        return True

    def left(self, name: str, link: ClientLink) -> None:
        """Forget that a client is connected."""
        if self._clients.get(name) is link:
            del self._clients[name]

    def has_come(self, size: int) -> None:
        """Count bytes that wait to be served; where it is too much, who has most is disconnected."""
        self._incoming += size
        if self._incoming > self._limits.incoming_bytes:
            most = max(self._connections, key=lambda one: one.incoming)
            most.refuse(f"{most.incoming} bytes of a packet are too many beside others'; send less at a time")
            most.abort()
