"""Passes requests on to robots at a broker, and their daemons' answers back as they are."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

from ...api import VERBS, RequestError, unknown_robot
from ...mqtt.topics import ANY_ROBOT, ResponseTopic
from ..answers import data_of, json_object
from ..brokers import ALSO_S, first_answer, stop_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats.arrays import Floats

    from ...api import Lease, PlannedMotion, Request
    from ...mqtt.topics import Topics
    from .remote_reports import RemoteReports
    from .uplink import Uplink

ANSWER_S = 5.0
STOP_AGAIN_S = 0.5
"""So often a stop by QoS 0 is sent again until it is answered: nothing between here and there keeps it."""
READING_S = 30.0
"""How long where the daemon reads files."""
ABSENT_S = 1.0
"""How long the answer of a robot to a stop is waited for that is reported absent."""
READS_FILES = frozenset({"motions/reload", "motions/delete"})
MOST_BYTES = 1_000_000

Asked = tuple[str, str, str]
"""A robot, a verb and a transaction."""


class RemoteRobots:
    """All robots at a broker, as what acts on requests (`motiond.daemon.api.Commands`).

    A request is published with its transaction, by which its answer is found. The robots' own daemons check
    leases.
    """

    def __init__(self, topics: Topics, reports: RemoteReports, uplink: Uplink) -> None:
        self._topics = topics
        self._reports = reports
        self._uplink = uplink
        self._asked: defaultdict[Asked, set[asyncio.Future[dict[str, Any]]]] = defaultdict(set)

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots that the broker knows."""
        return self._reports.robots

    @property
    def leases(self) -> Mapping[str, Lease]:
        """No lease is kept here."""
        return {}

    def topics_of_answers(self) -> list[str]:
        """Return what has to be subscribed to."""
        return [self._topics.response(ANY_ROBOT, "#")]

    def take(self, answer: ResponseTopic, payload: bytes) -> None:
        """Take an answer; ignore one to another client's request."""
        if not self._asked or len(payload) > MOST_BYTES:
            return
        data = json_object(payload)
        if data is None:
            return
        for waiting in self._asked.get((answer.robot, answer.verb, str(data.get("transaction"))), ()):
            if not waiting.done():
                waiting.set_result(data)

    def lose(self) -> None:
        """Refuse all requests that wait for an answer, as the connection is lost."""
        problem = "the connection to the broker was lost before its answer came"
        reason, hint = "it may have been acted on", "look at what the robot does"
        for (robot, verb, _), answers in self._asked.items():
            for answer in answers:
                if not answer.done():
                    answer.set_exception(RequestError("OFFLINE", f"{robot}/{verb}", problem, reason, hint))

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
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
        within_s = ABSENT_S if absence else READING_S if verb in READS_FILES else ANSWER_S
        body = request.model_dump(mode="json", exclude_unset=True)
        asked = robot, verb, request.transaction or uuid4().hex
        here = self._ask(asked, body, within_s)
        others = self._uplink.others() if stops else []
        if not others:
            return await here
        elsewhere = stop_at(others, robot, verb, {**body, "transaction": asked[2]}, ANSWER_S)
        return await first_answer([here, elsewhere], ALSO_S)  # what fails here is the refusal that is raised

    async def _send_stop(
        self, topic: str, payload: dict[str, Any], within_s: float, answer: asyncio.Future[Any]
    ) -> None:
        """Send a stop at once; by QoS 0 again and again, until it is answered."""
        while True:
            qos = min(self._uplink.qos, self._reports.roster.requests_qos())
            self._uplink.send(topic, payload, within_s, qos)
            if qos > 0 or await asyncio.wait((answer,), timeout=STOP_AGAIN_S) != (set(), {answer}):
                return

    async def _ask(self, asked: Asked, body: dict[str, Any], within_s: float) -> dict[str, Any]:
        robot, verb, transaction = asked
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[asked].add(answer)
        try:
            async with asyncio.timeout(within_s):
                topic, payload = self._topics.request(robot, verb), {**body, "transaction": transaction}
                if VERBS[verb].stops:
                    await self._send_stop(topic, payload, within_s, answer)
                else:
                    await self._uplink.send_in_turn(topic, payload, within_s)
                return data_of(f"{robot}/{verb}", await answer)
        except TimeoutError:
            absence = self._reports.roster.absence(robot)
            reason = absence or "its daemon is reported online"
            hint = "use the robot's own switch" if VERBS[verb].stops else "look at what the robot does"
            problem = f"sent, and not answered in {within_s:g} s"
            code = "OFFLINE" if absence else "TIMEOUT"
            raise RequestError(code, f"{robot}/{verb}", problem, reason, hint) from None  # type: ignore[arg-type] # both are codes
        finally:
            self._asked[asked].discard(answer)
            if not self._asked[asked]:
                del self._asked[asked]
            answer.cancel()


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

    def _refuse(self, robot: str, path: str) -> NoReturn:
        daemon, host = "its own daemon", None
        if robot in self._reports.robots:
            name = self._reports.roster.robots[robot].daemon
            daemon, host = f"its daemon '{name}'" if name else daemon, self._reports.roster.host(robot)
        at = f" on {host}" if host else ""
        problem, reason = "not served here", f"only {daemon}{at} has the robot's files"
        raise RequestError("NOT_ALLOWED", f"{robot}/{path}", problem, reason, "ask its page")
