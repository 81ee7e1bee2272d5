"""Groups of robots as a transport passes requests to them on: to whoever coordinates, here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .schemas import GroupPlayRequest

GroupVerb = Literal["stop", "estop", "pause", "resume"]


class Groups(Protocol):
    """The one who coordinates: a desk at the broker, or a test's stand-in."""

    async def play(self, group: str, request: GroupPlayRequest) -> dict[str, Any]:
        """Start a motion on all robots of a group at one time, and return once all have accepted it.

        Raises
        ------
        RequestError
            If nobody plays; with each robot's reason where robots are why.
        """

    async def command(self, group: str, verb: GroupVerb) -> dict[str, Any]:
        """Send a command to all robots of a group, and return what all have answered.

        Raises
        ------
        RequestError
            If a robot has not taken it, with each robot's answer; or if there is no such group.
        """

    async def overview(self) -> list[dict[str, Any]]:
        """Return what is known of each robot at the broker.

        Raises
        ------
        RequestError
            If nothing is.
        """
