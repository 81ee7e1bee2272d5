"""What a daemon, operators and observers may do at a broker with the access list of `config/mosquitto`.

`tests/system/mqtt/test_roles.py` shows that mosquitto decides so, by the list and by its plugin.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import orjson
import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import SUBJECTS, VERBS, Dispatcher, Lease, Report
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.asking import ask
from tests.daemon.conftest import Ear, Robots, running, said, started_broker
from tests.daemon.mqtt.stand_in import StandIn
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.api import ReportHub
    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.conftest import Mosquitto

CONFIG = Path(__file__).parents[3] / "config" / "mosquitto"
ROLES = ("motiond", "operator", "observer")
FREE = {"stop", "estop", "status", "queue"}
"""What an observer may ask for: what commands nothing, and stops."""
LIE = b'{"state":"a lie"}'
BODIES: dict[str, dict[str, Any]] = {
    "play": {"motion": "wave"},
    "lease/acquire": {"holder": "ana"},
}


class Controlled(Robots):
    """Robots of which the arm needs a lease, which is acted on as the registry does."""

    def __init__(self) -> None:
        super().__init__()
        self.lease = Lease(
            "arm", ttl_s=600.0, takeover=True, on_loss=lambda _: None, on_change=lambda **_: None
        )

    async def handle(self, robot: str, verb: str, request: Any) -> dict[str, Any]:
        if verb == "lease/acquire":
            return {**self.lease.acquire(request.holder)}
        return await super().handle(robot, verb, request)


def login(broker: StandIn | Mosquitto, name: str, folder: Path) -> MqttSettings:
    (folder / f"{name}.password").write_text(f"{name}'s secret\n")
    login = {"username": name, "password_file": folder / f"{name}.password"}
    return broker.settings.model_copy(update=login)


def configured(passwords: Path) -> list[str]:
    """Return the lines of the configuration beside the access list, with passwords of the test's."""
    lines = (CONFIG / "mosquitto.conf").read_text().splitlines()
    ours = [line for line in lines if line and not line.startswith(("#", "listener"))]
    assert len(ours) == 4
    files = {"password_file": passwords, "acl_file": CONFIG / "acl"}
    return [f"{line.split()[0]} {files.get(line.split()[0], line.split()[1])}" for line in ours]


@pytest.fixture
async def guarded(free_port: int, tmp_path: Path) -> AsyncIterator[dict[str, MqttSettings]]:
    """A broker with roles; give the login of each."""
    (tmp_path / "passwords").write_text("".join(f"{name}:{name}'s secret\n" for name in ROLES))
    broker = StandIn(free_port)
    broker.configure(*configured(tmp_path / "passwords"))
    async with started_broker(broker):
        yield {name: login(broker, name, tmp_path) for name in ROLES}


@asynccontextmanager
async def served(guarded: dict[str, MqttSettings], robots: Robots, hub: ReportHub) -> AsyncIterator[None]:
    bridge = MqttBridge(guarded["motiond"], "d1", robots, Dispatcher(robots), hub)
    async with running(bridge):
        yield


@asynccontextmanager
async def connected(settings: MqttSettings) -> AsyncIterator[Ear]:
    """Connect, and hear all that one is let hear."""
    async with MqttConnection(settings) as client:
        client.logs_refusals = False  # the test asks for them; they would be logged a second later
        await client.subscribe("motiond/#", qos=1)
        yield Ear(client, checked=False)  # what is told here is not whole


async def is_let(ear: Ear, topic: str, payload: bytes = b"{}", *, retain: bool = False) -> bool:
    """Publish, and tell whether the broker has taken it."""
    vars(ear.client)["refused"].clear()  # of which it keeps so many
    await ear.client.publish(topic, payload, qos=1, retain=retain)
    return topic not in vars(ear.client)["refused"]


async def die_with_a_will(settings: MqttSettings, topic: str) -> None:
    """Connect with a last will, where the broker lets one do so, and break the connection."""
    with suppress(aiomqtt.MqttError):
        async with MqttConnection(settings, will=aiomqtt.Will(topic, LIE, 1, retain=True)) as client:
            client.break_off()
            await client.publish("motiond/arm/request/stop", b"", qos=1, timeout=1.0)


async def test_an_observer_asks_for_stops_and_looks_and_for_nothing_else(
    guarded: dict[str, MqttSettings], robots: Robots, hub: ReportHub
) -> None:
    async with served(guarded, robots, hub), connected(guarded["observer"]) as observer:
        let = {
            verb
            for verb in VERBS
            if await is_let(observer, f"motiond/arm/request/{verb}", orjson.dumps(BODIES.get(verb, {})))
        }
        assert let == FREE
        for verb in ("stop", "estop"):
            answer = await observer.until(f"motiond/arm/response/{verb}")
            assert said(answer)["status"] == "ok"
        assert (await ask(guarded["observer"], "arm", "stop", timeout_s=PATIENCE_S))["state"] == "idle"
        assert (await ask(guarded["observer"], "arm", "status", timeout_s=PATIENCE_S))["state"] == "idle"
        with pytest.raises(NoAnswer) as caught:
            await ask(guarded["observer"], "arm", "play", {"motion": "wave"}, timeout_s=0.5)
        reason = "its daemon reports that it is online"
        hint = "look at the daemon's log, and at the broker's access list and limits"
        assert str(caught.value) == f"arm: no answer in 0.5 s; {reason}; {hint}"
        # An operator's request comes after all of the observer's, by the same connection of the daemon.
        await ask(guarded["operator"], "arm", "reset", timeout_s=PATIENCE_S)
    assert set(robots.verbs()) == FREE | {"reset"}


async def test_an_operator_commands(guarded: dict[str, MqttSettings], robots: Robots, hub: ReportHub) -> None:
    async with served(guarded, robots, hub), connected(guarded["operator"]) as operator:
        answer = await operator.ask("motiond/arm/request/play", b'{"motion":"wave"}')
        assert answer["data"] == {"goal_id": "g1"}
        for verb in VERBS:
            assert await is_let(operator, f"motiond/arm/request/{verb}", b"not for anybody"), verb
    assert "play" in robots.verbs()


async def test_nobody_else_publishes_as_the_daemon(
    guarded: dict[str, MqttSettings], robots: Robots, hub: ReportHub
) -> None:
    async with served(guarded, robots, hub), connected(guarded["observer"]) as witness:
        for name in ("operator", "observer"):
            async with connected(guarded[name]) as liar:
                for topic in (
                    *(f"arm/{subject}" for subject in ("state", "result", "availability", "lease", "event")),
                    *("arm/description", "arm/motions", "arm/telemetry", "arm/diagnostics", "arm/new"),
                    *("arm/response/play", "arm/response/stop", "arm/response/lease/acquire"),
                    *("bridge/d1/availability", "bridge/d1/heartbeat", "bridge/d2/availability"),
                ):
                    for retain in (False, True):
                        assert not await is_let(liar, f"motiond/{topic}", LIE, retain=retain), topic
            for topic in ("motiond/bridge/d1/availability", "motiond/arm/state", "motiond/arm/request/play"):
                if name == "observer" or "request" not in topic:
                    await die_with_a_will(guarded[name], topic)
        hub.publish(Report("arm", "event", {"kind": "marker"}))
        await witness.until("motiond/arm/event", lambda data: data["kind"] == "marker")
        assert not [one for one in witness.heard if one.payload == LIE]
    assert robots.verbs() == []


async def test_the_daemon_may_publish_all_that_everybody_sees_and_no_observer_sees_secrets(
    guarded: dict[str, MqttSettings], hub: ReportHub, caplog: pytest.LogCaptureFixture
) -> None:
    robots = Controlled()
    async with (
        served(guarded, robots, hub),
        connected(guarded["operator"]) as operator,
        connected(guarded["observer"]) as observer,
    ):
        for subject in SUBJECTS:
            hub.publish(Report("arm", subject, {"state": "told", "goal_id": "told"}))
        for ear in (operator, observer):
            for subject in SUBJECTS:
                await ear.until(f"motiond/arm/{subject}", lambda data: data.get("state") == "told")
            await ear.until("motiond/bridge/d1/availability")
            await ear.until("motiond/bridge/d1/heartbeat")  # by which clients see where the daemon is
        given = await operator.ask("motiond/arm/request/lease/acquire", b'{"holder":"ana"}')
        lease = given["data"]["lease"]
        body = orjson.dumps({"motion": "wave", "lease": lease})
        assert (await operator.ask("motiond/arm/request/play", body))["status"] == "ok"
        hub.publish(Report("arm", "event", {"kind": "last"}))
        for ear in (operator, observer):
            await ear.until("motiond/arm/event", lambda data: data.get("kind") == "last")
        heard = {message.topic.value for message in observer.heard}
        assert not [topic for topic in heard if "/request/" in topic or "/response/" in topic]
        assert not [topic for topic in {one.topic.value for one in operator.heard} if "/request/" in topic]
        await asyncio.sleep(7.0)  # after which the daemon warns of what does not come back
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []


async def test_who_does_not_log_in_is_not_let_in(guarded: dict[str, MqttSettings]) -> None:
    hints = {None: "name a user and a password", "operator": "correct the login, or see its log"}
    for name, hint in hints.items():
        update = {"username": name} if name else {"username": None, "password_file": None}
        settings = guarded["observer"].model_copy(update=update)
        with pytest.raises(NoAnswer) as caught:
            await ask(settings, "arm", "stop", timeout_s=PATIENCE_S)
        reason = "the broker refuses the connection (not authorized)"
        assert str(caught.value) == f"{settings.broker}: no connection to the broker; {reason}; {hint}"
