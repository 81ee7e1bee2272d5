"""How the daemon subscribes to much at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from motiond.daemon.mqtt.client.subscriptions import AT_ONCE, REFUSED, try_to_subscribe
from tests.waiting import PATIENCE_S

PACKETS = 3


class Silent:
    """Stands in for a client whose broker answers no packet before it has all."""

    def __init__(self, version_5: bool) -> None:  # noqa: FBT001 # as pytest names it
        self.version_5 = version_5
        self.asked: list[str] = []
        self._has_all = asyncio.Event()

    async def subscribe(self, topics: list[tuple[str, Any]]) -> list[int]:
        self.asked += [topic for topic, _ in topics]
        if len(self.asked) > (PACKETS - 1) * AT_ONCE:
            self._has_all.set()
        await self._has_all.wait()
        return [REFUSED if topic.endswith("7") else 1 for topic, _ in topics]


@pytest.mark.parametrize("version_5", [True, False])
async def test_no_packet_of_subscriptions_waits_for_the_answer_to_another(version_5: bool) -> None:  # noqa: FBT001
    client = Silent(version_5)
    topics = ["r7", *(f"r{number}/state" for number in range((PACKETS - 1) * AT_ONCE)), "a7"]
    async with asyncio.timeout(PATIENCE_S):
        refused = await try_to_subscribe(client, topics)  # type: ignore[arg-type]
    assert (client.asked, refused) == (topics, ["r7", "a7"])
