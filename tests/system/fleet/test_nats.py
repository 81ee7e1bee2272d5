"""A daemon at three nodes of nats-server, as `config/fleet` sets them up, and where one of them is killed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import aiomqtt
import orjson
import pytest

from motiond.client import connect
from motiond.daemon.config.client import brokers_of
from motiond.daemon.config.settings import host_name
from motiond.daemon.fleet.coordinator import conversing
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import MqttObserver, data_of
from tests.daemon.programs import running, use
from tests.daemon.rig import Rig
from tests.system.fleet.nats import NODES, Cluster
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings

DAEMON = f"motiond/bridge/{host_name()}/availability"
RESULT = "motiond/arm/result"
STATE = "motiond/arm/state"
LOST = "connection lost"
AGAIN_S = 3.0
ROBOTS = ("left", "right", "drum")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("nats"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture
def rig(cluster: Cluster, tmp_path: Path) -> Rig:
    """Return a robot whose daemon begins at node 1, and that plays on for as long as an election may take."""
    rig = Rig(tmp_path)
    use(rig, cluster.settings(*NODES))
    rig.daemon["mqtt"] |= {"stop_when_lost_s": 120.0}
    return rig


@asynccontextmanager
async def subscribed(settings: MqttSettings) -> AsyncIterator[MqttObserver]:
    """Listen as soon as there is a leader: nodes refuse clients while they elect one."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    client = await stack.enter_async_context(MqttConnection(settings))
                    # By QoS 1, a client that goes holds up its node, and others, for seconds.
                    await client.subscribe("motiond/#", 0)
                    break
                except aiomqtt.MqttError:
                    await asyncio.sleep(0.1)
        yield MqttObserver(client, checked=False)


async def is_kept(cluster: Cluster, node: int, topic: str, holds: Callable[[Any], bool]) -> Any:
    """Wait until a node retains a message that holds, and return it: a new client receives it as retained."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with subscribed(cluster.settings(node)) as client:
                message = await client.until(topic, holds)
            if message.retain:
                return data_of(message)


async def ask(settings: MqttSettings, verb: str, **keys: Any) -> Any:
    """Ask the robot until it answers, and return the data of the answer.

    A node may not know yet that the daemon, just come to another one, takes requests.
    """
    request = orjson.dumps({"transaction": uuid4().hex, **keys})
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                async with subscribed(settings) as observer, asyncio.timeout(AGAIN_S):
                    answer = await observer.ask(f"motiond/arm/request/{verb}", request)
            except (aiomqtt.MqttError, TimeoutError):
                continue
            assert answer["status"] == "ok", answer
            return answer["data"]


async def is_in(observer: MqttObserver, state: str) -> Any:
    return data_of(await observer.until(STATE, lambda data: data["state"] == state))


def is_online(data: Any) -> bool:
    return bool(data["state"] == "online")


def is_broken(data: Any) -> bool:
    return bool(data["state"] == "broken")


async def test_requests_and_reports_of_a_daemon_pass_between_all_nodes_and_so_does_its_will(
    cluster: Cluster, rig: Rig
) -> None:
    async with running(rig) as daemon, subscribed(cluster.settings(3)) as observer:
        await observer.until(DAEMON, is_online)
        await is_in(observer, "idle")
        goal_id = (await ask(cluster.settings(2), "play", motion="short"))["goal_id"]
        ended = data_of(await observer.until(RESULT))
        assert (ended["goal_id"], ended["code"]) == (goal_id, "SUCCESSFUL")
        motions = [
            await is_kept(cluster, node, "motiond/arm/motions", lambda data: data["motions"])
            for node in NODES
        ]
        assert motions[0] == motions[1] == motions[2]
        for node in NODES:
            await is_kept(cluster, node, DAEMON, is_online)
            await is_kept(cluster, node, STATE, lambda data: data["state"] == "idle")
        await daemon.kill()
        await observer.until(DAEMON, is_broken)
    for node in NODES:
        await is_kept(cluster, node, DAEMON, is_broken)


async def test_a_node_is_killed_in_the_middle_of_a_motion_and_the_result_comes_once_at_another(
    cluster: Cluster, rig: Rig, tmp_path: Path
) -> None:
    with (tmp_path / "log").open("w") as log:
        async with running(rig, log.fileno()) as daemon, subscribed(cluster.settings(3)) as observer:
            await is_in(observer, "idle")
            goal_id = (await ask(cluster.settings(3), "play", motion="long"))["goal_id"]
            before = (await is_in(observer, "playing"))["sequence"]
            cluster.nodes[0].kill()
            observer.received.clear()
            moved = data_of(await observer.until(DAEMON, is_online))
            wills = [data_of(one) for one in observer.received if one.topic.value == DAEMON]
            state = data_of(await observer.until(STATE, lambda data: data["sequence"] >= before))
            assert state["goal_id"] in {goal_id, None}  # None where it has ended by now
            ended = data_of(await observer.until(RESULT))
            await ask(cluster.settings(2), "status")
            again = [data_of(one) for one in observer.received if one.topic.value == RESULT]
            for node in (2, 3):
                assert await is_kept(cluster, node, DAEMON, is_online) == moved
            cluster.nodes[0].start()
            cluster.nodes[0].wait()
            assert await is_kept(cluster, 1, DAEMON, is_online) == moved
            await is_kept(cluster, 1, STATE, lambda data: data["state"] == "idle")
            cluster.nodes[0].kill()
            assert await daemon.end() == 0
    assert (ended["goal_id"], ended["code"], ended["sequence"]) == (goal_id, "SUCCESSFUL", 1)
    # A killed node publishes no will of its clients; one that the daemon went to and lost does.
    assert (tmp_path / "log").read_text().count("not connected") or wills == []
    assert [one for one in wills if not is_broken(one)] == []
    # By QoS 1, what was under way at a loss may come twice; here the only loss was long before.
    assert (tmp_path / "log").read_text().count(LOST) > 1 or again == []
    assert [one for one in again if one != ended] == []


async def test_stops_of_one_robot_and_of_a_group_come_while_no_node_can_log_anything(
    cluster: Cluster,
) -> None:
    """Who asks was connected before: a node takes no new client then, and no subscription.

    Node 1 delivers nothing of QoS 1 then, and hangs up on who publishes it after 4 s.
    """
    for node in cluster.nodes:
        await asyncio.to_thread(node.start_again)
    settings = cluster.settings(1)
    async with (
        subscribed(settings) as observer,
        connect(brokers_of(settings.each()[0])) as alone,
        conversing(settings.each()[0]) as conversation,
    ):
        for number in (2, 3):
            cluster.nodes[number - 1].freeze()
        try:
            asking = [
                asyncio.create_task(alone.robot("solo").request("stop", timeout_s=PATIENCE_S)),
                *(asyncio.create_task(conversation.ask(robot, "stop", {}, PATIENCE_S)) for robot in ROBOTS),
            ]
            for robot in ("solo", *ROBOTS):
                await observer.until(f"motiond/{robot}/request/stop")
        finally:
            for number in (2, 3):
                cluster.nodes[number - 1].thaw()
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)
    for node in cluster.nodes:
        await asyncio.to_thread(node.wait)
