"""Robots that come while a connection is there: each is listened to, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.mqtt.bridge.newcomers import Newcomers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection


class Subscriptions:
    """What a connection subscribes to, when it may."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.may = asyncio.Event()

    async def make(self, robots: Collection[str]) -> None:
        self.asked.append(list(robots))
        await self.may.wait()


@pytest.fixture
def robots() -> dict[str, None]:
    return {"arm": None}


@pytest.fixture
def newcomers(robots: dict[str, None]) -> Newcomers:
    return Newcomers(robots)


@pytest.fixture
async def subscriptions(newcomers: Newcomers) -> AsyncIterator[Subscriptions]:
    """A connection that listens to the arm, and to others once it may."""
    subscriptions = Subscriptions()
    newcomers.begin(["arm"])
    task = asyncio.create_task(newcomers.listen(subscriptions.make))
    yield subscriptions
    task.cancel()
    await asyncio.wait((task,))


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_comes_is_waited_for_until_it_is_listened_to(
    newcomers: Newcomers, robots: dict[str, None], subscriptions: Subscriptions
) -> None:
    robots["leg"] = None
    waits = asyncio.create_task(newcomers.heard(["leg"]))
    await turns()
    assert (subscriptions.asked, waits.done()) == ([["leg"]], False)
    subscriptions.may.set()
    await waits


async def test_nobody_waits_for_a_connection_that_has_gone(
    newcomers: Newcomers, robots: dict[str, None], subscriptions: Subscriptions
) -> None:
    robots["leg"] = None
    waits = asyncio.create_task(newcomers.heard(["leg"]))
    await turns()
    assert subscriptions.asked == [["leg"]]
    newcomers.end()
    await waits


async def test_one_that_goes_and_comes_again_meanwhile_is_subscribed_to_again(
    newcomers: Newcomers, robots: dict[str, None], subscriptions: Subscriptions
) -> None:
    robots["leg"] = None
    first = asyncio.create_task(newcomers.heard(["leg"]))
    await turns()
    del robots["leg"]
    newcomers.leave("leg")
    robots["leg"] = None
    again = asyncio.create_task(newcomers.heard(["leg"]))
    subscriptions.may.set()
    await asyncio.gather(first, again)
    assert subscriptions.asked == [["leg"], ["leg"]]
