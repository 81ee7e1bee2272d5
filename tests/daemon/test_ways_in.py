"""Targets make the same of a robot that follows, whichever way they come to its daemon."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import orjson
import pytest

from motiond import client
from motiond.client.messages import target_frame
from motiond.drivers.sim.command_log import read_trace
from motiond.local import address_of
from tests.daemon.cli.program import daemon_of
from tests.daemon.conftest import data_of, listening
from tests.daemon.http.conftest import Page
from tests.daemon.programs import use
from tests.daemon.rig import Rig
from tests.daemon.test_control import connected
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.drivers.base import Floats
    from tests.daemon.conftest import MqttObserver
    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

WAYS = ("socket", "frame", "page", "mqtt", "http")
PERIOD_S = 0.02
TARGET, CHUNK, KEEP_ALIVE = "follow/target", "follow/chunk", "follow/keep_alive"
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


class World:
    """A daemon, and a client on each way to it."""

    def __init__(
        self,
        rig: Rig,
        observer: MqttObserver,
        session: aiohttp.ClientSession,
        page: Page,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.rig = rig
        self.observer = observer
        self.session = session
        self.page = page
        self.writer = writer
        self.url = f"http://{rig.daemon['http']['listen']}/api/robots/arm"
        self._count = 0

    async def ask(self, verb: str, **body: Any) -> dict[str, Any]:
        async with self.session.post(f"{self.url}/{verb}", json=body) as response:
            answer: dict[str, Any] = await response.json()
        assert answer["status"] == "ok", answer
        data: dict[str, Any] = answer["data"]
        return data

    async def start(self, **keys: Any) -> str:
        goal_id: str = (await self.ask("follow/start", **keys))["goal_id"]
        return goal_id

    async def send(self, way: str, verb: str, **body: Any) -> None:
        """Send a target or a chunk one way, without waiting for what becomes of it where nobody does."""
        match way:
            case "socket":
                self.writer.write(orjson.dumps({"robot": "arm", "verb": verb, "body": body}) + b"\n")
            case "frame":
                await self.page.socket.send_bytes(target_frame(body) or b"")
            case "page":
                self._count += 1
                assert (await self.page.ask(self._count, "arm", verb, **body))["status"] == "ok"
            case "mqtt":
                await self.observer.client.publish(f"motiond/arm/request/{verb}", orjson.dumps(body), 0)
            case "http":
                await self.ask(verb, **body)

    async def result(self, goal_id: str) -> dict[str, Any]:
        data: dict[str, Any] = data_of(
            await self.observer.until("motiond/arm/result", lambda data: data["goal_id"] == goal_id)
        )
        await self.observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        return data

    def path(self) -> Floats:
        """Return what was put out since the last time, from the first move to the last; (rows, joints)."""
        positions: Floats = read_trace(self.rig.folder / "trace.npy")["position"]
        moves = np.flatnonzero((np.diff(positions, axis=0) != 0.0).any(axis=1))
        return positions[moves[0] : moves[-1] + 2]


@pytest.fixture
def rig(tmp_path: Path, mosquitto: StandIn, programs: None) -> Rig:
    del programs
    rig = Rig(tmp_path)
    use(rig, mosquitto.settings)
    rig.daemon["http"] = {"listen": "127.0.0.1:8080"}
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.others = {"other": rig.robot | {"driver": {"type": "sim"}}}
    return rig


@pytest.fixture
async def it(rig: Rig, mosquitto: StandIn) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(daemon_of(rig))
        observer = await stack.enter_async_context(listening(mosquitto.settings))
        timeout = aiohttp.ClientTimeout(PATIENCE_S)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        socket = await stack.enter_async_context(await connected(rig, session))
        _, writer = await asyncio.open_unix_connection(address_of(rig.config))
        stack.callback(writer.close)
        yield World(rig, observer, session, Page(socket), writer)


def swing(step: int) -> list[float]:
    return [0.3 * math.sin(0.1 * step), 0.2 - 0.2 * math.cos(0.1 * step)]


@pytest.mark.parametrize("way", WAYS)
async def test_a_follow_is_the_same_over_each_way(it: World, way: str) -> None:
    goal_id = await it.start()
    for step in range(50):
        await it.send(way, TARGET, goal_id=goal_id, positions=swing(step), sent_at=time.time())
        await asyncio.sleep(PERIOD_S)
    await it.ask("follow/stop")
    result = await it.result(goal_id)
    facts = result["details"]["follow"]
    assert result["code"] == "SUCCESSFUL"
    assert {key: facts[key] for key in ("targets", "clipped", "dropped", "refused")} == {
        "targets": 50, "clipped": 0, "dropped": 0, "refused": 0,
    }  # fmt: skip
    path = it.path()
    assert path[-1] == pytest.approx(swing(49), abs=0.01)


@pytest.mark.parametrize("way", WAYS)
async def test_a_chunk_is_the_same_over_each_way(it: World, way: str) -> None:
    goal_id = await it.start()
    rows = [swing(step) for step in range(100)]
    await it.send(way, CHUNK, goal_id=goal_id, positions=rows, period_s=PERIOD_S, sent_at=time.time())
    result = await it.result(goal_id)
    assert (result["code"], result["details"]["follow"]["targets"]) == ("CANCELED", 1)
    assert it.path()[-1] == pytest.approx(rows[-1], abs=0.02)


@pytest.mark.parametrize("way", WAYS)
async def test_a_target_that_was_sent_before_the_last_one_is_dropped_over_each_way(
    it: World, way: str
) -> None:
    """As after a reconnect of a client that has kept some."""
    goal_id, sent_at = await it.start(timeout_s=0.5), time.time()
    await it.send(way, TARGET, goal_id=goal_id, positions=[0.1, 0.1], sent_at=sent_at)
    began_s = asyncio.get_running_loop().time()
    for step in range(20):
        await asyncio.sleep(PERIOD_S)
        await it.send(way, TARGET, goal_id=goal_id, positions=[0.3, 0.3], sent_at=sent_at - 1.0 + 0.01 * step)
    event = data_of(await it.observer.until("motiond/arm/event"))
    older = "no target came for 0.5 s but 20 older than the last, by sent_at"
    assert event["message"] == f"{older}; the robot stops softly and holds"
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(0.5, abs=0.05)
    facts = (await it.result(goal_id))["details"]["follow"]
    assert (facts["targets"], facts["dropped"]) == (1, 20)
    assert it.path()[-1] == pytest.approx([0.1, 0.1], abs=1e-6)


async def test_a_connection_that_ends_leaves_the_follow_to_its_time_out_or_to_another_connection(
    it: World,
) -> None:
    goal_id = await it.start()
    await it.send("frame", TARGET, goal_id=goal_id, positions=[0.1, 0.1])
    await it.page.socket.close()
    for _ in range(25):
        await asyncio.sleep(PERIOD_S)
        await it.send("mqtt", TARGET, goal_id=goal_id, positions=[0.2, 0.2])
    began_s = asyncio.get_running_loop().time()
    event = data_of(await it.observer.until("motiond/arm/event"))
    assert event["kind"] == "follow_timeout"
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(0.2, abs=0.05)
    assert (await it.result(goal_id))["code"] == "CANCELED"
    assert it.path()[-1] == pytest.approx([0.2, 0.2], abs=0.01)


async def test_a_frame_that_is_none_is_counted_in_the_result(it: World) -> None:
    goal_id = await it.start()
    await it.send("frame", TARGET, goal_id=goal_id, positions=[0.1, 0.1])
    for wrong in ([float("inf"), 0.1], [0.1], [0.1, 0.1, 0.1]):
        await it.send("frame", TARGET, goal_id=goal_id, positions=wrong)
    await it.ask("follow/stop")
    facts = (await it.result(goal_id))["details"]["follow"]
    assert (facts["targets"], facts["refused"]) == (1, 3)


@pytest.mark.parametrize("way", ["broker", "page"])
async def test_the_client_sends_targets_over_each_way_without_an_answer(
    it: World, mosquitto: StandIn, way: str
) -> None:
    where = str(mosquitto.settings.broker) if way == "broker" else f"http://{it.rig.daemon['http']['listen']}"
    async with client.connect(where) as daemon, daemon.robot("arm").follow(timeout_s=0.5) as follow:
        for step in range(25):
            follow.send(swing(step))
            await asyncio.sleep(PERIOD_S)
        follow.chunk([swing(step) for step in range(25, 50)], period_s=PERIOD_S)
        await asyncio.sleep(0.6)
    facts = (await follow.result()).details["follow"]
    assert (facts["targets"], facts["dropped"], facts["refused"]) == (26, 0, 0)
    assert it.path()[-1] == pytest.approx(swing(49), abs=0.02)
    assert it.observer.on("motiond/arm/response/follow/target") == []


# -- a leader -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [way for way in WAYS if way != "frame"])
async def test_a_follow_of_a_leader_is_kept_alive_over_each_way(it: World, way: str) -> None:
    goal_id = await it.start(leader="other", keep_alive_s=0.5)
    for _ in range(10):
        await asyncio.sleep(0.4)
        await it.send(way, KEEP_ALIVE, goal_id=goal_id)
    assert (await it.ask("status"))["goal_id"] == goal_id
    last_s = asyncio.get_running_loop().time()
    event = data_of(await it.observer.until("motiond/arm/event"))
    assert asyncio.get_running_loop().time() - last_s == pytest.approx(0.5, abs=0.05)
    message = "no follow/keep_alive came for 0.5 s; whoever began this may have gone"
    assert {key: event[key] for key in ("kind", "message", "details")} == {
        "kind": "follow_timeout",
        "message": message,
        "details": {"goal_id": goal_id, "leader": "other"},
    }
    result = await it.result(goal_id)
    assert (result["code"], result["message"]) == ("CANCELED", message)


@pytest.mark.parametrize("way", ["socket", "broker", "page"])
async def test_the_client_keeps_it_alive_as_long_as_its_context_lasts(
    it: World, mosquitto: StandIn, way: str
) -> None:
    url = f"http://{it.rig.daemon['http']['listen']}"
    where = {"socket": None, "broker": str(mosquitto.settings.broker), "page": url}[way]
    async with client.connect(where, config=it.rig.config if where is None else None) as daemon:
        async with daemon.robot("arm").follow(leader="other") as follow:
            await asyncio.sleep(10.0)
        assert (await follow.result()).code == "SUCCESSFUL"
        async with daemon.robot("arm").follow(leader="other") as follow:
            (keeping,) = [task for task in asyncio.all_tasks() if task.get_name() == "client.keep_alive"]
            keeping.cancel()  # as if the program were dead
            last_s = asyncio.get_running_loop().time()
            result = await follow.result()
    assert (result.code, result.message) == (
        "CANCELED",
        "no follow/keep_alive came for 2 s; whoever began this may have gone",
    )
    assert 1.4 < asyncio.get_running_loop().time() - last_s < 2.4
