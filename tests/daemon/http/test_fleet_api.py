"""Groups by HTTP: the coordinator's answer is passed on, and nothing goes to it that is not sound."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import RequestError
from tests.daemon.http.conftest import until

if TYPE_CHECKING:
    from tests.daemon.http.conftest import Site

STARTED = {"start": "s1", "start_at": 1763800000.0, "robots": ["left", "right"]}


def refusal(code: str, error: str, transaction: str | None = None, **data: Any) -> dict[str, Any]:
    return {"status": "error", "code": code, "error": error, "data": data, "transaction": transaction}


async def test_a_group_is_played_with_all_that_its_coordinator_takes(site: Site) -> None:
    body = {
        "motion": "wave",
        "motions": {"left": "wave_l"},
        "speed": 0.5,
        "start_at": 1763800000.0,
        "on_member_failure": "continue",
        "transaction": "t1",
    }
    answer = {"status": "ok", "data": STARTED, "transaction": "t1"}
    assert await site.post("/api/fleet/choir/play", body) == (200, answer)
    assert site.choir.asked == [("choir", "play", body)]
    assert site.choir.asked_by == "127.0.0.1 over HTTP"


async def test_a_repeated_transaction_plays_once(site: Site) -> None:
    site.choir.gate.clear()
    body = {"motion": "wave", "transaction": "t1"}
    posts = [asyncio.create_task(site.post("/api/fleet/choir/play", body)) for _ in range(2)]
    await until(lambda: site.choir.asked)
    await asyncio.sleep(0.05)
    site.choir.gate.set()
    first, second = await asyncio.gather(*posts)
    assert first == second == await site.post("/api/fleet/choir/play", body)
    assert len(site.choir.asked) == 1
    assert (await site.post("/api/fleet/band/play", body))[0] == 200
    assert [group for group, _, _ in site.choir.asked] == ["choir", "band"]
    problem = "transaction 't1' was used for another request; its answer is not the answer to this one"
    error = f"choir/play: {problem}; give each request a transaction of its own"
    other = await site.post("/api/fleet/choir/play", {**body, "motion": "nod"})
    assert other == (400, refusal("INVALID_REQUEST", error, "t1"))
    assert len(site.choir.asked) == 2


@pytest.mark.parametrize("verb", ["stop", "estop", "pause", "resume"])
async def test_a_group_is_commanded_and_all_answers_come_back(site: Site, verb: str) -> None:
    status, told = await site.post(f"/api/fleet/choir/{verb}", {})
    assert (status, [one["robot"] for one in told["data"]["robots"]]) == (200, ["left", "right"])
    assert site.choir.asked == [("choir", verb, {})]


async def test_who_refuses_and_why_is_passed_on(site: Site) -> None:
    message = "choir: no robot plays; right does not start; fix this and play again\nright: busy with nod"
    members = {"right": {"code": "BUSY", "error": "right: busy with nod"}}
    site.choir.refusal = RequestError.of("MEMBER_REFUSED", message, {"members": members})
    told = refusal("MEMBER_REFUSED", message, members=members)
    assert await site.post("/api/fleet/choir/play", {"motion": "wave"}) == (409, told)


@pytest.mark.parametrize(("code", "status"), [("UNKNOWN_GROUP", 404), ("OFFLINE", 503), ("TOO_LATE", 409)])
async def test_a_refusal_has_the_status_that_fits(site: Site, code: Any, status: int) -> None:
    site.choir.refusal = RequestError(code, "choir", "problem", "reason", "hint")
    told = refusal(code, "choir: problem; reason; hint")
    assert await site.post("/api/fleet/choir/play", {"motion": "wave"}) == (status, told)
    assert await site.post("/api/fleet/choir/stop", {}) == (status, told)
    assert await site.get("/api/fleet") == (status, told)


@pytest.mark.parametrize(
    ("verb", "body", "status", "code", "error"),
    [
        ("play", {}, 400, "INVALID_REQUEST", "'motion' is missing; play needs it; add it"),
        (
            *("pause", {"motion": "wave"}, 400, "INVALID_REQUEST"),
            "unknown key 'motion'; pause knows transaction, expires_at, lease",
        ),
        (
            *("enable", {}, 404, "UNKNOWN_VERB"),
            "unknown verb; motiond knows play, stop, estop, pause, resume",
        ),
    ],
)
async def test_what_is_no_request_reaches_nobody(  # noqa: PLR0917
    site: Site, verb: str, body: dict[str, Any], status: int, code: str, error: str
) -> None:
    told = refusal(code, f"choir/{verb}: {error}")
    assert await site.post(f"/api/fleet/choir/{verb}", body) == (status, told)
    assert site.choir.asked == []


async def test_a_request_that_has_expired_reaches_nobody(site: Site) -> None:
    body = {"motion": "wave", "expires_at": time.time() - 2.0, "transaction": "t1"}
    status, told = await site.post("/api/fleet/choir/play", body)
    late_s = told["data"]["late_s"]
    reason = "it was not to be served any more; send it again, or with more time"
    error = f"choir/play: expired {late_s:.3f} s ago; {reason}"
    assert (status, told) == (409, refusal("EXPIRED", error, "t1", late_s=late_s))
    assert site.choir.asked == []


@pytest.mark.parametrize("verb", ["stop", "estop"])
@pytest.mark.parametrize("body", [b"nonsense", b'{"force": true}', b'{"expires_at": 1}', b"x" * 70_000])
async def test_a_stop_acts_whatever_its_body_is(site: Site, verb: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    assert (await site.post(f"/api/fleet/choir/{verb}", data=body, headers=headers))[0] == 200
    assert site.choir.asked == [("choir", verb, {})]


async def test_of_very_many_robots_the_number_of_others_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await site.choir.overview()
    assert await site.get("/api/fleet") == (200, {"robots": known, "more": 0})

    async def many() -> list[dict[str, Any]]:
        return known * 2003

    monkeypatch.setattr(site.choir, "overview", many)
    _, told = await site.get("/api/fleet")
    assert (len(told["robots"]), told["more"]) == (2000, 3)
