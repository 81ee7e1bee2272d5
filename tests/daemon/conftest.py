"""Brokers, a robot to command, and a client that observes, for the tests of everything that speaks MQTT."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import signal
import subprocess
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import orjson
import pytest

from motiond.daemon.api import Dispatcher, Follower, Report, ReportHub, RequestError
from motiond.daemon.broker import EmbeddedBroker
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection
from motiond.daemon.service.control_socket import ControlSocket
from motiond.daemon.service.logs import serve_log_level
from tests import ports
from tests.conftest import runs_on_a_loop, uses_the_system
from tests.daemon import answers
from tests.daemon.mqtt import contract
from tests.daemon.mqtt.stand_in import StandIn
from tests.daemon.programs import logging_as_before
from tests.daemon.rig import FORKS
from tests.lasting import LASTING
from tests.waiting import PATIENCE_S, lines_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    import aiomqtt

    from motiond.daemon.api import Lease, Request, Streamed


class Embedded:
    """The daemon's own broker, on a port that stays the same from start to start."""

    def __init__(self, port: int) -> None:
        self.settings = MqttSettings(
            broker="embedded", listen=f"127.0.0.1:{port}", reconnect_min_s=0.05, reconnect_max_s=0.2
        )
        self._broker: EmbeddedBroker | None = None

    async def start(self) -> None:
        self._broker = EmbeddedBroker(self.settings.listen)
        async with asyncio.timeout(PATIENCE_S):
            await self._broker.__aenter__()

    async def kill(self) -> None:
        if self._broker is not None:
            broker, self._broker = self._broker, None
            async with asyncio.timeout(PATIENCE_S):
                await broker.__aexit__(None, None, None)


class Mosquitto:
    """A real mosquitto; killing it is SIGKILL."""

    def __init__(self, port: int, folder: Path, protocol: Literal["5", "3.1.1"] = "5") -> None:
        self.settings = MqttSettings(
            broker=f"mqtt://127.0.0.1:{port}",
            protocol=protocol,
            reconnect_min_s=0.05,
            reconnect_max_s=0.2,
            stop_when_lost_s=10.0,  # a busy machine may keep a broker from answering
        )
        self.port = port
        self._config = folder / "mosquitto.conf"
        self.configure("allow_anonymous true")
        self._process: subprocess.Popen[str] | None = None

    def configure(self, *lines: str) -> None:
        # as another user, mosquitto could not read a folder of root's
        common = (f"user {getpass.getuser()}", "log_dest stderr", "log_type information")
        self._config.write_text("\n".join((f"listener {self.port} 127.0.0.1", *lines, *common, "")))

    async def start(self) -> None:
        self._process = started([mosquitto_program(), "-c", str(self._config)])
        try:
            lines_until(self._process.stderr, "running", PATIENCE_S)
        except AssertionError:
            await self.kill()
            raise

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def freeze(self) -> None:
        """Let it hang: connections stay, and nothing is served."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def end(self) -> None:
        """Let it end by itself, with what it keeps on disk."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=PATIENCE_S)
            self._process = None

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=PATIENCE_S)
            self._process = None


AnyBroker = Embedded | StandIn | Mosquitto
Broker = TypeVar("Broker", Embedded, StandIn, Mosquitto, StandIn | Mosquitto, AnyBroker)


def web_sockets(*options: str) -> tuple[str, ...]:
    """Return lines by which a mosquitto takes WebSockets; release 2.0.11 wants another listener, too."""
    listener = f"listener {ports.free_port()} 127.0.0.1"
    return "protocol websockets", "socket_domain ipv4", *options, listener


def started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def mosquitto_program() -> str:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    program = shutil.which("mosquitto", path=path)
    if program is None:
        pytest.skip("mosquitto is not installed")
    return program


@pytest.fixture(scope="session")
def _forks() -> Iterator[None]:
    """Have one process that forks the stream processes of all tests."""
    with FORKS:
        FORKS.start()
        assert FORKS.pid is not None
        LASTING[FORKS.pid] = False
        yield


@pytest.fixture(autouse=True)
def _leaves_no_thread(request: pytest.FixtureRequest) -> None:
    if runs_on_a_loop(request):
        request.getfixturevalue("_ends_the_threads_that_connect")


@pytest.fixture
async def _ends_the_threads_that_connect() -> AsyncIterator[None]:
    yield
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.fixture
def free_port() -> int:
    return ports.free_port()


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let programs run in this process, each with its own stdout and stderr."""
    from tests.daemon.cli.program import Stream  # noqa: PLC0415 - it loads the whole program

    monkeypatch.setattr("motiond.daemon.service.daemon.prefer_latency", lambda: None)  # the interpreter's
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with logging_as_before():
        yield
    Stream.remove()


def a_mosquitto(request: pytest.FixtureRequest, protocol: Literal["5", "3.1.1"]) -> StandIn | Mosquitto:
    """Return a mosquitto where the system is used, and what stands in for one elsewhere."""
    port = request.getfixturevalue("free_port")
    if not uses_the_system(request.path):
        return StandIn(port, protocol)
    return Mosquitto(port, request.getfixturevalue("tmp_path"), protocol)


@asynccontextmanager
async def started_broker(broker: Broker) -> AsyncIterator[Broker]:
    await broker.start()
    try:
        yield broker
    finally:
        await broker.kill()


@pytest.fixture(params=["embedded", "5", "3.1.1"])
async def broker(request: pytest.FixtureRequest) -> AsyncIterator[AnyBroker]:
    broker: AnyBroker
    is_embedded = request.param == "embedded"
    port = request.getfixturevalue("free_port")
    broker = Embedded(port) if is_embedded else a_mosquitto(request, request.param)
    async with started_broker(broker):
        yield broker


@pytest.fixture
async def mosquitto(request: pytest.FixtureRequest) -> AsyncIterator[StandIn | Mosquitto]:
    async with started_broker(a_mosquitto(request, "5")) as broker:
        yield broker


@pytest.fixture(params=["5", "3.1.1"])
async def mosquitto_of_any_version(request: pytest.FixtureRequest) -> AsyncIterator[StandIn | Mosquitto]:
    async with started_broker(a_mosquitto(request, request.param)) as broker:
        yield broker


class Robots:
    """Stands in for the registry: keeps every request, and answers as a test wants."""

    robots: tuple[str, ...] = ("arm", "hand")

    def __init__(self) -> None:
        self.answers: dict[str, Any] = dict(answers.ANSWERS)
        self.leases: dict[str, Lease] = {}
        self.handled: list[tuple[str, str, dict[str, Any]]] = []
        self.taken: list[tuple[str, Streamed]] = []
        self.following: dict[str, str] = {}
        self.asked_by: str | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def handle(
        self, robot: str, verb: str, request: Request, asked_by: str | None = None
    ) -> dict[str, Any]:
        self.asked_by = asked_by
        self.handled.append((robot, verb, request.model_dump(exclude_unset=True)))
        goal_id = f"g{len(self.handled)}"
        if verb == "play":
            await self.gate.wait()
            motion = getattr(request, "motion", "")
            if motion == "unknown":
                raise RequestError("UNKNOWN_MOTION", robot, "no motion 'unknown'", known=["wave"])
            if motion == "crash":
                raise ZeroDivisionError("division by zero")
            return {"goal_id": goal_id}
        return {"goal_id": goal_id} if verb == "goto" else dict(self.answers.get(verb, {}))

    def take(self, robot: str, request: Streamed) -> None:
        if self.following:
            self.follower(request.goal_id)
        self.taken.append((robot, request))

    def follower(self, goal_id: str) -> Follower:
        if goal_id not in self.following:
            problem, reason = f"no goal '{goal_id}' follows", "it has ended, or never began"
            raise RequestError("UNKNOWN_GOAL", "", problem, reason, "begin one by follow/start")
        return Follower(self.following[goal_id], 1, lambda: None)

    @property
    def targets(self) -> list[tuple[str, dict[str, Any]]]:
        """What was taken, as its client has written it."""
        return [(robot, one.model_dump(exclude_unset=True, exclude={"lease"})) for robot, one in self.taken]

    def verbs(self) -> list[str]:
        return [verb for _, verb, _ in self.handled]


@pytest.fixture
def robots() -> Robots:
    return Robots()


@pytest.fixture
def hub() -> ReportHub:
    return known_hub()


def known_hub() -> ReportHub:
    """Return a hub that knows what a registry says when it starts."""
    hub = ReportHub()
    for robot in Robots.robots:
        hub.publish(Report(robot, "availability", {"state": "online"}))
        hub.publish(Report(robot, "description", answers.DESCRIPTION))
        hub.publish(Report(robot, "motions", answers.MOTIONS))
        hub.publish(Report(robot, "state", answers.state()))
    return hub


class NoGroups:
    """Stands in for who coordinates groups: there is none."""

    async def play(self, group: str, _request: object, _asked_by: str) -> dict[str, Any]:
        raise RequestError("UNKNOWN_GROUP", "", f"no group '{group}'")

    async def command(self, group: str, _verb: object) -> dict[str, Any]:
        raise RequestError("UNKNOWN_GROUP", "", f"no group '{group}'")

    async def overview(self) -> list[dict[str, Any]]:
        return []


def control_of(config: Path, robots: Robots, hub: ReportHub) -> ControlSocket:
    """Return the control socket of a daemon of some robots."""
    acts = {"log-level": serve_log_level}
    return ControlSocket(config, acts, dispatcher=Dispatcher(robots), groups=NoGroups(), hub=hub)


class WatchedBridge(MqttBridge):
    """A bridge that shows when its connection is lost or not made, and tries again only when it may."""

    def __init__(self, settings: MqttSettings, robots: Robots, hub: ReportHub) -> None:
        super().__init__(settings, "d1", robots, Dispatcher(robots), hub)
        self.lost = asyncio.Event()
        self.losses, self.most_losses = 0, inf
        self.may_return = asyncio.Event()
        self.may_return.set()

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        self.lost.set()
        await super()._wait(wait_s, reason)
        self.losses += 1
        if self.losses >= self.most_losses:
            self.may_return.clear()
        await self.may_return.wait()


async def is_connected(bridge: MqttBridge) -> None:
    await happens(bridge.connected, "the bridge is connected")


async def is_lost(bridge: WatchedBridge) -> None:
    await happens(bridge.lost, "the bridge has lost its connection")


async def reconfigured(broker: StandIn | Mosquitto, *lines: str) -> None:
    """Start a broker again, by another configuration."""
    await broker.kill()
    broker.configure(*lines)
    await broker.start()


async def by_access_list(broker: StandIn | Mosquitto, folder: Path, *rules: str) -> None:
    """Start a broker again with an access list."""
    (folder / "acl").write_text("".join(f"topic {rule}\n" for rule in rules))
    await reconfigured(broker, "allow_anonymous true", f"acl_file {folder / 'acl'}")


async def comes_true(what: str, look: Callable[[], Any], holds: Callable[[Any], object] = bool) -> None:
    """Look again and again until what is seen holds."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not holds(seen := look()):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.02)
    except TimeoutError as error:
        raise AssertionError(f"{what}: not in {PATIENCE_S:g} s; seen last: {seen!r}") from error


async def happens(event: asyncio.Event, what: str) -> None:
    try:
        await asyncio.wait_for(event.wait(), PATIENCE_S)
    except TimeoutError as error:
        raise AssertionError(f"{what}: not in {PATIENCE_S:g} s") from error


@asynccontextmanager
async def running(bridge: MqttBridge) -> AsyncIterator[asyncio.Task[Any]]:
    """Run a bridge; leaving is the daemon's clean shutdown."""
    task = asyncio.create_task(bridge.run(), name="bridge")
    try:
        await is_connected(bridge)
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE_S):
                await task


@pytest.fixture
async def bridge(broker: AnyBroker, robots: Robots, hub: ReportHub) -> AsyncIterator[WatchedBridge]:
    bridge = WatchedBridge(broker.settings, robots, hub)
    async with running(bridge):
        yield bridge


class MqttObserver:
    """A client that receives everything below the base, and checks it against the AsyncAPI document."""

    of_tests: ClassVar[set[tuple[str, bytes]]] = set()

    def __init__(self, client: MqttConnection, base: str = "motiond", *, checked: bool = True) -> None:
        self.client = client
        self.received: list[aiomqtt.Message] = []
        self._base = base
        self._checked = checked
        self._publish = client.publish
        client.publish = self._note_and_publish  # type: ignore[assignment,method-assign]

    async def _note_and_publish(self, topic: str, payload: bytes, *args: Any, **options: Any) -> None:
        self.of_tests.add((topic, payload))
        await self._publish(topic, payload, *args, **options)

    async def receive(self) -> None:
        """Wait for the next message, and check it against the document unless a test has published it."""
        message = await anext(self.client.messages)
        topic, payload = message.topic.value, message.payload
        assert isinstance(payload, bytes)
        if self._checked and (topic, payload) not in self.of_tests:
            contract.check(topic, payload, qos=message.qos, retain=message.retain, base=self._base)
        self.received.append(message)

    async def until(self, topic: str, wanted: Callable[[Any], bool] = lambda _: True) -> aiomqtt.Message:
        """Wait for a message (or find one that has come and was not asked for yet)."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (message := self._take(topic, wanted)) is None:
                    await self.receive()
        except TimeoutError as error:
            received = self.on(topic)
            others = sorted({message.topic.value for message in self.received})
            reason = f"{topic}: not in {PATIENCE_S:g} s; received on it: {received}; received on: {others}"
            raise AssertionError(reason) from error
        return message

    def on(self, topic: str) -> list[Any]:
        """Return what has come on a topic and was not asked for yet."""
        return [data_of(message) for message in self.received if message.topic.value == topic]

    def _take(self, topic: str, wanted: Callable[[Any], bool]) -> aiomqtt.Message | None:
        for message in self.received:
            if message.topic.value == topic and wanted(data_of(message)):
                self.received.remove(message)
                return message
        return None

    async def ask(self, topic: str, payload: bytes) -> Any:
        # What the broker confirms stands behind all that it has sent before, which may be a lot.
        await self.client.publish(topic, payload, qos=1, timeout=PATIENCE_S)
        answer = data_of(await self.until(topic.replace("/request/", "/response/")))
        if self._checked and answer["status"] == "ok" and "ignored" not in answer["data"]:
            contract.check_request(topic, payload, self._base)
        return answer


def data_of(message: aiomqtt.Message) -> Any:
    assert isinstance(message.payload, bytes)
    return orjson.loads(message.payload) if message.payload else None


@asynccontextmanager
async def listening(settings: MqttSettings, *, checked: bool = True) -> AsyncIterator[MqttObserver]:
    """Observe all at a broker, which gives the observer the time to check what it has sent."""
    async with MqttConnection(settings.model_copy(update={"keepalive_s": 600})) as client:
        await client.subscribe(f"{settings.base}/#", qos=1)
        yield MqttObserver(client, settings.base, checked=checked)


@pytest.fixture
async def observer(broker: AnyBroker) -> AsyncIterator[MqttObserver]:
    async with listening(broker.settings) as observer:
        yield observer


@pytest.fixture
async def observer_at_mosquitto(mosquitto: Mosquitto) -> AsyncIterator[MqttObserver]:
    async with listening(mosquitto.settings) as observer:
        yield observer
