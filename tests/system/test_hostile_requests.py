"""Some hundreds of the requests of `make fuzz-requests`, at a daemon of its own."""

from __future__ import annotations

from fuzz.requests import SHARES, attack

FEW = 300


async def test_hostile_requests_leave_the_daemon_answering_and_the_robots_still() -> None:
    verdict = await attack(FEW)
    assert verdict.failures == []
    assert all(verdict.answers[way].total() > 0 for way in SHARES)
    assert verdict.answers["HTTP"]["INVALID_REQUEST"] > verdict.answers["HTTP"]["ok"] > 0
