"""Who this daemon is among the daemons on one broker, and what it says of itself."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import orjson


@dataclass(frozen=True, slots=True)
class Identity:
    """One run of a daemon.

    Attributes
    ----------
    daemon_id : str
        As configured.
    host : str
        The machine's name.
    instance : str
        Made up at the start, so that two daemons of one id can be told apart.
    """

    daemon_id: str
    host: str = field(default_factory=socket.gethostname)
    instance: str = field(default_factory=lambda: uuid4().hex[:8])

    @property
    def will(self) -> bytes:
        """What the broker is to say once the connection to the daemon is lost."""
        return orjson.dumps(self.availability("broken"))

    def availability(self, state: Literal["online", "offline", "broken"]) -> dict[str, Any]:
        """Return what the daemon's availability topic holds; `broken` is for the last will alone."""
        return {"state": state, "host": self.host, "instance": self.instance}

    def online(self, requests_qos: int) -> dict[str, Any]:
        """Return that it takes requests, and by which quality of service they get to it soonest."""
        return {**self.availability("online"), "requests_qos": requests_qos}
