"""One connection to the broker at which the robots' daemons are, made again whenever it breaks."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import aiomqtt
import orjson

from ...api import RequestError
from ...mqtt.client import (
    BackOff,
    ConnectionLog,
    Link,
    MqttConnection,
    PacketTooLong,
    address_of,
    heed_cancellation,
    speaks_5,
)
from ..brokers import broker_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import Any

    from ...config.mqtt import MqttSettings

MOST_UNCONFIRMED = 10
"""How many requests may be unconfirmed: half of what a broker takes, so that stops are never held back."""
SUBSCRIBE_S = 5.0
LOOK_S = 0.2
LOOK_ELSEWHERE_S = 5.0
"""How often other brokers are tried while no daemon is at this one."""


class Uplink:
    """The connection; requests that it did not deliver before it broke are not sent again.

    Of several brokers it goes to the one where robots answer, and on to another once `is_deserted`: no daemon
    is there. `take` receives each message.

    Attributes
    ----------
    connected, ended : asyncio.Event
        Set while there is a connection with all subscriptions, and while there is none.
    begun, lost : list of callable
        Called when it is made, before it subscribes, and when it has broken.
    """

    def __init__(
        self,
        settings: MqttSettings,
        take: Callable[[aiomqtt.Message], None],
        is_deserted: Callable[[], bool],
    ) -> None:
        self.connected, self.ended = asyncio.Event(), asyncio.Event()
        self.ended.set()
        self.begun: list[Callable[[], None]] = []
        self.lost: list[Callable[[], None]] = []
        self._settings = self._present = settings
        self._take = take
        self._is_deserted = is_deserted
        self._client: MqttConnection | None = None
        self._topics: frozenset[str] = frozenset()
        self._wanted: frozenset[str] = frozenset()
        self._may_send = asyncio.Semaphore(MOST_UNCONFIRMED)
        self._logs = {
            url: ConnectionLog(url) for url in (str(address_of(broker)) for broker in settings.each())
        }

    @property
    def address(self) -> str:
        """Where the broker is that is used or tried now."""
        return str(address_of(self._present))

    @property
    def qos(self) -> int:
        """The quality of service of requests and subscriptions there.

        By 3.1.1 it is 0: the clusters that speak it alone elect a leader for each subscription of QoS 1 and
        log each message before they deliver it, so where a node dies, a stop would wait for seconds.
        """
        return 1 if speaks_5(self._present) else 0

    def others(self) -> list[MqttSettings]:
        """Return the other brokers to which a stop has to go: a daemon may have moved there unnoticed."""
        brokers = self._settings.each()
        if len(brokers) == 1:
            return []
        return [broker for broker in brokers if self._client is None or broker != self._present]

    async def run(self, topics: Iterable[str]) -> NoReturn:
        """Keep a connection until cancelled; subscribe to some topics on each."""
        self._topics = frozenset(topics)
        await Link(self._turn, self._make, self._serve, self._wait, BackOff(self._settings)).run()

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
        for begin in self.begun:
            begin()
        await self._subscribe(client, self._topics)
        self._client = client
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
            self._client = None
            self.connected.clear()
            self.ended.set()
            for lose in self.lost:
                lose()

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
        await client.subscribe([(topic, self.qos) for topic in sorted(topics)], timeout=SUBSCRIBE_S)

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

    def send(self, topic: str, payload: dict[str, Any], within_s: float, qos: int) -> int:
        """Publish at once, to expire after `within_s` (MQTT 5); return the message's number.

        Raises RequestError with OFFLINE if there is no connection, TOO_LARGE if the broker does not take it.
        """
        if self._client is None:
            problem, reason = "no connection to the broker", "nothing was sent"
            raise RequestError("OFFLINE", self.address, problem, reason, "it is tried again; ask again")
        try:
            return self._client.hand_over(topic, orjson.dumps(payload), qos, expires_s=within_s)
        except PacketTooLong as error:
            raise RequestError.of("TOO_LARGE", error) from error

    async def send_in_turn(self, topic: str, payload: dict[str, Any], within_s: float) -> None:
        """Publish once the broker has confirmed most earlier requests; return when it has confirmed this."""
        async with self._may_send:
            number, client = self.send(topic, payload, within_s, self.qos), self._client
            if client is not None:
                with suppress(aiomqtt.MqttError):  # the wait for the answer is refused
                    await client.delivered(number, within_s)
