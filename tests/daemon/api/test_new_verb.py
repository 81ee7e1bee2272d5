"""A new verb needs its declaration and its method: every transport serves it, and every document has it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import pytest
from pydantic import Field
from typing_extensions import TypedDict

from motiond.daemon.api import VERBS, Dispatcher, RawRequest, ReportHub, Request, Verb
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.http.openapi import openapi
from motiond.daemon.http.typescript import typescript
from motiond.daemon.mqtt.asyncapi import asyncapi
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots.handlers import RequestHandlers
from motiond.daemon.service.control_socket import ControlSocket
from tests.daemon.conftest import AnyBroker, NoGroups, listening, running
from tests.daemon.http.conftest import serving
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path


class NodRequest(Request):
    """Nod to whoever is there."""

    times: Annotated[int, Field(ge=1, le=3)] = 1
    """How often."""


class NodAnswer(TypedDict):
    """The robot nods."""

    nodded: int
    torque: bool


async def nod(handlers: RequestHandlers, request: NodRequest) -> NodAnswer:
    status = await handlers.status(request)
    return {"nodded": request.times, "torque": status["torque"]}


@pytest.fixture
def _nod(monkeypatch: pytest.MonkeyPatch) -> None:
    verb = Verb("bow/nod", NodRequest, NodAnswer, begins=True, interferes=True)
    monkeypatch.setitem(VERBS, verb.name, verb)
    monkeypatch.setattr(RequestHandlers, "bow_nod", nod, raising=False)


@pytest.mark.usefixtures("_nod")
async def test_it_is_checked_and_acts_over_every_transport(
    tmp_path: Path, free_port: int, broker: AnyBroker, caplog: pytest.LogCaptureFixture
) -> None:
    nodded = {"status": "ok", "data": {"nodded": 2, "torque": False}, "transaction": None}
    rig, body = Rig(tmp_path), b'{"times": 2}'
    caplog.set_level("INFO", "motiond")
    async with rig.running() as robots:
        await rig.until_state("idle")
        dispatcher = Dispatcher(robots)
        refused = orjson.loads(await dispatcher.answer(RawRequest("arm", "bow/nod", b'{"times": 9}')))
        assert (refused["code"], refused["error"]) == (
            "INVALID_REQUEST",
            "arm/bow/nod: 'times' is 9; it must be less than or equal to 3; correct it",
        )
        settings = HttpSettings(listen=f"127.0.0.1:{free_port + 1}")
        async with serving(settings, robots, ReportHub()) as site, site.live() as page:
            url, json = f"{site.url}/api/robots/arm/bow/nod", {"Content-Type": "application/json"}
            async with site.session.post(url, data=body, headers=json) as answer:
                assert orjson.loads(await answer.read()) == nodded
            assert await page.ask(1, "arm", "bow/nod", times=2) == nodded
        async with (
            running(MqttBridge(broker.settings, "d1", robots, dispatcher, ReportHub())),
            listening(broker.settings, checked=False) as observer,
        ):
            await observer.client.publish("motiond/arm/request/bow/nod", body, qos=1)
            message = await observer.until("motiond/arm/response/bow/nod")
            assert orjson.loads(bytes(message.payload)) == nodded
        control = ControlSocket(rig.config, {}, dispatcher=dispatcher, groups=NoGroups(), hub=ReportHub())
        asked = {"robot": "arm", "verb": "bow/nod", "body": {"times": 2}}
        assert orjson.loads(await control.answer(asked, orjson.dumps(asked), "ana")) == nodded
    callers = ("127.0.0.1 over HTTP", "127.0.0.1 over HTTP", "a client over MQTT", "ana")
    asked_by = [message for message in caplog.messages if "asked by" in message]
    assert asked_by == [f'arm/bow/nod: asked by {caller}; {{"times":2}}' for caller in callers]


@pytest.mark.usefixtures("_nod")
def test_it_stands_in_every_document() -> None:
    described: Any = openapi()["paths"]["/api/robots/{robot}/bow/nod"]["post"]
    assert described["summary"] == "Nod to whoever is there."
    for document in (openapi(), asyncapi()):
        schemas = document["components"]["schemas"]
        assert schemas["NodRequest"]["properties"]["times"]["description"] == "How often."
        assert schemas["NodAnswer"]["required"] == ["nodded", "torque"]
    assert "receive_bow_nod" in asyncapi()["operations"]
    types = typescript()
    assert "export interface NodAnswer {\n  nodded: number;\n  torque: boolean;\n}" in types
    assert '  "bow/nod": { request: NodRequest; answer: NodAnswer };' in types


def test_whether_it_moves_the_robot_cannot_be_left_out() -> None:
    """A stop overtakes what begins, and a reservation keeps out what interferes: no default is safe."""
    defaults = {name: one.default for name, one in inspect.signature(Verb).parameters.items()}
    assert {name for name, default in defaults.items() if default is inspect.Parameter.empty} == {
        *("name", "request", "answer"),
        *("begins", "interferes"),
    }
