"""One WebSocket client: hears its requests, and tells it answers and reports.

A request is `{"id": …, "robot": …, "verb": …, "body": {…}}` and is answered by `{"id": …, "answer": {…}}`.
No request waits for another, least of all a stop: what is too much is refused at once. `{"watching": true}`
says that somebody is there who could stop a robot, and `{"watching": true, "robot": …}` also which robot they
look at.

Of a client that reads too slowly only the newest sample of each robot waits, and what lasts or is told but
once. One that leaves too much unread is disconnected. Neither costs memory or time that others need.
"""

from __future__ import annotations

import asyncio
import math
import socket as sockets
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson
from aiohttp import WSMsgType

from ..api.pace import Pace
from ..api.requests import VERBS, RawRequest
from .connections import connection_of
from .exchange import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aiohttp import web

    from ..api.dispatcher import Dispatcher
    from ..api.reports import Report, Subscription

MOST_SERVED = 32  # requests of one client at once; stops apart, of which there may be two a robot
STOPS_A_ROBOT = 2  # so that whoever stops all, and then halts all, waits for none of them
REQUESTS_HZ, REQUESTS_BURST = 200.0, 64
MOST_UNREAD_BYTES = 4_000_000  # of answers; one of them may list a thousand motions
MOST_UNSENT_BYTES = 16_384
LONGEST_ID = 200
LOOK_S = 0.01
NO_REQUEST = "a request is an object with id, robot, verb and body"


class Watching(NamedTuple):
    """Somebody is there who could stop a robot, and looks at one, or at none in particular: ''."""

    robot: str


def keep_little_unsent(request: web.Request) -> None:
    """Let what a slow client leaves unread wait here, where newer samples replace it, not in the system."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NOTSENT_LOWAT, MOST_UNSENT_BYTES)
        request.transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES)


class Client:
    """One client.

    Parameters
    ----------
    request : web.Request
        With which it came.
    socket : web.WebSocketResponse
    dispatcher : Dispatcher
    reports : Subscription
        What there is to tell.
    requests : set of Task
        Takes the requests that are being served, to their end, whatever becomes of the client.
    watched : callable
        Is told that somebody watches.
    robots : callable
        Returns how many robots there are now.

    Attributes
    ----------
    caller : str
        From which address it came.
    looks_at : str
        The robot that somebody looks at, '' for none in particular.
    looked_s : float
        When that was said, by the event loop's clock.
    """

    def __init__(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        dispatcher: Dispatcher,
        reports: Subscription,
        requests: set[asyncio.Task[None]],
        *,
        watched: Callable[[], None],
        robots: Callable[[], int],
    ) -> None:
        self.caller = request.remote or ""
        self.looks_at, self.looked_s = "", -math.inf
        self._connection = connection_of(request)
        self._socket = socket
        self._dispatcher = dispatcher
        self._reports = reports
        self._requests = requests
        self._watched = watched
        self._robots = robots
        self._serving = {False: 0, True: 0}  # others, stops
        self._may_serve_stop = asyncio.Event()
        self._pace = Pace(REQUESTS_HZ, REQUESTS_BURST, asyncio.get_running_loop().time)
        self._answers: deque[bytes] = deque()
        self._unread_bytes = 0
        self._has_answer = asyncio.Event()

    async def run(
        self,
        greeting: Callable[[], bytes],
        known: Iterable[Report],
        encode: Callable[[Report], tuple[bytes, bool]],
    ) -> None:
        """Serve until it goes; raises nothing but cancellation.

        Parameters
        ----------
        greeting : callable
            Returns who there is; it is sent again before the next report whenever it is another one.
        known : iterable of Report
            What is told first.
        encode : callable
            Returns a report's message and whether it is binary; an empty one is left out.
        """
        tellers = [
            asyncio.create_task(
                self._until_lost(self._tell_reports(greeting, known, encode)), name="http.reports"
            ),
            asyncio.create_task(self._until_lost(self._tell_answers()), name="http.answers"),
        ]
        try:
            await self._hear()
        finally:
            for teller in tellers:
                teller.cancel()
            await asyncio.wait(tellers)

    async def leave(self) -> None:
        """Wait until it has got what waits for it, and close."""
        while self._answers or not self._reports.is_empty:  # noqa: ASYNC110 - two queues, one end
            await asyncio.sleep(LOOK_S)
        with suppress(ConnectionError):
            await self._socket.close(code=1001, message=b"the daemon shuts down")

    def tell(self, message: bytes) -> None:
        """Tell it something besides reports and answers."""
        if self._unread_bytes > MOST_UNREAD_BYTES:
            self._connection.hang_up()
            return
        self._answers.append(message)
        self._unread_bytes += len(message)
        self._has_answer.set()

    # -- tell -----------------------------------------------------------------------------------------------

    async def _until_lost(self, telling: Any) -> None:
        try:
            await telling
        except ConnectionError:
            self._connection.hang_up()

    async def _tell_reports(
        self,
        greeting: Callable[[], bytes],
        known: Iterable[Report],
        encode: Callable[[Report], tuple[bytes, bool]],
    ) -> None:
        told = greeting()
        await self._send(told, False)
        for report in known:
            await self._send(*encode(report))
        async for report in self._reports:
            while greeting() is not told:
                told = greeting()
                await self._send(told, False)
            await self._send(*encode(report))
            if self._reports.lost:  # a result, perhaps: it shall come again and see how things are
                raise ConnectionResetError

    async def _tell_answers(self) -> NoReturn:
        while True:
            while self._answers:
                answer = self._answers.popleft()
                self._unread_bytes -= len(answer)
                await self._send(answer, False)
            self._has_answer.clear()
            await self._has_answer.wait()

    async def _send(self, data: bytes, is_binary: bool) -> None:  # noqa: FBT001 - as `encode` says
        if not data:
            return
        await self._socket.send_frame(data, WSMsgType.BINARY if is_binary else WSMsgType.TEXT)

    def _answer(self, number: Any, answer: bytes) -> None:
        self.tell(b'{"id":%b,"answer":%b}' % (orjson.dumps(number), answer))

    # -- hear -----------------------------------------------------------------------------------------------

    async def _hear(self) -> None:
        """Begin each request as it comes."""
        async for message in self._socket:
            if message.type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
                return
            asked = _read(message.data, self.caller)
            if isinstance(asked, Watching):
                self._watched()
                self.looks_at, self.looked_s = asked.robot, asyncio.get_running_loop().time()
                continue
            if isinstance(asked, str):
                self._answer(None, refusal("INVALID_REQUEST", f"{asked}; correct it"))
                await asyncio.sleep(0)
                continue
            number, raw = asked
            stops = raw.verb in VERBS and VERBS[raw.verb].stops
            if stops:
                while self._serving[True] >= max(MOST_SERVED, STOPS_A_ROBOT * self._robots()):
                    self._may_serve_stop.clear()
                    await self._may_serve_stop.wait()
            elif self._serving[False] >= MOST_SERVED or not self._pace.allows():
                why = f"a client has {MOST_SERVED} at once and {REQUESTS_HZ:g} a second"
                self._answer(number, refusal("BUSY", f"{raw.where}: too many requests; {why}; send fewer"))
                await asyncio.sleep(0)
                continue
            self._begin(number, raw, stops=stops)

    def _begin(self, number: Any, raw: RawRequest, *, stops: bool) -> None:
        self._serving[stops] += 1
        task = asyncio.create_task(self._serve(number, raw, stops=stops), name="http.request")
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _serve(self, number: Any, raw: RawRequest, *, stops: bool) -> None:
        try:
            self._answer(number, await self._dispatcher.answer(raw))
        finally:
            self._serving[stops] -= 1
            self._may_serve_stop.set()


def _is_id(number: Any) -> bool:
    if isinstance(number, str):
        return len(number) <= LONGEST_ID
    return isinstance(number, int) and not isinstance(number, bool)


def _read(data: str | bytes, caller: str) -> tuple[Any, RawRequest] | str | Watching:
    """Return the number of a request and the request; what is wrong with it; or that somebody watches.

    A stop acts whatever stands beside it; one without an id that can be used is answered by null.
    """
    try:
        asked = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return f"not JSON at line {error.lineno} column {error.colno}"
    if not isinstance(asked, dict):
        return NO_REQUEST
    if asked.get("watching") is True and asked.keys() <= {"watching", "robot"}:
        robot = asked.get("robot", "")
        return Watching(robot) if isinstance(robot, str) else "robot must be a text"
    return _request(asked, data, caller)


def _request(asked: dict[str, Any], data: str | bytes, caller: str) -> tuple[Any, RawRequest] | str:
    number, robot, verb = asked.get("id"), asked.get("robot"), asked.get("verb")
    stops = isinstance(verb, str) and verb in VERBS and VERBS[verb].stops
    if not stops and not asked.keys() <= {"id", "robot", "verb", "body"}:
        return NO_REQUEST
    if not _is_id(number) and not stops:
        return f"id must be a whole number, or a text of at most {LONGEST_ID} characters"
    if not isinstance(robot, str) or not isinstance(verb, str):
        return "robot and verb must be texts"
    try:
        body = orjson.dumps(asked.get("body", {}))
    except orjson.JSONEncodeError:  # it reads deeper than it writes
        if not stops:
            return "body nests too deeply"
        body = b""
    return number if _is_id(number) else None, RawRequest(robot, verb, body, caller, message=data)
