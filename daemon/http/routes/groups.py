"""What groups of robots are asked for, and what robots there are at the broker."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from ...api import (
    GROUP_VERBS,
    STOPS,
    GroupPlayRequest,
    Request,
    RequestError,
    Transactions,
    accepted,
    fingerprint_of,
    parse,
    refuse_expired,
    refused,
    used_before,
)
from .exchange import answered, passed_on
from .robots import raw_request

if TYPE_CHECKING:
    from aiohttp import web

    from ...api import Groups, GroupVerb, RawRequest

MOST_LISTED = 2000


class GroupRoutes:
    """Serves requests to groups."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._transactions = Transactions()

    async def list_robots(self, _request: web.Request) -> web.Response:
        """Answer with every robot that the broker knows."""
        robots = await self._groups.overview()
        return answered({"robots": robots[:MOST_LISTED], "more": max(0, len(robots) - MOST_LISTED)})

    async def act(self, request: web.Request) -> web.Response:
        """Pass a request to a group on, and the gathered answer back; a stop acts whatever its body is."""
        raw = await raw_request(request, request.match_info["group"], GROUP_VERBS)
        try:
            asked = parse(raw, GROUP_VERBS)
        except RequestError as error:
            if raw.verb not in STOPS:
                return passed_on(refused(error, error.transaction))
            asked = Request(transaction=error.transaction)
        return passed_on(await self._act_once(raw, asked))

    async def _act_once(self, raw: RawRequest, asked: Request) -> bytes:
        """Act, unless it is a play whose transaction has been served or is being served: then as before."""
        if asked.transaction is None or not isinstance(asked, GroupPlayRequest):
            return await self._act(raw, asked)
        transaction = f"{raw.robot}/{asked.transaction}"
        fingerprint = fingerprint_of(asked, with_lease=False)
        if first := self._transactions.first(transaction):
            if first.fingerprint != fingerprint:
                return refused(used_before(raw.where, asked), asked.transaction)
            return await asyncio.shield(first.answer)
        return await self._transactions.answered_by(lambda: self._act(raw, asked), transaction, fingerprint)

    async def _act(self, raw: RawRequest, asked: Request) -> bytes:
        try:
            if raw.verb not in STOPS:
                refuse_expired(raw, asked.expires_at, time.time())
            if isinstance(asked, GroupPlayRequest):
                data = await self._groups.play(raw.robot, asked)
            else:
                data = await self._groups.command(raw.robot, cast("GroupVerb", raw.verb))
        except RequestError as error:
            return refused(error, asked.transaction)
        return accepted(data, asked.transaction)
