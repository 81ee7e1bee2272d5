"""Frames of targets over a WebSocket: who may send them, which are refused, and that a flood hurts nobody."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import Lease
from tests.daemon.http.conftest import until
from tests.daemon.http.test_live import known
from tests.daemon.http.test_target_frames import GOAL, frame

if TYPE_CHECKING:
    from motiond.daemon.api import Loss
    from tests.daemon.http.conftest import Page, Site

GONE = "no goal '{}' follows; it has ended, or never began; begin one by follow/start"


@pytest.fixture(autouse=True)
def following(site: Site) -> None:
    """One of two robots follows."""
    site.robots.following[GOAL.hex] = "arm"


async def refusal(page: Page) -> dict[str, object]:
    answer: dict[str, object] = await page.answer(None)
    return {key: answer[key] for key in ("code", "error", "data")}


async def test_a_frame_is_passed_on_and_not_answered(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        await page.socket.send_bytes(frame(1, 0.5, sent_at=5.0))
        await page.socket.send_bytes(frame(2, float("nan")))
        await page.socket.send_bytes(frame(4, float("nan"), 0.02, 0.1, 0.2))
        assert (await page.ask(1, "arm", "status"))["status"] == "ok"
        assert [message for message in page.heard if "answer" in message and message["id"] is None] == []
    assert site.robots.targets == [
        ("arm", {"goal_id": GOAL.hex, "positions": [0.5], "sent_at": 5.0}),
        ("arm", {"goal_id": GOAL.hex, "velocities": [None]}),
        ("arm", {"goal_id": GOAL.hex, "positions": [[0.1], [0.2]], "period_s": 0.02}),
    ]


async def test_a_frame_that_is_refused_is_counted_and_the_connection_goes_on(site: Site) -> None:
    async with site.live() as page, site.live() as other:
        await known(page)
        await known(other)
        await page.socket.send_bytes(b"\x01")
        assert await refusal(page) == {
            "code": "INVALID_REQUEST",
            "error": "frame: 1 bytes; a frame has at least 25; correct the frame",
            "data": {"refused": 1},
        }
        await page.socket.send_bytes(frame(1, 0.1, 0.2))
        assert await refusal(page) == {
            "code": "INVALID_REQUEST",
            "error": "frame: 2 values; positions of this goal are 1; correct the frame",
            "data": {"refused": 2},
        }
        await page.socket.send_bytes(frame(1, 0.1))
        assert (await other.ask(1, "arm", "status"))["status"] == "ok"
        await until(lambda: len(site.robots.targets) == 1)


async def test_a_frame_for_a_goal_that_has_ended_is_refused(site: Site) -> None:
    del site.robots.following[GOAL.hex]
    async with site.live() as page:
        await known(page)
        await page.socket.send_bytes(frame(1, 0.1))
        gone = GONE.format(GOAL.hex)
        assert await refusal(page) == {"code": "UNKNOWN_GOAL", "error": gone, "data": {"refused": 1}}
    assert site.robots.targets == []


async def test_where_a_lease_is_required_only_the_connection_that_shows_it_moves_the_robot(
    site: Site,
) -> None:
    lost: list[Loss] = []
    lease = Lease("arm", ttl_s=10.0, takeover=True, on_loss=lost.append, on_change=lambda **_: None)
    site.robots.leases["arm"] = lease
    secret = lease.acquire("Anna")["lease"]
    async with site.live() as anna, site.live() as other:
        await known(anna)
        await known(other)
        await anna.ask(1, "arm", "follow/start", lease=secret)
        await anna.socket.send_bytes(frame(1, 0.1))
        await until(lambda: len(site.robots.targets) == 1)
        await other.socket.send_bytes(frame(1, 0.2))
        refused = await refusal(other)
        assert (refused["code"], refused["error"]) == (
            "NOT_IN_CONTROL",
            "arm/follow/target: not in control; Anna has it; ask them to release it, or take control",
        )
        await other.ask(2, "arm", "follow/start", lease="guessed")
        await other.socket.send_bytes(frame(1, 0.2))
        assert (await refusal(other))["code"] == "NOT_IN_CONTROL"
        lease.take("Bert")
        await anna.socket.send_bytes(frame(1, 0.3))
        assert (await refusal(anna))["code"] == "NOT_IN_CONTROL"
    assert [keys["positions"] for _, keys in site.robots.targets] == [[0.1]]
    assert [one.holder for one in lost] == ["Anna"]


async def test_of_a_flood_of_frames_most_is_dropped_and_no_other_waits_for_it(site: Site) -> None:
    async with site.live() as flood, site.live() as page:
        await known(page)
        await known(flood)
        began_s = asyncio.get_running_loop().time()
        for _ in range(2000):
            await flood.socket.send_bytes(frame(1, 0.1))
        await page.socket.send_bytes(frame(1, 0.9))
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
        assert ("arm", {"goal_id": GOAL.hex, "positions": [0.9]}) in site.robots.targets
        assert asyncio.get_running_loop().time() == began_s
        reason = "all clients together have 1000 a second beyond 100 of each"
        assert (await refusal(flood))["error"] == f"frame: too many targets; {reason}; send fewer"
        burst = 100 + 256
        assert len(site.robots.targets) <= burst + 1
        await flood.send(2, "arm", "status")
        await flood.answer(2)
        took_s = asyncio.get_running_loop().time() - began_s
    assert len(site.robots.targets) <= burst + 1 + 1100 * took_s
    told = [one["answer"] for one in flood.heard if one.get("answer", {}).get("code") == "BUSY"]
    assert len(told) <= 20 + 10 * took_s
    assert told[-1]["data"]["refused"] <= 2000


async def test_a_stop_in_a_binary_message_still_stops(site: Site) -> None:
    async with site.live() as page:
        await known(page)
        await page.socket.send_bytes(b' {"id":1,"robot":"arm","verb":"stop"}')
        assert (await page.answer(1))["status"] == "ok"
