"""What robots are asked for, and what is known of them: the same verbs, bodies and answers as by MQTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...api import MOST_BYTES, STOPS, RawRequest, most_bytes, unknown_robot
from .exchange import Refused, answered, passed_on, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp import web

    from ...api import Commands, Dispatcher, ReportHub, Subject, Verb

STOP_WITHIN_S = 0.5
"""So long the body of a stop may take; then the stop acts without it."""
NOT_READ = b"its body could not be read"
KNOWN: tuple[Subject, ...] = ("availability", "state", "description", "motions", "lease")


class RobotRoutes:
    """Serves requests to robots, and what they have reported last."""

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
            raise unknown_robot(robot, self._commands.robots)
        raise Refused(503, "OFFLINE", f"{robot}: nothing is known of its {subject} yet; ask again")

    async def act(self, request: web.Request) -> web.Response:
        """Pass a request on, and its answer back; a stop acts whatever its body is."""
        raw = await raw_request(request, request.match_info["robot"], self._dispatcher.verbs)
        return passed_on(await self._dispatcher.answer(raw))


async def raw_request(request: web.Request, target: str, verbs: Mapping[str, Verb]) -> RawRequest:
    """Read a request to a robot or a group; one that stops is never refused for its body."""
    verb = request.match_info["verb"]
    if verb not in STOPS:
        body = await read_body(request, most_bytes(verb, verbs))
    else:
        try:
            body = await read_body(request, MOST_BYTES, within_s=STOP_WITHIN_S)
        except Refused:
            body = NOT_READ
    return RawRequest(target, verb, body, caller=request.remote or "")
