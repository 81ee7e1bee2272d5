"""What a server serves, within which bounds, and what it cannot serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..api import Dispatcher, Groups, Motions, ReportHub
    from ..physics import Surrounding
    from .routes.models import Models


class HttpError(Exception):
    """What is configured cannot be served: `subject: problem; reason; hint`."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """What strangers can hold of a server."""

    connections: int = 256
    """At once. For a further one, the one that has been asking for longest is closed; where all are being
    served, the further one is."""
    served: int = 128
    served_an_address: int = 96
    """Requests that are being served at once, stops and WebSockets apart."""
    ask_within_s: float = 10.0
    """For the head of a request to arrive, from the connection's begin or the head's own."""
    read_within_s: float = 15.0
    """For a client to read what is sent to it."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a server serves; all its parts share it."""

    dispatcher: Dispatcher
    """Shared with the other transports, so that a transaction acts once whichever way it comes."""
    motions: Motions
    groups: Groups
    hub: ReportHub
    models: Models
    """The description of each robot, where it has one, and its joints."""
    daemon_id: str
    is_broker_connected: Callable[[], bool]
    """Whether requests come by MQTT, too."""
    clock: Callable[[], dict[str, Any]]
    """The state of the machine's clock, as diagnostics report it."""
    surroundings: Callable[[str], Sequence[Surrounding]] = lambda _: ()
    """What stands around a robot that has a description."""
    is_fleet: bool = False
    """Whether the robots are those of other daemons, which pages show."""
