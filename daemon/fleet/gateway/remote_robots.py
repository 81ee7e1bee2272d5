"""Passes requests on to robots at a broker, and their daemons' answers back as they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from motiond.client import NoAnswer, Refused

from ...api import VERBS, RequestError, unknown_robot
from ..answers import refusal_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.client import Daemon
    from motiond.formats import Run
    from motiond.formats.arrays import Floats

    from ...api import ErrorCode, Lease, PlannedMotion, Request, Streamed
    from .remote_reports import RemoteReports

ANSWER_S = 5.0
READING_S = 30.0
"""How long where the daemon reads files."""
ABSENT_S = 1.0
"""How long the answer of a robot to a stop is waited for that is reported absent."""
LOST = "there is no connection to the broker"
READS_FILES = frozenset({"motions/reload", "motions/delete"})


class RemoteRobots:
    """All robots at a broker, as what acts on requests (`motiond.daemon.api.Commands`).

    The robots' own daemons check leases. `daemon` is the client that asks them, once it was connected.
    """

    def __init__(self, reports: RemoteReports) -> None:
        self.daemon: Daemon | None = None
        self._reports = reports

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots that the broker knows."""
        return self._reports.robots

    @property
    def leases(self) -> Mapping[str, Lease]:
        """No lease is kept here."""
        return {}

    async def handle(
        self,
        robot: str,
        verb: str,
        request: Request,
        asked_by: str | None = None,  # noqa: ARG002 - a broker names nobody
    ) -> dict[str, Any]:
        """Pass a request on and return the data of its answer.

        Raises
        ------
        RequestError
            If the robot's daemon refuses it; or if there is no such robot, no connection, or no answer in
            time. A stop is sent also to a robot that is reported absent.
        """
        where, stops = f"{robot}/{verb}", VERBS[verb].stops
        if robot not in self.robots:
            raise unknown_robot(robot, self.robots)
        absence = self._reports.roster.absence(robot)
        if absence and not stops:
            raise RequestError("OFFLINE", where, "not sent", absence, "start it with `motiond run`")
        daemon = self.daemon
        if daemon is None or not daemon.is_connected:
            raise RequestError("OFFLINE", where, "not sent", LOST, "it is made again; ask again")
        within_s = ABSENT_S if absence else READING_S if verb in READS_FILES else ANSWER_S
        body = request.model_dump(mode="json", exclude_unset=True, by_alias=True)
        try:
            # Not left to the client, which looks for a reason first.
            async with asyncio.timeout(within_s):
                return await daemon.ask(robot, verb, body, within_s)
        except Refused as error:
            raise refusal_of(error) from error
        except NoAnswer as error:
            raise RequestError.of("OFFLINE", error) from error
        except TimeoutError:
            absence = self._reports.roster.absence(robot) if daemon.is_connected else LOST
            reason = absence or "its daemon is reported online"
            hint = "use the robot's own switch" if stops else "look at what the robot does"
            code: ErrorCode = "OFFLINE" if absence else "TIMEOUT"
            raise RequestError(code, where, f"no answer in {within_s:g} s", reason, hint) from None

    def take(self, robot: str, _request: Streamed) -> None:
        """Refuse: a target on a way around would be late."""
        self._refuse_targets(f"{robot}/follow")

    def follower(self, _goal_id: str) -> NoReturn:
        """Refuse, likewise."""
        self._refuse_targets("frame")

    def _refuse_targets(self, where: str) -> NoReturn:
        problem, reason = "targets are not passed on", "only the robot's own daemon takes them"
        raise RequestError("NOT_ALLOWED", where, problem, reason, "ask that")


class RemoteFiles:
    """Refuses what needs motion files, which only a robot's own daemon has, and names that daemon."""

    def __init__(self, reports: RemoteReports) -> None:
        self._reports = reports

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Refuse."""
        self._refuse(robot, f"motions/{motion}/plan")

    def curves(self, robot: str, motion: str) -> Floats:
        """Refuse."""
        self._refuse(robot, f"motions/{motion}/thumbnail")

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Refuse."""
        del name, content
        self._refuse(robot, "motions/upload")

    async def open_recording(self, robot: str, name: str) -> tuple[BinaryIO, str]:
        """Refuse."""
        self._refuse(robot, f"recordings/{name}")

    async def recorded_run(self, robot: str, name: str) -> Run:
        """Refuse."""
        self._refuse(robot, f"recordings/{name}/run")

    def _refuse(self, robot: str, path: str) -> NoReturn:
        daemon, host = "its own daemon", None
        if robot in self._reports.robots:
            name = self._reports.roster.robots[robot].daemon
            daemon, host = f"its daemon '{name}'" if name else daemon, self._reports.roster.host(robot)
        at = f" on {host}" if host else ""
        problem, reason = "not served here", f"only {daemon}{at} has the robot's files"
        raise RequestError("NOT_ALLOWED", f"{robot}/{path}", problem, reason, "ask its page")
