"""What robots are asked for, and what is known of them: the same verbs, bodies and answers as by MQTT."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from ...api import MOST_BYTES, STOPS, VERBS, RawRequest, most_bytes, unknown_robot
from .exchange import Refused, answered, passed_on, read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from ...api import Subject, Verb
    from ..served import Served

STOP_WITHIN_S = 0.5
"""So long the body of a stop may take; then the stop acts without it."""
NUMBER = re.compile("[0-9]{1,18}")
NOT_READ = b"its body could not be read"
KNOWN: tuple[Subject, ...] = (
    "availability",
    "state",
    "description",
    "motions",
    "lease",
    "reservation",
    "recording",
    "teaching",
)


class RobotRoutes:
    """Serves requests to robots, and what they have reported last."""

    def __init__(self, served: Served) -> None:
        self._served, self._dispatcher, self._hub = served, served.dispatcher, served.hub

    async def list_robots(self, _request: web.Request) -> web.Response:
        """Answer with every robot, its availability and its state."""
        latest = {(report.robot, report.subject): report.data for report in self._hub.latest()}
        robots = [
            {"name": name} | {subject: latest.get((name, subject)) for subject in ("availability", "state")}
            for name in self._dispatcher.commands.robots
        ]
        stale = self._served.is_fleet and not self._served.is_broker_connected()
        return answered({"id": self._served.daemon_id, "robots": robots, "stale": stale})

    async def show(self, request: web.Request) -> web.Response:
        """Answer with what a robot has reported last on one subject."""
        robot, subject = request.match_info["robot"], request.match_info["subject"]
        for report in self._hub.latest():
            if (report.robot, report.subject) == (robot, subject):
                return answered(report.data)
        if robot not in self._dispatcher.commands.robots:
            raise unknown_robot(robot, self._dispatcher.commands.robots)
        raise Refused(503, "OFFLINE", f"{robot}: nothing is known of its {subject} yet; ask again")

    async def history(self, request: web.Request) -> web.Response:
        """Answer with how the motions of a robot have ended."""
        asked = {key: int(text) if NUMBER.fullmatch(text) else text for key, text in request.query.items()}
        return await self._look_up(request, "history", asked)

    async def recordings(self, request: web.Request) -> web.Response:
        """Answer with the recordings of a robot."""
        return await self._look_up(request, "recordings", {})

    async def _look_up(self, request: web.Request, verb: str, asked: Mapping[str, Any]) -> web.Response:
        """Answer with what a verb finds that commands nothing."""
        raw = RawRequest(request.match_info["robot"], verb, orjson.dumps(asked), caller_of(request))
        answer = await self._dispatcher.answer(raw)
        content = orjson.loads(answer)
        return answered(content["data"]) if content["status"] == "ok" else passed_on(answer)

    async def act(self, request: web.Request) -> web.Response:
        """Pass a request on, and its answer back; a stop acts whatever its body is."""
        raw = await raw_request(request, request.match_info["robot"], VERBS)
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
    return RawRequest(target, verb, body, caller=caller_of(request))


def caller_of(request: web.Request) -> str:
    """Return who asks, for people."""
    return f"{request.remote} over HTTP"
