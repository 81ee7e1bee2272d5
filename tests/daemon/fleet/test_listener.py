"""The connection for starts of groups, before a broker of this process: how what it is asked is answered."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.fleet.member.listener import Listener
from motiond.daemon.mqtt.client import Brokers
from tests.daemon.conftest import Embedded, listening, said
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Ear

ROBOTS = ("left", "right")
LAST = b'{"start":null,"robots":{},"agrees":false,"reasons":{}}'
COMMIT = {
    "start": "s1",
    "robots": ROBOTS,
    "tokens": dict.fromkeys(ROBOTS, "token"),
    "start_at": 2e9,
    "ready_in_s": 1.0,
    "transaction": "t1",
}


@pytest.fixture
async def broker(free_port: int) -> AsyncIterator[Embedded]:
    broker = Embedded(free_port)
    await broker.start()
    yield broker
    await broker.kill()


class Unreserved:
    """Stands in for a reservation that there is none of, and notes the commits that it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def commit(self, request: Any) -> dict[str, Any]:
        self.asked.append(request.transaction)
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


@asynccontextmanager
async def running(broker: Embedded, granted: int = 2) -> AsyncIterator[Listener]:
    """Keep the connection of a daemon whose robots are in a group, and not reserved."""
    brokers = Brokers(broker.settings, asyncio.get_running_loop().time)
    brokers.present.learn(granted)
    bridge: Any = SimpleNamespace(follower=brokers.follower, owns=lambda _: True, connected=asyncio.Event())
    robots: Any = SimpleNamespace(reservations=dict.fromkeys(ROBOTS, Unreserved()), grouped=ROBOTS)
    listener = Listener(broker.settings, "d1", bridge, robots)
    task = asyncio.create_task(listener.run())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.mark.parametrize(("granted", "expected"), [(1, 0), (2, 1)])
async def test_a_commit_is_answered_by_qos_0_where_the_broker_takes_no_more_than_qos_1(
    broker: Embedded, granted: int, expected: int
) -> None:
    """Nothing on this connection, no pulse either, waits then until a cluster has logged the answers."""
    async with running(broker, granted), listening(broker.settings, checked=False) as ear:
        assert await answers(ear) == dict.fromkeys(ROBOTS, expected)


async def test_a_connection_that_breaks_is_told_to_all_by_the_broker_and_is_back_soon(
    broker: Embedded,
) -> None:
    async with running(broker) as listener, listening(broker.settings) as ear:
        await answers(ear)
        assert listener._client is not None
        listener._client.break_off()
        told = await ear.until("motiond/bridge/d1/pulse")
        assert said(told) == {"start": None, "robots": {}, "agrees": False, "reasons": {}}
        assert not told.retain
        await answers(ear)


async def test_what_was_asked_while_the_connection_was_away_is_not_served_when_it_is_back(
    broker: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh request would wait for all of that, and might find no place behind it."""
    may_return = asyncio.Event()
    async with running(broker) as listener:
        monkeypatch.setattr(listener, "_wait", lambda *_: may_return.wait())
        async with listening(broker.settings, checked=False) as ear:
            await answers(ear)
            assert listener._client is not None
            listener._client.break_off()
            await ear.until("motiond/bridge/d1/pulse")
            old = orjson.dumps(COMMIT | {"transaction": "old"})
            await ear.client.publish("motiond/fleet/request/commit", old, 1)
            may_return.set()
            await answers(ear)
        asked = listener._robots.reservations["left"].asked  # type: ignore[attr-defined]
        assert set(asked) == {"t1"}


async def test_robots_of_a_start_that_ended_while_the_connection_was_away_are_heard_no_more(
    broker: Embedded,
) -> None:
    async with running(broker) as listener, listening(broker.settings, checked=False) as ear:
        await answers(ear)
        listener._left.add("motiond/left/reservation")
        assert listener._client is not None
        listener._client.break_off()
        for _ in range(100):
            await answers(ear)
            if not listener._left:
                return
        raise AssertionError(listener._left)


async def test_a_connection_that_is_left_in_order_is_not_told_of(broker: Embedded) -> None:
    async with listening(broker.settings) as ear:
        async with running(broker):
            await answers(ear)
        await ear.client.publish("motiond/bridge/d2/pulse", LAST)
        await ear.until("motiond/bridge/d2/pulse")
        assert "motiond/bridge/d1/pulse" not in {message.topic.value for message in ear.heard}


@pytest.mark.parametrize("payload", [b"", b"{}", b"null", b'{"gone": true}', b'{"start": "s2"}'])
async def test_every_start_hears_of_a_connection_that_broke_and_of_nothing_else(
    broker: Embedded, payload: bytes
) -> None:
    async with running(broker) as listener, listening(broker.settings, checked=False) as ear:
        await answers(ear)
        start = Recorded()
        listener._starts["s1"] = start  # type: ignore[assignment]
        try:
            for daemon, said_by_it in (("d2", payload), ("d3", LAST)):
                await ear.client.publish(f"motiond/bridge/{daemon}/pulse", said_by_it)
            async with asyncio.timeout(PATIENCE_S):
                await start.was_told.wait()
            assert start.wills == ["d3"]
        finally:
            del listener._starts["s1"]


class Recorded:
    """Stands in for a start, and records which wills it hears."""

    def __init__(self) -> None:
        self.wills: list[str] = []
        self.was_told = asyncio.Event()

    def hear_will(self, daemon_id: str) -> None:
        self.wills.append(daemon_id)
        self.was_told.set()
