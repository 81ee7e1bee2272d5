"""Who is let in.

A page of somebody else, open in the same browser, can send requests here as well. So a request must call the
daemon by a name that is its own (`Host`: against DNS rebinding), and must come from its own page or from an
origin that is listed (`Origin`); pages of those may read the answers (CORS), and show the token with each
request, as the cookie is for the daemon's own page. RFC 6454; Fetch Standard.

Requests of all clients have one pace and a bounded number at once; stops are not counted in either.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from aiohttp import hdrs, web

from ...api import MOST_BYTES, STOPS, Pace, cost_of
from ...log import RateLimitedLog
from ..routes.exchange import Refused
from ..routes.motions import LEASE_HEADER
from .connections import connection_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp.typedefs import Handler

    from .tokens import Token


SERVED_HZ, SERVED_BURST = 400.0, 400
ANSWER_BYTES_A_COST = 65_536
PREFLIGHT = {
    hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST",
    hdrs.ACCESS_CONTROL_ALLOW_HEADERS: f"Authorization, Content-Type, {LEASE_HEADER}",
    hdrs.ACCESS_CONTROL_MAX_AGE: "7200",
}
"""What browsers are told before a page of a listed origin sends a request."""
SOCKET_PROTOCOL, SOCKET_TOKEN = "motiond", "token."
"""A page cannot add headers to a WebSocket: beside the first protocol, another one shows the token."""


class Guard:
    """Lets requests in, or refuses them."""

    def __init__(self, hosts: Iterable[str], origins: Iterable[str], token: Token | None) -> None:
        machine = socket.gethostname()
        self._hosts = {host.lower() for host in ("localhost", machine, f"{machine}.local", *hosts)}
        self._origins = {*origins}
        self._token = token
        self.open_to_all: set[Handler] = set()
        self.bounded_apart: set[Handler] = set()
        self._pace = Pace(SERVED_HZ, SERVED_BURST, time.monotonic)
        self._log = RateLimitedLog()

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Serve a request that may be served."""
        connection, address = connection_of(request), request.remote or ""
        stops = is_stop(request)
        apart = stops or request.match_info.handler in self.bounded_apart
        if not connection.begin_request(address, apart=apart):
            problem = "too many requests are being served; there is room for stops only; ask again"
            response: web.StreamResponse = Refused(503, "BUSY", f"{request.path[:200]}: {problem}").response()
            response.force_close()
            return response
        try:
            if not stops:
                await asyncio.sleep(self._pace.take(_cost_of(request)))
            await self._admit(request)
            is_preflight = self._is_preflight(request)
            response = web.Response(status=204, headers=PREFLIGHT) if is_preflight else await handler(request)
            if not stops and isinstance(response, web.Response):
                self._pace.take((response.content_length or 0) / ANSWER_BYTES_A_COST)
        except Refused as error:
            extra = {"code": error.code}
            self._log.info("http: %.200s: refused to %s; %s", request.path, address, error, extra=extra)
            raise
        finally:
            connection.end_request(address, apart=apart)
        return response

    async def let_read(self, request: web.Request, response: web.StreamResponse) -> None:
        """Let a page of a listed origin read an answer, whatever it is."""
        if self._origins:
            response.headers.add(hdrs.VARY, hdrs.ORIGIN)
        if self._is_listed(request):
            response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = request.headers[hdrs.ORIGIN]

    def _is_listed(self, request: web.Request) -> bool:
        return request.headers.get(hdrs.ORIGIN) in self._origins

    def _is_preflight(self, request: web.Request) -> bool:
        return _asks_first(request) and self._is_listed(request)

    async def _admit(self, request: web.Request) -> None:
        names = request.headers.getall(hdrs.HOST, [])
        if len(names) != 1 or not self._is_own(names[0]):
            hint = "add the name to http.hosts, or use its address"
            raise Refused(421, "NOT_ALLOWED", f"Host: the daemon is not called so; {hint}")
        is_listed = self._is_listed(request)
        if not is_listed and not _comes_from_here(request, names[0]):
            hint = "use the daemon's own, or add its origin to http.origins"
            raise Refused(403, "NOT_ALLOWED", f"Origin: the request comes from another page; {hint}")
        if self._token is None or request.match_info.handler in self.open_to_all:
            return
        has_cookie = not is_listed and self._token.is_in_cookie(request.cookies)
        if not has_cookie and not self._is_preflight(request):
            await _check_token(request, self._token)

    def _is_own(self, host: str) -> bool:
        try:
            url = urlsplit(f"//{host}")
            name = (url.hostname or "").rstrip(".") if url.port is None or url.netloc == host else ""
        except ValueError:
            return False
        return name in self._hosts or _is_address(name)


async def _check_token(request: web.Request, token: Token) -> None:
    scheme, _, shown = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    if scheme.lower() != "bearer":
        offered = [one.strip() for one in request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "").split(",")]
        tokens = [one for one in offered if one.startswith(SOCKET_TOKEN)]
        if not tokens or SOCKET_PROTOCOL not in offered:
            hint = "log in, or send Authorization: Bearer TOKEN"
            raise Refused(401, "NOT_ALLOWED", f"the token is missing; {hint}")
        shown = unquote(tokens[0].removeprefix(SOCKET_TOKEN))
    await try_token(request, token, shown.strip())


async def try_token(request: web.Request, token: Token, shown: str) -> None:
    """Refuse a wrong token, which costs time.

    The right one is served at once, whatever else comes from its address: whoever guesses must not keep
    others there from stopping a robot. A token is too long to be guessed, however many are tried.
    """
    address = request.remote or ""
    if token.matches(shown):
        return
    if token.is_tried_too_often(address):
        raise Refused(429, "NOT_ALLOWED", "too many wrong tokens at once; wait a second")
    await token.punish(address)
    raise Refused(401, "NOT_ALLOWED", f"the token is wrong; it is the first line of {token.option}")


def is_stop(request: web.Request) -> bool:
    """Return whether a request stops a robot, or a group of them, or has to come before one that does."""
    if _asks_first(request):
        return request.path.rpartition("/")[2] in STOPS
    return request.method == hdrs.METH_POST and request.match_info.get("verb") in STOPS


def _asks_first(request: web.Request) -> bool:
    """Return whether a browser asks whether a page may send a request."""
    return request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers


def _cost_of(request: web.Request) -> float:
    """Return what a request costs; of a long body, as an upload has, no more than of a request's."""
    return cost_of(min(request.content_length or 0, MOST_BYTES))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _comes_from_here(request: web.Request, host: str) -> bool:
    """Return whether a request comes from the daemon's own page, or from no page at all."""
    origin = request.headers.get(hdrs.ORIGIN)
    if origin is None:
        return request.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"} or (
            request.method == hdrs.METH_GET and request.headers.get("Sec-Fetch-Mode") == "navigate"
        )
    return origin.lower() == f"{request.scheme}://{host}".lower()
