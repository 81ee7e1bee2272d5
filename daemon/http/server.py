"""Listens for browsers and other HTTP clients, and keeps trying where it cannot.

What is configured is checked at once. What serves it is loaded once the daemon runs: a robot is ready sooner
without, as aiohttp takes as long to load as all that a robot needs of motiond.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from ..config.section import SettingError
from .metrics.totals import Tally
from .security.certificate import PageCertificate
from .security.tokens import Token
from .served import Bounds, HttpError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from ..config.http import HttpSettings
    from .live.clients import Live
    from .served import Served

log = logging.getLogger(__name__)

TRY_AGAIN_S = 5.0
OPTIONS = ("http.token_file", "http.cert_file", "http.key_file")
FLEET_OPTIONS = ("--token-file", "--cert-file", "--key-file")
"""By which they are given to a daemon, and to `motiond fleet serve`."""


class HttpServer:
    """Serves the page and the HTTP interface of one daemon.

    Parameters
    ----------
    settings : HttpSettings
    served : Served
        What it serves.
    bounds : Bounds, optional
        What strangers can hold.

    Raises
    ------
    HttpError
        If the certificate or the token cannot be used.
    """

    def __init__(self, settings: HttpSettings, served: Served, bounds: Bounds | None = None) -> None:
        options = FLEET_OPTIONS if served.is_fleet else OPTIONS
        self._settings, self._tls_options = settings, options[1:]
        self._certificate = _certificate_of(settings)
        self._served, self._bounds = served, bounds or Bounds()
        # Robots of other daemons are counted by these.
        self._tally = Tally(lambda: () if served.is_fleet else served.dispatcher.commands.robots)
        file = settings.token_file
        self._token = None if file is None else Token(file, options[0])
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

    def renew(self) -> None:
        """Read certificate and token again, for new connections and requests; the log has what fails."""
        if self._certificate is not None:
            self._certificate.renew()
        if self._token is not None:
            self._token.renew()

    async def run(self, until_ready: Callable[[], Awaitable[None]] | None = None) -> NoReturn:
        """Serve until cancelled; an address that is taken is tried again, and the robots run on meanwhile."""
        if self._certificate is None and not self._settings.is_loopback:
            reason = "whoever listens to the network learns the token"
            log.warning("http: %s: not encrypted; %s; set %s and %s", self.url, reason, *self._tls_options)
        async with asyncio.TaskGroup() as tasks:  # neither of the two ends by itself
            tasks.create_task(self._tally.run(self._served.hub), name="http.tally")
            if self._certificate is not None:
                tasks.create_task(self._certificate.look_after(), name="http.certificate")
            if until_ready is not None:
                await until_ready()
            await self._keep_listening()
        raise AssertionError  # it listens until cancelled

    async def _keep_listening(self) -> NoReturn:
        await asyncio.to_thread(_load)  # meanwhile the event loop serves robots and MQTT
        logged = ""
        while True:
            try:
                await self._listen()
            except OSError as error:
                if (reason := _reason(error)) != logged:
                    hint = "it is tried again; end what listens there, or set http.listen"
                    log.warning("http: no page at %s; %s; %s", self.url, reason, hint)
                logged = reason
            except Exception:  # the robots must not end for it
                log.exception("http: failed inside motiond")
            finally:
                self.listening.clear()
            await asyncio.sleep(TRY_AGAIN_S)

    async def _listen(self) -> NoReturn:
        """Serve until cancelled; raises what `serving` does."""
        from .application import make_application  # noqa: PLC0415 - once the daemon runs
        from .endpoint import serving  # noqa: PLC0415 - once the daemon runs

        application, self._live = make_application(self._settings, self._token, self._served, self._tally)
        address, bounds = self._settings.address, self._bounds
        async with serving(application, self._live, address, name=self.url, tls=self._tls, bounds=bounds):
            log.info("http: the page is at %s", self.url)
            self.listening.set()
            await asyncio.get_running_loop().create_future()
        raise AssertionError  # it listens until cancelled

    def _tls(self) -> ssl.SSLContext | None:
        """Return by what the next connection is encrypted."""
        return self._certificate.context if self._certificate else None


def _load() -> None:
    """Import what serves, before the first request needs it."""
    import_module(".endpoint", __package__)
    import_module(".application", __package__)


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
