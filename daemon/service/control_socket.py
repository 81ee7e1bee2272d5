"""Serves programs of this machine over a Unix socket: requests to robots, groups and the daemon, and reports.

Root may connect, the daemon's own user, and the owner of the configuration. Nothing of it needs a broker or a
page. A line is a JSON object:

- `{"id": 1, "robot": "arm", "verb": "play", "body": {…}}`, with `group` in place of `robot`, or with neither
  for what concerns the daemon as a whole, is answered by `{"id": 1, "answer": {…}}`, as over HTTP.
- `{"robot": "arm", "verb": "follow/target", "body": {…}}`, without an id, is passed on without an answer.
- `{"follow": [["arm", "state"], ["+", "result"]]}` is answered by what is known of these, and from then on by
  each report on one of them: `{"robot": "arm", "subject": "state", "data": {…}}`. Where a client changes what
  it follows, no report on what stays is lost, or comes twice.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from motiond.local import address_of, believed_users, holder_of, named_user, peer_of
from motiond.text import listed, nearest, shortened

from ..api import (
    MOST_BYTES,
    STOPS,
    STREAMED_VERBS,
    SUBJECTS,
    GroupDispatcher,
    Pace,
    RawRequest,
    RequestError,
    accepted,
    cost_of,
    refused,
)
from ..ipc.listener import listen_unix
from ..log import RateLimitedLog

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from ..api import Dispatcher, Groups, Report, ReportHub, Subscription

    Act = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger(__name__)

MOST_CLIENTS = 32
MOST_SERVED = 32
"""Requests of one client at once, stops apart."""
TARGETS_HZ, TARGETS_BURST = 2000.0, 500
"""Of one client: what comes faster is dropped, as the next one makes up for it."""
LONGEST_LINE = MOST_BYTES + 1024
MOST_UNSENT_BYTES = 4_000_000
FIRST_LINE_S = SEND_S = 5.0
TRY_AGAIN_S = 1.0
SERVED = "requests of this machine"


class ControlSocket:
    """Serves the programs that ask one daemon.

    - `config`: the daemon's configuration, by which programs find it
    - `acts`: what is done for each verb that concerns the daemon as a whole; it gets the body of the request,
      and raises `RequestError`
    """

    def __init__(
        self,
        config: Path,
        acts: Mapping[str, Act],
        *,
        dispatcher: Dispatcher,
        groups: Groups,
        hub: ReportHub,
    ) -> None:
        self._config = config
        self._acts = acts
        self._dispatcher = dispatcher
        self._groups = GroupDispatcher(groups)
        self.hub = hub
        self.refusals = RateLimitedLog()
        self._clients: Counter[bool] = Counter()
        self._writers = set[asyncio.StreamWriter]()

    async def run(self) -> NoReturn:
        """Serve until cancelled; where another daemon of this configuration still does, try again."""
        logged = ""
        while True:
            try:
                listener = await listen_unix(address_of(self._config), self._protocol, name="control")
            except OSError as error:
                reason = self._why_unserved(error)
                if reason != logged:
                    log.warning("%s: %s are not served; %s; tried again", self._config, SERVED, reason)
                logged = reason
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                listener.close()
                for writer in self._writers:
                    writer.close()

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(LONGEST_LINE), self._serve)

    def _why_unserved(self, error: OSError) -> str:
        """Return why the socket cannot be bound, with who has bound it."""
        holder = holder_of(address_of(self._config)) if error.errno == errno.EADDRINUSE else None
        if holder is None:
            return os.strerror(error.errno or 0)
        hint = "end it" if holder.user in believed_users(self._config) else "it is no daemon of yours; end it"
        return f"{holder} has bound the socket; {hint}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client; nothing that it asks ends the daemon."""
        self._writers.add(writer)
        connection: socket.socket = writer.get_extra_info("socket")
        user = peer_of(connection).user
        may_ask = user in believed_users(self._config)
        self._clients[may_ask] += 1
        client = _Client(self, reader, writer, f"user {named_user(user)} on this machine")
        try:
            if may_ask:
                await client.run(is_one_too_many=self._clients[True] > MOST_CLIENTS)
            elif self._clients[False] <= MOST_CLIENTS:
                await client.refuse_user(user)
        except OSError:  # also one that has not read in time
            if may_ask and client.waits:  # others may come and go as often as they like
                log.info("control: a client has gone without its answer")
        except Exception:
            log.exception("control: failed inside motiond")
        finally:
            self._clients[may_ask] -= 1
            self._writers.discard(writer)
            writer.close()

    def take(self, request: Mapping[str, Any], line: bytes, caller: str) -> None:
        """Pass on a target that nobody waits for an answer to; `caller` is who sends it, for the log."""
        robot, verb, body = request.get("robot"), request["verb"], request.get("body")
        if isinstance(robot, str):
            is_read = isinstance(body, dict)
            payload = b"" if is_read else orjson.dumps(body)
            raw = RawRequest(robot, verb, payload, caller, message=line)
            self._dispatcher.take(raw, body if is_read else None)

    async def answer(self, request: Mapping[str, Any], line: bytes, caller: str) -> bytes:
        """Return the answer to a request; `caller` is who asks, for the log."""
        verb, body = request.get("verb"), request.get("body") or {}
        if not isinstance(verb, str):
            return refused(_invalid("verb must be a text"), None)
        for kind, serve in (("robot", self._dispatcher.answer), ("group", self._groups.answer)):
            if (name := request.get(kind)) is not None:
                if not isinstance(name, str):
                    return refused(_invalid(f"{kind} must be a text"), None)
                return await serve(RawRequest(name, verb, orjson.dumps(body), caller, message=line))
        try:
            return accepted(await self._act(verb, body), None)
        except RequestError as error:
            return refused(error, None)

    async def _act(self, verb: str, body: object) -> dict[str, Any]:
        if verb not in self._acts:
            problem, reason = f"no verb '{shortened(verb, 60)}'", f"there are {listed(self._acts)}"
            raise RequestError("UNKNOWN_VERB", "control", problem, reason, nearest(verb, self._acts))
        if not isinstance(body, dict):
            raise _invalid("body must be an object")
        return await self._acts[verb](body)


class _Client:
    """One program: its requests, and the reports that it follows."""

    def __init__(
        self,
        control: ControlSocket,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        name: str,
    ) -> None:
        self._control = control
        self._name = name
        self._reader = reader
        self._writer = writer
        self._serving: dict[asyncio.Task[None], bool] = {}
        self._targets = Pace(TARGETS_HZ, TARGETS_BURST, asyncio.get_running_loop().time)
        self._followed: frozenset[tuple[str, str]] = frozenset()

    @property
    def waits(self) -> bool:
        """Whether it has asked for something that is not answered yet."""
        return any(not task.done() for task in self._serving)

    async def refuse_user(self, user: int) -> None:
        """Answer what somebody sends who may not ask, for a while."""
        problem = f"user {named_user(user)} may not ask"
        self._control.refusals.info("control: %s", problem)
        reason = "root may, the user that the daemon runs as, and the owner of its configuration"
        refusal = refused(RequestError("NOT_ALLOWED", "control", problem, reason, "use sudo"), None)
        async with asyncio.timeout(FIRST_LINE_S):
            for _ in range(MOST_SERVED):
                if not (line := await self._line(None)):
                    return
                self._send_answer(_number_of(line), refusal)
                await self._writer.drain()

    async def run(self, *, is_one_too_many: bool) -> None:
        """Serve until it goes; one too many has its stops served alone."""
        limit_s: float | None = FIRST_LINE_S
        with self._control.hub.subscribe(frozenset()) as reports:
            reporting = asyncio.create_task(self._report(reports), name="control.reports")
            try:
                while line := await self._line(limit_s):
                    limit_s = FIRST_LINE_S if is_one_too_many else None
                    self._take(line, reports, is_one_too_many=is_one_too_many)
                    async with asyncio.timeout(SEND_S):
                        await self._writer.drain()
                await asyncio.gather(*self._serving)
                async with asyncio.timeout(SEND_S):
                    await self._writer.drain()
            finally:
                for task in (*self._serving, reporting):
                    task.cancel()

    async def _line(self, limit_s: float | None) -> bytes:
        """Return the next line; b'' at the end, or after one that is too long, which is refused."""
        try:
            async with asyncio.timeout(limit_s):
                return await self._reader.readline()
        except TimeoutError:
            problem = "no line came"
        except ValueError:
            problem = f"a line is longer than {LONGEST_LINE} bytes"
        self._send_answer(None, refused(_invalid(problem), None))
        return b""

    def _take(self, line: bytes, reports: Subscription, *, is_one_too_many: bool) -> None:
        """Begin a request; none waits for another."""
        try:
            request = orjson.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            self._send_answer(None, refused(_invalid("a line is no JSON object"), None))
            return
        if "follow" in request:
            self._follow(request["follow"], reports)
            return
        number, verb = request.get("id"), str(request.get("verb"))
        if "id" not in request and verb in STREAMED_VERBS and not is_one_too_many:
            if self._targets.allows(cost_of(len(line))):
                self._control.take(request, line, self._name)
            else:
                self._control.refusals.info("control: %s sends more targets than are taken", self._name)
            return
        stops = verb in STOPS
        if not stops and (is_one_too_many or list(self._serving.values()).count(False) >= MOST_SERVED):
            count = f"{MOST_CLIENTS} clients are" if is_one_too_many else f"{MOST_SERVED} requests are being"
            problem = f"{count} served"
            busy = RequestError(
                "BUSY", "control", problem, "there is room for stops only", "wait for answers"
            )
            self._send_answer(number, refused(busy, None))
            return
        task = asyncio.create_task(self._answer(number, request, line), name="control.request")
        self._serving[task] = stops
        task.add_done_callback(self._serving.pop)

    async def _answer(self, number: Any, request: Mapping[str, Any], line: bytes) -> None:
        self._send_answer(number, await self._control.answer(request, line, self._name))

    def _send_answer(self, number: Any, answer: bytes) -> None:
        self._send(b'{"id":%b,"answer":%b}\n' % (orjson.dumps(number), answer))

    def _send(self, line: bytes) -> None:
        """Send a line; who leaves too much unread is disconnected."""
        if self._writer.transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            self._writer.transport.abort()
        elif not self._writer.is_closing():
            self._writer.write(line)

    def _follow(self, wanted: Any, reports: Subscription) -> None:
        """Send what is known of what is followed newly; reports on what stays followed come as before."""
        pairs = wanted if isinstance(wanted, list) else [None]
        followed = {tuple(pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2}
        if len(followed) < len(pairs) or not all(isinstance(part, str) for pair in followed for part in pair):
            problem = "follow must be pairs of texts, each another: a robot, or +, and a subject"
            self._send_answer(None, refused(_invalid(problem), None))
            return
        before, self._followed = self._followed, frozenset(followed)
        reports.discard(lambda one: not (_is_in(one, before) and _is_in(one, self._followed)))
        reports.listen_to(
            frozenset(one for one in SUBJECTS if any(subject == one for _, subject in followed))
        )
        for report in self._control.hub.latest():
            if not _is_in(report, before):
                self._send_report(report)

    async def _report(self, reports: Subscription) -> None:
        """Send each report as it comes."""
        with suppress(ConnectionError):
            async for report in reports:
                self._send_report(report)
                if reports.lost:  # a result, perhaps: it has to connect again
                    self._writer.transport.abort()
                await self._writer.drain()

    def _send_report(self, report: Report) -> None:
        if _is_in(report, self._followed):
            message = {"robot": report.robot, "subject": report.subject, "data": report.data}
            self._send(orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _number_of(line: bytes) -> Any:
    """Return the id of a request; None where it has none."""
    try:
        return orjson.loads(line).get("id")
    except (ValueError, AttributeError):
        return None


def _is_in(report: Report, followed: frozenset[tuple[str, str]]) -> bool:
    return not followed.isdisjoint({(report.robot, report.subject), ("+", report.subject)})


def _invalid(problem: str) -> RequestError:
    return RequestError("INVALID_REQUEST", "control", problem, "", "correct it")
