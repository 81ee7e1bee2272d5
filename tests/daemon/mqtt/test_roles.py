"""What a daemon, operators and observers may do at a broker with the access list of `config/mosquitto`.

`tests/system/mqtt/test_roles.py` shows that mosquitto decides so, by the list and by its plugin.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import SUBJECTS, VERBS, Report
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.asking import ask
from tests.daemon.conftest import MqttObserver, Robots, WatchedBridge, running, started_broker
from tests.daemon.mqtt.stand_in import Configuration, StandIn
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
async def connected(settings: MqttSettings) -> AsyncIterator[MqttObserver]:
    """Connect, and receive all that one may receive."""
    async with MqttConnection(settings) as client:
        client.logs_refusals = False  # the test asks for them; they would be logged a second later
        await client.subscribe("motiond/#", qos=1)
        yield MqttObserver(client, checked=False)  # reports here are not whole


REPORTED = [f"motiond/arm/{subject}" for subject in (*SUBJECTS, "new")]
OF_DAEMONS = ["motiond/bridge/d1/availability", "motiond/bridge/d1/heartbeat"]
REQUESTS = {verb: f"motiond/arm/request/{verb}" for verb in VERBS}
RESPONSES = {verb: f"motiond/arm/response/{verb}" for verb in VERBS}
TOPICS = [*REPORTED, *OF_DAEMONS, *REQUESTS.values(), *RESPONSES.values(), "elsewhere"]


@pytest.mark.parametrize(
    ("name", "read", "written"),
    [
        ("motiond", set(TOPICS) - {"elsewhere"}, set(TOPICS) - {"elsewhere"}),
        ("operator", {*REPORTED, *OF_DAEMONS, *RESPONSES.values()}, {*REQUESTS.values()}),
        (
            "observer",
            {*REPORTED, *OF_DAEMONS, *(RESPONSES[verb] for verb in FREE)},
            {REQUESTS[verb] for verb in FREE},
        ),
        ("stranger", set(), set()),
    ],
)
def test_only_operators_command_observers_may_stop_and_nobody_else_publishes_as_the_daemon(
    name: str, read: set[str], written: set[str]
) -> None:
    rules = Configuration((f"acl_file {CONFIG / 'acl'}",))
    assert {topic for topic in TOPICS if rules.permits(name, topic, "read")} == read
    assert {topic for topic in TOPICS if rules.permits(name, topic, "write")} == written


async def test_with_the_access_list_the_daemon_serves_an_operator_and_the_stops_of_an_observer(
    guarded: dict[str, MqttSettings], robots: Robots, hub: ReportHub, caplog: pytest.LogCaptureFixture
) -> None:
    bridge = WatchedBridge(guarded["motiond"], robots, hub)
    async with running(bridge), connected(guarded["operator"]) as operator:
        for subject in SUBJECTS:
            hub.publish(Report("arm", subject, {"state": "idle", "goal_id": "g1"}))
            await operator.until(f"motiond/arm/{subject}", lambda data: data.get("state") == "idle")
        answer = await operator.ask("motiond/arm/request/play", b'{"motion":"wave"}')
        assert answer["data"] == {"goal_id": "g1"}
        for verb in ("stop", "status"):
            assert (await ask(guarded["observer"], "arm", verb, timeout_s=PATIENCE_S))["state"] == "idle"
        with pytest.raises(NoAnswer) as caught:
            await ask(guarded["observer"], "arm", "play", {"motion": "wave"}, timeout_s=0.5)
        reason = "its daemon reports that it is online"
        hint = "look at the daemon's log, and at the broker's access list and limits"
        assert str(caught.value) == f"arm: no answer in 0.5 s; {reason}; {hint}"
        await asyncio.sleep(7.0)  # after which the daemon warns of what does not come back
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
    assert set(robots.verbs()) == {"play", "stop", "status"}


async def test_who_does_not_log_in_is_not_let_in(guarded: dict[str, MqttSettings]) -> None:
    hints = {None: "name a user and a password", "operator": "correct the login, or see its log"}
    for name, hint in hints.items():
        update = {"username": name} if name else {"username": None, "password_file": None}
        settings = guarded["observer"].model_copy(update=update)
        with pytest.raises(NoAnswer) as caught:
            await ask(settings, "arm", "stop", timeout_s=PATIENCE_S)
        reason = "the broker refuses the connection (not authorized)"
        assert str(caught.value) == f"{settings.broker}: no connection to the broker; {reason}; {hint}"
