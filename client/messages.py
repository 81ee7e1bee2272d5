"""Connections that carry messages in JSON: the socket of a daemon on this machine, and a WebSocket.

Requests, answers and reports are the same on both. The socket takes a line for each, and sends only reports
that are followed; a WebSocket sends those of all robots, and telemetry as binary frames (docs/http.md).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import struct
from abc import abstractmethod
from array import array
from contextlib import nullcontext, suppress
from math import nan
from typing import TYPE_CHECKING, Any, cast

from motiond.local import Impostor, connected, holder_of, peer_of
from motiond.tls import why_distrusted

from .errors import ConnectionLost, NoAnswer
from .reports import Report
from .transport import GROUP, MOST_AT_ONCE, STOPS, Deadline, Interest, Transport, data_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection
    from pathlib import Path

CONNECT_S = 5.0
LONGEST_MESSAGE = 1 << 26
RATE_HZ, BURST, BYTES_A_COST = 150.0, 32, 4096
"""How fast requests are sent over HTTP, in the long run and at once; a long one counts as several."""
TELEMETRY = 1
HEAD = struct.Struct("<BxHHxxdd")
"""Of a frame of telemetry: kind, the robot's place in the list of robots, its joints, `stamp_s`, `frame`."""
TARGET_HEAD, CHUNK_HEAD = struct.Struct("<B16sd"), struct.Struct("<dd")
"""Of a frame of a target: kind, the goal's id, `sent_at`; of a chunk `start_at` and `period_s` besides."""
KINDS, CHUNK = {"positions": 1, "velocities": 2, "twist": 3}, 4
SIDES, QUANTITIES = ("reference", "feedback"), ("position", "velocity", "effort")
FLOAT_BYTES = 4


class MessageTransport(Transport):
    """What both have in common."""

    def __init__(self, place: str, take: Callable[[Report], None]) -> None:
        super().__init__(place, take)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._is_answering, self._refusal = False, ""

    @abstractmethod
    async def _send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises
        ------
        OSError
            If the connection has broken.
        """

    def _receive(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        if isinstance(answer := message.get("answer"), dict):
            number = message.get("id")
            waiting = self._asked.get(number) if isinstance(number, int) else None
            if number is None:  # of what has none, such as reports that are followed
                self._refusal = str(answer.get("error", ""))
            elif waiting is not None and not waiting.done():
                waiting.set_result(answer)
        elif isinstance(data := message.get("data"), dict):
            self._take(Report(str(message.get("robot")), str(message.get("subject")), data))

    def _fail(self) -> None:
        """Let nobody wait for an answer any more."""
        self.connected.clear()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(self._broken())

    def _broken(self) -> ConnectionLost:
        return ConnectionLost(f"{self.place}: the connection is lost")

    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request and return the answer."""
        name = path.removeprefix(GROUP)
        target = {"group" if path.startswith(GROUP) else "robot": name} if path else {}
        return await self._exchange({**target, "verb": verb, "body": payload}, deadline)

    async def _exchange(self, message: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            turn = nullcontext() if message["verb"] in STOPS else self._turns
            async with asyncio.timeout_at(deadline.at_s), turn:
                await self._send({"id": number, **message})
                return await answer
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise self._broken() from error
        finally:
            del self._asked[number]
            answer.cancel()

    async def look(self) -> None:
        """Find out whether the daemon answers at all: here, that there is no such robot."""
        self._is_answering = False
        with suppress(TimeoutError, ConnectionLost):
            await self._exchange({"robot": "", "verb": "status"}, Deadline(CONNECT_S))
            self._is_answering = True

    def absence(self, robot: str) -> str:
        """Return why a robot may not have answered."""
        if self._refusal:
            return self._refusal
        daemon = f"its daemon ({self.place})" if robot else "it"
        does = "is busy with it" if self._is_answering else "hangs"
        return f"{daemon} {does}; look at its log"


class SocketTransport(MessageTransport):
    """The control socket of a daemon on this machine.

    Parameters
    ----------
    address : str
        A path, or an abstract name (`motiond.local`).
    config : Path, optional
        The daemon's configuration, whose owner is believed.
    """

    def __init__(self, address: str, take: Callable[[Report], None], config: Path | None = None) -> None:
        shown = "this machine" if address.startswith("\0") else f"unix:{address}"
        super().__init__(shown if config is None else str(config), take)
        self._address = address
        self._believed = () if config is None else (config,)
        self._is_nameless = config is None and address.startswith("\0")
        self._writer: asyncio.StreamWriter | None = None

    async def _serve(self) -> None:
        try:
            connection = await asyncio.to_thread(
                connected, self._address, *self._believed, timeout_s=CONNECT_S
            )
            reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST_MESSAGE)
        except Impostor as error:
            raise NoAnswer(str(error)) from error
        except OSError as error:
            if self._is_nameless:
                self.place = str(holder_of(self._address) or self.place)
            if isinstance(error, BlockingIOError):
                hangs = "takes no connection, as so many wait for it already; it hangs; look at its log"
                raise NoAnswer(f"{self.place}: {hangs}") from error
            reason = "no daemon listens there" if isinstance(error, ConnectionRefusedError) else str(error)
            raise NoAnswer(f"{self.place}: {reason}; start it with `motiond run`") from error
        if self._is_nameless:
            self.place = str(peer_of(connection))
        writer.transport.set_write_buffer_limits(high=0)  # what waits would be old when it is sent
        self._writer = writer
        try:
            if self._interest:
                await self.follow(self._interest)
            self._note_connected()
            while line := await reader.readline():
                self._receive(json.loads(line))
        except (OSError, ValueError) as error:
            raise self._broken() from error
        finally:
            self._writer = None
            self._fail()
            writer.close()
        raise self._broken()

    async def _send(self, message: dict[str, Any]) -> None:
        if self._writer is None:
            raise ConnectionResetError
        self._writer.write(_line(message))
        await self._writer.drain()

    def post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send a target without waiting, where nothing waits to be sent."""
        writer = self._writer
        if writer is None or self._posts or writer.transport.get_write_buffer_size():
            super().post(path, verb, payload)
        else:
            writer.write(_line({"robot": path, "verb": verb, "body": payload}))

    async def _post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        with suppress(OSError):
            await self._send({"robot": path, "verb": verb, "body": payload})

    async def follow(self, interest: Interest) -> None:
        """Receive these reports from now on."""
        self._interest = interest
        with suppress(OSError):
            await self._send({"follow": sorted(interest)})

    async def names(self) -> Collection[str]:
        """Return the names of the daemon's robots."""
        robots: list[str] = data_of(await self.ask("", "robots", {}, Deadline(CONNECT_S)))["robots"]
        return robots


class HttpTransport(MessageTransport):
    """A WebSocket to a daemon's HTTP interface.

    Parameters
    ----------
    url : str
        `http[s]://host[:port]`.
    token : str, optional
        The daemon's, where it has one (`http.token_file`).
    ca_file : Path, optional
        Certificates that the daemon's is checked against.
    """

    sends_all = True

    def __init__(
        self, url: str, take: Callable[[Report], None], token: str | None = None, ca_file: Path | None = None
    ) -> None:
        super().__init__(url.rstrip("/"), take)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._ca_file = ca_file
        self._tls: Any = True
        self._socket: Any = None
        self._robots: list[str] = []
        self._is_fleet = False
        self._shown: dict[str, object] = {}  # by robot, the lease that was shown on this connection
        self._free_s = 0.0

    async def _serve(self) -> None:
        import ssl  # noqa: PLC0415 - only who uses HTTP loads its library

        import aiohttp  # noqa: PLC0415 - the same

        if self.place.startswith("https"):
            self._tls = ssl.create_default_context(cafile=self._ca_file)
        try:
            async with (
                asyncio.timeout(CONNECT_S) as opening,
                aiohttp.ClientSession(
                    headers=self._headers, timeout=aiohttp.ClientTimeout(total=None)
                ) as session,
                session.ws_connect(
                    f"{self.place}/api/ws", ssl=self._tls, max_msg_size=LONGEST_MESSAGE, heartbeat=CONNECT_S
                ) as socket,
            ):
                self._socket = socket
                async for message in socket:
                    if not isinstance(message.data, str | bytes):  # it has broken: a ping was not answered
                        break
                    self._take_message(message.data)
                    if self.connected.is_set():
                        opening.reschedule(None)
        except (OSError, TimeoutError, aiohttp.ClientError) as error:
            raise NoAnswer(f"{self.place}: no connection to the daemon; {self._reason_of(error)}") from error
        finally:
            self._socket = None
            self._fail()
        raise self._broken()

    def _reason_of(self, error: Exception) -> str:
        """Return why there is no connection, with a hint."""
        import aiohttp  # noqa: PLC0415 - loaded already

        if isinstance(error, aiohttp.WSServerHandshakeError):
            return "the token is missing or wrong; pass token=" if error.status == 401 else error.message
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            met = cast("ssl.SSLCertVerificationError", error.certificate_error)
            why = why_distrusted(met, "the URL", "ca_file", is_set=self._ca_file is not None)
            return f"its certificate {why}"
        return "nobody answers there; start the daemon, or correct the URL"

    def _take_message(self, data: Any) -> None:
        if isinstance(data, bytes):
            self._take_frame(data)
            return
        message = json.loads(data)
        if isinstance(message, dict) and "hello" in message:
            self._robots = message["hello"]["robots"]
            self._is_fleet = message["hello"].get("fleet", False)
            self._shown.clear()
            self._note_connected()
        self._receive(message)

    def _take_frame(self, data: bytes) -> None:
        kind, place, joints, stamp_s, frame = HEAD.unpack_from(data)
        if kind != TELEMETRY or place >= len(self._robots):
            return
        end = HEAD.size + len(SIDES) * len(QUANTITIES) * joints * FLOAT_BYTES
        numbers = array("f", data[HEAD.size : end])
        columns = iter(numbers[at : at + joints].tolist() for at in range(0, len(numbers), joints or 1))
        sample: dict[str, Any] = {"stamp_s": stamp_s, "frame": frame}
        for side in SIDES:
            sample[side] = {quantity: _with_none(next(columns, [])) for quantity in QUANTITIES}
        if contacts := data[end:]:
            sample["contacts"] = json.loads(contacts)
        self._take(Report(self._robots[place], "telemetry", sample))

    async def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        if message["verb"] not in STOPS:
            await self._until_taken(1.0 + len(text) / BYTES_A_COST)
        if self._socket is None:
            raise ConnectionResetError
        await self._socket.send_str(text)

    async def _post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send a target as a frame; a page of all robots takes none, but passes requests on.

        A frame has no lease: a new connection has to show it first.
        """
        frame = None if self._is_fleet else target_frame(payload)
        if frame is not None and (lease := payload.get("lease")) not in {None, self._shown.get(path)}:
            await super()._post(path, "lease/renew", {"lease": lease})
        if frame is None:
            await super()._post(path, verb, payload)
        elif self._socket is not None:
            with suppress(OSError):
                await self._socket.send_bytes(frame)

    async def _until_taken(self, cost: float) -> None:
        """Wait until the daemon takes one more request: faster than that, it refuses them (docs/http.md)."""
        now_s = asyncio.get_running_loop().time()
        self._free_s = max(self._free_s, now_s - BURST / RATE_HZ) + cost / RATE_HZ
        await asyncio.sleep(max(0.0, self._free_s - now_s))

    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request and return the answer; those to groups and the daemon go by HTTP itself."""
        if path and not path.startswith(GROUP):
            if "lease" in payload:
                self._shown[path] = payload["lease"]
            return await super().ask(path, verb, payload, deadline)
        import aiohttp  # noqa: PLC0415 - loaded already

        try:
            async with (
                asyncio.timeout_at(deadline.at_s),
                aiohttp.ClientSession(headers=self._headers) as session,
                session.post(
                    f"{self.place}/api/fleet/{path.removeprefix(GROUP)}/{verb}", json=payload, ssl=self._tls
                ) as got,
            ):
                answer: dict[str, Any] = await got.json()
                return answer
        except aiohttp.ClientError as error:
            raise self._broken() from error

    async def follow(self, interest: Interest) -> None:
        """Nothing: all reports come, whether they are followed or not."""

    async def names(self) -> Collection[str]:
        """Return the names of the daemon's robots."""
        return self._robots


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def target_frame(payload: dict[str, Any]) -> bytes | None:
    """Return a target or a chunk as a frame; None where a request alone can hold it, as what is neither."""
    kind = next((name for name in KINDS if name in payload), None)
    if kind is None:
        return None
    values, number, when = payload[kind], KINDS[kind], b""
    if isinstance(values[0], list):
        if "period_s" not in payload:
            return None
        number, when = CHUNK, CHUNK_HEAD.pack(payload.get("start_at", nan), payload["period_s"])
        values = [value for row in values for value in row]
    head = TARGET_HEAD.pack(number, bytes.fromhex(payload["goal_id"]), payload.get("sent_at", nan))
    numbers = (nan if value is None else value for value in values)
    return head + when + struct.pack(f"<{len(values)}d", *numbers)


def _with_none(numbers: list[float]) -> list[float | None]:
    """Return numbers as JSON has them: null in place of NaN."""
    return [None if number != number else number for number in numbers]  # noqa: PLR0124 - what NaN is
