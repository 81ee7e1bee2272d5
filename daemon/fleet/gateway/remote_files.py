"""Refuses what needs files of motions, which only a robot's own daemon has, and names that daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ...api import RequestError

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ...api import PlannedMotion
    from .remote_reports import RemoteReports


class RemoteFiles:
    """Refuses what needs motion files (`motiond.daemon.api.motions.Motions`).

    Parameters
    ----------
    reports : RemoteReports
        Which daemon has a robot, on which machine.
    """

    def __init__(self, reports: RemoteReports) -> None:
        self._reports = reports

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Refuse."""
        self._refuse(robot, f"motions/{motion}/plan")

    def curves(self, robot: str, motion: str) -> Floats:
        """Refuse."""
        self._refuse(robot, f"motions/{motion}/thumbnail")

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Refuse, whatever the file is."""
        del name, content
        self._refuse(robot, "motions/upload")

    def _refuse(self, robot: str, path: str) -> NoReturn:
        daemon, host = "its own daemon", None
        if robot in self._reports.robots:
            name = self._reports.roster.robots[robot].daemon
            daemon, host = f"its daemon '{name}'" if name else daemon, self._reports.roster.host(robot)
        at = f" on {host}" if host else ""
        problem, reason = "not served here", f"only {daemon}{at} has the robot's files"
        raise RequestError("NOT_ALLOWED", f"{robot}/{path}", problem, reason, "ask its page")
