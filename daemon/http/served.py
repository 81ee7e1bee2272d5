"""What a server serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api import Dispatcher, Groups, Motions, ReportHub
    from .routes.models import Models


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
    is_fleet: bool = False
    """Whether the robots are those of other daemons, which pages show."""
