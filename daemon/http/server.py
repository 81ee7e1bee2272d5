"""Listens for browsers and other HTTP clients, and keeps trying where it cannot."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from aiohttp import web

from ..config.section import SettingError
from ..ipc.listener import listen
from .answering import RequestHandler, in_one_form
from .application import make_application
from .certificate import PageCertificate
from .connections import ASK_WITHIN_S, Connections
from .tally import Tally
from .tokens import read_token

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping

    from ..api.dispatcher import Dispatcher
    from ..api.groups import Groups
    from ..api.motions import Motions
    from ..api.reports import ReportHub
    from ..api.requests import Commands
    from ..config.http import HttpSettings
    from .live import Live
    from .model_api import Models

log = logging.getLogger(__name__)

# aiohttp writes a traceback of whatever is no HTTP; our own failures are logged by `answering`.
_strangers_mistakes = log.getChild("strangers")
_strangers_mistakes.disabled = True

TRY_AGAIN_S = 5.0
MOST_HEAD_BYTES = 8190
MOST_HEADERS = 64
KEPT_S = 30.0
LINGER_S = 1.0
HANDLING: Mapping[str, Any] = {
    "access_log": None,
    "logger": _strangers_mistakes,
    "auto_decompress": False,
    "max_line_size": MOST_HEAD_BYTES,
    "max_field_size": MOST_HEAD_BYTES,
    "max_headers": MOST_HEADERS,
    "keepalive_timeout": KEPT_S,
    "lingering_time": LINGER_S,
}
"""How each connection is handled by aiohttp."""
OPTIONS = ("http.token_file", "http.cert_file", "http.key_file")
FLEET_OPTIONS = ("--token-file", "--cert-file", "--key-file")
"""By which they are given to a daemon, and to `motiond fleet serve`."""


class HttpError(Exception):
    """What is configured cannot be served: `what; why; how to mend`."""

    exit_code: ClassVar[int] = 2


class HttpServer:
    """Serves the page and the HTTP interface of one daemon.

    Parameters
    ----------
    settings : HttpSettings
    dispatcher : Dispatcher
        Shared with the other transports, so that a transaction acts once whichever way it comes.
    commands : Commands
    motions : Motions
    groups : Groups
    hub : ReportHub
    models : mapping of str to (RobotModel or None, JointMap)
        The description of each robot, where it has one.
    daemon_id : str
    is_broker_connected : callable
        Whether requests are heard by MQTT, too.
    clock : callable
        The state of the machine's clock, as diagnostics tell it.
    is_fleet : bool
        Whether the robots are those of other daemons, as pages are told.

    Raises
    ------
    HttpError, TokenError
        If the certificate or the token cannot be used.
    """

    def __init__(
        self,
        settings: HttpSettings,
        *,
        dispatcher: Dispatcher,
        commands: Commands,
        motions: Motions,
        groups: Groups,
        hub: ReportHub,
        models: Models,
        daemon_id: str,
        is_broker_connected: Callable[[], bool],
        clock: Callable[[], dict[str, Any]],
        is_fleet: bool = False,
    ) -> None:
        options = FLEET_OPTIONS if is_fleet else OPTIONS
        self._settings, self._tls_options = settings, options[1:]
        self._certificate = _certificate_of(settings)
        self._hub = hub
        # Robots of other daemons are counted by these.
        self._tally = Tally(lambda: () if is_fleet else commands.robots)
        self._make_application = partial(
            make_application,
            settings,
            read_token(settings.token_file, options[0]),
            dispatcher=dispatcher,
            commands=commands,
            motions=motions,
            groups=groups,
            hub=hub,
            models=models,
            daemon_id=daemon_id,
            tally=self._tally,
            is_broker_connected=is_broker_connected,
            clock=clock,
            is_fleet=is_fleet,
        )
        self.listening = asyncio.Event()
        self._live: Live | None = None

    @property
    def watched_s(self) -> float:
        """When a page has last said that somebody watches, by the event loop's clock."""
        return self._live.watched_s if self._live else -math.inf

    @property
    def looked_at(self) -> frozenset[str]:
        """The robots that somebody looks at on a page."""
        return self._live.looked_at if self._live else frozenset()

    @property
    def url(self) -> str:
        """The page's address."""
        return self._settings.url

    def renew_certificate(self) -> None:
        """Serve new connections with the certificate's files as they are now; the log says what fails."""
        if self._certificate is not None:
            self._certificate.renew()

    async def run(self) -> NoReturn:
        """Serve until cancelled; an address that is taken is tried again, and the robots run on meanwhile."""
        if self._certificate is None and not self._settings.is_loopback:
            why = "whoever listens to the network learns the token"
            log.warning("http: %s: not encrypted; %s; set %s and %s", self.url, why, *self._tls_options)
        async with asyncio.TaskGroup() as tasks:  # neither of the two ends by itself
            tasks.create_task(self._tally.run(self._hub), name="http.tally")
            if self._certificate is not None:
                tasks.create_task(self._certificate.look_after(), name="http.certificate")
            await self._keep_listening()
        raise AssertionError  # it listens until cancelled

    async def _keep_listening(self) -> NoReturn:
        told = ""
        while True:
            try:
                async with self._listening():
                    log.info("http: the page is at %s", self.url)
                    self.listening.set()
                    await asyncio.get_running_loop().create_future()
            except OSError as error:
                told = self._tell(told, _reason(error))
            except Exception:  # the robots must not end for it
                log.exception("http: failed inside motiond")
            await asyncio.sleep(TRY_AGAIN_S)

    def _tell(self, told: str, reason: str) -> str:
        """Tell why there is no page, once for each reason, and return it."""
        if reason != told:
            mend = "it is tried again; end what listens there, or set http.listen"
            log.warning("http: no page at %s; %s; %s", self.url, reason, mend)
        return reason

    def _tls(self) -> ssl.SSLContext | None:
        """Return by what the next connection is encrypted."""
        return self._certificate.context if self._certificate else None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        application, live = self._make_application()
        self._live = live
        runner = web.AppRunner(application, handle_signals=False, shutdown_timeout=LINGER_S)
        await runner.setup()
        loop = asyncio.get_running_loop()
        served = cast("web.Server", runner.server)
        served.request_handler = in_one_form(served.request_handler)
        make_handler = partial(RequestHandler, served, loop=loop, **HANDLING)
        host, port = self._settings.address
        try:
            connections = Connections(make_handler)
            listener = await listen(
                host,
                port,
                connections,
                connections.ends_one,
                name=self.url,
                tls=self._tls,
                handshake_s=ASK_WITHIN_S if self._certificate else None,
            )
            watching = asyncio.create_task(live.watch_broker(), name="http.broker")
            try:
                yield
            finally:
                watching.cancel()
                listener.close()
                await live.close()
        finally:
            self.listening.clear()
            await runner.cleanup()


def _reason(error: OSError) -> str:
    """Return why, in the system's words; asyncio's own name the address once more."""
    # None from Python 3.12 on where the address is another machine's; negative for a name's trouble
    number = errno.EADDRNOTAVAIL if error.errno is None else error.errno
    words = os.strerror(number) if number > 0 else error.strerror or str(error)
    return words.lower()


def _certificate_of(settings: HttpSettings) -> PageCertificate | None:
    if settings.cert_file is None or settings.key_file is None:
        return None
    try:
        return PageCertificate(settings.cert_file, settings.key_file)
    except SettingError as error:
        raise HttpError(f"http: {error}") from error
