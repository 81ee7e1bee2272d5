"""The daemon's side of MQTT: two connections that are kept; trouble here delays nothing else in the daemon.

One carries reports out and stops in, the other carries all other requests, so that no flood of these comes
before a stop (docs/decisions/stops-apart.md). MQTT 5.0 and 3.1.1 (OASIS).
"""

from __future__ import annotations

import asyncio
import logging
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

    from ...api import Commands, Dispatcher, ReportHub, Subscription
    from ...config.mqtt import MqttSettings
    from ..client import Broker
    from .main_session import PeerListener

log = logging.getLogger(__name__)

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
        Set while requests are served and the daemon hears itself.
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
        self._take_peer_report = take_peer_report
        self._topics = Topics(settings.base)
        self._identity = Identity(daemon_id)
        self._hub = hub
        self._robots = dict.fromkeys(commands.robots)
        self._claims = Claims(daemon_id, self._robots)
        self._brokers = Brokers(settings, lambda: asyncio.get_running_loop().time())
        places = [address_of(one) for one in settings.each()]
        self._results = KeptResults(state_folder, *(f"{daemon_id}@{one.host}:{one.port}" for one in places))
        self._home_assistant = HomeAssistant(
            settings.home_assistant,
            self._topics,
            daemon_id,
            self._robots,
            needs_lease=lambda robot: robot in commands.leases,
        )
        self._responder = Responder(
            self._topics, dispatcher, is_ours=self._is_ours, version_5=speaks_5(settings)
        )
        self._main: MainSession | None = None
        self._others: RequestsSession | None = None
        self._client: MqttConnection | None = None
        self._client_of: Broker | None = None
        self._certificates = CertificateWatch(settings)
        self.connected = asyncio.Event()

    @property
    def heard_s(self) -> float:
        """When the daemon last heard itself through the broker, by the event loop's clock."""
        return self._main.heard_s if self._main else 0.0

    async def run(self) -> NoReturn:
        """Connect, serve and reconnect until cancelled; then say offline."""
        with self._hub.subscribe(SUBJECTS - STREAMED) as reports:
            async with asyncio.TaskGroup() as requests:  # what is being served; each task raises nothing
                await self._serve(reports, requests)
        raise AssertionError  # connections are kept until cancelled

    async def _serve(self, reports: Subscription, requests: asyncio.TaskGroup) -> None:
        out = ReportsOut(
            self._topics,
            self._identity,
            hub=self._hub,
            reports=reports,
            claims=self._claims,
            results=self._results,
            home_assistant=self._home_assistant,
        )
        main, others = self._make_sessions(out, requests)
        self._main, self._others = main, others
        for_main, for_requests = self._make_links(main, others, out)
        try:
            async with asyncio.TaskGroup() as links:  # all are kept until cancelled
                links.create_task(for_main.run())
                links.create_task(for_requests.run())
                links.create_task(self._certificates.run(), name="mqtt.certificates")
        finally:
            out.keep_unpublished(self._client)

    def _make_sessions(
        self, out: ReportsOut, requests: asyncio.TaskGroup
    ) -> tuple[MainSession, RequestsSession]:
        """Make what serves the two connections; they share the order in which stops and requests came."""
        order = StopOrder(asyncio.get_running_loop().time)
        others = RequestsSession(
            self._topics,
            self._robots,
            responder=self._responder,
            order=order,
            is_ours=self._is_ours,
            is_main_connected=self._is_main_connected,
            may_begin=self._may_begin,
            tasks=requests,
        )
        main = MainSession(
            self._topics,
            self._identity,
            self._robots,
            self._settings.stop_when_lost_s,
            connected=self.connected,
            claims=self._claims,
            home_assistant=self._home_assistant,
            reports=out,
            responder=self._responder,
            order=order,
            requests_ready=others.ready,
            tasks=requests,
            take_peer_report=self._take_peer_report,
        )
        return main, others

    def _make_links(self, main: MainSession, others: RequestsSession, out: ReportsOut) -> tuple[Link, Link]:
        """Make what keeps the two connections."""
        brokers = self._brokers
        for_main = Link(
            brokers.main_turn,
            lambda: self._main_client(main, out),
            lambda client: self._serve_main(main, client),
            self._wait,
            brokers,
        )
        for_requests = Link(
            brokers.requests_turn,
            lambda: self._requests_client(others),
            lambda client: self._serve_requests(others, client),
            self._wait_for_requests,
            BackOff(self._settings),
        )
        return for_main, for_requests

    # -- of all connections ---------------------------------------------------------------------------------

    def _is_ours(self, robot: str) -> bool:
        return self._claims.holder(robot) is None

    def _is_main_connected(self) -> bool:
        return self._main is not None and self._main.is_connected

    def _may_begin(self) -> bool:
        """Whether a motion may begin: whether stops come through, and will go on to."""
        return self._main is not None and self._main.may_begin

    def _main_client(self, session: MainSession, reports: ReportsOut) -> MqttConnection:
        """Return the client that is to connect: with its session that of before, unless it is elsewhere."""
        broker = self._brokers.present
        if self._client is None or self._client_of is not broker:
            if self._client is not None:
                reports.take_back(self._client)
            topic = self._topics.daemon(self._identity.daemon_id)
            will = aiomqtt.Will(topic, self._identity.will, qos=1, retain=True)
            name = f"motiond-{self._identity.daemon_id}"
            self._client_of = broker
            self._client = MqttConnection(
                broker.settings, name, will, receive=session.take, session_s=SESSION_S, limit=broker.limit
            )
        return self._client

    async def _serve_main(self, session: MainSession, client: MqttConnection) -> None:
        self._brokers.reach()
        self._certificates.see(client, self._brokers.present.settings)
        await session.run(client, self._brokers.present)

    def _requests_client(self, session: RequestsSession) -> MqttConnection:
        name = f"motiond-{self._identity.daemon_id}-requests"
        broker = self._brokers.present
        return MqttConnection(broker.settings, name, receive=session.take, limit=broker.limit)

    async def _serve_requests(self, session: RequestsSession, client: MqttConnection) -> None:
        async with asyncio.TaskGroup() as tasks:  # each ends the other
            tasks.create_task(self._brokers.main_has_moved(), name="mqtt.moves")
            await session.run(client, self._brokers.present)

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        if isinstance(reason, NotConnected) and reason.hung_up:  # the other connection may say more
            await asyncio.sleep(wait_s)
            if self._others is not None and self._others.is_connected:
                reason = ConnectionUseless(NO_RETAINED_WILL)
            self._brokers.former.log.lose(reason)
            return
        self._brokers.former.log.lose(reason)
        await asyncio.sleep(wait_s)

    async def _wait_for_requests(self, wait_s: float, reason: BaseException | None) -> None:
        """Wait, and then log the loss, unless the main connection was lost as well."""
        if isinstance(reason, MovedOn):
            return
        broker = self._brokers.present
        main = self._main.connections if self._is_main_connected() and self._main is not None else 0
        await asyncio.sleep(wait_s)
        if self._is_main_connected() and self._main is not None and main == self._main.connections:
            broker.requests_log.lose(reason)
