"""The embedded broker as a program among others: who is served, beside whom, and how it ends."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import socket
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.broker import BrokerError, EmbeddedBroker, Login
from motiond.daemon.broker.client import TURN, Client
from motiond.daemon.broker.server import FLUSH_S
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.types import place
from motiond.daemon.log.rate_limited import RateLimitedLog
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.broker.conftest import Wires
from tests.daemon.broker.wire import (
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    Will,
    connack,
    connect,
    publish,
    suback,
    subscribe,
)
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.virtual import VirtualLoop

pytestmark = pytest.mark.slow

# -- beginning and end --------------------------------------------------------------------------------------


async def test_an_address_in_use_or_not_of_this_machine_is_one_clear_error() -> None:
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        another = "set mqtt.listen to an address of this machine"
        in_use = "stop the other broker or set mqtt.listen"
        for address, problem, hint in (
            (f"127.0.0.1:{broker.port}", "address already in use", in_use),
            ("192.0.2.1:0", "cannot assign requested address", another),
        ):
            with pytest.raises(BrokerError) as caught:
                await EmbeddedBroker(address).__aenter__()
            assert str(caught.value) == f"{address}: cannot listen; {problem}; {hint}"


async def test_what_was_published_before_the_end_is_still_sent_and_wills_too() -> None:
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        wires = Wires(broker.port)
        subscriber = await wires.subscribed("#", "subscriber")
        wire = await wires.connected("c", will=Will("will"))
        wire.send(*(publish("a", b"%d" % number + bytes(1000)) for number in range(1000)), PINGREQ)
        assert await wire.next() == PINGRESP
        receiving = asyncio.create_task(subscriber.until(b""))
    messages = await asyncio.wait_for(receiving, PATIENCE_S)
    assert [int(message.payload.rstrip(b"\0")) for message in messages[:-1]] == list(range(1000))
    assert messages[-1][:2] == ("will", b"gone")
    await wires.close()


async def test_who_does_not_read_delays_the_end_for_a_moment_only() -> None:
    loop = asyncio.get_running_loop()
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        wires = Wires(broker.port)
        await wires.subscribed("#", "subscriber", reads_little=True)
        wire = await wires.connected()
        wire.send(*[publish("a", bytes(100_000))] * 50, PINGREQ)
        assert await wire.next() == PINGRESP
        begin_s = loop.time()
    assert FLUSH_S <= loop.time() - begin_s <= 2.1 * FLUSH_S
    await wires.close()


# -- who publishes and leaves -------------------------------------------------------------------------------


@pytest.mark.parametrize("goodbye", [DISCONNECT, b""], ids=["with DISCONNECT", "without"])
async def test_clients_that_publish_and_leave_at_once_are_all_served(wires: Wires, goodbye: bytes) -> None:
    daemon = await wires.subscribed("m/+/request/#", "daemon", qos=1)
    observer = await wires.subscribed("#", "observer")
    receiving = asyncio.create_task(observer.until(publish("end")))

    def ask() -> None:
        for number in range(20):
            with socket.create_connection(("127.0.0.1", wires.port), PATIENCE_S) as client:
                requests = (publish(f"m/{number}/request/play", b"%d" % count) for count in range(100))
                client.sendall(connect(f"client {number}") + b"".join(requests) + goodbye)

    asking = asyncio.create_task(asyncio.to_thread(ask))
    served = Counter([int((await daemon.message()).payload) for _ in range(2000)])
    assert served == dict.fromkeys(range(100), 20)
    await asking
    daemon.send(publish("end"))
    assert len(await asyncio.wait_for(receiving, PATIENCE_S)) == 2000


# -- one beside others --------------------------------------------------------------------------------------


async def flood(wires: Wires, topic: str) -> None:
    """Publish as fast as it goes."""
    wire = await wires.connected(f"flood {topic}")
    sent = publish(topic, b'{"motion": "wave"}') * 50
    while True:
        wire.send(sent)
        await wire.writer.drain()
        await asyncio.sleep(0)


@asynccontextmanager
async def flooded(wires: Wires, *topics: str) -> AsyncIterator[None]:
    """Flood topics, and begin when the broker has more than it can serve in a round."""
    flooding = [asyncio.create_task(flood(wires, topic)) for topic in topics]
    for _ in range(100):
        await asyncio.sleep(0)
    yield
    for task in flooding:
        task.cancel()
    await asyncio.wait(flooding)


@pytest.mark.parametrize("topic", ["elsewhere", "m/arm/request/play"])
async def test_a_stop_comes_through_beside_a_flood(wires: Wires, topic: str) -> None:
    daemon = await wires.subscribed("m/arm/request/#", "daemon", qos=1)
    loop = cast("VirtualLoop", asyncio.get_running_loop())
    rounds = []
    async with flooded(wires, topic):
        for number in range(20):
            wire = await wires.connected(f"client {number}")
            begin = loop.rounds
            wire.send(publish("m/arm/request/stop"), DISCONNECT)
            while (await daemon.message()).topic != "m/arm/request/stop":
                pass
            rounds.append(loop.rounds - begin)
            await asyncio.sleep(0)
    assert max(rounds) < 5


async def test_the_event_loop_stays_free_beside_a_flood(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        subscriber = await wires.connected(f"subscriber {number}", reads_little=True)
        subscriber.send(subscribe("#"))
    handled, handle = [0], Client.handle

    def counting(*given: Any) -> int:
        handled[-1] += 1
        return handle(*given)

    monkeypatch.setattr(Client, "handle", counting)
    async with flooded(wires, "t0", "t1", "t2"):
        for _ in range(300):
            handled.append(0)
            await asyncio.sleep(0)
    assert 0 < max(handled[1:-1]) <= 3 * TURN


async def test_subscriptions_that_take_long_to_look_up_do_not_hold_up_others(wires: Wires) -> None:
    wire = await wires.connected("c")
    wire.send(*(publish(f"a/{number}", b"1", retain=True) for number in range(4000)), PINGREQ)
    assert await wire.next() == PINGRESP
    wire.send(subscribe(*(f"+/{number}/+" for number in range(199)), "#"))
    other = await wires.connected("other")
    for _ in range(20):
        other.send(PINGREQ)
        assert await other.next() == PINGRESP
    assert not wire.reader._buffer  # type: ignore[attr-defined] # the twenty were answered before
    assert await wire.next() == suback(*[0] * 200)
    assert len({(await wire.message()).topic for _ in range(4000)}) == 4000


async def test_a_retained_message_comes_before_a_live_one_of_its_topic(wires: Wires) -> None:
    wire = await wires.connected("c")
    wire.send(*(publish(f"a/{number}", b"old", retain=True) for number in range(1000)))
    wire.send(subscribe("a/#"))
    wire.send(*(publish(f"a/{number}", b"new", retain=number % 2 == 0) for number in reversed(range(1000))))
    assert await wire.next() == suback(0)
    seen: dict[str, list[tuple[bytes, bool]]] = {}
    for message in await wire.received():
        seen.setdefault(message.topic, []).append((message.payload, message.retain))
    assert set(map(tuple, seen.values())) == {((b"old", True), (b"new", False))}
    assert len(seen) == 1000


async def test_a_daemon_that_stood_still_blames_nobody(wires: Wires) -> None:
    wire = await wires.connected("c", keep_alive_s=2)
    wire.send(PINGREQ)
    cast("VirtualLoop", asyncio.get_running_loop()).stand_still(3.5)
    await asyncio.sleep(0.3)
    assert await wire.next() == PINGRESP
    wire.send(PINGREQ)
    assert await wire.next() == PINGRESP
    assert await wire.ends()


# -- whatever comes -----------------------------------------------------------------------------------------


def test_refusals_that_were_not_logged_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now_s = itertools.chain([0.0] * 13, [11.0])
    rate_limited = RateLimitedLog(lambda: next(now_s))
    for number in range(14):
        rate_limited.warning("refused %d", number)
    assert caplog.messages == [
        *(f"refused {number}" for number in range(10)),
        "3 more were not logged; they came faster than a log can",
        "refused 13",
    ]


async def test_a_name_with_control_characters_reaches_the_log_escaped(
    wires: Wires, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await wires.connected("c\r\n\x1b[31m")
    wire.send(publish("a/#\n"))
    assert await wire.ends()
    assert "client 'c\\r\\n\\x1b[31m' at 127.0.0.1:" in caplog.messages[0]
    assert "the topic 'a/#\\n', which has a wildcard" in caplog.messages[0]


# -- login --------------------------------------------------------------------------------------------------


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("s3 cret\nnot this\n")
    return path


def replaced(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(content)


async def answer_to(port: int, sent: bytes) -> bytes:
    wires = Wires(port)
    wire = await wires.open()
    wire.send(sent)
    answer = await wire.next()
    await wires.close()
    return answer


@pytest.mark.parametrize(
    ("login", "code"),
    [
        ({"username": "arm", "password": b"s3 cret"}, 0),
        ({"username": "arm", "password": b"s3 cret\n"}, 4),
        ({"username": "arm", "password": b"not this"}, 4),
        ({"username": "arm", "password": b""}, 4),
        ({"username": "arm"}, 4),
        ({"username": "Arm", "password": b"s3 cret"}, 4),
        ({"username": "\u00e4rm", "password": b"\xff"}, 4),
        ({}, 5),
    ],
)
async def test_only_who_logs_in_is_let_in(
    password_file: Path, login: dict[str, str | bytes], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with EmbeddedBroker("127.0.0.1:0", Login("arm", password_file)) as broker:
        assert await answer_to(broker.port, connect(**login)) == connack(code)  # type: ignore[arg-type]
    assert (caplog.messages == []) == (code == 0)
    assert "cret" not in caplog.text


async def test_who_is_not_let_in_takes_nobodys_place(password_file: Path) -> None:
    async with EmbeddedBroker("127.0.0.1:0", Login("arm", password_file)) as broker:
        wires = Wires(broker.port)
        wire = await wires.connected("c", username="arm", password=b"s3 cret")
        assert await answer_to(broker.port, connect("c")) == connack(5)
        wire.send(PINGREQ)
        assert await wire.next() == PINGRESP
        await wires.close()


def empty(path: Path) -> None:
    path.write_text("\nsecond line\n")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.unlink(), "cannot be read; no such file or directory"),
        (empty, "its first line is empty"),
        (pipe, "no file"),
    ],
)
async def test_a_file_without_a_password_lets_nobody_in_and_ends_nothing(
    password_file: Path, spoil: Callable[[Path], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with EmbeddedBroker("127.0.0.1:0", Login("arm", password_file)) as broker:
        spoil(password_file)
        assert await answer_to(broker.port, connect(username="arm", password=b"")) == connack(3)
        assert caplog.messages[0].endswith(
            f"refused with code 3; {password_file}: {reason}; nobody can log in; correct mqtt.password_file"
        )
        for password in (b"s3 cret", b"another"):  # a new one counts at once
            replaced(password_file, password + b"\r\n")
            assert await answer_to(broker.port, connect(username="arm", password=password)) == connack()


@pytest.mark.parametrize(("host", "warns"), [("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)])  # noqa: S104 # of a test for a moment
async def test_a_network_without_a_login_is_warned_of(
    host: str, password_file: Path, caplog: pytest.LogCaptureFixture, *, warns: bool
) -> None:
    async with EmbeddedBroker(f"{host}:0", Login("arm", password_file)):
        assert caplog.messages == []
    async with EmbeddedBroker(f"{host}:0"):
        reason = "everyone on the network can move the robots; no login is asked for"
        hint = "set mqtt.username and mqtt.password_file, or listen on 127.0.0.1"
        assert caplog.messages == warns * [f"{host}:0: {reason}; {hint}"]


# -- IPv6 ---------------------------------------------------------------------------------------------------


EVERYWHERE = "0.0.0.0"  # noqa: S104 # within the namespace of the test run


@pytest.mark.parametrize(
    ("host", "reached_at"),
    [
        ("[::1]", ["::1"]),
        ("[::]", ["::1", "127.0.0.1"]),
        (EVERYWHERE, ["127.0.0.1"]),
        ("localhost", ["localhost"]),
    ],
)
async def test_it_listens_where_it_is_configured_to_by_ipv6_too(
    free_port: int, host: str, reached_at: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    settings = MqttSettings(listen=f"{host}:{free_port}")
    async with EmbeddedBroker(settings.listen):
        urls = [f"mqtt://{place(address, free_port)}" for address in reached_at]
        for settings_ in (settings, *(MqttSettings(broker=url, protocol="3.1.1") for url in urls)):
            async with MqttConnection(settings_) as client:
                await client.subscribe("a")
                await client.publish("a", b"x")
                async with asyncio.timeout(PATIENCE_S):
                    assert (await anext(client.messages)).payload == b"x"
    is_open = host in {"[::]", EVERYWHERE}
    assert [line.partition(": ")[0] for line in caplog.messages] == [f"{host}:{free_port}"] * is_open
