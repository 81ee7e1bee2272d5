"""What a robot of a start makes of the reports of another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.api import CommitRequest
from motiond.daemon.fleet.member import GroupMember
from motiond.daemon.mqtt.topics import DaemonTopic, ReportTopic
from tests.daemon.fleet.virtual_group import START, FakeReservation

if TYPE_CHECKING:
    from motiond.daemon.robots import Reservation

DAEMON, THERE, RESERVED = (
    DaemonTopic("d1"),
    ReportTopic("r2", "availability"),
    ReportTopic("r2", "reservation"),
)
PLAYING = (RESERVED, {"start": START, "phase": "playing", "reason": None})
ONLINE = (THERE, {"state": "online", "bridge": "d1"})
NOT_ANY_MORE = "r2: it is not reserved for the start any more"


def released(start: Any, reason: Any) -> tuple[ReportTopic, dict[str, Any]]:
    return RESERVED, {"start": start, "phase": "released", "reason": reason}


@pytest.mark.parametrize(
    ("reports", "reason"),
    [
        ([PLAYING], ""),
        ([released(START, "a stop came")], "r2: a stop came"),
        ([released(START, None)], "r2: it was released"),
        ([released(START, "x" * 60_000)], f"r2: {'x' * 499}…"),
        ([PLAYING, released("s2", "busy")], ""),
        ([PLAYING, (RESERVED, {"start": "s2", "phase": "reserved"})], NOT_ANY_MORE),
        ([PLAYING, (RESERVED, {"start": None, "phase": None})], NOT_ANY_MORE),
        ([PLAYING, (RESERVED, {})], NOT_ANY_MORE),
        ([released(7, "a stop came")], ""),
        ([ONLINE, (DAEMON, {"state": "online"})], ""),
        ([ONLINE, (DAEMON, {"state": "offline"})], "r2: its daemon 'd1' is offline"),
        ([ONLINE, (DAEMON, {"state": "x" * 60_000})], "r2: its daemon 'd1' is offline"),
        (
            [ONLINE, (DAEMON, {"state": "broken"})],
            "r2: its daemon 'd1' has crashed, or has lost the broker",
        ),
        ([ONLINE], ""),
        ([ONLINE, (RESERVED, {"start": START, "phase": "ended"}), (DAEMON, {"state": "offline"})], ""),
        ([(DAEMON, {"state": "broken"})], ""),
        *(
            ([(THERE, {"state": "online", "bridge": it}), (DAEMON, {"state": "broken"})], "")
            for it in (None, 7, "d2")
        ),
    ],
)
async def test_it_stops_where_another_has_failed(
    reports: list[tuple[DaemonTopic | ReportTopic, dict[str, Any]]], reason: str
) -> None:
    own = FakeReservation(asyncio.get_running_loop().time())
    member = GroupMember(cast("dict[str, Reservation]", {"r1": own}), unix_now=lambda: 0.0)
    watching = asyncio.create_task(member.run(lambda: True), name="member")
    await asyncio.sleep(0.0)
    own.commit(CommitRequest(start=START, token="t", robots=["r1", "r2"], start_at=2.0))  # noqa: S106 - of this test
    for report in reports:
        member.take(*report)
        await asyncio.sleep(0.1)
    watching.cancel()
    await asyncio.wait((watching,))
    assert own.reason == reason
