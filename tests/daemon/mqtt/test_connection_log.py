"""What is logged of the connection: each trouble by its own message, once; loss and return, once."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from aiomqtt import MqttCodeError, MqttError

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client.connection_log import STEADY_S, ConnectionLog
from motiond.daemon.mqtt.client.reasons import (
    NEEDS_RETAINED,
    NO_RETAINED_WILL,
    TAKEN_OVER,
    ConnectionUseless,
    NotConnected,
)
from tests.daemon.conftest import (
    Robots,
    WatchedBridge,
    by_access_list,
    comes_true,
    is_connected,
    is_lost,
    reconfigured,
    running,
)
from tests.daemon.mqtt.tries import TRIES, logged_while_failing
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.mqtt.stand_in import StandIn


LOST = (
    "connection lost; the broker has hung up or gone, or the network has; it is looked for until it is back"
)


class Trouble(NamedTuple):
    """A broker's configuration, how it is reached, and what is logged; those of TLS are of the system."""

    broker: tuple[str, ...]
    url: str
    reason: str


TROUBLES = {
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
    "a WebSocket to a plain port": Trouble(
        ("allow_anonymous true",),
        "ws://localhost:{}/mqtt",
        (
            "nobody speaks WebSocket there, or not on this path; "
            "correct port and path in mqtt.broker, or write mqtt://"
        ),
    ),
    "MQTT to a port for something else": Trouble(
        ("protocol websockets",),
        "mqtt://localhost:{}",
        (
            "the broker hung up before it answered; "
            "it may want TLS on this port, then write mqtts://; else see its log"
        ),
    ),
    "a port where nobody listens": Trouble(
        ("allow_anonymous true",),
        "mqtt://localhost:9",
        "nobody listens there; start the broker, or correct mqtt.broker",
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
    mosquitto: StandIn, trouble: Trouble, protocol: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await reconfigured(mosquitto, *trouble.broker)
    url = trouble.url.format(mosquitto.port)
    settings = MqttSettings(broker=url, protocol=protocol, reconnect_min_s=0.05, reconnect_max_s=0.1)
    shown = url.replace("arm:secret@", "")
    assert await logged_while_failing(settings, caplog) == [f"{shown}: not connected; {trouble.reason}"]


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        ("5", f"the broker keeps no retained messages; {NEEDS_RETAINED}"),
        ("3.1.1", NO_RETAINED_WILL),
    ],
)
async def test_a_broker_without_retained_messages_is_named_as_that(
    mosquitto: StandIn, protocol: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    await reconfigured(mosquitto, "allow_anonymous true", "retain_available false")
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    url = f"mqtt://127.0.0.1:{mosquitto.port}"
    assert await logged_while_failing(settings, caplog) == [f"{url}: not connected; {reason}"]


@pytest.mark.parametrize(
    ("rules", "topic"),
    [
        (("motiond/arm/#", "motiond/hand/#"), "motiond/bridge/d1/heartbeat"),
        (
            ("motiond/#", "deny motiond/hand/request/#"),
            "motiond/hand/request/heartbeat",
        ),
    ],
)
async def test_a_broker_that_delivers_nothing_on_a_topic_that_is_needed_is_logged_once(
    mosquitto_of_any_version: StandIn, rules: tuple[str, ...], topic: str, tmp_path: Path, caplog: Any
) -> None:
    settings = mosquitto_of_any_version.settings
    await by_access_list(mosquitto_of_any_version, tmp_path, *rules)
    (line,) = await logged_while_failing(settings, caplog, silent_s=3.0, tries=2)
    silent = f"what is published on '{topic}' has not come back for 3 s"
    assert line == f"{settings.broker}: not connected; {silent}; permit it in the broker's access list"


async def test_a_broker_that_lets_the_daemon_publish_nothing_is_logged_once(
    mosquitto: StandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await by_access_list(mosquitto, tmp_path, "read motiond/#")
    hub = ReportHub()
    bridge = WatchedBridge(mosquitto.settings.model_copy(update={"stop_when_lost_s": 600.0}), Robots(), hub)
    task = asyncio.create_task(bridge.run())
    await comes_true("it is at the broker", lambda: bridge._main.is_connected)
    for robot in ("arm", "hand"):
        for subject in ("availability", "motions", "state", "event"):
            hub.publish(Report(robot, subject, {"state": "idle"}))
    task.cancel()
    await asyncio.wait((task,), timeout=PATIENCE_S)
    assert [line for line in caplog.messages if line.endswith(REFUSED)] == [
        f"motiond/arm/availability, motiond/arm/motions, motiond/arm/state and 6 more: {REFUSED}"
    ]


async def test_connection_loss_and_return_are_logged_once_each(
    mosquitto_of_any_version: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert caplog.messages == [
        f"{where}: connected",
        *2 * [f"{where}: {LOST}", f"{where}: connected again"],
    ]


async def test_daemons_of_one_id_disconnect_each_other_and_log_it_once(
    mosquitto_of_any_version: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = mosquitto_of_any_version.settings
    first, second = (WatchedBridge(settings, Robots(), ReportHub()) for _ in range(2))
    rival = (
        f"another daemon of id 'd1', on {socket.gethostname()}, has been connected meanwhile; "
        "they disconnect each other; give each an `id` of its own"
    )
    async with running(first):
        task = asyncio.create_task(second.run())
        await comes_true("both name the other", lambda: caplog.messages.count(rival) == 2)
        both = second.losses + TRIES
        await comes_true("they go on", lambda: second.losses >= both)
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
    lines = Counter(caplog.messages)
    assert lines[rival] == 2
    del lines[f"{settings.broker}: connected"], lines[f"{settings.broker}: connected again"]
    assert max(lines.values()) <= 4
    assert lines.total() <= 8


REFUSED = "the broker refuses what is published there; permit it in the broker's access list"
SILENT = "what is published there does not come back"
HINT = "permit the daemon to publish and subscribe there in the broker's access list"


@pytest.mark.parametrize(
    ("protocol", "denied", "lines"),
    [
        ("5", ("state", "motions"), [f"motiond/arm/state, motiond/arm/motions: {REFUSED}"]),
        ("3.1.1", ("state", "motions"), [f"motiond/arm/state: {SILENT}, nor on another topic; {HINT}"]),
        (
            "5",  # paho does not report what is refused of QoS 2
            ("event", "result"),
            [f"motiond/arm/event: {REFUSED}", f"motiond/arm/result: {SILENT}; {HINT}"],
        ),
        ("3.1.1", ("event", "result"), [f"motiond/arm/event: {SILENT}, nor on another topic; {HINT}"]),
    ],
)
async def test_topics_of_a_robot_that_an_access_list_denies_are_logged_once(
    mosquitto: StandIn,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    protocol: Any,
    denied: tuple[str, ...],
    lines: list[str],
) -> None:
    caplog.set_level(logging.WARNING, "motiond")
    denials = (f"deny motiond/arm/{subject}" for subject in denied)
    await by_access_list(mosquitto, tmp_path, "motiond/#", *denials)
    hub = ReportHub()
    for subject in ("availability", "motions", "state"):
        hub.publish(Report("arm", subject, {"state": "online"}))
    settings = mosquitto.settings.model_copy(update={"protocol": protocol})
    async with running(WatchedBridge(settings, Robots(), hub)):
        for state in ("idle", "playing"):
            hub.publish(Report("arm", "event", {"kind": "reconnected"}))
            hub.publish(Report("arm", "result", {"goal_id": "g1"}))
            hub.publish(Report("arm", "state", {"state": state}))
            await asyncio.sleep(10.0)
    assert caplog.messages == lines


# -- by itself ----------------------------------------------------------------------------------------------


class Watched:
    """A log of a connection, and what has been logged since the last look."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.log = ConnectionLog("here")
        self._caplog = caplog

    def lines(self) -> list[str]:
        lines = self._caplog.messages[:]
        self._caplog.clear()
        return lines


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


async def test_reasons_that_take_turns_are_logged_once_each_and_a_return_always(watched: Watched) -> None:
    for _ in range(3):
        for error in (NotConnected("wrong"), NotConnected("worse"), NotConnected("nobody", absent=True)):
            watched.log.lose(error)
    assert watched.lines() == ["here: not connected; wrong", "here: not connected; worse"]
    for _ in range(5):
        watched.log.make()
        watched.log.lose(ConnectionUseless("no"))
    assert watched.lines() == ["here: connected", "here: connection lost; no", "here: connected again"]


USELESS = ConnectionUseless("it keeps things back; permit it")
KEPT_BACK = ["here: connection lost; it keeps things back; permit it"]
TAKEN = MqttError("it broke")
TAKEN.__cause__ = MqttCodeError(TAKEN_OVER)
GONE = NotConnected("it hung up", absent=True)  # as MQTT 3.1.1 reports it
LONG_S = STEADY_S + 1.0


@pytest.mark.parametrize(
    ("rival", "losses"),
    [
        (False, [(USELESS, 1.0, KEPT_BACK), (USELESS, 1.0, []), (USELESS, LONG_S, KEPT_BACK)]),
        (True, [(TAKEN, 1.0, []), (GONE, 1.0, []), (GONE, LONG_S, ["here: connection lost; it hung up"])]),
    ],
)
async def test_a_known_reason_and_a_rival_are_logged_again_after_a_connection_that_lasted(
    watched: Watched, losses: list[tuple[Exception, float, list[str]]], *, rival: bool
) -> None:
    for error, lasts_s, lines in losses:
        watched.log.make()
        if rival:
            watched.log.meet_rival()
        watched.lines()
        await asyncio.sleep(lasts_s)
        watched.log.lose(error)
        assert watched.lines() == lines
