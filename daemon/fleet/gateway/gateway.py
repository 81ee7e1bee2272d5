"""All robots at a broker, for a program that has none: their reports, and requests to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ...mqtt.client import heed_cancellation
from ...mqtt.topics import ResponseTopic, Topics
from .remote_reports import RemoteReports
from .remote_robots import RemoteRobots
from .uplink import Uplink

if TYPE_CHECKING:
    import aiomqtt

    from ...api import ReportHub
    from ...config.mqtt import MqttSettings

SETTLE_S, FORGET_S = 2.0, 30.0
"""When a robot of which a new connection delivers nothing is reported absent, and is removed."""


class Gateway:
    """Robots, wherever their daemons are.

    Parameters
    ----------
    hub : ReportHub
        Receives what the robots report.
    asks : bool
        Whether requests are sent, so that answers have to be received.
    """

    def __init__(self, settings: MqttSettings, hub: ReportHub, *, asks: bool = True) -> None:
        self._topics = Topics(settings.base)
        self.reports = RemoteReports(self._topics, hub)
        self.uplink = Uplink(settings, self._take, lambda: self.reports.is_deserted)
        self.robots = RemoteRobots(self._topics, self.reports, self.uplink)
        self.uplink.begun.append(self.reports.begin)
        self.uplink.lost.append(self.robots.lose)
        self._asks = asks

    async def run(self) -> NoReturn:
        """Receive reports until cancelled."""
        topics = self.reports.topics_of_all() + (self.robots.topics_of_answers() if self._asks else [])
        expiring = asyncio.create_task(self._expire_robots(), name="fleet.settle")
        try:
            await self.uplink.run(topics)
        finally:
            expiring.cancel()
            await asyncio.wait((expiring,))

    def _take(self, message: aiomqtt.Message) -> None:
        topic = message.topic.value
        meaning = self._topics.meaning(topic)
        if isinstance(meaning, ResponseTopic):
            self.robots.take(meaning, message.payload)
        else:
            self.reports.take(topic, message.payload, retained=message.retain)

    async def _expire_robots(self) -> NoReturn:
        """Report robots absent, then remove them, that the broker does not know any more."""
        connected = self.uplink.connected
        while True:
            await connected.wait()
            if await self._stays_connected(SETTLE_S):
                self.reports.settle()
                if await self._stays_connected(FORGET_S - SETTLE_S):
                    self.reports.drop_unseen()
                    await self._stays_connected(None)
            heed_cancellation()

    async def _stays_connected(self, time_s: float | None) -> bool:
        """Return whether the connection lasts for so long; without a time, wait for its end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(time_s):
                await self.uplink.ended.wait()
                return False
        return True
