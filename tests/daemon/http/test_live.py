"""WebSocket clients: what they hear, what they may ask, and that a slow one costs nobody else anything."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import orjson
import pytest

from motiond.daemon.api import Report
from motiond.daemon.http.live.frames import HEAD
from tests.daemon.http.conftest import Page, Site, serving, until
from tests.daemon.http.slow import gets_all_results_and_little_telemetry, publish, publish_to_nobody, report
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.api import ReportHub
    from motiond.daemon.config.http import HttpSettings
    from tests.daemon.conftest import Robots


async def known(page: Page) -> None:
    """Wait until a client has heard what was known before it came: eight reports of two robots."""
    for _ in range(9):
        await page.next()
    await page.until_daemon()


# -- what is heard ------------------------------------------------------------------------------------------


async def test_a_client_hears_who_there_is_what_is_known_and_then_what_comes(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        instance = page.heard[0]["hello"]["instance"]
        assert page.heard[0] == {
            "hello": {"version": 1, "id": "d1", "instance": instance, "robots": ["arm", "hand"]}
        }
        told = {(one["robot"], one["subject"]) for one in page.heard[1:]}
        lasting = ("availability", "description", "motions", "state")
        assert told == {(robot, subject) for robot in ("arm", "hand") for subject in lasting}
        site.hub.publish(report("telemetry", 1))  # in the pace of MQTT: not for pages
        for subject in ("state", "result", "event", "diagnostics"):
            site.hub.publish(Report("hand", subject, {"of": np.array([1.0, np.nan])}))
            expected = {"robot": "hand", "subject": subject, "data": {"of": [1.0, None]}}
            assert await page.next() == expected


async def test_telemetry_is_binary(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        nan = np.full(2, np.nan)
        reference = {"position": np.array([1.0, 2.0]), "velocity": np.array([3.0, 4.0]), "effort": nan}
        feedback = {"position": np.array([5.0, 6.0]), "velocity": nan, "effort": np.array([7.0, 8.0])}
        data = {"stamp_s": 12.5, "frame": 3.25, "reference": reference, "feedback": feedback}
        site.hub.publish(Report("hand", "samples", data, renews=True))
        frame = await page.frame()
    assert len(frame) == 24 + 6 * 2 * 4
    assert HEAD.unpack_from(frame) == (1, 1, 2, 12.5, 3.25)
    told = np.frombuffer(frame, "<f4", offset=24)
    np.testing.assert_array_equal(told, [1, 2, 3, 4, np.nan, np.nan, 5, 6, np.nan, np.nan, 7, 8])


async def test_contacts_follow_the_numbers_of_telemetry_where_the_driver_knows_them(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        side = dict.fromkeys(("position", "velocity", "effort"), np.array([1.0, 2.0]))
        contact = {"bodies": ["floor", "hand"], "position": [0.1, 0.0, 0.0], "force": [0.0, 0.0, 9.5]}
        data = {"stamp_s": 12.5, "frame": 3.25, "reference": side, "feedback": side, "contacts": [contact]}
        site.hub.publish(Report("hand", "samples", data, renews=True))
        frame = await page.frame()
        site.hub.publish(Report("hand", "samples", {**data, "contacts": []}, renews=True))
        without = await page.frame()
    assert orjson.loads(frame[24 + 6 * 2 * 4 :]) == [contact]
    assert len(frame) % 4 == 0
    assert without[24 + 6 * 2 * 4 :] == b"[]  "


async def test_the_last_results_are_told_before_the_daemon_goes(
    settings: HttpSettings, robots: Robots, hub: ReportHub
) -> None:
    async with serving(settings, robots, hub) as site:
        socket = await site.session.ws_connect(f"{site.url}/api/ws")
        await known(Page(socket))
        for number in range(50):
            hub.publish(report("result", number))
        leaving = asyncio.create_task(hear_out(socket))
    assert await leaving == [*range(50)]
    assert socket.close_code == 1001


async def hear_out(socket: aiohttp.ClientWebSocketResponse) -> list[int]:
    heard = [orjson.loads(message.data) async for message in socket if message.type is aiohttp.WSMsgType.TEXT]
    return [one["data"]["number"] for one in heard if one.get("subject") == "result"]


async def test_every_client_is_told_who_is_connected_and_whether_the_broker_is(site: Site) -> None:
    alone = {"clients": ["127.0.0.1"], "broker": "connected"}
    both = {"clients": ["127.0.0.1", "127.0.0.1"], "broker": "connected"}
    async with site.live() as first:
        await first.until_daemon(alone)
        first.daemon.clear()
        async with site.live() as second:
            await second.until_daemon(both)
            await first.until_daemon(both)
            site.broker_is_connected.clear()
            for page in (first, second):
                await page.until_daemon({**both, "broker": "lost"})
            site.broker_is_connected.set()
            first.daemon.clear()
        await first.until_daemon(alone)


# -- what is asked ------------------------------------------------------------------------------------------


async def test_a_request_gets_its_answer_by_its_id(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        ok = await page.ask("a", "arm", "play", motion="wave", transaction="t1")
        assert (ok["status"], ok["transaction"]) == ("ok", "t1")
        assert (await page.ask(2, "arm", "play", motion="unknown"))["code"] == "UNKNOWN_MOTION"
        assert (await page.ask(3, "arm", "explode"))["code"] == "UNKNOWN_VERB"
        again = await site.post("/api/robots/arm/play", {"motion": "wave", "transaction": "t1"})
        assert again == (200, ok)
    assert site.robots.verbs() == ["play", "play"]


NO_REQUEST = "a request is an object with id, robot, verb and body"
NO_ID = "id must be a whole number, or a text of at most 200 characters"


TWICE = "arm/play: '{}' stands twice; one key has one value; leave one out"
NESTED = '{"id":1,"robot":"arm","verb":"play","body":' + "[" * 300 + "]" * 300 + "}"


@pytest.mark.parametrize(
    ("sent", "number", "error"),
    [
        ("{", None, "not JSON at line 1 column 2; correct it"),
        ("[]", None, f"{NO_REQUEST}; correct it"),
        ('{"id":1,"robot":"arm","verb":"play","extra":1}', None, f"{NO_REQUEST}; correct it"),
        ('{"id":1.5,"robot":"arm","verb":"play"}', None, f"{NO_ID}; correct it"),
        ('{"id":"' + "a" * 201 + '"}', None, f"{NO_ID}; correct it"),
        ('{"id":1,"robot":1,"verb":"stop"}', None, "robot and verb must be texts; correct it"),
        (NESTED, None, "body nests too deeply; correct it"),
        ('{"id":1,"robot":"arm","verb":"stop","verb":"play","body":{"motion":"a"}}', 1, TWICE.format("verb")),
        ('{"id":1,"robot":"arm","verb":"play","body":{},"body":{"motion":"a"}}', 1, TWICE.format("body")),
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_goes_on(
    site: Site, sent: str, number: int | None, error: str
) -> None:
    async with site.live() as page:
        await known(page)
        await page.socket.send_str(sent)
        refused = {"status": "error", "code": "INVALID_REQUEST", "error": error}
        assert await page.next() == {"id": number, "answer": refused | {"data": {}, "transaction": None}}
        assert (await page.ask(2, "arm", "stop"))["status"] == "ok"
    assert site.robots.verbs() == ["stop"]


async def test_a_message_that_is_too_long_ends_the_connection(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        await page.socket.send_str(" " * 70_000)
        async with asyncio.timeout(PATIENCE_S):
            assert (await page.socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert page.socket.close_code == 1009


@pytest.mark.parametrize(
    "more",
    [
        '"id":7,"extra":1',
        f'"id":"{"x" * 201}"',
        '"id":true',
        f'"id":3,"body":{[[]] * 5000}',
        '"id":4,"body":' + "[" * 1000 + "]" * 1000,
    ],
    ids=["a key", "long id", "no id", "crowded", "nested"],
)
async def test_a_stop_acts_whatever_stands_beside_it(site: Site, more: str) -> None:
    async with site.live() as page:
        await known(page)
        await page.socket.send_str(f'{{"robot":"arm","verb":"stop",{more}}}')
        told = await page.until(lambda told: "answer" in told)
    number = int(more[5]) if more[5].isdigit() else None
    assert (told["id"], told["answer"]["status"]) == (number, "ok")
    assert site.robots.verbs() == ["stop"]


async def test_a_stop_does_not_wait_for_other_requests(site: Site) -> None:
    site.robots.gate.clear()
    async with site.live() as page:
        await known(page)
        for number in range(100):
            await page.send(number, "arm", "play", motion="wave")
        assert (await page.ask("stop", "arm", "stop"))["status"] == "ok"
        assert (await page.ask("estop", "arm", "estop"))["status"] == "ok"
        busy = [one for one in page.heard if one.get("answer", {}).get("code") == "BUSY"]
        assert len(busy) == 100 - 32
        assert {one["answer"]["error"] for one in busy} == {
            "arm/play: too many requests; a client has 32 at once and 200 a second; send fewer"
        }
        site.robots.gate.set()
        await page.answer(31)


async def test_of_a_flood_most_is_refused_and_others_are_served(site: Site) -> None:
    async with site.live() as flood, site.live() as page:
        await known(page)
        await known(flood)
        began_s = asyncio.get_running_loop().time()
        for number in range(1000):
            await flood.send(number, "hand", "status")
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
        assert asyncio.get_running_loop().time() == began_s
        told = await flood.answer(999)
        assert told.get("code") == "BUSY"
        reason = "a client has 32 at once and 200 a second; send fewer"
        assert told["error"] == f"hand/status: too many requests; {reason}"
        took_s = asyncio.get_running_loop().time() - began_s
    assert site.robots.verbs().count("status") <= 64 + 200.0 * took_s


async def test_beyond_their_shares_all_clients_have_one_pace(site: Site) -> None:
    async with AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(site.live()) for _ in range(4)]
        for page in pages:
            await known(page)
        for page in pages:
            await send_statuses(page)
        await asyncio.sleep(0.3)  # each may send as many again, of which few are within its share
        for page in pages:
            await send_statuses(page)
        # A message costs a little more than 1. Of its second burst each has about 9 as its share.
        assert site.robots.verbs().count("status") == pytest.approx(4 * (60 + 9) + 127, abs=8)
        told = next(one["answer"] for one in reversed(pages[3].heard) if "answer" in one)
        reason = "all clients together have 400 a second beyond 20 of each"
        assert told["error"] == f"hand/status: too many requests; {reason}; send fewer, or shorter ones"
        for page in pages:
            assert (await page.ask("stop", "arm", "stop"))["status"] == "ok"


async def send_statuses(page: Page) -> None:
    """Ask for 60, not more at once than a client may."""
    for number in range(60):
        await page.send(number, "hand", "status")
        if number % 30 == 29:
            await page.answer(number)


async def test_what_is_refused_is_read_in_a_pace_too_and_a_stop_of_others_is_not(site: Site) -> None:
    crowded: dict[str, dict[str, Any]] = {f"j{number}": {} for number in range(4500)}
    async with site.live() as flood, site.live() as page:
        await known(page)
        await known(flood)
        began_s = asyncio.get_running_loop().time()
        for number in range(50):
            await flood.send(number, "hand", "play", path_tolerance=crowded)
        assert (await flood.answer(0))["error"] == (
            "/api/ws: more than 1024 values; no request has so many; leave some out"
        )
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
        assert [one for one in flood.heard if one.get("id") == 49] == []
        await flood.answer(49)
        cost = 1.0 + len(orjson.dumps({"path_tolerance": crowded})) / 4096
        beyond_its_share, burst, read_hz = 50 - 1 - 64 // cost, 256, 1000.0
        took_s = asyncio.get_running_loop().time() - began_s
        assert took_s == pytest.approx((beyond_its_share * cost - burst) / read_hz, abs=0.02)
    assert site.robots.verbs() == ["stop"]


async def test_what_was_asked_for_last_is_done_though_the_client_has_gone(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        await page.send(1, "arm", "stop")
    await until(lambda: site.robots.verbs() == ["stop"])


async def test_a_client_that_leaves_during_the_handshake_is_no_failure_inside_motiond(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def prepare(*_: object) -> None:
        raise ConnectionResetError("Connection lost")

    monkeypatch.setattr("aiohttp.web.WebSocketResponse.prepare", prepare)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await site.session.ws_connect(f"{site.url}/api/ws")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_there_are_only_so_many_clients(site: Site) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(64):
            await stack.enter_async_context(site.live())
        status, told = await site.get("/api/ws")
    assert (status, told["error"]) == (
        503,
        "/api/ws: 64 clients are connected; the daemon serves no more; close one of them",
    )
    async with site.live() as page:
        await known(page)


# -- slow clients -------------------------------------------------------------------------------------------


async def test_a_stopped_client_delays_no_other_and_costs_no_memory(site: Site) -> None:
    async with site.live() as stopped:
        await until(lambda: site.hub.has_listeners("samples"))
        (slow,) = (one for one in site.hub._subscriptions if one.includes("samples"))
        async with site.live() as page:
            await known(page)
            await publish(site, range(2000), page)
            assert len(slow._reports) <= 1
        assert not stopped.socket.closed


async def test_a_slow_client_gets_every_result_and_the_newest_telemetry(site: Site) -> None:
    await gets_all_results_and_little_telemetry(site)


@pytest.fixture
async def stopped(site: Site) -> AsyncIterator[Page]:
    """A client that reads nothing, and for which much waits."""
    async with site.live() as page:
        await until(lambda: site.hub.has_listeners("samples"))
        await publish_to_nobody(site, 2000)
        yield page


async def test_a_client_that_would_miss_results_is_disconnected(site: Site, stopped: Page) -> None:
    for number in range(500):
        site.hub.publish(report("result", number))
    began_s = asyncio.get_running_loop().time()
    assert len(await hear_out(stopped.socket)) < 500
    assert asyncio.get_running_loop().time() - began_s < 1.0


@pytest.mark.usefixtures("stopped")
async def test_a_client_that_reads_nothing_is_disconnected_after_a_while(site: Site) -> None:
    began_s = asyncio.get_running_loop().time()
    await until(lambda: not site.hub.has_listeners("samples"))
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(15.0, abs=0.1)


async def test_a_client_that_leaves_its_answers_unread_is_disconnected(site: Site, stopped: Page) -> None:
    began_s = asyncio.get_running_loop().time()
    site.robots.answers["status"] = {"of": "x" * 500_000}
    for number in range(20):
        await stopped.send(number, "arm", "status")
    await until(lambda: not site.hub.has_listeners("samples"))
    assert asyncio.get_running_loop().time() - began_s < 1.0


async def test_a_stop_of_a_client_that_reads_nothing_is_heard(site: Site, stopped: Page) -> None:
    await stopped.send(1, "arm", "stop")
    await until(lambda: site.robots.verbs() == ["stop"])


# -- who looks at what --------------------------------------------------------------------------------------


async def test_a_client_says_which_robot_it_looks_at(site: Site) -> None:
    async with site.live() as page:
        for sent, looked_at in (("hand", {"hand"}), ("", set()), ("arm", {"arm"})):
            await page.socket.send_json({"watching": True, "robot": sent})
            await until(lambda looked_at=looked_at: site.server.looked_at == looked_at)  # type: ignore[misc]
        watched_s = site.server.watched_s
        await until(lambda: not site.server.looked_at)
        assert asyncio.get_running_loop().time() - watched_s == pytest.approx(3.0, abs=0.02)
        await page.socket.send_str('{"watching":true,"robot":3}')
        assert (await page.answer(None))["error"] == "robot must be a text; correct it"
        await page.socket.send_json({"watching": True, "robot": "hand"})
        await until(lambda: site.server.looked_at)
    await until(lambda: not site.server.looked_at)
