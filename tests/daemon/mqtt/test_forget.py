"""Clearing what a broker keeps of a robot that is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from motiond.daemon.config.types import LONGEST_NAME
from motiond.daemon.mqtt.forget import NotForgotten, forget
from tests.daemon.cli.program import motiond
from tests.daemon.conftest import listening, reconfigured

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.conftest import AnyBroker, MqttObserver
    from tests.daemon.mqtt.stand_in import StandIn

KEPT = [f"motiond/old/{subject}" for subject in ("availability", "description", "motions", "state")]


async def keep(observer: MqttObserver, robot: str, daemon: str, state: str) -> None:
    """Let the broker keep what a daemon has published of a robot, and of itself."""
    for topic in KEPT:
        data = {"state": "offline", "bridge": daemon}
        await observer.client.publish(topic.replace("old", robot), orjson.dumps(data), 1, True)
    await observer.client.publish(
        f"motiond/bridge/{daemon}/availability", orjson.dumps({"state": state}), 1, True
    )


async def test_what_is_kept_of_a_robot_whose_daemon_is_gone_is_cleared(
    broker: AnyBroker, observer: MqttObserver
) -> None:
    await keep(observer, "old", "d1", "offline")
    await keep(observer, "arm", "d2", "online")
    assert await forget(broker.settings, "old") == KEPT
    async with listening(broker.settings) as newcomer:
        for topic in KEPT:
            await newcomer.until(topic.replace("old", "arm"))
        assert not [one for one in newcomer.received if one.topic.value in KEPT]


async def refusal(broker: AnyBroker, robot: str) -> str:
    with pytest.raises(NotForgotten) as caught:
        await forget(broker.settings, robot)
    return str(caught.value)


async def test_a_robot_that_a_daemon_publishes_is_not_forgotten(
    broker: AnyBroker, observer: MqttObserver
) -> None:
    await keep(observer, "old", "d1", "online")
    assert await refusal(broker, "old") == (
        "old: daemon 'd1' is online and publishes it; remove it from that daemon's configuration, "
        "and start that daemon again, which clears it"
    )
    async with listening(broker.settings) as newcomer:
        for topic in KEPT:
            await newcomer.until(topic)


async def test_a_robot_that_is_not_known_is_named_beside_those_that_are(
    broker: AnyBroker, observer: MqttObserver
) -> None:
    assert await refusal(broker, "odl") == "odl: the broker keeps nothing of it; it knows no robot"
    long = "n" * LONGEST_NAME
    for name in (long, "old"):
        await keep(observer, name, "d1", "offline")
    assert await refusal(broker, "odl") == (
        f"odl: the broker keeps nothing of it; the robots here are {long}, old; did you mean 'old'?"
    )


async def test_an_access_list_that_keeps_what_is_to_be_cleared_is_reported(
    mosquitto: StandIn, tmp_path: Path
) -> None:
    keeps = ("allow_anonymous true", "persistence true", f"persistence_location {tmp_path}/")
    await reconfigured(mosquitto, *keeps)
    async with listening(mosquitto.settings) as observer:
        await keep(observer, "old", "d1", "offline")
        (tmp_path / "acl").write_text("topic read motiond/#\n")
    await mosquitto.end()
    mosquitto.configure(*keeps, f"acl_file {tmp_path / 'acl'}")
    await mosquitto.start()
    assert await refusal(mosquitto, "old") == (
        "old: motiond/old/availability is not cleared; the broker does not let this client publish there; "
        "permit it in the broker's access list"
    )


@pytest.mark.usefixtures("programs")
async def test_the_command_reports_what_it_did(
    mosquitto: StandIn, observer_at_mosquitto: MqttObserver
) -> None:
    await keep(observer_at_mosquitto, "old", "d1", "offline")
    asked = ("--broker", mosquitto.settings.broker)
    done = "old: forgotten; 4 retained topics are cleared\n"
    assert await motiond("forget", "old", *asked) == (0, done, "")
    reason = "old: the broker keeps nothing of it; it knows no robot\n"
    assert await motiond("forget", "old", *asked) == (1, "", reason)
    code, out, err = await motiond("forget", "+", *asked)
    assert (code, out) == (2, "")
    assert "'+' cannot be a part of a topic; letters, digits, _ and - can; rename it" in err
