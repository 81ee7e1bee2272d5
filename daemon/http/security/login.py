"""Gives a browser a cookie for the token, so that nothing of the page ever holds the token itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ..routes.exchange import Refused, answered, read_body
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
    """Serves logins."""

    def __init__(self, token: Token | None, *, secure: bool) -> None:
        self._token = token
        self._secure = secure
        self._running = asyncio.Semaphore(MOST_LOGINS_AT_ONCE)

    async def serve(self, request: web.Request) -> web.Response:
        """Take `{"token": "…"}`; a wrong one costs time."""
        if self._running.locked():
            raise Refused(429, "BUSY", "login: too many at once; wait a second")
        async with self._running:
            body = await read_body(request, MOST_LOGIN_BYTES, within_s=BODY_WITHIN_S)
            return await self._answer(request, body)

    async def _answer(self, request: web.Request, body: bytes) -> web.Response:
        try:
            shown = LoginRequest.model_validate(orjson.loads(body)).token
        except (orjson.JSONDecodeError, ValidationError) as error:
            raise Refused(400, "INVALID_REQUEST", 'login: no token; send {"token": "…"}') from error
        response = answered({"status": "ok", "data": {}, "transaction": None})
        if self._token is None:
            return response
        await try_token(request, self._token, shown)
        response.set_cookie(
            self._token.cookie_name,
            self._token.cookie,
            max_age=LOGIN_S,
            httponly=True,
            samesite="Strict",
            secure=self._secure,
        )
        return response
