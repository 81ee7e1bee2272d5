"""One WebSocket client: receives its requests, and sends it answers and reports.

A request is `{"id": …, "robot": …, "verb": …, "body": {…}}` and is answered by `{"id": …, "answer": {…}}`.
No request waits for another, least of all a stop: what is too much is refused at once, and what costs the
least to refuse is looked at first. A client has a share of its own; beyond it, what it sends is served and
read in a pace that all clients have together, so that no number of them holds up another's stop.
`{"watching": true}` means that a person is there who could stop a robot, and `{"watching": true, "robot": …}`
also which robot they look at.

Of a client that reads too slowly only the newest sample of each robot waits, and what is retained or sent
only once. One that leaves too much unread is disconnected. Neither costs memory or time that others need.
"""

from __future__ import annotations

import asyncio
import math
import re
import socket as sockets
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson
from aiohttp import WSMsgType

from ...api import STOPS, Pace, RawRequest, RequestError, cost_of, crowded, is_crowded, refused
from ..security.connections import connection_of
from .shared import TOGETHER_HZ
from .target_frames import is_frame
from .targets import Targets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp import web

    from ...api import Subscription
    from .shared import Shared

MOST_SERVED = 32  # requests of one client at once; stops apart, of which there may be two a robot
STOPS_A_ROBOT = 2  # so that whoever stops all, and then halts all, waits for none of them
REQUESTS_HZ, REQUESTS_BURST = 200.0, 64
SHARE_HZ, SHARE_BURST = 20.0, 64
MOST_UNREAD_BYTES = 4_000_000  # of answers; one of them may list a thousand motions
MOST_UNSENT_BYTES = 16_384
SEND_BUFFER_BYTES = 65_536  # what the system holds for a client, with what is on the way
LONGEST_ID = 200
LOOK_S = 0.01
STOP = re.compile("|".join(f'"{verb}"' for verb in sorted(STOPS)))
ID = re.compile(r'"id"\s*:\s*(\d{1,18}|"[^"\\]{0,200}")')
"""Of a message that is not read for its size: the first one, which is the client's own where it has order."""
NO_REQUEST = "a request is an object with id, robot, verb and body"


class Watching(NamedTuple):
    """Somebody is there who could stop a robot, and looks at one, or at none in particular: ''."""

    robot: str


class Asked(NamedTuple):
    """A request, the id by which it is answered (null where it has none that can be used), and its lease."""

    number: int | str | None
    raw: RawRequest
    lease: object = None


def keep_little_unsent(request: web.Request) -> None:
    """Let what a slow client leaves unread wait here, where newer samples replace it, not in the system."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, SEND_BUFFER_BYTES)
        connection.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NOTSENT_LOWAT, MOST_UNSENT_BYTES)
        request.transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES)


class Client:
    """One client."""

    def __init__(
        self, shared: Shared, request: web.Request, socket: web.WebSocketResponse, reports: Subscription
    ) -> None:
        self.caller = request.remote or ""
        self.looks_at, self.looked_s = "", -math.inf
        self._shared = shared
        self._connection = connection_of(request)
        self._socket = socket
        self._reports = reports
        self._serving = {False: 0, True: 0}  # others, stops
        self._may_serve_stop = asyncio.Event()
        now = asyncio.get_running_loop().time
        self._pace = Pace(REQUESTS_HZ, REQUESTS_BURST, now)
        self._share = Pace(SHARE_HZ, SHARE_BURST, now)
        self._targets = Targets(shared, f"{self.caller} over HTTP")
        self._answers: deque[bytes] = deque()
        self._unread_bytes = 0
        self._has_answer = asyncio.Event()

    async def run(self) -> None:
        """Serve until it goes; raises nothing but cancellation."""
        senders = [
            asyncio.create_task(self._until_lost(self._send_reports), name="http.reports"),
            asyncio.create_task(self._until_lost(self._send_answers), name="http.answers"),
        ]
        try:
            await self._receive()
        finally:
            for sender in senders:
                sender.cancel()
            await asyncio.wait(senders)

    async def leave(self) -> None:
        """Wait until it has got what waits for it, and close."""
        while self._answers or not self._reports.is_empty:  # noqa: ASYNC110 - two queues, one end
            await asyncio.sleep(LOOK_S)
        with suppress(ConnectionError):
            await self._socket.close(code=1001, message=b"the daemon shuts down")

    def send(self, message: bytes) -> None:
        """Send it something besides reports and answers."""
        if self._unread_bytes > MOST_UNREAD_BYTES:
            self._connection.hang_up()
            return
        self._answers.append(message)
        self._unread_bytes += len(message)
        self._has_answer.set()

    # -- send -----------------------------------------------------------------------------------------------

    async def _until_lost(self, send: Callable[[], Awaitable[object]]) -> None:
        try:
            await send()
        except ConnectionError:
            self._connection.hang_up()

    async def _send_reports(self) -> None:
        sent = self._shared.greeting()
        await self._send(sent)
        for report in [*self._shared.hub.latest(), *self._shared.hub.results()]:
            await self._send(*self._shared.encode(report))
        async for report in self._reports:
            while self._shared.greeting() is not sent:
                sent = self._shared.greeting()
                await self._send(sent)
            await self._send(*self._shared.encode(report))
            if self._reports.lost:  # a result, perhaps: it shall come again and see how things are
                raise ConnectionResetError

    async def _send_answers(self) -> NoReturn:
        while True:
            while self._answers:
                answer = self._answers.popleft()
                self._unread_bytes -= len(answer)
                await self._send(answer)
            self._has_answer.clear()
            await self._has_answer.wait()

    async def _send(self, data: bytes, kind: WSMsgType = WSMsgType.TEXT) -> None:
        if data:
            await self._socket.send_frame(data, kind)

    def _answer(self, number: Any, answer: bytes) -> None:
        self.send(b'{"id":%b,"answer":%b}' % (orjson.dumps(number), answer))

    # -- receive --------------------------------------------------------------------------------------------

    async def _receive(self) -> None:
        """Begin each request as it comes."""
        async for message in self._socket:
            if message.type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
                return
            if message.type is WSMsgType.BINARY and is_frame(message.data):
                await self._take_frame(message.data)
                continue
            cost = cost_of(len(message.data))
            in_share = self._share.allows(cost)
            asked = _read(message.data, f"{self.caller} over HTTP")
            if isinstance(asked, Watching):
                self._shared.watched_s = self.looked_s = asyncio.get_running_loop().time()
                self.looks_at = asked.robot
            elif isinstance(asked, str):
                self._answer(None, refused(RequestError("INVALID_REQUEST", "", asked, "", "correct it")))
            elif asked.raw.verb in STOPS:
                await self._begin_stop(asked)
            elif refusal := self._refusal(asked.raw, cost, in_share=in_share):
                self._answer(asked.number, refused(refusal))
            else:
                self._begin(asked, stops=False)
            if not in_share:
                await asyncio.sleep(self._shared.read_pace.take(cost))

    async def _take_frame(self, frame: bytes) -> None:
        answer, wait_s = self._targets.take(frame)
        if answer:
            self._answer(None, answer)
        if wait_s:
            await asyncio.sleep(wait_s)

    def _refusal(self, raw: RawRequest, cost: float, *, in_share: bool) -> RequestError | None:
        """Return why a request is not even looked at; None where it is served."""
        if raw.refusal is not None:
            return raw.refusal
        problem = "too many requests"
        if self._serving[False] >= MOST_SERVED or not self._pace.allows(cost):
            reason = f"a client has {MOST_SERVED} at once and {REQUESTS_HZ:g} a second"
            return RequestError("BUSY", raw.where, problem, reason, "send fewer")
        if not in_share and not self._shared.served_pace.allows(cost):
            reason = f"all clients together have {TOGETHER_HZ:g} a second beyond {SHARE_HZ:g} of each"
            return RequestError("BUSY", raw.where, problem, reason, "send fewer, or shorter ones")
        return None

    async def _begin_stop(self, asked: Asked) -> None:
        while self._serving[True] >= max(
            MOST_SERVED, STOPS_A_ROBOT * len(self._shared.dispatcher.commands.robots)
        ):
            self._may_serve_stop.clear()
            await self._may_serve_stop.wait()
        self._begin(asked, stops=True)

    def _begin(self, asked: Asked, *, stops: bool) -> None:
        self._serving[stops] += 1
        self._targets.note_lease(asked.raw.robot, asked.lease)
        task = asyncio.create_task(self._serve(asked, stops=stops), name="http.request")
        self._shared.requests.add(task)
        task.add_done_callback(self._shared.requests.discard)

    async def _serve(self, asked: Asked, *, stops: bool) -> None:
        try:
            self._answer(asked.number, await self._shared.dispatcher.answer(asked.raw))
        finally:
            self._serving[stops] -= 1
            self._may_serve_stop.set()


def _is_id(number: Any) -> bool:
    if isinstance(number, str):
        return len(number) <= LONGEST_ID
    return isinstance(number, int) and not isinstance(number, bool)


def _read(data: str | bytes, caller: str) -> Asked | str | Watching:
    """Return a request; what is wrong with it; or that somebody watches.

    A stop acts whatever stands beside it; one without an id that can be used is answered by null.
    """
    if is_crowded(data) and (unread := _unread(data, caller)):
        return unread
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


def _unread(data: str | bytes, caller: str) -> Asked | None:
    """Return the refusal of a message of too many values, without reading it; None where it may be a stop."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    if STOP.search(text):
        return None
    found = ID.search(text)
    raw = RawRequest("", "", b"", caller, refusal=crowded("/api/ws"))
    return Asked(orjson.loads(found[1]) if found else None, raw)


def _request(asked: dict[str, Any], data: str | bytes, caller: str) -> Asked | str:
    number, robot, verb = asked.get("id"), asked.get("robot"), asked.get("verb")
    stops = isinstance(verb, str) and verb in STOPS
    if not stops and not asked.keys() <= {"id", "robot", "verb", "body"}:
        return NO_REQUEST
    if not _is_id(number) and not stops:
        return f"id must be a whole number, or a text of at most {LONGEST_ID} characters"
    if not isinstance(robot, str) or not isinstance(verb, str):
        return "robot and verb must be texts"
    keys = asked.get("body", {})
    try:
        body = orjson.dumps(keys)
    except orjson.JSONEncodeError:  # it reads deeper than it writes
        if not stops:
            return "body nests too deeply"
        body = b""
    lease = keys.get("lease") if isinstance(keys, dict) else None
    raw = RawRequest(robot, verb, body, caller, message=data)
    return Asked(number if _is_id(number) else None, raw, lease)
