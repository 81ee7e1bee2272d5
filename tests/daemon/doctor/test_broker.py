"""What is said of brokers: whether a message comes back from them, and how soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiomqtt
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.doctor import broker as looked_at
from motiond.daemon.doctor.broker import check_brokers
from motiond.daemon.doctor.report import Check, Verdict
from motiond.daemon.mqtt.connection import address_of
from tests.daemon.mqtt.test_roles import login, with_access_list
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.conftest import AnyBroker, Mosquitto

LOST = "robots play nothing that is asked for over MQTT, and nobody sees what they do"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "ECHO_S", PATIENCE_S)


async def test_messages_that_come_back_are_timed(broker: AnyBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "SLOW_S", 10.0)
    (found,) = await check_brokers(broker.settings, "bench")
    assert (found.verdict, found.subject, found.mend) == ("ok", str(address_of(broker.settings)), None)
    middle_s, most_s, messages = (
        float(found.figures[name] or 0.0) for name in ("round_trip_p50_s", "round_trip_p99_s", "messages")
    )
    assert 0.0 < middle_s <= most_s
    assert 1 <= messages <= looked_at.MESSAGES
    assert found.found == f"there and back in ms p50 {1e3 * middle_s:.3g}, p99 {1e3 * most_s:.3g}"


async def test_a_broker_that_is_slow_is_warned_of(broker: AnyBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "SLOW_S", 0.0)
    (found,) = await check_brokers(broker.settings, "bench")
    assert (found.verdict, found.mend) == ("warning", "use a broker on this machine or a wired network")


async def test_nothing_is_left_at_the_broker(mosquitto: Mosquitto) -> None:
    await check_brokers(mosquitto.settings, "bench")
    async with aiomqtt.Client("127.0.0.1", mosquitto.port) as client:
        await client.subscribe("#")
        await client.publish("end", b"")
        assert str((await anext(client.messages)).topic) == "end"


async def test_a_broker_that_is_not_there_fails(free_port: int) -> None:
    assert await check_brokers(MqttSettings(broker=f"mqtt://127.0.0.1:{free_port}"), "bench") == [
        Check(
            check="broker",
            subject=f"mqtt://127.0.0.1:{free_port}",
            verdict=Verdict.FAILURE,
            found="no connection: nobody listens there",
            means=LOST,
            mend="start the broker, or correct mqtt.broker",
        )
    ]


async def test_each_broker_of_a_list_is_tried(mosquitto: Mosquitto, free_port: int) -> None:
    gone = "mqtt://127.0.0.2:1"
    settings = mosquitto.settings.model_copy(update={"broker": [mosquitto.settings.url, gone]})
    first, second = await check_brokers(settings, "bench")
    assert (first.subject, first.verdict == "failure") == (f"mqtt://127.0.0.1:{free_port}", False)
    assert (second.subject, second.verdict) == (gone, "failure")


async def test_an_embedded_broker_is_not_missed_while_no_daemon_runs(free_port: int) -> None:
    assert await check_brokers(MqttSettings(listen=f"127.0.0.1:{free_port}"), "bench") == [
        Check(
            check="broker",
            subject=f"mqtt://127.0.0.1:{free_port}",
            verdict=Verdict.NOT_APPLICABLE,
            found="nobody listens there: the broker is inside the daemon, and no daemon runs",
            means="its latency can be measured while the daemon runs",
            mend="start the daemon, and ask again",
        )
    ]


async def test_by_the_shipped_access_list_the_daemon_is_heard_and_an_observer_is_not(
    mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mosquitto.kill()
    await with_access_list(mosquitto, tmp_path)
    (heard,) = await check_brokers(login(mosquitto, "motiond", tmp_path), "bench")
    assert heard.verdict in {"ok", "warning"}
    monkeypatch.setattr(looked_at, "ECHO_S", 0.2)
    (unheard,) = await check_brokers(login(mosquitto, "observer", tmp_path), "bench")
    topic = unheard.found.split("'")[1]
    assert topic.startswith("motiond/bridge/bench/doctor/")
    assert unheard == Check(
        check="broker",
        subject=f"mqtt://127.0.0.1:{mosquitto.port}",
        verdict=Verdict.FAILURE,
        found=f"message 1 on '{topic}' has not come back in 0.2 s",
        means="a daemon with this login takes no requests, and counts the broker as lost",
        mend="permit it in the broker's access list (docs/security.md), or use the daemon's login",
    )
    refused = login(mosquitto, "motiond", tmp_path).model_copy(update={"username": "nobody"})
    (out,) = await check_brokers(refused, "bench")
    assert (out.verdict, out.found, out.mend) == (
        "failure",
        "no connection: the broker refuses the login",
        "correct mqtt.username, and its password",
    )
