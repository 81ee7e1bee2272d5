"""The running daemon: robots, the broker if it is ours, MQTT, groups, the page, the journal, the watchdog."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import sys
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..api import Dispatcher
from ..broker import EmbeddedBroker, login_of
from ..config.state_folder import state_folder
from ..fleet.coordinator import HttpGroups
from ..fleet.member import GroupMember
from ..log import has_terminal
from ..mqtt.bridge import MqttBridge
from . import systemd
from .control_socket import ControlSocket
from .logs import serve_log_level, write_journal
from .reload import Reload
from .systemd import report_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ..api import Groups, ReportHub
    from ..config.settings import Settings
    from ..http import HttpServer
    from ..robots import RobotRegistry
    from .control_socket import Act

log = logging.getLogger(__name__)

MOST_DESCRIPTORS = 65_536
"""Far more than a daemon needs; some programs go through all numbers up to the limit when they start."""

LOOK_PERIOD_S = 0.1
SWITCH_INTERVAL_S = 0.0005
"""How long a thread that reads motions may keep another waiting that has something to do."""
OBJECTS_A_PASS = 700
"""Python's own: so many new objects start the garbage collector."""
PAGE_WAITS_S = 1.0
"""So long the page lets robots come on line before it takes processor time to load."""


def prefer_latency() -> None:
    """Let threads take turns often, and passes of the garbage collector be short.

    A full pass goes through every object there is, and nothing else runs meanwhile; all modules, classes and
    settings are there for good (`gc.freeze`). Garbage of the start stays with them: to look for it would take
    40 ms, for 0.2 MB.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.freeze()
    gc.set_threshold(OBJECTS_A_PASS)


async def serve(
    settings: Settings, hub: ReportHub, robots: RobotRegistry, config: Path | None = None
) -> None:
    """Run the daemon until it is asked to end (SIGTERM, SIGINT, SIGQUIT; SIGHUP from its terminal).

    Nothing else ends it once it runs. Its tasks `mqtt`, `http`, `fleet`, `lost`, `journal`, `status`,
    `reload` and `control` are cancelled at the end, and so is `watchdog`, which ends by itself where systemd
    wants none. Lost connections, ports that are taken and robots that fail are tried again while the others
    go on.

    Parameters
    ----------
    config : Path, optional
        The configuration; without it, it cannot be read again.

    Raises
    ------
    BrokerError
        If the embedded broker cannot listen.
    HttpError
        If the page cannot be served as it is configured.
    """
    dispatcher = Dispatcher(robots)
    member = GroupMember(robots.reservations)
    bridge = MqttBridge(
        settings.mqtt,
        settings.id,
        robots,
        dispatcher,
        hub,
        state_folder=state_folder(),
        take_peer_report=member.take if robots.grouped else None,
    )
    groups = HttpGroups(settings.mqtt)
    page = _page(settings, dispatcher, robots, groups=groups, hub=hub, bridge=bridge)
    renew = page.renew if page else lambda: None
    reload = None if config is None else Reload(config, settings, robots, renew)
    raise_limit()
    prefer_latency()
    embedded = settings.mqtt.broker == "embedded"
    async with (
        EmbeddedBroker(settings.mqtt.listen, login_of(settings.mqtt)) if embedded else nullcontext(),
        groups,
        asyncio.TaskGroup() as tasks,
    ):
        helpers = {
            "mqtt": bridge.run(),
            "watchdog": _feed_watchdog(robots),
            "lost": _stop_when_lost(bridge, page, robots, settings.mqtt.stop_when_lost_s),
            "journal": write_journal(hub),
            "status": report_status(robots),
            "fleet": member.run(bridge.connected.is_set),
        }
        if page is not None:
            helpers["http"] = page.run(partial(_until_on_line, hub, robots))
        if config is not None and reload is not None:
            acts = _acts(reload, robots)
            socket = ControlSocket(config, acts, dispatcher=dispatcher, groups=groups, hub=hub)
            helpers |= {"reload": reload.run(), "control": socket.run()}
        running = [tasks.create_task(helper, name=name) for name, helper in helpers.items()]
        with _heed_signals(robots, reload):
            systemd.notify("READY=1")
            await robots.run()
        systemd.notify("STOPPING=1")  # robots have ended, softly; MQTT has their results
        for task in running:
            task.cancel()


def _acts(reload: Reload, robots: RobotRegistry) -> Mapping[str, Act]:
    """Return what the daemon as a whole can be asked for on its own machine."""

    async def names(_: Mapping[str, Any]) -> dict[str, Any]:
        return {"robots": list(robots.robots)}

    return {"reload": lambda _: reload.reload(), "log-level": serve_log_level, "robots": names}


def _page(
    settings: Settings,
    dispatcher: Dispatcher,
    robots: RobotRegistry,
    *,
    groups: Groups,
    hub: ReportHub,
    bridge: MqttBridge,
) -> HttpServer | None:
    """Make the page's server, where there is to be one; without it, nothing of it is imported."""
    if settings.http is None:
        return None
    from ..http import HttpServer, Served  # noqa: PLC0415 - where it is off, nothing of it is loaded

    return HttpServer(
        settings.http,
        Served(
            dispatcher=dispatcher,
            motions=robots,
            groups=groups,
            hub=hub,
            models=robots.models,
            surroundings=robots.surroundings,
            daemon_id=settings.id,
            is_broker_connected=bridge.connected.is_set,
            clock=robots.clock.payload,
        ),
    )


async def _until_on_line(hub: ReportHub, robots: RobotRegistry) -> None:
    """Wait until the robots are on line, or for a second, as actuators of one may be missing."""
    missing = set(robots.robots)
    with suppress(TimeoutError), hub.subscribe(frozenset({"availability"})) as reports:
        async with asyncio.timeout(PAGE_WAITS_S):
            while missing:
                report = await reports.get()
                if report.data["state"] == "online":
                    missing.discard(report.robot)


async def _feed_watchdog(robots: RobotRegistry) -> None:
    """Notify systemd that all is well as long as the streams tick."""
    period_s = systemd.watchdog_period_s()
    while period_s is not None:
        if robots.ticking:
            systemd.notify("WATCHDOG=1")
        await asyncio.sleep(period_s)


async def _stop_when_lost(
    bridge: MqttBridge, page: HttpServer | None, robots: RobotRegistry, allowed_s: float | None
) -> None:
    """Stop motions that nobody could stop any more, because the broker is away and no page is open.

    Nothing begins until that is otherwise.
    """
    if allowed_s is None:
        return
    reason, fix = "nobody could stop it", "bring the broker back"
    away = f"the broker has been away for more than {allowed_s:g} s"
    if page is not None:
        away, fix = f"{away}, and nobody watches on a page", f"{fix}, or open the page"
    loop = asyncio.get_running_loop()
    started_s = loop.time()

    def why_lost() -> tuple[str, str] | None:
        received_s = max(started_s, bridge.received_s, page.watched_s if page else started_s)
        is_lost = not bridge.connected.is_set() and loop.time() - received_s > allowed_s
        return (f"{away}; {reason}", fix) if is_lost else None

    robots.heed(why_lost)
    while True:
        await asyncio.sleep(LOOK_PERIOD_S)
        if lost := why_lost():
            robots.stop(lost[0])


@contextmanager
def _heed_signals(robots: RobotRegistry, reload: Reload | None) -> Iterator[None]:
    """Leave on signals that ask for it; SIGHUP does from a terminal, and else has us reload."""
    loop = asyncio.get_running_loop()
    acts = dict.fromkeys((signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP), robots.leave)
    if reload is not None and not has_terminal():
        acts[signal.SIGHUP] = reload.ask
    for number, act in acts.items():
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in acts:
            loop.remove_signal_handler(number)


def raise_limit() -> None:
    """Raise the soft limit of open descriptors to the hard one; the usual 1024 is for users of `select`.

    Each motion that is kept in memory and each connection takes one. A limit that cannot be raised stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        log.warning("the limit of open files stays at %d; %s; set LimitNOFILE", soft, error)
