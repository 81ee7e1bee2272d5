"""The daemon's side of MQTT: two connections that are kept; trouble here delays nothing else in the daemon.

One carries reports out and stops in, the other carries all other requests, so that no flood of these comes
before a stop (docs/decisions/stops-apart.md). MQTT 5.0 and 3.1.1 (OASIS).
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, NoReturn

import aiomqtt

from ...api import STREAMED, SUBJECTS
from ..client import (
    NO_RETAINED_WILL,
    BackOff,
    Brokers,
    CertificateWatch,
    ConnectionUseless,
    Link,
    MovedOn,
    MqttConnection,
    NotConnected,
    address_of,
    speaks_5,
)
from ..topics import Topics
from .claims import Claims, Identity
from .home_assistant import HomeAssistant
from .main_session import MainSession
from .reports_out import ReportsOut
from .requests_session import RequestsSession
from .responder import Responder
from .results import KeptResults
from .stops import StopOrder

if TYPE_CHECKING:
    from pathlib import Path

    from ...api import Commands, Dispatcher, ReportHub
    from ...config.mqtt import MqttSettings
    from ..client import Broker
    from .main_session import PeerListener

SESSION_S = 300
"""How long the broker keeps the main connection's session (MQTT 5), so that what was cut off is resumed."""


class MqttBridge:
    """Carries requests in and reports out, for all robots of one daemon.

    Parameters
    ----------
    settings : MqttSettings
        The broker and how to reach it.
    daemon_id : str
        The daemon's own name among daemons on one broker.
    commands : Commands
        The one who acts on requests.
    dispatcher : Dispatcher
        Shared with other transports, so that a transaction acts once whichever way it comes.
    hub : ReportHub
        Where reports come from.
    state_folder : Path, optional
        Where results are kept that could not be published; without it they are lost.
    take_peer_report : callable, optional
        Receives the availability of all daemons and robots at the broker, and all reservations.

    Attributes
    ----------
    connected : asyncio.Event
        Set while requests are served and the daemon receives its own heartbeat.
    """

    def __init__(
        self,
        settings: MqttSettings,
        daemon_id: str,
        commands: Commands,
        dispatcher: Dispatcher,
        hub: ReportHub,
        *,
        state_folder: Path | None = None,
        take_peer_report: PeerListener | None = None,
    ) -> None:
        self._settings = settings
        self._identity = Identity(daemon_id)
        self._topics = topics = Topics(settings.base)
        self._brokers = Brokers(settings, asyncio.get_running_loop().time)
        self._certificates = CertificateWatch(settings)
        self._client: MqttConnection | None = None
        self._client_of: Broker | None = None
        self._subscribed = ExitStack()
        self._requests = asyncio.TaskGroup()  # what is being served; each task raises nothing
        self.connected = asyncio.Event()
        robots = dict.fromkeys(commands.robots)
        claims = Claims(daemon_id, robots)
        addresses = [address_of(broker) for broker in settings.each()]
        home_assistant = HomeAssistant(
            settings.home_assistant,
            topics,
            daemon_id,
            robots,
            needs_lease=lambda robot: robot in commands.leases,
        )
        self._out = ReportsOut(
            topics,
            self._identity,
            hub=hub,
            reports=self._subscribed.enter_context(hub.subscribe(SUBJECTS - STREAMED)),
            claims=claims,
            results=KeptResults(state_folder, *(f"{daemon_id}@{one.host}:{one.port}" for one in addresses)),
            home_assistant=home_assistant,
        )
        order = StopOrder(asyncio.get_running_loop().time)
        responder = Responder(topics, dispatcher, is_ours=claims.is_ours, version_5=speaks_5(settings))
        requests_ready = asyncio.Event()
        self._main = MainSession(
            topics,
            self._identity,
            robots,
            settings.stop_when_lost_s,
            connected=self.connected,
            claims=claims,
            home_assistant=home_assistant,
            reports=self._out,
            responder=responder,
            order=order,
            requests_ready=requests_ready,
            tasks=self._requests,
            take_peer_report=take_peer_report,
        )
        self._others = RequestsSession(
            topics,
            robots,
            self._main,
            responder=responder,
            order=order,
            is_ours=claims.is_ours,
            ready=requests_ready,
            tasks=self._requests,
        )

    @property
    def received_s(self) -> float:
        """When the daemon last received its own heartbeat, by the event loop's clock."""
        return self._main.received_s

    async def run(self) -> NoReturn:
        """Connect, serve and reconnect until cancelled; then publish offline."""
        brokers = self._brokers
        main = Link(brokers.main_turn, self._main_client, self._serve_main, self._wait, brokers.after)
        others = Link(
            brokers.requests_turn,
            self._requests_client,
            self._serve_requests,
            self._wait_for_requests,
            BackOff(self._settings).after,
        )
        with self._subscribed:
            async with self._requests:
                try:
                    async with asyncio.TaskGroup() as links:  # all are kept until cancelled
                        links.create_task(main.run())
                        links.create_task(others.run())
                        links.create_task(self._certificates.run(), name="mqtt.certificates")
                finally:
                    self._out.keep_unpublished(self._client)
        raise AssertionError  # connections are kept until cancelled

    def _main_client(self) -> MqttConnection:
        """Return the client that is to connect: with its session that of before, unless it is elsewhere."""
        broker = self._brokers.present
        if self._client is None or self._client_of is not broker:
            if self._client is not None:
                self._out.take_back(self._client)
            topic = self._topics.daemon(self._identity.daemon_id)
            self._client_of = broker
            self._client = MqttConnection(
                broker.settings,
                f"motiond-{self._identity.daemon_id}",
                aiomqtt.Will(topic, self._identity.will, qos=1, retain=True),
                receive=self._main.take,
                session_s=SESSION_S,
                limit=broker.limit,
            )
        return self._client

    async def _serve_main(self, client: MqttConnection) -> None:
        self._brokers.reach()
        self._certificates.see(client, self._brokers.present.settings)
        await self._main.run(client, self._brokers.present)

    def _requests_client(self) -> MqttConnection:
        name = f"motiond-{self._identity.daemon_id}-requests"
        broker = self._brokers.present
        return MqttConnection(broker.settings, name, receive=self._others.take, limit=broker.limit)

    async def _serve_requests(self, client: MqttConnection) -> None:
        async with asyncio.TaskGroup() as tasks:  # each ends the other
            tasks.create_task(self._brokers.main_has_moved(), name="mqtt.moves")
            await self._others.run(client, self._brokers.present)

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        if isinstance(reason, NotConnected) and reason.hung_up:  # the other connection may show more
            await asyncio.sleep(wait_s)
            wait_s = 0.0
            if self._others.is_connected:
                reason = ConnectionUseless(NO_RETAINED_WILL)
        self._brokers.former.log.lose(reason)
        await asyncio.sleep(wait_s)

    async def _wait_for_requests(self, wait_s: float, reason: BaseException | None) -> None:
        """Wait, and then log the loss, unless the main connection was lost as well."""
        if isinstance(reason, MovedOn):
            return
        broker = self._brokers.present
        before = self._main.connections if self._main.is_connected else 0
        await asyncio.sleep(wait_s)
        if self._main.is_connected and before == self._main.connections:
            broker.requests_log.lose(reason)
