"""What the log tells of the connection: each trouble by its own message, once; loss and return, once."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from aiomqtt import MqttCodeError, MqttError

from motiond.daemon.api.dispatcher import Dispatcher
from motiond.daemon.api.reports import Report, ReportHub
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt import main_session
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.connection_log import STEADY_S, ConnectionLog
from motiond.daemon.mqtt.reasons import (
    NEEDS_RETAINED,
    NO_RETAINED_WILL,
    TAKEN_OVER,
    ConnectionUseless,
    NotConnected,
)
from motiond.daemon.mqtt.retained import SETTLED_S
from tests.daemon.conftest import (
    Mosquitto,
    Robots,
    WatchedBridge,
    is_connected,
    is_lost,
    running,
    web_sockets,
)
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.daemon.api.reports import Subject

CA = Path(__file__).parents[2] / "files" / "good" / "broker.crt"
TLS = ("allow_anonymous true", f"certfile {CA}", f"keyfile {CA.with_suffix('.key')}")
TRIES = 4


class Tries(MqttBridge):
    """A bridge that counts in vain how often it has tried."""

    def __init__(self, settings: MqttSettings, hub: ReportHub | None = None, tries: int = TRIES) -> None:
        robots = Robots()
        super().__init__(settings, "d1", robots, Dispatcher(robots), hub or ReportHub())
        self.left = tries
        self.tried = asyncio.Event()

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        await super()._wait(wait_s, reason)
        self.left -= 1
        if not self.left:
            self.tried.set()


async def told_in_vain(
    settings: MqttSettings,
    caplog: pytest.LogCaptureFixture,
    hub: ReportHub | None = None,
    *,
    silent_s: float = 0.3,
    tries: int = TRIES,
) -> list[str]:
    """Return what is logged while a connection is tried again and again."""
    caplog.set_level(logging.INFO)
    bridge = Tries(settings.model_copy(update={"stop_when_lost_s": silent_s}), hub, tries)
    task = asyncio.create_task(bridge.run())
    try:
        await asyncio.wait_for(bridge.tried.wait(), PATIENCE_S)
    finally:
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
    assert not bridge.connected.is_set()
    return caplog.messages


def make_certificate(folder: Path) -> dict[str, Path]:
    """Return a client's certificate that nobody vouches for, and its key."""
    files = {"cert_file": folder / "client.crt", "key_file": folder / "client.key"}
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ed25519",
        "-nodes",
        "-days",
        "90",
        "-subj",
        "/CN=client",
    ]
    command += ["-keyout", str(files["key_file"]), "-out", str(files["cert_file"])]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return files


def trusted(folder: Path) -> dict[str, Path]:
    del folder
    return {"ca_file": CA}


def nothing(folder: Path) -> dict[str, Path]:
    del folder
    return {}


class Trouble(NamedTuple):
    """A broker's configuration, how it is reached, and what is told.

    TLS 1.3 has agreed on a connection before the broker looks at our certificate; its reset may then overtake
    the alert that says why (`may_hang_up`).
    """

    broker: tuple[str, ...]
    url: str
    why: str
    options: Callable[[Path], dict[str, Path]] = nothing
    may_hang_up: bool = False


TROUBLES = {
    "TLS to a plain port": Trouble(
        ("allow_anonymous true",),
        "mqtts://localhost:{}",
        "there is no TLS on this port; write mqtt://, or name the port for TLS",
        trusted,
    ),
    "no TLS to a port for it": Trouble(
        TLS,
        "mqtt://localhost:{}",
        (
            "the broker hung up before it answered; "
            "it may want TLS on this port, then write mqtts://; else see its log"
        ),
    ),
    "a wrong password": Trouble(
        ("allow_anonymous false",),
        "mqtt://arm:secret@localhost:{}",
        "the broker refuses the login; correct mqtt.username, and its password",
    ),
    "no password": Trouble(
        ("allow_anonymous false",),
        "mqtt://localhost:{}",
        "the broker asks for a login; set mqtt.username and mqtt.password_file",
    ),
    "no client certificate": Trouble(
        (*TLS, "require_certificate true", f"cafile {CA}"),
        "mqtts://localhost:{}",
        "the broker asks for a client certificate; set mqtt.cert_file and mqtt.key_file",
        trusted,
        may_hang_up=True,
    ),
    "a client certificate that nobody vouches for": Trouble(
        (*TLS, "require_certificate true", f"cafile {CA}"),
        "mqtts://localhost:{}",
        "the broker refuses our certificate (unknown ca); check mqtt.cert_file",
        lambda folder: {"ca_file": CA, **make_certificate(folder)},
        may_hang_up=True,
    ),
    "a broker that nobody vouches for": Trouble(
        TLS,
        "mqtts://localhost:{}",
        (
            "the broker's certificate is not trusted (self-signed certificate); "
            "name the certificate of its authority as mqtt.ca_file"
        ),
    ),
    "a WebSocket to a plain port": Trouble(
        ("allow_anonymous true",),
        "ws://localhost:{}/mqtt",
        (
            "nobody speaks WebSocket there, or not on this path; "
            "correct port and path in mqtt.broker, or write mqtt://"
        ),
    ),
    "a WebSocket with TLS to a port for MQTT with TLS": Trouble(
        TLS,
        "wss://localhost:{}/mqtt",
        (
            "nobody speaks WebSocket there, or not on this path; "
            "correct port and path in mqtt.broker, or write mqtts://"
        ),
        trusted,
    ),
    "a WebSocket with TLS to a port without": Trouble(
        web_sockets("allow_anonymous true"),
        "wss://localhost:{}/mqtt",
        "there is no TLS on this port; write ws://, or name the port for TLS",
        trusted,
    ),
    "MQTT to a port for WebSockets": Trouble(
        web_sockets("allow_anonymous true"),
        "mqtt://localhost:{}",
        (
            "the broker hung up before it answered; "
            "it may want TLS on this port, then write mqtts://; else see its log"
        ),
    ),
    "a name that does not exist": Trouble(
        ("allow_anonymous true",),
        "mqtt://no.such.invalid:{}",
        "the host's name cannot be found; correct mqtt.broker, or look at the name service",
    ),
}


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=list(TROUBLES))
async def test_each_trouble_has_a_message_of_its_own_which_comes_once(
    mosquitto: Mosquitto, trouble: Trouble, protocol: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await mosquitto.kill()
    mosquitto.configure(*trouble.broker)
    await mosquitto.start()
    url = trouble.url.format(mosquitto.port)
    settings = MqttSettings(
        broker=url,
        protocol=protocol,
        reconnect_min_s=0.05,
        reconnect_max_s=0.1,
        **trouble.options(tmp_path),  # type: ignore[arg-type] # files all of them
    )
    shown = url.replace("arm:secret@", "")
    told = await told_in_vain(settings, caplog)
    if trouble.may_hang_up:
        told = [line for line in told if "; the broker hung up before it answered; " not in line]
    assert told == [f"{shown}: not connected; {trouble.why}"]


@pytest.mark.parametrize(
    ("protocol", "why"),
    [
        ("5", f"the broker keeps no retained messages; {NEEDS_RETAINED}"),
        ("3.1.1", NO_RETAINED_WILL),
    ],
)
async def test_a_broker_without_retained_messages_is_named_as_that(
    mosquitto: Mosquitto, protocol: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", "retain_available false")
    await mosquitto.start()
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    url = f"mqtt://127.0.0.1:{mosquitto.port}"
    assert await told_in_vain(settings, caplog) == [f"{url}: not connected; {why}"]


async def test_that_nobody_listens_is_told_once(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    url = f"mqtt://127.0.0.1:{free_port}"
    settings = MqttSettings(broker=url, reconnect_min_s=0.05, reconnect_max_s=0.1)
    why = "nobody listens there; start the broker, or correct mqtt.broker"
    assert await told_in_vain(settings, caplog) == [f"{url}: not connected; {why}"]


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_a_broker_that_does_not_let_the_daemon_hear_itself_is_told_once(
    mosquitto: Mosquitto, protocol: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "acl").write_text("topic motiond/arm/#\ntopic motiond/hand/#\n")
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    assert await told_in_vain(settings, caplog) == [
        (
            f"{settings.broker}: not connected; what is published on 'motiond/bridge/d1/heartbeat' "
            "has not come back for 0.3 s; permit it in the broker's access list"
        )
    ]


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_a_broker_that_keeps_requests_from_the_daemon_is_told_once_and_no_robot_is_online(
    mosquitto: Mosquitto, protocol: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It grants the subscription, and delivers nothing: no stop would be heard."""
    (tmp_path / "acl").write_text("topic motiond/#\ntopic deny motiond/hand/request/#\n")
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    assert await told_in_vain(settings, caplog, silent_s=3.0, tries=2) == [
        (
            f"{settings.broker}: not connected; what is published on 'motiond/hand/request/heartbeat' "
            "has not come back for 3 s; permit it in the broker's access list"
        )
    ]


async def test_a_broker_that_lets_the_daemon_publish_nothing_is_told_once_also_at_the_end(
    mosquitto: Mosquitto, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_session, "FAREWELL_S", PATIENCE_S)
    monkeypatch.setattr("motiond.daemon.mqtt.refusals.QUIET_S", PATIENCE_S)
    (tmp_path / "acl").write_text("topic read motiond/#\n")
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    hub = ReportHub()
    bridge = WatchedBridge(mosquitto.settings.model_copy(update={"stop_when_lost_s": 600.0}), Robots(), hub)
    task = asyncio.create_task(bridge.run())
    await asyncio.to_thread(eventually, "it is at the broker", bridge._is_main_connected, bool)
    for robot in ("arm", "hand"):
        for subject in ("availability", "motions", "state", "event"):
            hub.publish(Report(robot, subject, {"state": "idle"}))
    task.cancel()
    await asyncio.wait((task,), timeout=PATIENCE_S)
    refused = "the broker refuses what is published there; permit it in the broker's access list"
    assert [line for line in caplog.messages if line.endswith(refused)] == [
        f"motiond/arm/availability, motiond/arm/motions, motiond/arm/state and 6 more: {refused}"
    ]


async def test_a_result_that_an_access_list_refuses_is_told(
    mosquitto: Mosquitto, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_session, "FAREWELL_S", PATIENCE_S)
    (tmp_path / "acl").write_text("topic motiond/#\ntopic deny motiond/arm/result\n")
    caplog.set_level(logging.WARNING, "motiond")
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    hub = ReportHub()
    async with running(WatchedBridge(mosquitto.settings, Robots(), hub)):
        for number in range(2):
            hub.publish(Report("arm", "result", {"goal_id": f"goal {number}"}))
        await asyncio.to_thread(eventually, "it is told", lambda: caplog.messages, bool)
    refused = "the broker refuses what is published there; permit it in the broker's access list"
    assert caplog.messages == [f"motiond/arm/result: {refused}"]


async def test_connection_loss_and_return_are_told_once_each(
    mosquitto_of_any_version: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_session, "FAREWELL_S", PATIENCE_S)
    broker = mosquitto_of_any_version
    caplog.set_level(logging.INFO)
    bridge = WatchedBridge(broker.settings, Robots(), ReportHub())
    async with running(bridge):
        for _ in range(2):
            await broker.kill()
            await is_lost(bridge)
            await asyncio.sleep(1.0)  # several tries in vain
            await broker.start()
            await is_connected(bridge)
            bridge.lost.clear()
    where = broker.settings.broker
    lost = (
        "connection lost; the broker has hung up or gone, or the network has; "
        "it is looked for until it is back"
    )
    assert caplog.messages == [
        f"{where}: connected",
        *2 * [f"{where}: {lost}", f"{where}: connected again"],
    ]


async def test_a_broker_that_ends_in_order_tells_the_will_and_nobody_is_accused_of_it(
    mosquitto_of_any_version: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_session, "FAREWELL_S", PATIENCE_S)
    broker = mosquitto_of_any_version
    caplog.set_level(logging.WARNING, "motiond")
    bridge = WatchedBridge(broker.settings, Robots(), ReportHub())
    async with running(bridge):
        await asyncio.sleep(SETTLED_S + 1.0)  # what is heard so long after one's own word is a stranger's
        await broker.end()
        await is_lost(bridge)
        await broker.start()
        await is_connected(bridge)
        await asyncio.sleep(SETTLED_S + 1.0)
    lost = (
        "connection lost; the broker has hung up or gone, or the network has; "
        "it is looked for until it is back"
    )
    assert caplog.messages == [f"{broker.settings.broker}: {lost}"]


async def test_daemons_of_one_id_throw_each_other_out_and_tell_it_once(
    mosquitto_of_any_version: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = mosquitto_of_any_version.settings
    first, second = WatchedBridge(settings, Robots(), ReportHub()), Tries(settings)
    why = "another client has connected under the same name; give each daemon an `id` of its own"
    taken, rival = f"connection lost; {why}", "another daemon of id 'd1', on "
    most_taken = 2 if settings.protocol == "5" else 0  # MQTT 3.1.1 does not say so

    def told(beginning: str) -> list[str]:
        lines = (line.removeprefix(f"{settings.broker}: ") for line in caplog.messages)
        return [line for line in lines if line.startswith(beginning)]

    async with running(first):
        task = asyncio.create_task(second.run())
        async with asyncio.timeout(PATIENCE_S):
            while len(told(rival)) < 2:  # noqa: ASYNC110 - the log has no event
                await asyncio.sleep(0.05)
        second.left = TRIES
        second.tried.clear()
        await asyncio.wait_for(second.tried.wait(), PATIENCE_S)
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
    assert len([line for line in told("") if line.endswith(f"; {why}")]) <= most_taken
    assert len(told(rival)) == 2
    assert all(
        line.endswith("they throw each other out; give each an `id` of its own") for line in told(rival)
    )
    # On a busy machine a connection may be lost for another reason, too, which is told as well.
    others = [line for line in told("connection lost") + told("not connected") if line != taken]
    assert len(told("connected again")) <= 4 + len(others)


@pytest.mark.parametrize("denied", [("state", "motions"), ("event", "result"), ("result",)])
@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_topics_of_a_robot_that_an_access_list_swallows_are_told_once(
    mosquitto: Mosquitto,
    protocol: Any,
    denied: tuple[Subject, ...],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(main_session, "FAREWELL_S", PATIENCE_S)
    # The broker may be held up between the one and the other, which are to be told together.
    monkeypatch.setattr("motiond.daemon.mqtt.refusals.QUIET_S", 3.0)
    topics = [f"motiond/arm/{subject}" for subject in denied]
    rules = ["topic motiond/#", *(f"topic deny {topic}" for topic in topics)]
    (tmp_path / "acl").write_text("\n".join(rules))
    caplog.set_level(logging.WARNING, "motiond")
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    hub = ReportHub()
    for subject in ("availability", "motions", "state"):
        hub.publish(Report("arm", subject, {"state": "online"}))
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    refused = "the broker refuses what is published there; permit it in the broker's access list"
    nor = ", nor on another topic" if len(denied) > 1 else ""
    swallowed = f"what is published there does not come back{nor}"
    mend = "permit the daemon to publish and subscribe there in the broker's access list"
    expected = {
        "5": [f"{', '.join(topics)}: {refused}"],
        "3.1.1": [f"{topics[0]}: {swallowed}; {mend}"],
    }
    bridge = MqttBridge(settings, "d1", Robots(), Dispatcher(Robots()), hub)
    async with running(bridge):
        hub.publish(Report("arm", "event", {"kind": "told"}))
        hub.publish(Report("arm", "result", {"goal_id": "told"}))
        await asyncio.to_thread(
            eventually,
            "it is told",
            lambda: caplog.messages,
            lambda seen: len(seen) >= len(expected[protocol]),
        )
        hub.publish(Report("arm", "state", {"state": "idle"}))
        hub.publish(Report("arm", "result", {"goal_id": "told"}))
        await asyncio.sleep(1.0)
    assert caplog.messages == expected[protocol]


# -- on a clock of the test's own ---------------------------------------------------------------------------


class Watched:
    """A log of a connection, and what it tells."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.now_s = 100.0
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now_s)
        self.log = ConnectionLog("here")
        self._caplog = caplog

    def told(self) -> list[str]:
        lines = self._caplog.messages[:]
        self._caplog.clear()
        return lines


@pytest.fixture
async def watched(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(monkeypatch, caplog)


async def test_a_reason_that_was_told_is_told_again_after_a_connection_that_lasted(watched: Watched) -> None:
    for lasts_s, told in ((1.0, True), (1.0, False), (STEADY_S + 1.0, True)):
        watched.log.make()
        watched.told()
        watched.now_s += lasts_s
        watched.log.lose(ConnectionUseless("it keeps things back; permit it"))
        assert watched.told() == (["here: connection lost; it keeps things back; permit it"] if told else [])


async def test_reasons_that_take_turns_are_told_once_each_and_a_return_always(watched: Watched) -> None:
    for _ in range(3):
        for error in (NotConnected("wrong"), NotConnected("worse"), NotConnected("nobody", absent=True)):
            watched.log.lose(error)
    assert watched.told() == ["here: not connected; wrong", "here: not connected; worse"]
    watched.log.make()
    assert watched.told() == ["here: connected"]


async def test_a_rival_that_was_told_of_is_no_news_as_the_reason_of_a_loss(watched: Watched) -> None:
    taken_over = MqttError("it broke")
    taken_over.__cause__ = MqttCodeError(TAKEN_OVER)
    gone = NotConnected("it hung up", absent=True)  # as MQTT 3.1.1 tells it
    for error, lasts_s, told in ((taken_over, 1.0, False), (gone, 1.0, False), (gone, STEADY_S + 1.0, True)):
        watched.log.make()
        watched.log.meet_rival()
        watched.told()
        watched.now_s += lasts_s
        watched.log.lose(error)
        assert watched.told() == (["here: connection lost; it hung up"] if told else [])


async def test_of_a_connection_that_comes_and_goes_for_one_reason_the_first_time_is_told(
    watched: Watched,
) -> None:
    for _ in range(5):
        watched.log.make()
        watched.log.lose(ConnectionUseless("no"))
    assert watched.told() == ["here: connected", "here: connection lost; no", "here: connected again"]
