"""A server before a robot to command, and clients of it, down to the bytes."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest

from motiond.daemon.api import Dispatcher, ReportHub
from motiond.daemon.clock.monitor import ClockMonitor
from motiond.daemon.config.certificates import of_chain, of_der
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http import Bounds, HttpServer, Served
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.answers import whole
from tests.daemon.conftest import Robots
from tests.daemon.http import contract
from tests.daemon.rig import make_clock, stream_forks
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from motiond.daemon.api import GroupPlayRequest, GroupVerb, RequestError
    from motiond.daemon.http.routes.models import Models
    from motiond.daemon.physics import Surrounding
    from tests.daemon.rig import Rig


class Choir:
    """Stands in for who coordinates groups: one of two robots, `choir`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.asked_by: str | None = None
        self.refusal: RequestError | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def play(self, group: str, request: GroupPlayRequest, asked_by: str) -> dict[str, Any]:
        self.asked_by = asked_by
        self.asked.append((group, "play", request.model_dump(exclude_unset=True)))
        await self.gate.wait()
        self._refuse()
        return {"start": "s1", "start_at": 1763800000.0, "robots": ["left", "right"]}

    async def command(self, group: str, verb: GroupVerb) -> dict[str, Any]:
        self.asked.append((group, verb, {}))
        self._refuse()
        return {"robots": [{"robot": one, "ok": True, "data": {}} for one in ("left", "right")]}

    async def overview(self) -> list[dict[str, Any]]:
        self._refuse()
        known = {"absence": "", "state": "idle", "motion": None, "daemon": "d1", "host": "bench"}
        told = {"state_utc": "2026-11-22T12:00:00.000Z", "clock": None}
        return [{"robot": "left", "groups": ["choir"], "online": True, **known, **told}]

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


@dataclass
class Site:
    """A server that is being run, and a client of it."""

    server: HttpServer
    robots: Any
    hub: ReportHub
    session: aiohttp.ClientSession
    broker_is_connected: asyncio.Event
    choir: Choir

    @property
    def url(self) -> str:
        return self.server.url.rstrip("/")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        """Give status and JSON of an answer."""
        return await self._ask("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        return await self._ask("POST", path, **({"json": body} if body is not None else {}) | options)

    async def _ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        async with self.session.request(method, self.url + path, **options) as response:
            told = orjson.loads(await response.read())
        if response.status != 200 or method == "POST" or not isinstance(self.robots, Robots):
            contract.check(method, path, response.status, told, sent=options.get("json"))
        return response.status, whole(told)

    @asynccontextmanager
    async def live(self, **options: Any) -> AsyncIterator[Page]:
        """Connect as a page does."""
        async with self.session.ws_connect(f"{self.url}/api/ws", max_msg_size=0, **options) as socket:
            yield Page(socket)

    async def raw(self, *parts: bytes, end: bool = False) -> bytes:
        """Send bytes, and give all that comes until the server hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
            if end:
                writer.write_eof()
            async with asyncio.timeout(PATIENCE_S):
                return await all_of(reader)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def until(holds: Callable[[], object]) -> None:
    """Look again and again until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def is_served_at(port: int, cert_file: Path) -> bool:
    """Connect, and return whether the certificate that is shown ends as that of a file does."""
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    async with asyncio.timeout(PATIENCE_S):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=blind)
        shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        await writer.wait_closed()
    return of_der(shown).ends == of_chain(cert_file).ends


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """Give what comes until the end; a connection may also end by a reset."""
    came = bytearray()
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            came += data
    return bytes(came)


class Page:
    """A WebSocket client that remembers what it heard."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []
        self.daemon: list[dict[str, Any]] = []

    async def next(self) -> dict[str, Any] | bytes:
        """Wait for a message that is not about the daemon."""
        while True:
            told = await self._next()
            if not self._is_of_daemon(told):
                break
        if isinstance(told, dict):
            self.heard.append(told)
        return told

    async def until_daemon(self, expected: dict[str, Any] | None = None) -> None:
        """Wait until it was told something of the daemon, or anything."""
        while expected not in self.daemon if expected else not self.daemon:
            self._is_of_daemon(await self._next())

    def _is_of_daemon(self, message: dict[str, Any] | bytes) -> bool:
        """Keep a message about the daemon, without its clock; return whether it is one."""
        if not isinstance(message, dict) or "daemon" not in message:
            return False
        assert message["daemon"].pop("time") == pytest.approx(time.time(), abs=60.0)
        self.daemon.append(message["daemon"])
        return True

    async def _next(self) -> dict[str, Any] | bytes:
        async with asyncio.timeout(PATIENCE_S):
            message = await self.socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        assert message.type is aiohttp.WSMsgType.TEXT, message
        told: dict[str, Any] = orjson.loads(message.data)
        whole(told.get("answer", {}))
        return told

    async def until(self, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait for a text message."""
        while True:
            told = await self.next()
            if isinstance(told, dict) and holds(told):
                return told

    async def result(self) -> dict[str, Any]:
        """Wait for a result, unless it has been heard: reports and answers come in any order."""
        heard = (told for told in self.heard if told.get("subject") == "result")
        return next(heard, None) or await self.until(lambda told: told.get("subject") == "result")

    async def frame(self) -> bytes:
        """Wait for a binary message."""
        while not isinstance(told := await self.next(), bytes):
            pass
        return told

    async def send(self, number: Any, robot: str, verb: str, **body: Any) -> None:
        request = {"id": number, "robot": robot, "verb": verb, "body": body}
        await self.socket.send_bytes(orjson.dumps(request))

    async def answer(self, number: Any) -> dict[str, Any]:
        told = await self.until(lambda told: "answer" in told and told["id"] == number)
        answer: dict[str, Any] = told["answer"]
        return answer

    async def ask(self, number: Any, robot: str, verb: str, **body: Any) -> dict[str, Any]:
        await self.send(number, robot, verb, **body)
        return await self.answer(number)


@asynccontextmanager
async def serving(
    settings: HttpSettings,
    robots: Any,
    hub: ReportHub,
    models: Models | None = None,
    is_broker_connected: Callable[[], bool] | None = None,
    *,
    clock: Callable[[], dict[str, Any]] = lambda: ClockMonitor().payload(),
    bounds: Bounds | None = None,
    until_ready: Callable[[], Awaitable[None]] | None = None,
    surroundings: Callable[[str], Sequence[Surrounding]] = lambda _: (),
) -> AsyncIterator[Site]:
    """Run a server; leaving is the daemon's clean shutdown."""
    broker_is_connected = asyncio.Event()
    broker_is_connected.set()
    choir = Choir()
    served = Served(
        dispatcher=Dispatcher(robots),
        motions=robots,
        groups=choir,
        hub=hub,
        models=models or {},
        daemon_id="d1",
        is_broker_connected=is_broker_connected or broker_is_connected.is_set,
        clock=clock,
        surroundings=surroundings,
    )
    server = HttpServer(settings, served, bounds)
    task = asyncio.create_task(server.run(until_ready), name="http")
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S))
    site = Site(server, robots, hub, session, broker_is_connected, choir)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await server.listening.wait()
        yield site
    finally:
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait((task,))
        await session.close()


@asynccontextmanager
async def serving_robots(rig: Rig, settings: HttpSettings) -> AsyncIterator[Site]:
    """Run the robots of a rig, and a server of them, from when the first is idle."""
    hub = ReportHub()
    with stream_forks() as rig.forks:
        robots = make_registry(load_settings(rig.config), hub, rig.forks, make_clock())
        around = robots.surroundings
        async with (
            rig.running_on(robots, hub),
            serving(settings, robots, hub, robots.models, surroundings=around) as site,
        ):
            await rig.until_state("idle")
            yield site


@pytest.fixture
def settings(free_port: int) -> HttpSettings:
    return HttpSettings(listen=f"127.0.0.1:{free_port}")


@pytest.fixture
async def site(settings: HttpSettings, robots: Robots, hub: ReportHub) -> AsyncIterator[Site]:
    async with serving(settings, robots, hub) as site:
        yield site
