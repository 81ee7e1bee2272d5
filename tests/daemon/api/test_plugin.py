"""A verb that another package declares is served by every transport and stands in every document."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import VERBS, Dispatcher, RawRequest, ReportHub
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http.openapi import openapi
from motiond.daemon.http.typescript import typescript
from motiond.daemon.mqtt.asyncapi import asyncapi
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots import make_registry
from motiond.daemon.service.control_socket import ControlSocket
from tests.daemon.api.nodding import NOD
from tests.daemon.conftest import AnyBroker, NoGroups, listening, running
from tests.daemon.http.conftest import serving
from tests.daemon.rig import Rig, make_clock, stream_forks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.robots import RobotRegistry

ALL = VERBS | {NOD.name: NOD}  # type: ignore[operator] # a dictionary, and nobody else's
NODDED = {"status": "ok", "data": {"nodded": 1, "torque": False}, "transaction": None}
TOO_OFTEN = "arm/nod: 'times' is 9; it must be less than or equal to 3; correct it"


@pytest.fixture
async def robots(tmp_path: Path) -> AsyncIterator[RobotRegistry]:
    async with nodding(Rig(tmp_path)) as robots:
        yield robots


@asynccontextmanager
async def nodding(rig: Rig) -> AsyncIterator[RobotRegistry]:
    with stream_forks() as rig.forks:
        hub = ReportHub()
        robots = make_registry(load_settings(rig.config), hub, rig.forks, make_clock(), ALL)
        async with rig.running_on(robots, hub):
            await rig.until_state("idle")
            yield robots


async def test_it_is_checked_and_acts(robots: RobotRegistry) -> None:
    dispatcher = Dispatcher(robots, robots.verbs)
    assert orjson.loads(await dispatcher.answer(RawRequest("arm", "nod", b""))) == NODDED
    refused = orjson.loads(await dispatcher.answer(RawRequest("arm", "nod", b'{"times": 9}')))
    assert (refused["code"], refused["error"]) == ("INVALID_REQUEST", TOO_OFTEN)
    assert [problem["field"] for problem in refused["problems"]] == ["times"]


async def test_it_is_served_over_http(robots: RobotRegistry, free_port: int) -> None:
    settings = HttpSettings(listen=f"127.0.0.1:{free_port}")
    async with serving(settings, robots, ReportHub()) as site:
        async with site.session.post(f"{site.url}/api/robots/arm/nod", json={}) as answer:
            assert orjson.loads(await answer.read()) == NODDED
        async with site.session.get(f"{site.url}/api/openapi.json") as document:
            assert "/api/robots/{robot}/nod" in orjson.loads(await document.read())["paths"]


async def test_it_is_served_over_mqtt(robots: RobotRegistry, broker: AnyBroker) -> None:
    dispatcher = Dispatcher(robots, robots.verbs)
    async with (
        running(MqttBridge(broker.settings, "d1", robots, dispatcher, ReportHub())),
        listening(broker.settings, checked=False) as observer,
    ):
        await observer.client.publish("motiond/arm/request/nod", b"{}", qos=1)
        message = await observer.until("motiond/arm/response/nod")
        assert orjson.loads(bytes(message.payload)) == NODDED


async def test_it_is_served_on_the_control_socket(robots: RobotRegistry, tmp_path: Path) -> None:
    dispatcher = Dispatcher(robots, robots.verbs)
    control = ControlSocket(
        tmp_path / "motiond.yaml", {}, dispatcher=dispatcher, groups=NoGroups(), hub=ReportHub()
    )
    answer = await control.answer({"robot": "arm", "verb": "nod"}, b"{}")
    assert orjson.loads(answer) == NODDED


def test_it_stands_in_every_document() -> None:
    described: Any = openapi(ALL)["paths"]["/api/robots/{robot}/nod"]["post"]
    assert described["summary"] == "Nod to whoever is there."
    for document in (openapi(ALL), asyncapi(ALL)):
        schemas = document["components"]["schemas"]
        assert schemas["NodRequest"]["properties"]["times"]["description"] == "How often."
        assert schemas["NodAnswer"]["required"] == ["nodded", "torque"]
    assert "receive_nod" in asyncapi(ALL)["operations"]
    types = typescript(ALL)
    assert "export interface NodAnswer {\n  nodded: number;\n  torque: boolean;\n}" in types
    assert '  "nod": { request: NodRequest; answer: NodAnswer };' in types
