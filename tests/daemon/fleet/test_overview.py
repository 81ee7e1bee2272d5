"""What is known of all robots at a broker, before stand-ins for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.fleet.coordinator import Roster, list_robots
from motiond.daemon.mqtt.topics import ReportTopic
from tests.daemon import answers
from tests.daemon.fleet.members import Members, members

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Embedded

CLOCK = {
    "synchronised": True,
    "estimated_error_s": 1e-4,
    "max_error_s": 1e-2,
    "source": "kernel",
    "machine": "a",
}


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    """A robot that plays, and one whose daemon is gone."""
    async with members(broker.settings) as choir, members(broker.settings, "d2") as others:
        choir.add("left", "choir", "wind")
        choir.report("left", "state", answers.state("playing", motion="wave"), retain=True)
        others.add("arm")
        others.report("arm", "state", answers.state("playing", motion="nod"), retain=True)
        others.daemon("broken")
        await others.settle()
        await choir.settle()
        yield choir


async def test_each_robot_is_listed_with_its_groups_and_its_daemon(broker: Embedded, choir: Members) -> None:
    arm, left = await list_robots(broker.settings)
    assert choir.robots.keys() == {"left"}
    state_utc = "2026-11-22T12:00:00.000Z"
    assert left == {
        "robot": "left",
        "groups": ["choir", "wind"],
        "online": True,
        "absence": "",
        "state": "playing",
        "motion": "wave",
        "daemon": "d1",
        "host": "bench",
        "state_utc": state_utc,
        "clock": None,
    }
    assert arm == {
        "robot": "arm",
        "groups": [],
        "online": False,
        "absence": "its daemon 'd2' has crashed, or has lost the broker",
        "state": "offline",
        "motion": None,
        "daemon": "d2",
        "host": "bench",
        "state_utc": state_utc,
        "clock": None,
    }


async def test_of_a_group_only_its_robots_are_listed(broker: Embedded, choir: Members) -> None:
    assert [row["robot"] for row in await list_robots(broker.settings, "wind")] == [*choir.robots]


async def test_clocks_are_listed_where_they_are_asked_for(broker: Embedded, choir: Members) -> None:
    listing = asyncio.create_task(list_robots(broker.settings, clocks=True))
    await asyncio.sleep(1.0)
    choir.report("left", "diagnostics", {"clock": CLOCK})
    arm, left = await listing
    assert (left["clock"], arm["clock"]) == (CLOCK, None)


@pytest.mark.parametrize("groups", [None, "choir", [1, None, {}], {"choir": 1}])
def test_what_is_no_list_of_names_is_no_group(groups: Any) -> None:
    roster = Roster()
    roster.take(ReportTopic("odd", "description"), {"groups": groups})
    assert roster.robots["odd"].groups == ()
