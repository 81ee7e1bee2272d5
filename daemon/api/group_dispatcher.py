"""Serves requests to groups of robots, without any transport."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from .dispatcher import accepted, refuse_expired, refused
from .errors import RequestError
from .parsing import RawRequest, parse
from .request_log import RequestLog, who_asks
from .transactions import Transactions, fingerprint_of, used_before
from .verbs import GROUP_VERBS, STOPS, GroupPlayRequest, Request

if TYPE_CHECKING:
    from .interfaces import Groups, GroupVerb


class GroupDispatcher:
    """Answers each request to a group; a stop acts whatever its body is.

    Parameters
    ----------
    groups : Groups
        Who coordinates them.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._transactions = Transactions()
        self._log = RequestLog(GROUP_VERBS)

    async def answer(self, raw: RawRequest) -> bytes:
        """Serve one request, in which `robot` is the group; raises nothing but cancellation."""
        try:
            request = parse(raw, GROUP_VERBS)
        except RequestError as error:
            if raw.verb not in STOPS:
                return self._refused(raw, error, error.transaction)
            request = Request(transaction=error.transaction)
        return await self._act_once(raw, request)

    async def _act_once(self, raw: RawRequest, request: Request) -> bytes:
        """Act, unless it is a play whose transaction has been served or is being served: then as before."""
        if request.transaction is None or not isinstance(request, GroupPlayRequest):
            return await self._act(raw, request)
        transaction = f"{raw.robot}/{request.transaction}"
        fingerprint = fingerprint_of(request, with_lease=False)
        if first := self._transactions.first(transaction):
            if first.fingerprint != fingerprint:
                return self._refused(raw, used_before(raw.where, request), request.transaction)
            return await asyncio.shield(first.answer)
        return await self._transactions.answered_by(lambda: self._act(raw, request), transaction, fingerprint)

    async def _act(self, raw: RawRequest, request: Request) -> bytes:
        try:
            if raw.verb not in STOPS:
                refuse_expired(raw.where, request.expires_at, time.time())
            self._log.asked(raw, request, "")
            if isinstance(request, GroupPlayRequest):
                data = await self._groups.play(raw.robot, request, who_asks(raw))
            else:
                data = await self._groups.command(raw.robot, cast("GroupVerb", raw.verb))
        except RequestError as error:
            return self._refused(raw, error, request.transaction)
        return accepted(data, request.transaction)

    def _refused(self, raw: RawRequest, error: RequestError, transaction: str | None) -> bytes:
        self._log.refused(raw, error, "")
        return refused(error, transaction)
