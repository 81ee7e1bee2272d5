"""The connection for starts of groups, before a broker of this process: how what it is asked is answered."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api.errors import RequestError
from motiond.daemon.fleet.listener import Listener
from motiond.daemon.mqtt.brokers import Brokers
from tests.daemon.conftest import Embedded, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Ear

ROBOTS = ("left", "right")
COMMIT = {"start": "s1", "robots": ROBOTS, "start_at": 2e9, "ready_in_s": 1.0, "transaction": "t1"}


@pytest.fixture
async def broker(free_port: int) -> AsyncIterator[Embedded]:
    broker = Embedded(free_port)
    await broker.start()
    yield broker
    await broker.kill()


class Unreserved:
    """Stands in for a reservation that there is none of."""

    def commit(self, _request: Any) -> dict[str, Any]:
        raise RequestError("NOT_RESERVED", "robot", "not reserved")


async def answers(ear: Ear) -> dict[str, int]:
    """Commit, again until it is heard; give by which quality of service each robot has answered."""
    for _ in range(100):
        await ear.client.publish("motiond/fleet/request/commit", orjson.dumps(COMMIT), 1)
        try:
            async with asyncio.timeout(0.2):
                heard = [await ear.until(f"motiond/{robot}/response/fleet/commit") for robot in ROBOTS]
                return {one.topic.value.split("/")[1]: one.qos for one in heard}
        except TimeoutError:
            continue
    raise AssertionError("no answer")


@pytest.mark.parametrize(("granted", "expected"), [(1, 0), (2, 1)])
async def test_a_commit_is_answered_by_qos_0_where_the_broker_takes_no_more_than_qos_1(
    broker: Embedded, granted: int, expected: int
) -> None:
    """Nothing on this connection, no pulse either, waits then until a cluster has logged the answers."""
    brokers = Brokers(broker.settings, asyncio.get_running_loop().time)
    brokers.present.learn(granted)
    bridge: Any = SimpleNamespace(follower=brokers.follower, owns=lambda _: True, connected=asyncio.Event())
    robots: Any = SimpleNamespace(reservations=dict.fromkeys(ROBOTS, Unreserved()), until_grouped=grouped)
    listener = asyncio.create_task(Listener(broker.settings, "d1", bridge, robots).run())
    try:
        async with listening(broker.settings, checked=False) as ear:
            assert await answers(ear) == dict.fromkeys(ROBOTS, expected)
    finally:
        listener.cancel()
        await asyncio.wait((listener,))


async def grouped() -> None:
    """There is a robot in a group."""
