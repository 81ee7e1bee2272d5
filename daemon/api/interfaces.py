"""Who acts on what transports receive: robots, here or elsewhere, or stand-ins for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.formats import Run
    from motiond.formats.arrays import Floats

    from .lease import Lease
    from .verbs.following import Streamed
    from .verbs.groups import GroupPlayRequest
    from .verbs.verb import Request

GroupVerb = Literal["stop", "estop", "pause", "resume"]


class Follower(NamedTuple):
    """A robot that follows targets.

    Attributes
    ----------
    joints : int
        How many follow.
    count_refused : callable
        Counts a target that is refused before it is passed on.
    """

    robot: str
    joints: int
    count_refused: Callable[[], None]


class Commands(Protocol):
    """The one who acts on requests, or raises RequestError: all robots, or a test's stand-in."""

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""

    @property
    def leases(self) -> Mapping[str, Lease]:
        """The lease of each robot that requires one."""

    async def handle(
        self, robot: str, verb: str, request: Request, asked_by: str | None = None
    ) -> Mapping[str, Any]:
        """Act on a request and return the data of its answer; `asked_by` is who asks, for people."""

    def take(self, robot: str, request: Streamed) -> None:
        """Pass on a target, or what keeps a follow alive, that nobody waits for an answer to."""

    def follower(self, goal_id: str) -> Follower:
        """Return the robot that follows targets of a goal; raises RequestError where none does."""


class Groups(Protocol):
    """The one who coordinates, or raises RequestError: a coordinator at the broker, or a test's stand-in."""

    async def play(self, group: str, request: GroupPlayRequest, asked_by: str) -> Mapping[str, Any]:
        """Start a motion on all robots of a group at one time, and return once all have accepted it.

        `asked_by` is who asks, for people.
        """

    async def command(self, group: str, verb: GroupVerb) -> Mapping[str, Any]:
        """Send a command to all robots of a group, and return what all have answered."""

    async def overview(self) -> Sequence[Mapping[str, Any]]:
        """Return what is known of each robot at the broker."""


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
    """The one who has the motions, or raises RequestError: all robots, or a test's stand-in."""

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Return the setpoints that a play of a motion would begin with."""

    def curves(self, robot: str, motion: str) -> Floats:
        """Return the positions of the joints that a motion moves at a few rows, shape (rows, joints)."""

    async def upload(self, robot: str, name: str, content: bytes) -> Mapping[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it."""

    async def open_recording(self, robot: str, name: str) -> tuple[BinaryIO, str]:
        """Open the file of a recording for the caller, who closes it; return its name besides."""

    async def recorded_run(self, robot: str, name: str) -> Run:
        """Return what a recording holds, thinned."""
