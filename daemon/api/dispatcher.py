"""Serves requests: each one gets an answer, whatever happens, and acts once.

Knows no transport. An answer is JSON: `{"status": "ok", "data": {…}, "transaction": "…"}` or
`{"status": "error", "code": "…", "error": "…", "problems": […], "data": {…}, "transaction": "…"}`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from .errors import RequestError, unknown_robot
from .parsing import checked, parse, stop_without_keys
from .request_log import RequestLog, who_asks
from .transactions import Transactions, fingerprint_of, used_before
from .verbs import VERBS
from .verbs.following import Streamed
from .verbs.looking import StatusRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .interfaces import Commands
    from .parsing import RawRequest
    from .verbs.verb import Request

log = logging.getLogger(__name__)

MOST_RUNNING = 32
HANDLE_TIMEOUT_S = 30.0
LOOK_S = 1.0

LEASES = frozenset({"lease/acquire", "lease/take", "lease/renew", "lease/release"})
GRANTS = LEASES - {"lease/release"}


class Dispatcher:
    """Takes requests, passes the sound ones on, and answers every one.

    Parameters
    ----------
    commands : Commands
        The one who acts.
    handle_timeout_s : float
        How long acting on one request may take.
    """

    def __init__(
        self,
        commands: Commands,
        handle_timeout_s: float = HANDLE_TIMEOUT_S,
    ) -> None:
        self.commands = commands
        self._handle_timeout_s = handle_timeout_s
        self._running: Counter[str] = Counter()
        self._log = RequestLog()
        self._transactions: defaultdict[tuple[str, str], Transactions] = defaultdict(Transactions)

    async def answer(self, raw: RawRequest) -> bytes:
        """Serve one request; raises nothing but cancellation."""
        try:
            request = parse(raw)
        except RequestError as error:
            if (stop := stop_without_keys(raw, error)) is None:
                return self._refused(raw, error, error.transaction)
            if raw.robot in self.commands.robots:
                return await self._act(raw, stop, ignored=str(error))
            request = stop
        # Nothing below may be kept by a name that a client has made up.
        if raw.robot not in self.commands.robots:
            return self._refused(raw, unknown_robot(raw.robot, self.commands.robots), request.transaction)
        try:
            return await self._answer_once(raw, request)
        except RequestError as error:
            return self._refused(raw, error, request.transaction)

    def take(self, raw: RawRequest, body: dict[str, Any] | None = None) -> RequestError | None:
        """Serve a target that nobody waits for an answer to; return why it is refused.

        That is logged, now and then. `body` is what a transport has read of the request that is not JSON.
        """
        try:
            self._take(raw, body)
        except RequestError as error:
            self._note_refused(raw, error)
            return error
        except Exception:
            log.exception("%s failed", raw.where)
        return None

    def _take(self, raw: RawRequest, body: dict[str, Any] | None) -> None:
        request = parse(raw) if body is None else checked(raw, body)
        if not isinstance(request, Streamed):
            problem, reason = "it has an answer, which somebody has to wait for", "only targets go without"
            raise RequestError("INVALID_REQUEST", raw.where, problem, reason, "send it with an id")
        if raw.robot not in self.commands.robots:
            raise unknown_robot(raw.robot, self.commands.robots)
        self._refuse_unwanted(raw, request)
        self.commands.take(raw.robot, request)

    def _refused(self, raw: RawRequest, error: RequestError, transaction: str | None) -> bytes:
        self._note_refused(raw, error)
        return refused(error, transaction)

    def _note_refused(self, raw: RawRequest, error: RequestError) -> None:
        """Log a refusal; a target that could not be read is counted where its robot follows."""
        self._log.refused(raw, error, raw.robot if raw.robot in self.commands.robots else "")
        if error.target_of is not None:
            with suppress(RequestError):
                self.commands.follower(error.target_of).count_refused()

    async def _answer_once(self, raw: RawRequest, request: Request) -> bytes:
        """Act, unless the transaction has been served or is being served: then return that answer.

        A stop acts each time: a client that sends one text for every stop means each of them.
        """
        verb, transaction = VERBS[raw.verb], request.transaction
        if transaction is None or verb.stops:
            self._refuse_unwanted(raw, request)
            return await self._act(raw, request)
        transactions = self._transactions[raw.robot, raw.verb]
        fingerprint = fingerprint_of(request, with_lease=verb.has_secret)
        if first := transactions.first(transaction):
            # A lease has rules of its own; anything else would get an answer to what it did not ask for.
            if first.fingerprint != fingerprint and raw.verb not in LEASES:
                raise used_before(raw.where, request)
            if first.fingerprint != fingerprint:
                self._refuse_unwanted(raw, request)
                return await self._act(raw, request)
            answer = await asyncio.shield(first.answer)
            if self._still_holds(raw, request, answer):
                return answer
            transactions.forget(transaction)
        self._refuse_unwanted(raw, request)
        return await transactions.answered_by(lambda: self._act(raw, request), transaction, fingerprint)

    def _still_holds(self, raw: RawRequest, request: Request, before: bytes) -> bool:
        """Whether an answer may be given again: not that a client is in control who has lost it since."""
        if raw.verb not in GRANTS:
            return True
        answer = orjson.loads(before)
        if answer["status"] != "ok":
            return True
        lease = self.commands.leases.get(raw.robot)
        return lease is not None and lease.is_valid(answer["data"].get("lease", request.lease))

    def admit(self, robot: str, where: str, lease: str | None) -> None:
        """Refuse whoever is not in control of a robot that somebody has to be in control of.

        `where` is what was asked for, for the message; raises RequestError: NOT_IN_CONTROL.
        """
        required = self.commands.leases.get(robot)
        if required is not None:
            required.admit(where, lease)

    def _refuse_unwanted(self, raw: RawRequest, request: Request) -> None:
        """Refuse what comes too late, or from somebody who is not in control; it uses up no transaction."""
        refuse_expired(raw.where, request.expires_at, time.time(), raw.deadline_s)
        if VERBS[raw.verb].needs_lease:
            self.admit(raw.robot, raw.where, request.lease)

    async def _act(self, raw: RawRequest, request: Request, **besides: str) -> bytes:
        """Act on a request; `besides` stands in the data of its answer, too."""
        try:
            self._refuse_flood(raw)
            lease = self.commands.leases.get(raw.robot)
            is_held = lease is not None and lease.is_valid(request.lease)
            holder = lease.payload()["holder"] if lease and is_held else None
            self._log.asked(raw, request, raw.robot, holder)
            self._running[raw.robot] += 1
            try:
                return await self._handle(raw, request, who_asks(raw, holder), besides)
            finally:
                self._running[raw.robot] -= 1
        except RequestError as error:
            return self._refused(raw, error, request.transaction)

    def _refuse_flood(self, raw: RawRequest) -> None:
        if self._running[raw.robot] >= MOST_RUNNING and not VERBS[raw.verb].stops:
            problem, reason = f"{MOST_RUNNING} requests are being served", "a robot takes no more at once"
            raise RequestError("BUSY", raw.where, problem, reason, "wait for their answers")

    async def _handle(
        self, raw: RawRequest, request: Request, asked_by: str, besides: dict[str, str]
    ) -> bytes:
        """Let the commands act; one request that fails unforeseen must not end the service of the others."""
        limit = asyncio.timeout(self._handle_timeout_s)
        try:
            async with limit:
                data = await self.commands.handle(raw.robot, raw.verb, request, asked_by)
            return accepted({**data, **besides}, request.transaction)
        except RequestError:
            raise
        except Exception as error:
            log.exception("%s failed", raw.where)
            if limit.expired():
                problem = f"not done in {self._handle_timeout_s:g} s"
                reason = await self._what_it_does(raw.robot)
                raise RequestError("TIMEOUT", raw.where, problem, reason, "it was given up") from error
            hint = "the daemon's log says more"
            raise RequestError("INTERNAL", raw.where, "failed inside motiond", repr(error), hint) from error

    async def _what_it_does(self, robot: str) -> str:
        """Return the state of a robot in words, as far as that is answered soon."""
        with suppress(Exception):
            async with asyncio.timeout(LOOK_S):
                status = await self.commands.handle(robot, "status", StatusRequest())
                return f"the robot is {status['state']}"
        return "the robot does not answer"


def refuse_expired(
    where: str, expires_at: float | None, now_s: float, deadline_s: float | None = None
) -> None:
    """Refuse what comes too late.

    Parameters
    ----------
    where : str
        What was asked for, for the message.
    expires_at : float or None
        Unix time in s, as the request has it.
    now_s : float
        Unix time in s.
    deadline_s : float or None
        Unix time in s, as the transport has it.

    Raises
    ------
    RequestError
        EXPIRED.
    """
    late_s = 0.0 if expires_at is None else round(now_s - expires_at, 3)
    if late_s > 0.0 or (deadline_s is not None and now_s >= deadline_s):
        problem, reason = f"expired {late_s:.3f} s ago", "it was not to be served any more"
        raise RequestError(
            "EXPIRED", where, problem, reason, "send it again, or with more time", late_s=late_s
        )


def accepted(data: Mapping[str, Any], transaction: str | None) -> bytes:
    """Return the answer to a request that was served."""
    return _encode({"status": "ok", "data": data, "transaction": transaction})


def refused(error: RequestError, transaction: str | None = None) -> bytes:
    """Return the answer to a request that was refused."""
    return _encode(error.payload(transaction))


def _encode(answer: dict[str, Any]) -> bytes:
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
