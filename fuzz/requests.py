"""Sends hostile requests to a real daemon whose robots hold: `python -m fuzz.requests [--count N]`.

They go over MQTT, HTTP and WebSockets, made from the schemas of the verbs or broken byte by byte. One robot
is `guarded`: somebody else is in control of it, and lets it follow. The other one is `open` to all, and what
would move it is left out by construction (`hostile`). Afterwards the daemon must answer, be no larger than
before, have logged no failure of its own and answered none; the robots must hold still, be halted by one
request more, and the drivers' traces must show that no setpoint has ever changed.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import aiohttp
import numpy as np
import orjson
import psutil
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench.programs import ended, running_daemon
from fuzz.hostile import HANDSHAKE, ROBOTS, Hostile
from motiond.daemon.api import MOST_BYTES
from motiond.daemon.mqtt.client import MqttConnection
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import use
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Awaitable, Callable

    from motiond.daemon.config.mqtt import MqttSettings

COUNT = 100_000
SHARES = {"MQTT": 0.4, "HTTP": 0.3, "WebSocket": 0.15, "HTTP heads": 0.1, "WebSocket frames": 0.05}
SENDERS = {"MQTT": 1, "HTTP": 4, "WebSocket": 2, "HTTP heads": 24, "WebSocket frames": 16}
BATCH = 32  # of MQTT: the daemon serves 64 at once and 500 a second, and drops what is more
ANSWERS_WITHIN_S, REST_WITHIN_S = 0.5, 0.02
WARM_UP = 0.2  # of the requests, after which memory is looked at first
MOST_GROWTH_MB = 16.0
STILL_RAD = 1e-9
FOLLOW_S = 0.2
TARGETS = 0.5  # of the messages of a WebSocket, after a binary frame
OK, NO_ANSWER = "ok", "not answered"
ANSWER_TOPICS = (
    "me/answers",
    "motiond/open/response/play",
    "motiond/open/state",
    "",
    "a/#",
    "$SYS/x",
    "a" * 2000,
)
TO_WEB_SOCKET = (
    f"GET /api/ws HTTP/1.1\r\n{HANDSHAKE}"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
).encode()


@dataclass
class Verdict:
    """What came of an attack.

    Attributes
    ----------
    answers : dict of str to Counter
        By the way in: how often each code was answered, or each status of what is no request.
    failures : list of str
        What must not be.
    growth_mb : float
        Of the daemon's memory, from the end of the warm-up on.
    """

    answers: dict[str, Counter[str]] = field(default_factory=lambda: {way: Counter() for way in SHARES})
    failures: list[str] = field(default_factory=list)
    growth_mb: float = 0.0

    def count(self, way: str, told: Any, status: int = 200) -> None:
        """Count an answer; what says that the daemon failed is kept."""
        code = OK if told["status"] == "ok" else str(told["code"])
        self.answers[way][code] += 1
        if status >= 500 or code in {"INTERNAL", "TIMEOUT"}:
            self.failures.append(f"{way}: {status} {told}")


class Attack:
    """An attack on one daemon.

    Parameters
    ----------
    settings : MqttSettings
        Of the broker.
    port : int
        Of the daemon's HTTP server.
    hostile : Hostile
    verdict : Verdict
    """

    def __init__(self, settings: MqttSettings, port: int, hostile: Hostile, verdict: Verdict) -> None:
        self._settings = settings
        self._port = port
        self._hostile = hostile
        self._verdict = verdict
        self._rng = random.Random(1)

    async def send(self, count: int) -> None:
        """Send so many requests, by all ways at once."""
        ways: dict[str, Callable[[int], Awaitable[None]]] = {
            "MQTT": self._by_mqtt,
            "HTTP": self._by_http,
            "WebSocket": self._by_web_socket,
            "HTTP heads": self._heads,
            "WebSocket frames": self._frames,
        }
        async with asyncio.TaskGroup() as tasks:
            for way, share in SHARES.items():
                for _ in range(SENDERS[way]):
                    tasks.create_task(_awaited(ways[way](max(1, round(count * share / SENDERS[way])))))

    async def _by_mqtt(self, count: int) -> None:
        async with MqttConnection(self._settings) as asking, MqttConnection(self._settings) as hearing:
            for topic in ("motiond/+/response/#", ANSWER_TOPICS[0]):
                await hearing.subscribe(topic, qos=1)
            for begin in range(0, count, BATCH):
                for _ in range(min(BATCH, count - begin)):
                    robot, verb, body = self._hostile.request()
                    topic, retained = f"motiond/{robot}/request/{verb}", self._rng.random() < 0.02
                    await asking.publish(topic, body, 0, retained, self._properties())
                last = f"last {begin}"
                await asking.publish("motiond/open/request/status", orjson.dumps({"transaction": last}), 1)
                async with asyncio.timeout(PATIENCE_S):
                    await self._hear(hearing, last)

    def _properties(self) -> Properties:
        rng, properties = self._rng, Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if rng.random() < 0.2:
            properties.ResponseTopic = rng.choice(ANSWER_TOPICS)
        if rng.random() < 0.1:
            properties.CorrelationData = rng.randbytes(rng.choice((0, 1, 1000)))
        if rng.random() < 0.05:
            properties.MessageExpiryInterval = rng.choice((0, 1, 2**32 - 1))
        return properties

    async def _hear(self, client: MqttConnection, last: str) -> None:
        """Count answers up to one of ours."""
        async for message in client.messages:
            told = orjson.loads(bytes(message.payload))
            if told["transaction"] == last:
                return
            self._verdict.count("MQTT", told)

    async def _by_http(self, count: int) -> None:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self._port}") as session:
            for _ in range(count):
                robot, verb, body = self._hostile.request()
                path = f"/api/robots/{quote(robot)}/{quote(verb)}"
                head = {"Content-Type": self._rng.choice(("application/json",) * 9 + ("text/plain",))}
                try:
                    async with session.post(path, data=io.BytesIO(body), headers=head) as response:
                        self._verdict.count("HTTP", orjson.loads(await response.read()), response.status)
                except aiohttp.ClientConnectionError as error:
                    self._verdict.answers["HTTP"][NO_ANSWER] += 1
                    if len(body) <= MOST_BYTES:  # a longer one is refused, and hung up on, while it is sent
                        self._verdict.failures.append(f"HTTP: {path[:100]}: {error!r}")

    async def _by_web_socket(self, count: int) -> None:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self._port}") as session:
            while count > 0:
                async with session.ws_connect("/api/ws", max_msg_size=0) as socket:
                    goes_on = True
                    while goes_on and count > 0:
                        goes_on, count = await self._ask(socket), count - 1

    async def _ask(self, socket: aiohttp.ClientWebSocketResponse) -> bool:
        """Send one message, and wait for its answer; return whether the connection goes on.

        Perhaps a target comes before it, which is not waited for: few are answered.
        """
        with suppress(ConnectionError):
            if self._rng.random() < TARGETS:
                await socket.send_bytes(self._hostile.target())
            await socket.send_str(self._hostile.message())
        async with asyncio.timeout(PATIENCE_S):
            async for message in socket:
                told = orjson.loads(message.data) if message.type is aiohttp.WSMsgType.TEXT else {}
                if "answer" in told:
                    self._verdict.count("WebSocket", told["answer"])
                    return True
        self._verdict.answers["WebSocket"][NO_ANSWER] += 1
        return False

    async def _heads(self, count: int) -> None:
        for _ in range(count):
            came = await self._exchange(self._hostile.head())
            status = came.partition(b"\r\n")[0].split(b" ")[1:2]
            self._note("HTTP heads", came, status[0].decode() if status else NO_ANSWER)

    async def _frames(self, count: int) -> None:
        for _ in range(count):
            came = await self._exchange(TO_WEB_SOCKET, self._hostile.frame())
            self._note("WebSocket frames", came, "answered" if b'"answer"' in came else NO_ANSWER)

    def _note(self, way: str, came: bytes, what: str) -> None:
        self._verdict.answers[way][what] += 1
        if what.startswith("5") or b'"INTERNAL"' in came:
            self._verdict.failures.append(f"{way}: {came[:500]!r}")

    async def _exchange(self, *parts: bytes) -> bytes:
        """Send bytes, and return what comes until nothing more does for a while."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        came = bytearray()
        with suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                within_s = ANSWERS_WITHIN_S
                with suppress(TimeoutError):
                    while data := await asyncio.wait_for(reader.read(65536), within_s):
                        came += data
                        within_s = REST_WITHIN_S
        writer.transport.abort()
        return bytes(came)


async def _awaited(sending: Awaitable[None]) -> None:
    await sending


def rig_in(folder: Path, settings: MqttSettings, port: int) -> Rig:
    """Write two robots, with a motion whose name nobody guesses."""
    rig = Rig(folder)
    use(rig, settings)
    shutil.rmtree(folder / "motions")
    (folder / "motions").mkdir()
    write_seq(folder / "motions" / f"{secrets.token_hex(16)}.seq", sweep(0.5), JOINTS, RATE_HZ)
    rig.daemon["http"] = {"listen": f"127.0.0.1:{port}"}
    lease = {"required": True, "ttl_s": 3600.0, "takeover": False}
    rig.others = {
        "guarded": {**rig.robot, "driver": rig.driver | {"trace": "guarded.npy", "plant": "guarded.bin"}},
        "open": {**rig.robot, "driver": rig.driver | {"trace": "open.npy", "plant": "open.bin"}},
    }
    rig.others["guarded"]["lease"] = lease
    return rig


async def attack(count: int, seed: int = 1) -> Verdict:
    """Attack a daemon of its own with so many requests."""
    verdict = Verdict()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mosquitto, port = Mosquitto(free_port(), folder), free_port()
        stack.push_async_callback(mosquitto.kill)
        mosquitto.configure("allow_anonymous true", "set_tcp_nodelay true")
        await mosquitto.start()
        log = stack.enter_context((folder / "daemon.log").open("wb"))
        rig = rig_in(folder, mosquitto.settings, port)
        daemon = stack.enter_context(running_daemon(rig.config, log.fileno()))
        session = await stack.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{port}"))
        lease, leases = await _take_hold(session)
        goals: list[str] = []
        following = asyncio.create_task(_follow(session, lease, goals))
        stack.callback(following.cancel)
        async with asyncio.timeout(PATIENCE_S):
            while not goals:  # noqa: ASYNC110 - by HTTP, nobody tells
                await asyncio.sleep(0.1)
        hostile = Hostile(random.Random(seed), leases, goals)
        attack = Attack(mosquitto.settings, port, hostile, verdict)
        warm_up = round(WARM_UP * count)
        await attack.send(warm_up)
        before = _memory(daemon)
        await attack.send(count - warm_up)
        verdict.growth_mb = (_memory(daemon) - before) / 1e6
        if verdict.growth_mb > MOST_GROWTH_MB:
            verdict.failures.append(f"the daemon's memory has grown by {verdict.growth_mb:.1f} MB")
        following.cancel()
        await asyncio.wait((following,))
        if not following.cancelled():
            raise following.exception() or AssertionError
        for robot in ROBOTS:  # also the open one may follow, though nobody knows by which goal
            await _post(session, robot, "stop")
            await _until_idle(session, robot)
        verdict.failures += await _what_does_not_answer(session, mosquitto.settings, lease)
        await ended(daemon)
        for robot in ROBOTS:
            verdict.failures += moved(folder, robot)
        told = (folder / "daemon.log").read_text()
        if "Traceback" in told:
            at = told.index("Traceback")
            verdict.failures.append(f"the daemon's log: {told[max(0, at - 300) : at + 3000]}")
    return verdict


def _memory(daemon: subprocess.Popen[bytes]) -> float:
    return float(psutil.Process(daemon.pid).memory_full_info().uss)


async def _post(session: aiohttp.ClientSession, robot: str, verb: str, **body: Any) -> dict[str, Any]:
    async with session.post(f"/api/robots/{robot}/{verb}", json=body) as response:
        answer: dict[str, Any] = await response.json()
    return answer


async def _take_hold(session: aiohttp.ClientSession) -> tuple[str, list[str]]:
    """Let both robots hold, be in control of the guarded one, and return also leases that give no control."""
    for robot in ROBOTS:
        await _until_idle(session, robot)
    old = (await _post(session, "guarded", "lease/acquire", holder="judge"))["data"]["lease"]
    await _post(session, "guarded", "lease/release", lease=old)
    lease = (await _post(session, "guarded", "lease/acquire", holder="judge"))["data"]["lease"]
    for robot in ROBOTS:
        answer = await _post(session, robot, "enable", lease=lease)
        assert answer["status"] == OK, answer
    wrong = [old, lease[:-1], lease + "x", lease.swapcase(), "", "judge", "a" * 101, "\N{SNOWMAN}"]
    return lease, [one for one in wrong if one != lease]


async def _follow(session: aiohttp.ClientSession, lease: str, goals: list[str]) -> NoReturn:
    """Let the guarded robot follow where it holds, again whenever somebody has stopped it."""
    nowhere = [None] * len(JOINTS)
    while True:
        answer = await _post(session, "guarded", "follow/start", lease=lease, timeout_s=10.0)
        if _is_ok(answer):
            goals[:] = [*goals[-2:], answer["data"]["goal_id"]]
        while _is_ok(answer):
            await asyncio.sleep(FOLLOW_S)
            target = {"goal_id": goals[-1], "positions": nowhere}
            answer = await _post(session, "guarded", "follow/target", lease=lease, **target)
        await asyncio.sleep(FOLLOW_S)


async def _until_idle(session: aiohttp.ClientSession, robot: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await _state(session, robot) != "idle":  # noqa: ASYNC110 - by HTTP, nobody tells
            await asyncio.sleep(0.1)


async def _state(session: aiohttp.ClientSession, robot: str) -> str | None:
    with suppress(aiohttp.ClientConnectionError):
        async with session.get(f"/api/robots/{robot}/state") as response:
            state: str | None = (await response.json()).get("state")
            return state
    return None


def _is_ok(answer: dict[str, Any] | None) -> bool:
    return answer is not None and answer["status"] == OK


async def _what_does_not_answer(
    session: aiohttp.ClientSession, settings: MqttSettings, lease: str
) -> list[str]:
    """Ask for the status of each robot both ways, and return what is not as it must be."""
    wrong = []
    for robot in ROBOTS:
        answers = {"HTTP": await _post(session, robot, "status")}
        async with MqttConnection(settings) as client:
            await client.subscribe(f"motiond/{robot}/response/status", qos=1)
            await client.publish(f"motiond/{robot}/request/status", b'{"transaction":"judge"}', 1)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    async for message in client.messages:
                        if orjson.loads(bytes(message.payload))["transaction"] == "judge":
                            answers["MQTT"] = orjson.loads(bytes(message.payload))
                            break
        wrong += [f"{robot}: no status by {way}" for way in ("HTTP", "MQTT") if not _is_ok(answers.get(way))]
        held = (await _post(session, robot, "status"))["data"]
        if (held["state"], held["torque"]) != ("idle", True):
            wrong.append(f"{robot}: it does not hold any more: {held}")
        halted = await _post(session, robot, "estop")
        if halted["status"] != OK or not halted["data"]["latched"]:
            wrong.append(f"{robot}: it was not halted: {halted}")
    renewed = await _post(session, "guarded", "lease/renew", lease=lease)
    if renewed["status"] != OK:
        wrong.append(f"guarded: its holder has lost control: {renewed}")
    return wrong


def moved(folder: Path, robot: str) -> list[str]:
    """Look at all setpoints that a robot's actuators have received while torque was on."""
    trace = read_trace(folder / f"{robot}.npy")
    held = trace["position"][trace["enabled"]]
    if not len(held):
        return [f"{robot}: it has never held"]
    moved = float(np.abs(held - held[0]).max())
    return [f"{robot}: its setpoints moved by {moved:g} rad"] if moved > STILL_RAD else []


def main() -> int:
    """Attack with as many requests as are asked for; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.requests", description="Send hostile requests.")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    verdict = asyncio.run(attack(asked.count, asked.seed))
    for way, counts in verdict.answers.items():
        told = ", ".join(f"{count} {code}" for code, count in counts.most_common())
        print(f"{way}: {counts.total()} ({told})")
    print(f"memory {verdict.growth_mb:+.1f} MB since the warm-up (goal: at most {MOST_GROWTH_MB:g})")
    for failure in verdict.failures[:20]:
        print(f"FOUND {failure}")
    print(f"{asked.count} requests, {len(verdict.failures)} failures (goal: none; no setpoint moved)")
    return 1 if verdict.failures else 0


if __name__ == "__main__":
    sys.exit(main())
