"""One client at a time is in control of a robot, whichever way requests come to a daemon."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest

from tests.daemon.cli.program import daemon_of
from tests.daemon.conftest import data_of, listening
from tests.daemon.http.conftest import Page
from tests.daemon.programs import use
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.conftest import MqttObserver
    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

ANA_HAS_IT = "not in control; ana has it; ask them to release it, or take control"
LONG_S = 600.0


@pytest.fixture
def rig(tmp_path: Path, mosquitto: StandIn, programs: None) -> Rig:
    del programs
    rig = Rig(tmp_path)
    use(rig, mosquitto.settings)
    rig.daemon["http"] = {"listen": "127.0.0.1:8080"}
    rig.robot["lease"] = {"required": True, "ttl_s": LONG_S}
    (tmp_path / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    return rig


class World:
    """Every way to a daemon."""

    def __init__(self, rig: Rig, observer: MqttObserver, session: aiohttp.ClientSession, page: Page) -> None:
        self.rig = rig
        self.observer = observer
        self.session = session
        self.page = page
        self.url = f"http://{rig.daemon['http']['listen']}/api/robots/arm"
        self._count = 0

    async def by_mqtt(self, verb: str, **body: Any) -> Any:
        return await self.observer.ask(f"motiond/arm/request/{verb}", orjson.dumps(body))

    async def by_http(self, verb: str, **body: Any) -> Any:
        async with self.session.post(f"{self.url}/{verb}", json=body) as response:
            reply = await response.json()
        if reply["status"] == "error":
            assert response.status in {403, 409}
        return reply

    async def by_socket(self, verb: str, **body: Any) -> Any:
        self._count += 1
        return await self.page.ask(self._count, "arm", verb, **body)

    async def upload(self, content: bytes, **headers: str) -> tuple[int, Any]:
        kind = {"Content-Type": "application/octet-stream"}
        async with self.session.post(
            f"{self.url}/motions/upload?name=more.seq", data=content, headers=kind | headers
        ) as response:
            return response.status, await response.json()


@pytest.fixture
async def it(rig: Rig, mosquitto: StandIn) -> AsyncIterator[World]:
    async with (
        daemon_of(rig),
        listening(mosquitto.settings) as observer,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)) as session,
    ):
        await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        async with await connected(rig, session) as socket:
            yield World(rig, observer, session, Page(socket))


async def connected(rig: Rig, session: aiohttp.ClientSession) -> aiohttp.ClientWebSocketResponse:
    """Connect as soon as the daemon listens; what a broker has retained may be of the one before."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await session.ws_connect(f"http://{rig.daemon['http']['listen']}/api/ws")
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)


def as_reported(lease: dict[str, Any]) -> dict[str, Any]:
    """Return what is reported of a lease: its end is worked out again each time, from two clocks."""
    ends = pytest.approx(lease["expires_at"], abs=0.001)
    return {"holder": lease["holder"], "epoch": lease["epoch"], "expires_at": ends}


async def test_who_is_in_control_by_one_way_is_so_by_all(it: World) -> None:
    ways = (it.by_mqtt, it.by_http, it.by_socket)
    for has_control in ways:
        lease = (await has_control("lease/acquire", holder="ana"))["data"]
        for way in ways:
            reply = await way("goto", joints={"elbow": 0.1})
            assert (reply["code"], reply["error"]) == ("NOT_IN_CONTROL", f"arm/goto: {ANA_HAS_IT}")
            assert reply["data"] == as_reported(lease)
            assert (await way("stop"))["status"] == "ok"
            assert (await way("enable", lease=lease["lease"]))["status"] == "ok"
        assert (await has_control("lease/release", lease=lease["lease"]))["status"] == "ok"


async def test_a_file_is_uploaded_only_by_who_is_in_control_to_its_end(it: World) -> None:
    content = (it.rig.folder / "motions/short.seq").read_bytes()
    lease = (await it.by_http("lease/acquire", holder="ana"))["data"]["lease"]
    for headers in ({}, {"Motiond-Lease": "x"}, {"Motiond-Lease": "\xff"}):
        status, reply = await it.upload(content, **headers)
        assert (status, reply["code"]) == (409, "NOT_IN_CONTROL")
        assert reply["error"] == f"arm/motions/upload: {ANA_HAS_IT}"

    async def slowly() -> AsyncIterator[bytes]:
        yield content[:6]
        taken = await it.by_mqtt("lease/take", holder="bob")
        lease_of_bob.append(taken["data"]["lease"])
        yield content[6:]

    lease_of_bob: list[str] = []
    taken_from: Any = slowly()
    status, reply = await it.upload(taken_from, **{"Motiond-Lease": lease})
    assert (status, reply["code"], reply["data"]["holder"]) == (409, "NOT_IN_CONTROL", "bob")
    assert list((it.rig.folder / "new").iterdir()) == []
    status, reply = await it.upload(content, **{"Motiond-Lease": lease_of_bob[0]})
    assert (status, reply["status"]) == (200, "ok")


async def test_who_is_in_control_is_retained_and_the_secret_is_not(it: World, mosquitto: StandIn) -> None:
    lease = (await it.by_http("lease/acquire", holder="ana"))["data"]
    await it.observer.until("motiond/arm/lease", lambda data: data["holder"] == "ana")
    async with listening(mosquitto.settings) as late:
        message = await late.until("motiond/arm/lease")
    assert message.retain
    reply = data_of(message)
    assert reply == as_reported(lease) | {"required": True, "ttl_s": LONG_S, "takeover": True}
    async with it.session.get(f"{it.url}/lease") as response:
        assert await response.json() == reply
    seen = [message.payload for message in it.observer.received]
    assert not [payload for payload in seen if lease["lease"].encode() in payload]
