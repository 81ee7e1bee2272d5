"""Serves requests: in comes one as a client sent it, out goes its answer, whatever happens.

Knows no transport. An answer is JSON: `{"status": "ok", "data": {…}, "transaction": "…"}` or
`{"status": "error", "code": "…", "error": "…", "data": {…}, "transaction": "…"}`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from .requests import RequestError, check_request, read_body, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from .requests import Commands, Request

log = logging.getLogger(__name__)

MOST_RUNNING = 32
MOST_REMEMBERED = 1000
REMEMBERED_S = 600.0
HANDLE_TIMEOUT_S = 30.0
NEVER_BUSY = frozenset({"stop", "estop"})

Answer = bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it arrived, unchecked.

    Attributes
    ----------
    retained : bool
        Whether the broker kept it and may deliver it again.
    lifetime_s : int, optional
        How long it is still good for, by its Message Expiry Interval.
    """

    robot: str
    verb: str
    payload: bytes
    retained: bool = False
    lifetime_s: int | None = None

    @property
    def where(self) -> str:
        """The robot and the verb, as messages name them."""
        return f"{self.robot}/{self.verb}"


class FirstAnswers:
    """The first answer to each transaction, also while it is still to come; bounded by number and age."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._answers: OrderedDict[str, tuple[float, asyncio.Future[Answer]]] = OrderedDict()
        self._now = now

    def get(self, transaction: str) -> asyncio.Future[Answer] | None:
        """Give the first answer to a transaction, if there was one."""
        self._forget_old()
        _, answer = self._answers.get(transaction, (0.0, None))
        return answer

    def expect(self, transaction: str) -> asyncio.Future[Answer]:
        """Note that a transaction is being served; the caller sets its answer."""
        if len(self._answers) >= MOST_REMEMBERED:
            self._answers.popitem(last=False)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[transaction] = self._now(), answer
        return answer

    def _forget_old(self) -> None:
        oldest_s = self._now() - REMEMBERED_S
        while self._answers and next(iter(self._answers.values()))[0] < oldest_s:
            self._answers.popitem(last=False)


class RequestDesk:
    """Takes requests, passes the sound ones on, and answers every one.

    Parameters
    ----------
    commands : Commands
        The one who acts.
    now : callable
        Gives Unix time in seconds, against which `expires_at` is held.
    handle_timeout_s : float
        How long acting on one request may take.
    """

    def __init__(
        self,
        commands: Commands,
        now: Callable[[], float] = time.time,
        handle_timeout_s: float = HANDLE_TIMEOUT_S,
    ) -> None:
        self._commands = commands
        self._now = now
        self._handle_timeout_s = handle_timeout_s
        self._running: Counter[str] = Counter()
        self._first_answers: defaultdict[tuple[str, str], FirstAnswers] = defaultdict(FirstAnswers)

    async def answer(self, call: Call) -> Answer:
        """Serve one request; raises nothing but cancellation."""
        transaction: str | None = None
        try:
            body = read_body(call.where, call.payload)
            transaction = _transaction_of(body)
            if call.retained:
                mend = "clear it with an empty retained message and send it without the flag"
                raise refusal("RETAINED", call.where, "retained", "it would act at every reconnect", mend)
            return await self._answer_once(call, check_request(call.where, call.verb, body))
        except RequestError as error:
            return _refused(error, transaction)

    async def _answer_once(self, call: Call, request: Request) -> Answer:
        """Act, unless the transaction has been served or is being served: then give that answer."""
        if request.transaction is None:
            self._refuse_expired(call, request)
            return await self._act(call, request)
        answers = self._first_answers[call.robot, call.verb]
        if first := answers.get(request.transaction):
            return await asyncio.shield(first)
        self._refuse_expired(call, request)
        first = answers.expect(request.transaction)
        try:
            first.set_result(await self._act(call, request))
        finally:
            first.cancel()  # only a cancelled request comes here without a result
        return first.result()

    def _refuse_expired(self, call: Call, request: Request) -> None:
        late_s = 0.0 if request.expires_at is None else round(self._now() - request.expires_at, 3)
        if late_s > 0.0 or call.lifetime_s == 0:
            what, mend = f"expired {late_s:.3f} s ago", "send it anew, or with more time"
            raise refusal(
                "EXPIRED", call.where, what, "it was not to be served any more", mend, late_s=late_s
            )

    async def _act(self, call: Call, request: Request) -> Answer:
        try:
            self._refuse_flood(call)
            self._running[call.robot] += 1
            try:
                return await self._handle(call, request)
            finally:
                self._running[call.robot] -= 1
        except RequestError as error:
            return _refused(error, request.transaction)

    def _refuse_flood(self, call: Call) -> None:
        if self._running[call.robot] >= MOST_RUNNING and call.verb not in NEVER_BUSY:
            what, why = f"{MOST_RUNNING} requests are being served", "a robot takes no more at once"
            raise refusal("BUSY", call.where, what, why, "wait for their answers")

    async def _handle(self, call: Call, request: Request) -> Answer:
        """Let the commands act; one request that fails unforeseen must not end the service of the others."""
        limit = asyncio.timeout(self._handle_timeout_s)
        try:
            async with limit:
                data = await self._commands.handle(call.robot, call.verb, request)
            return _encode({"status": "ok", "data": data, "transaction": request.transaction})
        except RequestError:
            raise
        except Exception as error:
            log.exception("%s failed", call.where)
            if limit.expired():
                what = f"not done in {self._handle_timeout_s:g} s"
                raise refusal("TIMEOUT", call.where, what, "it was given up", "ask for status") from error
            mend = "the daemon's log says more"
            raise refusal("INTERNAL", call.where, "failed inside motiond", repr(error), mend) from error


def _transaction_of(body: dict[str, Any]) -> str | None:
    transaction = body.get("transaction")
    return transaction if isinstance(transaction, str) else None


def _refused(error: RequestError, transaction: str | None) -> Answer:
    refused = {"status": "error", "code": error.code, "error": str(error), "data": error.data}
    return _encode({**refused, "transaction": transaction})


def _encode(answer: dict[str, Any]) -> Answer:
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
