"""Gives a browser a cookie for the token, so that nothing of the page ever holds the token itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ..routes.exchange import BodyError, answered, read_body, refused
from .guard import try_token

if TYPE_CHECKING:
    from aiohttp import web

    from .tokens import Token

MOST_LOGIN_BYTES = 4096
MOST_LOGINS_AT_ONCE = 32
BODY_WITHIN_S = 2.0
LOGIN_S = 90 * 24 * 3600


class LoginRequest(BaseModel):
    """Log in with the token, for a cookie that stands for it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    token: str


class Login:
    """Serves logins.

    Parameters
    ----------
    token : Token or None
        None where nobody needs one.
    secure : bool
        Whether the cookie goes over TLS alone.
    """

    def __init__(self, token: Token | None, *, secure: bool) -> None:
        self._token = token
        self._secure = secure
        self._running = 0

    async def serve(self, request: web.Request) -> web.Response:
        """Take `{"token": "…"}`; a wrong one costs time."""
        if self._running >= MOST_LOGINS_AT_ONCE:
            return refused(429, "BUSY", "login: too many at once; wait a second")
        self._running += 1
        try:
            return await self._answer(
                request, await read_body(request, MOST_LOGIN_BYTES, within_s=BODY_WITHIN_S)
            )
        except BodyError as error:
            return error.response
        finally:
            self._running -= 1

    async def _answer(self, request: web.Request, body: bytes) -> web.Response:
        try:
            shown = LoginRequest.model_validate(orjson.loads(body)).token
        except (orjson.JSONDecodeError, ValidationError):
            return refused(400, "INVALID_REQUEST", 'login: no token; send {"token": "…"}')
        response = answered({"status": "ok", "data": {}, "transaction": None})
        if self._token is None:
            return response
        if refusal := await try_token(request, self._token, shown):
            return refusal
        response.set_cookie(
            self._token.cookie_name,
            self._token.cookie,
            max_age=LOGIN_S,
            httponly=True,
            samesite="Strict",
            secure=self._secure,
        )
        return response
