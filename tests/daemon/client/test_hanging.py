"""Connections that stay, and on which nothing is answered any more: all that is asked ends in time."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest
from aiohttp import web

from motiond.client import ConnectionLost, NoAnswer, connect
from motiond.daemon.api import Report
from tests.certificates import self_signed
from tests.daemon.client.test_mqtt import client_of
from tests.daemon.conftest import comes_true
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import AnyBroker, Robots

SILENT = "the broker does not answer; look at it, or at the daemon that it is a part of"


@pytest.mark.usefixtures("bridge")
async def test_telemetry_that_never_ends_keeps_no_request_from_its_end(
    broker: AnyBroker, robots: Robots, hub: ReportHub
) -> None:
    async def report() -> None:
        while True:
            hub.publish(Report("arm", "telemetry", {"stamp_s": 0.0}))
            await asyncio.sleep(0.05)

    robots.gate.clear()
    loop = asyncio.get_running_loop()
    async with client_of(broker) as daemon, daemon.robot("arm").telemetry() as samples:
        reporting = asyncio.create_task(report())
        await anext(samples)
        began_s = loop.time()
        with pytest.raises(NoAnswer, match="its daemon reports that it is online"):
            await daemon.robot("arm").play("wave")
        assert loop.time() - began_s == pytest.approx(5.0)
        reporting.cancel()


async def test_a_broker_that_acknowledges_nothing_is_named(
    broker: AnyBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    async with client_of(broker) as daemon:
        monkeypatch.setattr(aiomqtt.Client, "subscribe", hang)
        arm = daemon.robot("arm")
        for what, asked in {
            "arm: no answer": arm.play("wave"),
            "arm: no state": arm.report("state"),
            f"{daemon.place}: no names of robots": daemon.robots(),
        }.items():
            began_s = loop.time()
            with pytest.raises(NoAnswer) as caught:
                await asked
            assert str(caught.value) == f"{what} in 5 s; {SILENT}"
            assert loop.time() - began_s == pytest.approx(5.0)


async def test_a_page_that_takes_connections_and_answers_none_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        url = f"http://127.0.0.1:{hangs.getsockname()[1]}"
        with pytest.raises(NoAnswer) as caught:
            async with asyncio.timeout(PATIENCE_S), connect(url):
                pass
    reason = "nobody answers there; start the daemon, or correct the URL"
    assert str(caught.value) == f"{url}: no connection to the daemon; {reason}"


async def test_a_page_that_answers_no_ping_is_connected_to_again() -> None:
    pages, ending = list[web.WebSocketResponse](), asyncio.Event()

    async def serve(request: web.Request) -> web.WebSocketResponse:
        page = web.WebSocketResponse(autoping=False)
        await page.prepare(request)
        await page.send_json({"hello": {"robots": ["arm"]}})
        pages.append(page)
        await ending.wait()
        return page

    application, port = web.Application(), free_port()
    application.router.add_get("/api/ws", serve)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with connect(f"http://127.0.0.1:{port}") as daemon:
        with pytest.raises(ConnectionLost):
            await daemon.robot("arm").request("status", timeout_s=PATIENCE_S)
        await comes_true("it is connected to again", lambda: len(pages) == 2 and daemon.is_connected)
    ending.set()
    await runner.cleanup()


async def test_a_group_is_stopped_at_a_page_whose_authority_is_named(tmp_path: Path) -> None:
    ending = asyncio.Event()

    async def serve(request: web.Request) -> web.WebSocketResponse:
        page = web.WebSocketResponse()
        await page.prepare(request)
        await page.send_json({"hello": {"robots": ["arm"]}})
        await ending.wait()
        return page

    async def stop(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "data": {"robots": []}})

    application, port = web.Application(), free_port()
    application.router.add_get("/api/ws", serve)
    application.router.add_post("/api/fleet/choir/stop", stop)
    runner = web.AppRunner(application)
    await runner.setup()
    certificate, key = self_signed(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    url = f"https://127.0.0.1:{port}"
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    async with connect(url, ca_file=certificate) as daemon:
        assert await daemon.group("choir").stop() == {"robots": []}
    ending.set()
    await runner.cleanup()
