"""All robots at a broker, for a program that has none: their reports, and requests to them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import aiomqtt

from motiond.client import NoAnswer, connect

from ...config.client import brokers_of
from ...mqtt.client import (
    BackOff,
    ConnectionLog,
    Link,
    MqttConnection,
    address_of,
    heed_cancellation,
    speaks_5,
)
from ...mqtt.topics import Topics
from ..brokers import broker_of
from .remote_reports import RemoteReports
from .remote_robots import RemoteRobots

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from ...api import ReportHub
    from ...config.mqtt import MqttSettings

SUBSCRIBE_S = 5.0
SETTLE_S, FORGET_S = 2.0, 30.0
"""When a robot of which a new connection delivers nothing is reported absent, and is removed."""
LOOK_S = 0.2
LOOK_ELSEWHERE_S = 5.0
"""How often other brokers are tried while no daemon is at this one."""
CONNECT_AGAIN_S = 1.0


class Gateway:
    """Robots, wherever their daemons are.

    Of several brokers, reports come from the one where robots answer, and from another once no daemon is
    there; requests go to all.

    Parameters
    ----------
    settings : MqttSettings
    hub : ReportHub
        Receives what the robots report.
    watched : callable
        Returns the robots of which telemetry is wanted now.
    asks : bool
        Whether requests are sent.

    Attributes
    ----------
    reports : RemoteReports
    robots : RemoteRobots
    connected : asyncio.Event
        Set while reports come.
    """

    def __init__(
        self,
        settings: MqttSettings,
        hub: ReportHub,
        watched: Callable[[], Iterable[str]] = tuple,
        *,
        asks: bool = True,
    ) -> None:
        self.reports = RemoteReports(Topics(settings.base), hub)
        self.robots = RemoteRobots(self.reports)
        self.connected = asyncio.Event()
        self._settings = self._present = settings
        self._watched = watched
        self._brokers = brokers_of(settings) if asks else []
        self._logs = {
            url: ConnectionLog(url) for url in (str(address_of(broker)) for broker in settings.each())
        }

    @property
    def address(self) -> str:
        """Where the broker is that is used or tried now."""
        return str(address_of(self._present))

    async def run(self) -> NoReturn:
        """Receive reports, and send requests, until cancelled."""
        asking = asyncio.create_task(self._keep_client(), name="fleet.client")
        try:
            await Link(self._turn, self._make, self._serve, self._wait, BackOff(self._settings).after).run()
        finally:
            asking.cancel()
            await asyncio.wait((asking,))

    async def _keep_client(self) -> None:
        """Keep a client of all brokers for requests; once connected, it connects again by itself."""
        while self._brokers:
            with suppress(NoAnswer):
                async with connect(self._brokers) as self.robots.daemon:
                    await asyncio.Event().wait()
            await asyncio.sleep(CONNECT_AGAIN_S)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Choose the broker."""
        self._present = await broker_of(self._settings)
        yield

    def _make(self) -> MqttConnection:
        return MqttConnection(self._present, receive=self.reports.take)

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        self._logs[self.address].lose(reason)
        await asyncio.sleep(wait_s)

    async def _serve(self, client: MqttConnection) -> None:
        self.reports.begin()
        await self._subscribe(client, self.reports.topics_of_all())
        self.connected.set()
        self._logs[self.address].make()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._expire_robots(), name="fleet.settle")
                tasks.create_task(self._follow_watched(client), name="fleet.telemetry")
                if len(self._settings.each()) > 1:
                    tasks.create_task(self._look_elsewhere(), name="fleet.elsewhere")
                await client.broken()
        finally:
            self.connected.clear()

    async def _subscribe(self, client: MqttConnection, topics: Iterable[str]) -> None:
        # By 3.1.1 by QoS 0: the clusters that speak it alone elect a leader for each subscription of QoS 1.
        qos = 1 if speaks_5(self._present) else 0
        await client.subscribe([(topic, qos) for topic in sorted(topics)], timeout=SUBSCRIBE_S)

    async def _expire_robots(self) -> None:
        """Report robots absent, then remove them, that the broker does not know any more."""
        await asyncio.sleep(SETTLE_S)
        self.reports.settle()
        await asyncio.sleep(FORGET_S - SETTLE_S)
        self.reports.drop_unseen()

    async def _follow_watched(self, client: MqttConnection) -> NoReturn:
        """Subscribe to the telemetry that is wanted now, and unsubscribe from the rest."""
        has: set[str] = set()
        while True:
            wanted = set(self.reports.telemetry_of(self._watched()))
            if wanted - has:
                await self._subscribe(client, wanted - has)
            if has - wanted:
                await client.unsubscribe(sorted(has - wanted), timeout=SUBSCRIBE_S)
            has = wanted
            heed_cancellation()
            await asyncio.sleep(LOOK_S)

    async def _look_elsewhere(self) -> NoReturn:
        """Leave a broker at which there is no daemon for one at which there is."""
        while True:
            await asyncio.sleep(LOOK_ELSEWHERE_S)
            if not self.reports.is_deserted:
                continue
            better = await broker_of(self._settings)
            if self.reports.is_deserted and address_of(better) != address_of(self._present):
                raise aiomqtt.MqttError(f"no daemon is there; going on to {address_of(better)}")
