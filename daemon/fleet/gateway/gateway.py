"""All robots at a broker, for a program that has none: their reports, and requests to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from motiond.client import NoAnswer, connect

from ...config.client import brokers_of
from ...mqtt.client import heed_cancellation
from ...mqtt.topics import Topics
from .remote_reports import RemoteReports
from .remote_robots import RemoteRobots
from .uplink import Uplink

if TYPE_CHECKING:
    from ...api import ReportHub
    from ...config.mqtt import MqttSettings

CONNECT_AGAIN_S = 1.0
SETTLE_S, FORGET_S = 2.0, 30.0
"""When a robot of which a new connection delivers nothing is reported absent, and is removed."""


class Gateway:
    """Robots, wherever their daemons are.

    Parameters
    ----------
    hub : ReportHub
        Receives what the robots report.
    asks : bool
        Whether requests are sent.
    """

    def __init__(self, settings: MqttSettings, hub: ReportHub, *, asks: bool = True) -> None:
        self.reports = RemoteReports(Topics(settings.base), hub)
        self.uplink = Uplink(
            settings, self.reports.begin, self.reports.take, lambda: self.reports.is_deserted
        )
        self.robots = RemoteRobots(self.reports)
        self._brokers = brokers_of(settings) if asks else []

    async def run(self) -> NoReturn:
        """Receive reports, and send requests, until cancelled."""
        helpers = [asyncio.create_task(self._expire_robots(), name="fleet.settle")]
        if self._brokers:
            helpers.append(asyncio.create_task(self._keep_client(), name="fleet.client"))
        try:
            await self.uplink.run(self.reports.topics_of_all())
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.wait(helpers)

    async def _keep_client(self) -> NoReturn:
        """Keep a client of all brokers for requests; once connected, it connects again by itself."""
        while True:
            with suppress(NoAnswer):
                async with connect(self._brokers) as self.robots.daemon:
                    await asyncio.Event().wait()
            await asyncio.sleep(CONNECT_AGAIN_S)

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
