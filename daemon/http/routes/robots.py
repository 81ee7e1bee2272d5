"""What robots are asked for, and what is known of them: the same verbs, bodies and answers as by MQTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import api
from ...api import MOST_BYTES, STOPS, RawRequest, most_bytes
from .exchange import BodyError, answered, passed_on, read_body, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from ...api import Commands, Dispatcher, ReportHub, Subject

STOP_WITHIN_S = 0.5
"""So long the body of a stop may take; then the stop acts without it."""
NOT_READ = b"its body could not be read"
KNOWN: tuple[Subject, ...] = ("availability", "state", "description", "motions", "lease")


class RobotApi:
    """Serves requests to robots, and what they have reported last.

    Parameters
    ----------
    dispatcher : Dispatcher
    commands : Commands
        Whose robots there are.
    hub : ReportHub
    daemon_id : str
    is_stale : callable
        Whether what the robots have reported is not heard any more.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        commands: Commands,
        hub: ReportHub,
        daemon_id: str,
        is_stale: Callable[[], bool],
    ) -> None:
        self._dispatcher = dispatcher
        self._commands = commands
        self._hub = hub
        self._daemon_id = daemon_id
        self._is_stale = is_stale

    async def list_robots(self, _request: web.Request) -> web.Response:
        """Answer with every robot, its availability and its state."""
        latest = {(report.robot, report.subject): report.data for report in self._hub.latest()}
        robots = [
            {"name": name} | {subject: latest.get((name, subject)) for subject in ("availability", "state")}
            for name in self._commands.robots
        ]
        return answered({"id": self._daemon_id, "robots": robots, "stale": self._is_stale()})

    async def show(self, request: web.Request) -> web.Response:
        """Answer with what a robot has reported last on one subject."""
        robot, subject = request.match_info["robot"], request.match_info["subject"]
        for report in self._hub.latest():
            if (report.robot, report.subject) == (robot, subject):
                return answered(report.data)
        if robot not in self._commands.robots:
            return unknown_robot(robot, self._commands)
        return refused(503, "OFFLINE", f"{robot}: nothing is known of its {subject} yet; ask again")

    async def act(self, request: web.Request) -> web.Response:
        """Pass a request on, and its answer back; a stop acts whatever its body is."""
        robot, verb = request.match_info["robot"], request.match_info["verb"]
        try:
            body = await body_of(request, verb)
        except BodyError as error:
            return error.response
        raw = RawRequest(robot, verb, body, caller=request.remote or "")
        return passed_on(await self._dispatcher.answer(raw))


async def body_of(request: web.Request, verb: str) -> bytes:
    """Read the body of a request for a verb; one that stops acts whatever its body is.

    Raises
    ------
    BodyError
        If the body is not taken.
    """
    if verb not in STOPS:
        return await read_body(request, most_bytes(verb))
    try:
        return await read_body(request, MOST_BYTES, within_s=STOP_WITHIN_S)
    except BodyError:
        return NOT_READ


def unknown_robot(robot: str, commands: Commands) -> web.Response:
    """Refuse to speak of a robot that there is none of."""
    return refused(404, "UNKNOWN_ROBOT", str(api.unknown_robot(robot, commands.robots)))
