"""Who acts on what transports receive: robots, here or elsewhere, or stand-ins for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from motiond.formats.arrays import Floats

    from .lease import Lease
    from .verbs.groups import GroupPlayRequest
    from .verbs.verb import Request

GroupVerb = Literal["stop", "estop", "pause", "resume"]


class Commands(Protocol):
    """The one who acts on requests: all robots, or a test's stand-in."""

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""

    @property
    def leases(self) -> Mapping[str, Lease]:
        """The lease of each robot that requires one."""

    async def handle(self, robot: str, verb: str, request: Request) -> Mapping[str, Any]:
        """Act on a request and return the data of its answer.

        Raises
        ------
        RequestError
            If it is refused.
        """


class Groups(Protocol):
    """The one who coordinates: a coordinator at the broker, or a test's stand-in."""

    async def play(self, group: str, request: GroupPlayRequest) -> Mapping[str, Any]:
        """Start a motion on all robots of a group at one time, and return once all have accepted it.

        Raises
        ------
        RequestError
            If no robot plays; with each robot's reason where robots are why.
        """

    async def command(self, group: str, verb: GroupVerb) -> Mapping[str, Any]:
        """Send a command to all robots of a group, and return what all have answered.

        Raises
        ------
        RequestError
            If a robot has not accepted it, with each robot's answer; or if there is no such group.
        """

    async def overview(self) -> Sequence[Mapping[str, Any]]:
        """Return what is known of each robot at the broker.

        Raises
        ------
        RequestError
            If nothing is.
        """


class PlannedMotion(NamedTuple):
    """The setpoints of a motion, for people to look at before anything moves.

    Attributes
    ----------
    about : mapping
        JSON-ready.
    positions : ndarray, shape (rows, joints)
        In rad or m.
    """

    about: Mapping[str, Any]
    positions: Floats


class Motions(Protocol):
    """The one who has the motions: all robots, or a test's stand-in."""

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Return the setpoints that a play of a motion would begin with.

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """

    def curves(self, robot: str, motion: str) -> Floats:
        """Return the positions of the joints that a motion moves, at a few of its rows, shape (rows, joints).

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """

    async def upload(self, robot: str, name: str, content: bytes) -> Mapping[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises
        ------
        RequestError
            If it is not kept, with what is in it.
        """
