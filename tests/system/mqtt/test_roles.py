"""What `config/mosquitto` lets each role do at a real mosquitto: its access list, in both ways."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import aiomqtt
import orjson
import pytest

from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import Mosquitto, MqttObserver, data_of, mosquitto_program
from tests.daemon.mqtt.stand_in import Configuration
from tests.daemon.mqtt.test_roles import (
    CONFIG,
    ROLES,
    TOPICS,
    configured,
    connected,
    login,
)
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from motiond.daemon.config.mqtt import MqttSettings

    Way = Callable[[Mosquitto, Path], Awaitable[None]]

PLUGIN = next(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"), None)
LIE = b'{"state":"a lie"}'


async def is_let(reader: MqttObserver, topic: str, payload: bytes = b"{}", *, retain: bool = False) -> bool:
    """Publish, and return whether the broker has accepted it."""
    vars(reader.client)["refused"].clear()  # of which it keeps so many
    await reader.client.publish(topic, payload, qos=1, retain=retain)
    return topic not in vars(reader.client)["refused"]


async def die_with_a_will(settings: MqttSettings, topic: str) -> None:
    """Connect with a last will, where the broker lets one do so, and break the connection."""
    with suppress(aiomqtt.MqttError):
        async with MqttConnection(settings, will=aiomqtt.Will(topic, LIE, 1, retain=True)) as client:
            client.break_off()
            await client.publish("motiond/arm/request/stop", b"", qos=1, timeout=1.0)


def run(*command: object) -> str:
    done = subprocess.run(
        [str(argument) for argument in command],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return done.stdout


async def with_access_list(mosquitto: Mosquitto, folder: Path) -> None:
    """Set the broker up by the access list, with the configuration beside it."""
    passwords = folder / "passwords"
    passwords.touch(0o600)
    for name in ROLES:
        run("mosquitto_passwd", "-b", passwords, name, f"{name}'s secret")
    mosquitto.configure(*configured(passwords))
    await mosquitto.start()


async def with_dynamic_security(mosquitto: Mosquitto, folder: Path) -> None:
    """Set the broker up by its plugin, as an administrator does."""
    if PLUGIN is None:
        pytest.skip("mosquitto's plugin for dynamic security is not installed")
    file = folder / "dynamic-security.json"
    run("mosquitto_ctrl", "dynsec", "init", file, "admin", "admin's secret")
    file.chmod(0o600)
    mosquitto.configure(f"plugin {PLUGIN}", f"plugin_opt_config_file {file}", "allow_anonymous false")
    await mosquitto.start()
    admin = login(mosquitto, "admin", folder)
    answers = "$CONTROL/dynamic-security/v1/response"
    async with MqttConnection(admin) as client:
        await client.subscribe(answers, qos=1)
        roles = {"motiond": "motiond-daemon", "operator": "motiond-operator", "observer": "motiond-observer"}
        clients = [
            {
                "command": "createClient",
                "username": name,
                "password": f"{name}'s secret",
                "roles": [{"rolename": role}],
            }
            for name, role in roles.items()
        ]
        shipped = (CONFIG / "dynamic-security.json").read_bytes()
        for sent in (shipped, orjson.dumps({"commands": clients}), shipped):  # which may be sent again
            await client.publish("$CONTROL/dynamic-security/v1", sent, qos=1)
            async with asyncio.timeout(PATIENCE_S):
                answer = data_of(await anext(client.messages))
            errors = [response["error"] for response in answer["responses"] if "error" in response]
            assert set(errors) <= {"Role already exists"}


@pytest.mark.parametrize("set_up", [with_access_list, with_dynamic_security])
async def test_each_role_reads_and_writes_what_the_access_list_says(
    free_port: int, tmp_path: Path, set_up: Way
) -> None:
    mosquitto_program()
    mosquitto = Mosquitto(free_port, tmp_path)
    try:
        await set_up(mosquitto, tmp_path)
        logins = {name: login(mosquitto, name, tmp_path) for name in ROLES}
        await _holds(Configuration((f"acl_file {CONFIG / 'acl'}",)), logins)

    finally:
        await mosquitto.kill()


async def _holds(rules: Configuration, logins: dict[str, MqttSettings]) -> None:
    async with connected(logins["motiond"]) as daemon:
        await daemon.client.subscribe("#", qos=1)
        for name in ("operator", "observer"):
            for topic in ("motiond/bridge/d1/availability", "motiond/arm/state"):
                await die_with_a_will(logins[name], topic)
            async with connected(logins[name]) as reader:
                await reader.client.subscribe("#", qos=1)
                for topic in TOPICS:
                    for retain in (False, True):
                        let = await is_let(reader, topic, LIE, retain=retain)
                        assert let == rules.permits(name, topic, "write"), (name, topic)
                        if let and retain:
                            await daemon.client.publish(topic, b"", qos=1, retain=True)
                reports = {topic: b"of the daemon %d" % number for number, topic in enumerate(TOPICS)}
                for topic, payload in reports.items():
                    assert await is_let(daemon, topic, payload) == (topic != "elsewhere")
                readable = [topic for topic in TOPICS if rules.permits(name, topic, "read")]
                assert "motiond/arm/state" in readable
                while readable[-1] not in {
                    message.topic.value for message in reader.received if message.payload in reports.values()
                }:
                    await reader.receive()
                received = {
                    message.topic.value
                    for message in reader.received
                    if message.payload == reports[message.topic.value]
                }
                assert received == set(readable), name
                lies = {message.topic.value for message in reader.received if message.payload == LIE}
                assert lies <= {topic for topic in TOPICS if rules.permits(name, topic, "write")}
