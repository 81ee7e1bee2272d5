"""All connections of the embedded broker: how many there may be, and how much may come on them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection
    from .limits import Limits
    from .login import Login


class ConnectionRegistry:
    """All connections."""

    def __init__(self, limits: Limits, login: Login | None) -> None:
        self.login = login
        self._limits = limits
        self._connections: dict[Connection, None] = {}  # the oldest first
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

    def has_come(self, size: int) -> None:
        """Count bytes that wait to be served; beyond the limit, the connection with most is closed."""
        self._incoming += size
        if self._incoming > self._limits.incoming_bytes:
            most = max(self._connections, key=lambda one: one.incoming)
            most.refuse(f"{most.incoming} bytes of a packet are too many beside others'; send less at a time")
            most.abort()
