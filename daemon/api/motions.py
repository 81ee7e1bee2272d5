"""Motions as a transport shows them and takes new ones, beyond what a request in JSON can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats


class PlannedMotion(NamedTuple):
    """The setpoints of a motion, for people to look at before anything moves.

    Attributes
    ----------
    about : dict
        JSON-ready.
    positions : ndarray, shape (rows, joints)
        In rad or m.
    """

    about: dict[str, Any]
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

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises
        ------
        RequestError
            If it is not taken, with what is in it.
        """
