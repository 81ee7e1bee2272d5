"""One connection to the broker at which the robots' daemons are, made again whenever it breaks."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

import aiomqtt

from ...mqtt.client import (
    BackOff,
    ConnectionLog,
    Link,
    MqttConnection,
    address_of,
    heed_cancellation,
    speaks_5,
)
from ..brokers import broker_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from ...config.mqtt import MqttSettings

SUBSCRIBE_S = 5.0
LOOK_S = 0.2
LOOK_ELSEWHERE_S = 5.0
"""How often other brokers are tried while no daemon is at this one."""


class Uplink:
    """The connection, which carries reports alone.

    Of several brokers it goes to the one where robots answer, and on to another once `is_deserted`: no daemon
    is there. `begin` is called when it is made, before it subscribes, and `take` with each message.

    Attributes
    ----------
    connected, ended : asyncio.Event
        Set while there is a connection with all subscriptions, and while there is none.
    """

    def __init__(
        self,
        settings: MqttSettings,
        begin: Callable[[], None],
        take: Callable[[aiomqtt.Message], None],
        is_deserted: Callable[[], bool],
    ) -> None:
        self.connected, self.ended = asyncio.Event(), asyncio.Event()
        self.ended.set()
        self._settings = self._present = settings
        self._begin = begin
        self._take = take
        self._is_deserted = is_deserted
        self._topics: frozenset[str] = frozenset()
        self._wanted: frozenset[str] = frozenset()
        self._logs = {
            url: ConnectionLog(url) for url in (str(address_of(broker)) for broker in settings.each())
        }

    @property
    def address(self) -> str:
        """Where the broker is that is used or tried now."""
        return str(address_of(self._present))

    async def run(self, topics: Iterable[str]) -> NoReturn:
        """Keep a connection until cancelled; subscribe to some topics on each."""
        self._topics = frozenset(topics)
        await Link(self._turn, self._make, self._serve, self._wait, BackOff(self._settings).after).run()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Choose the broker."""
        self._present = await broker_of(self._settings)
        yield

    def _make(self) -> MqttConnection:
        return MqttConnection(self._present, receive=self._take)

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        self._logs[self.address].lose(reason)
        await asyncio.sleep(wait_s)

    async def _serve(self, client: MqttConnection) -> None:
        self._begin()
        await self._subscribe(client, self._topics)
        self.ended.clear()
        self.connected.set()
        self._logs[self.address].make()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_wanted(client), name="fleet.wanted")
                if len(self._settings.each()) > 1:
                    tasks.create_task(self._look_elsewhere(), name="fleet.elsewhere")
                await client.broken()
        finally:
            self.connected.clear()
            self.ended.set()

    async def _follow_wanted(self, client: MqttConnection) -> NoReturn:
        """Subscribe to what is wanted now, and unsubscribe from the rest."""
        has: frozenset[str] = frozenset()
        while True:
            wanted = self._wanted
            if wanted - has:
                await self._subscribe(client, wanted - has)
            if has - wanted:
                await client.unsubscribe(sorted(has - wanted), timeout=SUBSCRIBE_S)
            has = wanted
            heed_cancellation()
            await asyncio.sleep(LOOK_S)

    async def _subscribe(self, client: MqttConnection, topics: Iterable[str]) -> None:
        # By 3.1.1 by QoS 0: the clusters that speak it alone elect a leader for each subscription of QoS 1.
        qos = 1 if speaks_5(self._present) else 0
        await client.subscribe([(topic, qos) for topic in sorted(topics)], timeout=SUBSCRIBE_S)

    async def _look_elsewhere(self) -> NoReturn:
        """Leave a broker at which there is no daemon for one at which there is."""
        while True:
            await asyncio.sleep(LOOK_ELSEWHERE_S)
            if not self._is_deserted():
                continue
            better = await broker_of(self._settings)
            if self._is_deserted() and address_of(better) != address_of(self._present):
                raise aiomqtt.MqttError(f"no daemon is there; going on to {address_of(better)}")

    def want(self, topics: Iterable[str]) -> None:
        """Subscribe to these from now on, instead of those that were wanted before."""
        self._wanted = frozenset(topics)
