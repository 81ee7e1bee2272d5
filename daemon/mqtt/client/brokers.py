"""The brokers that are configured, of which the daemon is at one at a time: the next one where that is gone.

Each has waits of its own, and the one that may be tried first is. The two connections of a daemon are never
at different brokers: clients of both would be served, and neither would get all.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, NoReturn

import aiomqtt

from ...api import RETAINED, STREAMED, SUBJECTS
from .address import address_of, speaks_5
from .connection_log import ConnectionLog
from .link import BackOff
from .packet_limit import PacketLimit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ...api import Subject
    from ...config.mqtt import MqttSettings


EXACTLY_ONCE = 2


class MovedOn(aiomqtt.MqttError):
    """The main connection is made with another broker, so this one has to go there as well."""


class Broker:
    """One of them, and what is known of it."""

    def __init__(self, settings: MqttSettings) -> None:
        address = address_of(settings)
        self.settings = settings
        self.log = ConnectionLog(str(address))
        self.requests_log = ConnectionLog(f"{address}: requests", logs_first=False)
        self.back_off = BackOff(settings)
        self.visits = 0
        self.free_s = -inf
        self.most_qos = EXACTLY_ONCE
        self.known = asyncio.Event()
        self.limit = PacketLimit()

    def learn(self, granted_qos: int) -> None:
        """Note what it grants to who subscribes by QoS 2: it hangs up on who publishes by more."""
        self.most_qos = granted_qos
        self.known.set()

    @property
    def echoed(self) -> frozenset[Subject]:
        """Subjects on which the daemon subscribes to itself: retained, or perhaps refused in silence.

        With MQTT 5 a broker reports what it refuses, but paho does not pass on its report for QoS 2; the
        embedded one refuses nothing.
        """
        if self.settings.broker == "embedded":
            return RETAINED
        return RETAINED | {"result"} if speaks_5(self.settings) else SUBJECTS - STREAMED

    @property
    def qos(self) -> int:
        """By which quality of service to subscribe, to ask and to answer.

        A broker without QoS 2 is a cluster that keeps messages of QoS 1 in a log: nats-server 2.9 elects a
        leader for each subscription by QoS 1, which takes half a second, and where a node dies some seconds,
        in which no stop would come. It delivers nothing more of a connection until its log has the last
        message of QoS 1, so that the tenth stop would wait for nine. By QoS 0 all comes at once.
        """
        return 1 if self.most_qos == EXACTLY_ONCE else 0


class Brokers:
    """All of them, in the order of the configuration."""

    def __init__(self, settings: MqttSettings, now: Callable[[], float]) -> None:
        self._now = now
        self._all = [Broker(one) for one in settings.each()]
        self.present = self.former = self._all[0]
        self._requests_at: Broker | None = None  # where that connection is, or is being made
        self._reached = asyncio.Event()
        self._changed = asyncio.Event()

    def reach(self) -> None:
        """Note that the main connection is made, so that the other one may follow."""
        self.present.visits += 1
        self._reached.set()

    def after(self, lasted_s: float) -> float:
        """Choose the broker to try next, now that there is no connection; return how long to wait, in s."""
        now_s = self._now()
        self.former = self.present
        self.former.free_s = now_s + self.former.back_off.after(lasted_s)
        place = self._all.index(self.former) + 1
        self.present = min(
            self._all[place:] + self._all[:place], key=lambda one: max(one.free_s, now_s)
        )  # the first of several that may be tried now
        if self.present is not self.former:
            self._reached.clear()
            self._note_change()
        return max(0.0, self.present.free_s - now_s)

    @asynccontextmanager
    async def main_turn(self) -> AsyncIterator[None]:
        """Wait until the connection for requests is not at another broker."""
        while self._requests_at not in {None, self.present}:
            await self._changed.wait()
        yield

    @asynccontextmanager
    async def requests_turn(self) -> AsyncIterator[None]:
        """Wait until the connection for requests may be made; the context lasts as long as it does."""
        while len(self._all) > 1 and not self._reached.is_set():
            await self._reached.wait()
        self._requests_at = self.present
        try:
            yield
        finally:
            self._requests_at = None
            self._note_change()

    async def main_has_moved(self) -> NoReturn:
        """Wait until the main connection leaves the broker of that for requests; raises `MovedOn` then."""
        while self._requests_at is self.present:
            await self._changed.wait()
        raise MovedOn("the main connection is at another broker")

    def _note_change(self) -> None:
        self._changed.set()
        self._changed.clear()
