"""HTTP for robots that other daemons have, before stand-ins for them at real brokers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest

from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.fleet.gateway.remote_robots import ANSWER_S
from motiond.daemon.fleet.gateway.server import FleetServer
from tests.daemon import answers
from tests.daemon.clock.clocks import HandedClock
from tests.daemon.conftest import Embedded
from tests.daemon.fleet.members import Members, members, until
from tests.daemon.http.conftest import Page
from tests.virtual import NETWORK
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.mqtt.stand_in import StandIn

SIDE = {"position": [1.0], "velocity": [2.0], "effort": [None]}
SAMPLE = {"stamp_s": 1.5, "frame": 2.5, "reference": SIDE, "feedback": SIDE, "error": SIDE}


class Fleet:
    """A fleet server that is being run, and a client of it."""

    def __init__(self, port: int, session: aiohttp.ClientSession) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.session = session

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.session.get(self.url + path) as response:
            return response.status, orjson.loads(await response.read())

    async def post(self, path: str, **body: Any) -> tuple[int, Any]:
        async with self.session.post(self.url + path, json=body) as response:
            return response.status, orjson.loads(await response.read())

    async def robots(self) -> dict[str, dict[str, Any]]:
        """Return the reported availability of each robot."""
        _, listed = await self.get("/api/robots")
        return {one["name"]: one["availability"] for one in listed["robots"]}

    async def until_robots(self, *names: str, state: str = "online") -> None:
        """Wait until there are these robots, in a state of availability."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                robots = await self.robots()
                states = {(availability or {}).get("state") for availability in robots.values()}
                if set(robots) == set(names) and states <= {state}:
                    return
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def live(self) -> AsyncIterator[Page]:
        async with self.session.ws_connect(f"{self.url}/api/ws") as socket:
            yield Page(socket)


@asynccontextmanager
async def serving(mqtt: MqttSettings) -> AsyncIterator[Fleet]:
    port, ended = NETWORK.free_port(), asyncio.Event()
    server = FleetServer(mqtt, HttpSettings(listen=f"127.0.0.1:{port}"), HandedClock())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(ended), name="fleet")
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)) as session:
            fleet = Fleet(port, session)
            await until(lambda: NETWORK.listens_at(port))
            yield fleet
        ended.set()


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    async with members(broker.settings) as choir:
        for name in ("left", "right"):
            choir.add(name, "choir", code=None)
            choir.report(name, "state", answers.state(), retain=True)
        yield choir


@pytest.fixture
async def fleet(broker: Embedded, choir: Members) -> AsyncIterator[Fleet]:
    async with serving(broker.settings) as fleet:
        await fleet.until_robots(*choir.robots)
        yield fleet


# -- requests -----------------------------------------------------------------------------------------------


async def test_a_request_reaches_the_robots_daemon_and_its_answer_comes_back(
    fleet: Fleet, choir: Members
) -> None:
    status, answer = await fleet.post("/api/robots/left/pause", transaction="t1", lease="secret")
    data = {"state": "paused", "goal_id": "g"}
    assert (status, answer) == (200, {"status": "ok", "data": data, "transaction": "t1"})
    assert choir.asked == [("left", "pause", {"transaction": "t1", "lease": "secret"})]


async def test_keys_reach_it_under_the_names_under_which_they_are_sent(fleet: Fleet, choir: Members) -> None:
    await fleet.post("/api/robots/left/teach/save", **{"name": "wave", "from": "poses"})
    ((_, _, body),) = choir.asked
    assert (body["name"], body["from"], "from_" in body) == ("wave", "poses", False)


async def test_a_refusal_is_passed_on_unchanged(fleet: Fleet, choir: Members) -> None:
    refused = {"code": "NOT_IN_CONTROL", "error": "left/play: not in control; ana has it", "data": {"a": 1}}
    choir.robots["left"].refusals["play"] = refused
    status, answer = await fleet.post("/api/robots/left/play", motion="wave")
    assert (status, answer) == (409, {"status": "error", "transaction": None, **refused})


async def test_an_invalid_request_is_refused_before_it_is_sent(fleet: Fleet, choir: Members) -> None:
    status, answer = await fleet.post("/api/robots/left/speed", speed=100.0)
    reason = "it must be less than or equal to 10; correct it"
    assert (status, answer["error"]) == (400, f"left/speed: 'speed' is 100.0; {reason}")
    status, answer = await fleet.post("/api/robots/lef/pause")
    there = "there are left, right; did you mean 'left'?"
    assert (status, answer["error"]) == (404, f"no robot 'lef'; {there}")
    assert choir.asked == []


async def test_a_silent_daemon_is_waited_for_within_bounds(fleet: Fleet, choir: Members) -> None:
    choir.robots["left"].silent_at = {"pause", "stop"}
    status, answer = await fleet.post("/api/robots/left/pause")
    silent = "no answer in 5 s; its daemon is reported online"
    assert (status, answer["code"]) == (504, "TIMEOUT")
    assert answer["error"] == f"left/pause: {silent}; look at what the robot does"
    status, answer = await fleet.post("/api/robots/left/stop")
    assert (status, answer["error"]) == (504, f"left/stop: {silent}; use the robot's own switch")


async def test_to_an_absent_robot_only_a_stop_is_sent(fleet: Fleet, choir: Members) -> None:
    choir.daemon("broken")
    await fleet.until_robots("left", "right", state="offline")
    choir.robots["left"].silent_at = {"stop"}
    crashed = "its daemon 'd1' has crashed, or has lost the broker"
    status, answer = await fleet.post("/api/robots/left/play", motion="wave")
    assert (status, answer["code"]) == (503, "OFFLINE")
    assert answer["error"] == f"left/play: not sent; {crashed}; start it with `motiond run`"
    status, answer = await fleet.post("/api/robots/left/stop")
    silent = f"no answer in 1 s; {crashed}; use the robot's own switch"
    assert (status, answer["error"]) == (503, f"left/stop: {silent}")
    assert (await fleet.post("/api/robots/right/stop"))[0] == 200  # it was there after all
    assert {(robot, verb) for robot, verb, _ in choir.asked} == {("left", "stop"), ("right", "stop")}


async def test_requests_over_mqtt_5_but_stops_expire_when_their_answer_is_waited_for_no_longer(
    mosquitto: StandIn,
) -> None:
    async with members(mosquitto.settings) as choir, serving(mosquitto.settings) as fleet:
        choir.add("left", "choir", code=None)
        await fleet.until_robots("left")
        for path in ("robots/left/pause", "robots/left/stop", "fleet/choir/estop", "fleet/choir/resume"):
            await fleet.post(f"/api/{path}")
        assert choir.expires_s == {"pause": None, "stop": None, "estop": None, "resume": 5}


async def test_a_stop_waits_for_no_request_whatever_is_on_its_way(fleet: Fleet, choir: Members) -> None:
    choir.robots["left"].silent_at = {"pause"}
    async with fleet.live() as page:
        for number in range(40):
            await page.send(number, "left", "pause")
        await page.send("stop", "left", "stop")
        async with asyncio.timeout(ANSWER_S):  # in which none is given up
            answer = await page.answer("stop")
    assert answer["status"] == "ok"


async def test_all_of_many_robots_can_be_stopped_at_once_although_none_answers(
    broker: Embedded, choir: Members
) -> None:
    names = [f"r{number:02}" for number in range(60)]
    for name in names:
        choir.add(name, "crowd", silent_at={"stop"})
    async with serving(broker.settings) as fleet:
        await fleet.until_robots(*names, "left", "right")
        async with fleet.live() as page, asyncio.timeout(ANSWER_S):  # in which none is given up
            for number, name in enumerate(names):
                await page.send(number, name, "stop")
            await until(lambda: choir.asked_for("stop") == set(names))


# -- robots -------------------------------------------------------------------------------------------------


async def test_robots_that_appear_and_vanish_are_reported_before_anything_else_of_them(
    fleet: Fleet, choir: Members
) -> None:
    async with fleet.live() as page:
        await page.until(lambda one: one.get("subject") == "availability" and one["robot"] == "right")
        hello = page.heard[0]["hello"]
        assert hello == {
            "version": 1,
            "id": "fleet",
            "instance": hello["instance"],
            "fleet": True,
            "robots": ["left", "right"],
        }
        choir.add("new", "choir")
        await page.until(lambda one: one.get("robot") == "new")
        places = [number for number, one in enumerate(page.heard) if "hello" in one]
        assert page.heard[places[1]]["hello"]["robots"] == ["left", "new", "right"]
        assert places[1] < next(n for n, one in enumerate(page.heard) if one.get("robot") == "new")
        await choir.publish("new/availability", b"")
        await page.until(lambda one: "hello" in one and "new" not in one["hello"]["robots"])
    assert set(await fleet.robots()) == {"left", "right"}


async def test_telemetry_is_received_of_the_robot_that_a_page_watches(fleet: Fleet, choir: Members) -> None:
    async with fleet.live() as page:
        reporting = asyncio.create_task(_watch_and_report(page, choir))
        try:
            frame = await page.frame()
        finally:
            reporting.cancel()
            await asyncio.wait((reporting,))
        assert frame[2:4] == b"\x01\x00"  # the second in the list


async def _watch_and_report(page: Page, choir: Members) -> None:
    while True:  # a slow server may take the page for gone
        await page.socket.send_str('{"watching":true,"robot":"right"}')
        for name in ("left", "right"):
            choir.report(name, "telemetry", SAMPLE)
        await asyncio.sleep(0.02)


# -- what only the robot's own daemon has -------------------------------------------------------------------


async def test_files_are_refused_with_the_daemon_that_has_them(fleet: Fleet) -> None:
    has = "not served here; only its daemon 'd1' on bench has the robot's files; ask its page"
    for path in ("motions/wave/plan", "motions/wave/thumbnail", "recordings/run", "recordings/run/run"):
        status, answer = await fleet.get(f"/api/robots/left/{path}")
        assert (status, answer["code"]) == (403, "NOT_ALLOWED")
        assert answer["error"] == f"left/{path}: {has}"
    url = f"{fleet.url}/api/robots/left/motions/upload?name=a.seq"
    async with fleet.session.post(url, data=b"x") as response:
        assert response.status == 403
        assert orjson.loads(await response.read())["error"] == f"left/motions/upload: {has}"
    status, answer = await fleet.get("/api/robots/left/model")
    reason = "only the robot's own daemon has its description"
    assert (status, answer["error"]) == (404, f"left: not served here; {reason}; ask its page")
    status, _ = await fleet.get("/api/robots/nobody/model")
    assert status == 404


# -- the broker ---------------------------------------------------------------------------------------------


async def test_the_broker_may_be_lost_and_come_back(broker: Embedded) -> None:
    async with members(broker.settings) as choir:
        choir.add("left", "choir", silent_at={"pause"})
        async with serving(broker.settings) as fleet:
            await fleet.until_robots("left")
            async with fleet.live() as page:
                await page.until_daemon({"clients": ["127.0.0.1"], "broker": "connected"})
                asking = asyncio.create_task(fleet.post("/api/robots/left/pause"))
                await until(lambda: choir.verbs() == ["pause"])
                await broker.kill()
                status, answer = await asking
                lost = "the connection was lost before the answer came"
                may = "it may have been acted on; look at what the robot does"
                assert (status, answer["error"]) == (503, f"left/pause: {lost}; {may}")
                await page.until_daemon({"clients": ["127.0.0.1"], "broker": "lost"})
                _, listed = await fleet.get("/api/robots")
                assert ([one["name"] for one in listed["robots"]], listed["stale"]) == (["left"], True)
                none = "there is no connection to the broker"
                status, answer = await fleet.post("/api/robots/left/stop")
                again = f"not sent; {none}; it is made again; ask again"
                assert (status, answer["error"]) == (503, f"left/stop: {again}")
                page.daemon.clear()
                await broker.start()
                async with members(broker.settings) as back:
                    back.add("left", "choir")
                    await page.until_daemon({"clients": ["127.0.0.1"], "broker": "connected"})
                    await fleet.until_robots("left")
                    assert (await fleet.get("/api/robots"))[1]["stale"] is False
                    assert (await fleet.post("/api/robots/left/stop"))[0] == 200


@pytest.mark.parametrize("is_killed", [True, False])
async def test_where_daemons_have_gone_to_another_of_several_brokers_they_are_found_there(
    broker: Embedded, *, is_killed: bool
) -> None:
    second = Embedded(NETWORK.free_port())
    await second.start()
    urls = [f"mqtt://{one.settings.listen}" for one in (broker, second)]
    both = MqttSettings(broker=urls, protocol="3.1.1", reconnect_min_s=0.05, reconnect_max_s=0.2)
    async with members(broker.settings) as here:
        here.add("left", "choir")
        async with serving(both) as fleet:
            await fleet.until_robots("left")
            if is_killed:
                await broker.kill()
            else:
                here.robots.clear()
                here.daemon("offline")
                await here.settle()
            async with members(second.settings) as there:
                there.add("left", "choir")
                there.add("right", "choir")
                await fleet.until_robots("left", "right")
                assert (await fleet.post("/api/robots/left/stop"))[0] == 200
                assert set(there.verbs()) == {"status", "stop"}  # the first finds where robots answer
    await second.kill()
