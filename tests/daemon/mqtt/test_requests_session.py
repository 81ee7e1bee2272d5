"""The connection for requests, without a broker: what waits, is overtaken, refused and answered."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiomqtt
import orjson
import pytest

from motiond.daemon.api import STREAMED_VERBS, VERBS, Dispatcher
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.bridge.requests_session import (
    LOG_PERIOD_S,
    MOST_AT_ONCE,
    MOST_BYTES,
    MOST_WAITING,
    Inbox,
    RequestsSession,
)
from motiond.daemon.mqtt.bridge.responder import Responder
from motiond.daemon.mqtt.bridge.stops import StopOrder
from motiond.daemon.mqtt.client import Broker, ConnectionUseless
from motiond.daemon.mqtt.client.packet_limit import RAISE_IT, PacketLimit
from motiond.daemon.mqtt.topics import Topics
from tests.daemon.answers import BODIES
from tests.daemon.conftest import comes_true

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Robots


TOPICS = Topics("motiond")
BROKER = Broker(MqttSettings(broker="mqtt://broker"))
BROKER.learn(2)


class Wire(SimpleNamespace):
    """Stands in for a client: grants subscriptions, and notes what is published."""

    version_5 = False

    def __init__(self) -> None:
        super().__init__(answers=[], granted=1, subscribed=asyncio.Event(), can_publish=asyncio.Event())
        self.can_publish.set()
        self.limit = PacketLimit()

    async def subscribe(self, topics: list[tuple[str, int]]) -> list[int]:
        self.subscribed.set()
        return [self.granted] * len(topics)

    async def publish(self, topic: str, payload: bytes, *_: Any, **__: Any) -> None:
        await self.can_publish.wait()
        self.answers.append((topic, orjson.loads(payload)))

    def room(self, *_: Any, **__: Any) -> float:
        return self.limit.most_bytes

    async def broken(self) -> None:
        await asyncio.Event().wait()


@pytest.fixture
def order() -> StopOrder:
    return StopOrder(lambda: 0.0)


@pytest.fixture
def main() -> Any:
    """The session of the main connection, which is there."""
    return SimpleNamespace(takes_stops=True, may_begin=True)


@pytest.fixture
async def session(robots: Robots, order: StopOrder, main: Any) -> AsyncIterator[RequestsSession]:
    responder = Responder(TOPICS, Dispatcher(robots), is_ours=lambda _: True, version_5=False)
    async with asyncio.TaskGroup() as tasks:
        yield RequestsSession(
            TOPICS,
            robots.robots,
            main,
            responder=responder,
            order=order,
            is_ours=lambda _: True,
            ready=asyncio.Event(),
            tasks=tasks,
        )


async def settled() -> None:
    for _ in range(20 * MOST_AT_ONCE):
        await asyncio.sleep(0)


@asynccontextmanager
async def serving(session: RequestsSession, wire: Any) -> AsyncIterator[None]:
    """Serve on a connection; leaving breaks it, once all is served."""
    task = asyncio.create_task(session.run(wire, BROKER))
    await settled()
    yield
    await settled()
    task.cancel()


@pytest.fixture
def wire() -> Any:
    return Wire()


def request(verb: str, body: bytes = b"{}") -> aiomqtt.Message:
    return aiomqtt.Message(f"motiond/arm/request/{verb}", body, 1, False, 1, None)


async def test_what_a_stop_has_overtaken_sets_nothing_going(
    session: RequestsSession, order: StopOrder, robots: Robots, wire: Any
) -> None:
    verbs = [name for name, verb in VERBS.items() if not verb.stops]
    for verb in verbs:
        session.take(request(verb, BODIES.get(verb, b"{}")))
    order.take("arm")  # over the main connection
    session.take(request("stop"))
    session.take(request("goto", BODIES["goto"]))
    order.start = lambda: None  # type: ignore[method-assign] # the connection is not new
    async with serving(session, wire):
        pass
    refused = {topic: answer["error"] for topic, answer in wire.answers if answer["status"] == "error"}
    beginning = [
        "play",
        "sequence",
        "follow/start",
        "goto",
        "enable",
        "torque",
        "resume",
        "speed",
        "seek",
        "reset",
        "fleet/prepare",
        "fleet/commit",
        "teach/start",
    ]
    reason = "stopped before it began; a stop was served that may have been sent after it; send it again"
    assert refused == {f"motiond/arm/response/{verb}": f"arm/{verb}: {reason}" for verb in beginning}
    others = [verb for verb in verbs if verb not in {*beginning, *STREAMED_VERBS}]
    assert robots.verbs() == [*others, "goto"]
    assert len(robots.taken) == len(STREAMED_VERBS)


async def test_no_more_are_served_at_once_than_there_is_room_for(
    session: RequestsSession, robots: Robots, wire: Any
) -> None:
    wire.can_publish.clear()
    async with serving(session, wire):
        for _ in range(2 * MOST_AT_ONCE):
            session.take(request("status"))
        await settled()
        assert len(robots.handled) == MOST_AT_ONCE
        wire.can_publish.set()
        await comes_true("all are served", lambda: len(robots.handled) == 2 * MOST_AT_ONCE)


async def test_while_the_main_connection_is_away_a_stop_is_served_here(
    session: RequestsSession, main: Any, robots: Robots, wire: Any
) -> None:
    async with serving(session, wire):
        session.take(request("stop"))
        await settled()
        assert (robots.verbs(), wire.answers) == ([], [])
        main.takes_stops = main.may_begin = False
        session.take(request("stop"))
    assert robots.verbs() == ["stop"]
    assert [topic for topic, _ in wire.answers] == ["motiond/arm/response/stop"]


async def test_while_the_main_connection_is_away_nothing_begins(
    session: RequestsSession, main: Any, robots: Robots, wire: Any
) -> None:
    async with serving(session, wire):
        main.takes_stops = main.may_begin = False
        for verb in ("play", "status"):
            session.take(request(verb, BODIES.get(verb, b"{}")))
        await settled()
        assert robots.verbs() == ["status"]
        topic, answer = wire.answers[0]
        assert (topic, answer["code"]) == ("motiond/arm/response/play", "OFFLINE")
        assert answer["error"] == (
            "arm/play: not begun; the daemon's connection for stops is not there; "
            "send it again once the robot is online"
        )
        main.takes_stops = main.may_begin = True
        session.take(request("play", BODIES["play"]))
    assert robots.verbs() == ["status", "play"]


async def test_a_subscription_that_is_refused_is_named(session: RequestsSession, wire: Any) -> None:
    wire.granted = 0x80
    with pytest.raises(ConnectionUseless) as caught:
        await session.run(wire, BROKER)
    assert str(caught.value) == (
        "the broker refuses the subscription to 'motiond/arm/request/#'; "
        "the daemon cannot do without it; permit it in the broker's access list"
    )
    assert not session.ready.is_set()


async def test_what_is_refused_again_and_again_is_logged_a_few_times(
    session: RequestsSession, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    asking: Any = SimpleNamespace(ResponseTopic="")
    async with serving(session, wire):
        for _ in range(MOST_AT_ONCE):
            session.take(aiomqtt.Message("motiond/arm/request/status", b"", 1, False, 1, asking))
    assert len(wire.answers) == MOST_AT_ONCE
    line = (
        "arm/status: no answer can be sent to the response topic ''; it goes to 'motiond/arm/response/status'"
    )
    assert caplog.messages == [line] * 10


@pytest.mark.parametrize(("most", "remedy"), [(900, "TOO_LARGE is answered"), (50, "it is left out")])
async def test_an_answer_longer_than_the_broker_takes_is_replaced_or_left_out_and_reported(
    session: RequestsSession, robots: Robots, wire: Any, *, most: int, remedy: str, caplog: Any
) -> None:
    robots.answers["status"] = {"message": "x" * 1000}
    wire.limit.state(most)
    async with serving(session, wire):
        session.take(request("status"))
    assert robots.verbs() == ["status"]
    assert [answer["code"] for _, answer in wire.answers] == ["TOO_LARGE"] * (most == 900)
    (line,) = caplog.messages
    end = f" bytes; the broker takes at most {most}; {remedy}; {RAISE_IT}"
    assert line.startswith("motiond/arm/response/status: 1")
    assert line.endswith(end)


async def test_an_answer_that_cannot_be_sent_is_reported(
    session: RequestsSession, robots: Robots, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def publish(*_: Any, **__: Any) -> None:
        raise aiomqtt.MqttError("Operation timed out")

    wire.publish = publish
    async with serving(session, wire):
        session.take(request("status"))
    assert robots.verbs() == ["status"]
    assert caplog.messages == [
        "arm/status: the answer could not be sent to 'motiond/arm/response/status'; Operation timed out"
    ]


# -- the queue of requests ----------------------------------------------------------------------------------


def message(payload: bytes) -> aiomqtt.Message:
    return aiomqtt.Message("motiond/arm/request/play", payload, 0, False, 1, None)


async def test_what_does_not_fit_is_dropped_counted_and_logged_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox()
    for _ in range(MOST_WAITING + 500):
        inbox.put(message(b"{}"), 0)
    assert inbox.refused == 500
    line = "requests: 1 dropped, 1 since the start; 256 wait already, or 4 MB; send fewer"
    assert caplog.messages == [line]
    monkeypatch.setattr("motiond.daemon.mqtt.bridge.requests_session.LOG_PERIOD_S", 0.0)
    inbox.put(message(b"{}"), 0)
    line = "requests: 500 dropped, 501 since the start; 256 wait already, or 4 MB; send fewer"
    assert caplog.messages[1:] == [line]
    assert LOG_PERIOD_S == 10.0


async def test_it_is_bounded_in_bytes_too_and_takes_more_once_there_is_room() -> None:
    inbox = Inbox()
    large = message(b"x" * (MOST_BYTES // 2 - 100))  # the topic counts as well
    for _ in range(3):
        inbox.put(large, 0)
    assert inbox.refused == 1
    await inbox.get()
    inbox.put(large, 0)
    assert inbox.refused == 1
