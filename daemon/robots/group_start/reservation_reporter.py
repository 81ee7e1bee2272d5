"""Reports for which start a robot is reserved, and when it is let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...api import CommitRequest
    from ..robot import Robot
    from .held_start import HeldStart

UNTOLD: dict[str, Any] = {
    "start": None,
    "phase": None,
    "start_at": None,
    "reason": None,
    "expires_at": None,
}


class ReservationReporter:
    """Tells the world of one robot's reservation, and listeners in the daemon before anybody else can act.

    Parameters
    ----------
    robot : Robot

    Attributes
    ----------
    listeners : list of callable
        Are told at once what the world is told.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.listeners: list[Callable[[dict[str, Any]], None]] = []

    def tell(self, held: HeldStart | None) -> None:
        """Tell for which start the robot is reserved; of one that is being prepared nothing is told."""
        told: dict[str, Any] = dict(UNTOLD)
        if held is not None and held.phase is not None:
            told |= {"start": held.request.start, "phase": held.phase, "expires_at": held.expires_at}
            if held.commit is not None:
                told["start_at"] = held.commit.start_at
        self._report(told)

    def tell_released(
        self, start: str, reason: str, commit: CommitRequest | None, held: HeldStart | None = None
    ) -> None:
        """Tell that the robot is not reserved for a start; where it is for another, tell that last.

        Parameters
        ----------
        commit : CommitRequest, optional
            What was, or should have been, committed.
        held : HeldStart, optional
            The other one.
        """
        told: dict[str, Any] = {"start": start, "phase": "released", "reason": reason}
        if commit is not None:
            told["start_at"] = commit.start_at
        self._report(UNTOLD | told)
        if held is not None:
            self.tell(held)

    def tell_event(self, start: str, reason: str) -> None:
        """Tell by an event that a start was let go, and why."""
        event = {"kind": "start_released", "message": f"{start}: {reason}", "start": start}
        self._robot.report("event", event)

    def _report(self, told: dict[str, Any]) -> None:
        self._robot.report("reservation", told)
        for listener in self.listeners:
            listener(told)
