"""Who is let in.

A page of somebody else, open in the same browser, can send requests here as well. So a request must call the
daemon by a name that is its own (`Host`: against DNS rebinding), and must not come from another page
(`Origin`). RFC 6454; Fetch Standard.

Requests of all clients have one pace and a bounded number at once; stops are not counted in either.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import hdrs, web

from ...api import MOST_BYTES, STOPS, Pace, cost_of
from ..routes.exchange import Refused
from .connections import connection_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp.typedefs import Handler

    from .tokens import Token


SERVED_HZ, SERVED_BURST = 400.0, 400
ANSWER_BYTES_A_COST = 65_536


class Guard:
    """Lets requests in, or refuses them."""

    def __init__(self, hosts: Iterable[str], token: Token | None) -> None:
        machine = socket.gethostname()
        self._hosts = {host.lower() for host in ("localhost", machine, f"{machine}.local", *hosts)}
        self._token = token
        self.open_to_all: set[Handler] = set()
        self.bounded_apart: set[Handler] = set()
        self._pace = Pace(SERVED_HZ, SERVED_BURST, time.monotonic)

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
            response = await handler(request)
            if not stops and isinstance(response, web.Response):
                self._pace.take((response.content_length or 0) / ANSWER_BYTES_A_COST)
        finally:
            connection.end_request(address, apart=apart)
        return response

    async def _admit(self, request: web.Request) -> None:
        names = request.headers.getall(hdrs.HOST, [])
        if len(names) != 1 or not self._is_own(names[0]):
            hint = "add the name to http.hosts, or use its address"
            raise Refused(421, "NOT_ALLOWED", f"Host: the daemon is not called so; {hint}")
        if not _comes_from_here(request, names[0]):
            reason = "the request comes from another page"
            raise Refused(403, "NOT_ALLOWED", f"Origin: {reason}; use the daemon's own")
        if self._token is not None and request.match_info.handler not in self.open_to_all:
            await _check_token(request, self._token)

    def _is_own(self, host: str) -> bool:
        try:
            url = urlsplit(f"//{host}")
            name = (url.hostname or "").rstrip(".") if url.port is None or url.netloc == host else ""
        except ValueError:
            return False
        return name in self._hosts or _is_address(name)


async def _check_token(request: web.Request, token: Token) -> None:
    if token.is_in_cookie(request.cookies):
        return
    scheme, _, shown = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    if scheme.lower() != "bearer":
        raise Refused(401, "NOT_ALLOWED", "the token is missing; log in, or send Authorization: Bearer TOKEN")
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
    """Return whether a request stops a robot, or a group of them."""
    return request.method == hdrs.METH_POST and request.match_info.get("verb") in STOPS


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
