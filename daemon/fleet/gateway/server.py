"""The page and the HTTP interface for all robots at a broker, without a robot of its own."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...api import Dispatcher, ReportHub
from ...clock import ClockMonitor
from ...http import HttpServer, Served
from ...log import has_terminal
from ...mqtt.client import CertificateWatch
from ..coordinator import HttpGroups
from .gateway import Gateway
from .remote_robots import RemoteFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...config.http import HttpSettings
    from ...config.mqtt import MqttSettings

NAME = "fleet"
HANDLE_S = 35.0
"""Longer than any answer is waited for, so that the refusal names the one that did not come."""


class FleetServer:
    """Serves HTTP, as a client of the broker.

    Raises
    ------
    HttpError
        If the certificate or the token cannot be used.
    """

    def __init__(self, mqtt: MqttSettings, http: HttpSettings, clock: ClockMonitor | None = None) -> None:
        hub = ReportHub()
        self._gateway = Gateway(mqtt, hub, lambda: self._server.looked_at)
        self._groups = HttpGroups(mqtt)
        self._clock = clock or ClockMonitor()
        self._certificates = CertificateWatch(mqtt)
        self._server = HttpServer(
            http,
            Served(
                dispatcher=Dispatcher(self._gateway.robots, handle_timeout_s=HANDLE_S),
                motions=RemoteFiles(self._gateway.reports),
                groups=self._groups,
                hub=hub,
                models={},
                daemon_id=NAME,
                is_broker_connected=self._gateway.connected.is_set,
                clock=self._clock.payload,
                is_fleet=True,
            ),
        )

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        SIGHUP reloads the certificate; from a terminal it ends the program.
        """
        ended = asyncio.Event()
        with ended_by_signals(ended, self._server.renew):
            await self.serve(ended)

    async def serve(self, ended: asyncio.Event) -> None:
        """Serve until an event; motions play on, as their daemons run them."""
        async with self._groups, asyncio.TaskGroup() as tasks:
            helpers = [
                tasks.create_task(self._gateway.run(), name="fleet.gateway"),
                tasks.create_task(self._server.run(), name="fleet.http"),
                tasks.create_task(self._clock.run(), name="fleet.clock"),
                tasks.create_task(self._certificates.run(), name="fleet.certificates"),
            ]
            await ended.wait()
            for helper in helpers:
                helper.cancel()


@contextmanager
def ended_by_signals(ended: asyncio.Event, renew: Callable[[], None] | None = None) -> Iterator[None]:
    """Set an event on SIGTERM and SIGINT, and renew something on SIGHUP, as long as the context lasts."""
    loop = asyncio.get_running_loop()
    handlers = {signal.SIGTERM: ended.set, signal.SIGINT: ended.set}
    if renew is not None and not has_terminal():
        handlers[signal.SIGHUP] = renew
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
