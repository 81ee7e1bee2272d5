"""Serves requests: each one gets an answer, whatever happens, and acts once.

Knows no transport. An answer is JSON: `{"status": "ok", "data": {…}, "transaction": "…"}` or
`{"status": "error", "code": "…", "error": "…", "data": {…}, "transaction": "…"}`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import Counter, OrderedDict, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from motiond.text import shortened

from .errors import RequestError, unknown_robot
from .requests import VERBS, parse, stop_without_keys
from .schemas import StatusRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .requests import Commands, RawRequest
    from .schemas import Request

log = logging.getLogger(__name__)

MOST_RUNNING = 32
MOST_REMEMBERED = 1000
MOST_REMEMBERED_BYTES = 500_000
REMEMBERED_S = 600.0
HANDLE_TIMEOUT_S = 30.0
LOOK_S = 1.0
LONGEST_SHOWN = 60

LEASES = frozenset({"lease/acquire", "lease/take", "lease/renew", "lease/release"})
GRANTS = LEASES - {"lease/release"}
WITH_SECRETS = LEASES | {"fleet/prepare"}
"""Whose answers hold a secret: they are told again only to who proves control as before."""

Answer = bytes


class Remembered(NamedTuple):
    """A transaction: when it began, what was asked for by it, and the answer."""

    since_s: float
    body: bytes
    answer: asyncio.Future[Answer]


class IdempotencyCache:
    """The first answer to each transaction, also while it is still to come.

    Bounded by number, age and bytes; the newest answer is always remembered.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._answers: OrderedDict[str, Remembered] = OrderedDict()
        self._bytes = 0
        self._now = now

    def get(self, transaction: str) -> asyncio.Future[Answer] | None:
        """Return the first answer to a transaction, if there was one."""
        self._forget_old()
        first = self._answers.get(transaction)
        return None if first is None else first.answer

    def is_for(self, transaction: str, body: bytes) -> bool:
        """Whether a transaction that is remembered was used for this."""
        return self._answers[transaction].body == body

    def forget(self, transaction: str) -> None:
        """Let a transaction be used again."""
        self._bytes -= _size(self._answers.pop(transaction).answer)

    def expect(self, transaction: str, body: bytes = b"") -> asyncio.Future[Answer]:
        """Note that a transaction is being served; the caller sets its answer and calls `weigh`."""
        if len(self._answers) >= MOST_REMEMBERED:
            self._forget_first()
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[transaction] = Remembered(self._now(), body, answer)
        return answer

    def weigh(self, transaction: str) -> None:
        """Count the bytes of an answer that is there now, and forget the oldest where they are too many."""
        if transaction not in self._answers:  # forgotten already, as so many have come since
            return
        self._bytes += _size(self._answers[transaction].answer)
        while self._bytes > MOST_REMEMBERED_BYTES and len(self._answers) > 1:
            self._forget_first()

    def _forget_old(self) -> None:
        oldest_s = self._now() - REMEMBERED_S
        while self._answers and next(iter(self._answers.values())).since_s < oldest_s:
            self._forget_first()

    def _forget_first(self) -> None:
        _, first = self._answers.popitem(last=False)
        self._bytes -= _size(first.answer)


class Dispatcher:
    """Takes requests, passes the sound ones on, and answers every one.

    Parameters
    ----------
    commands : Commands
        The one who acts.
    now : callable
        Returns Unix time in seconds, against which `expires_at` and deadlines are held.
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
        self._answers_by_verb: defaultdict[tuple[str, str], IdempotencyCache] = defaultdict(IdempotencyCache)

    async def answer(self, raw: RawRequest) -> Answer:
        """Serve one request; raises nothing but cancellation."""
        ignored: dict[str, str] = {}
        try:
            request = parse(raw)
        except RequestError as error:
            if (stop := stop_without_keys(raw, error)) is None:
                return refused(error, error.transaction)
            request, ignored = stop, {"ignored": str(error)}
        # Nothing below may be kept by a name that a client has made up.
        if raw.robot not in self._commands.robots:
            return refused(unknown_robot(raw.robot, self._commands.robots), request.transaction)
        if ignored:
            return await self._act(raw, request, **ignored)
        try:
            return await self._answer_once(raw, request)
        except RequestError as error:
            return refused(error, request.transaction)

    async def _answer_once(self, raw: RawRequest, request: Request) -> Answer:
        """Act, unless the transaction has been served or is being served: then return that answer.

        A stop acts each time: a client that sends one text for every stop means each of them.
        """
        if request.transaction is None or VERBS[raw.verb].stops:
            self._refuse_unwanted(raw, request)
            return await self._act(raw, request)
        answers = self._answers_by_verb[raw.robot, raw.verb]
        body = fingerprint_of(request, with_lease=raw.verb in WITH_SECRETS)
        if first := answers.get(request.transaction):
            if not answers.is_for(request.transaction, body):
                return await self._answer_other(raw, request)
            told = await asyncio.shield(first)
            if self._still_holds(raw, request, told):
                return told
            answers.forget(request.transaction)
        self._refuse_unwanted(raw, request)
        first = answers.expect(request.transaction, body)
        try:
            first.set_result(await self._act(raw, request))
            answers.weigh(request.transaction)
        finally:
            first.cancel()  # only a cancelled request comes here without a result
        return first.result()

    async def _answer_other(self, raw: RawRequest, request: Request) -> Answer:
        """Answer a request that has the transaction of another one.

        Who has a lease, its own rules say; anything else would be told of what it did not ask for.
        """
        if raw.verb not in LEASES:
            raise used_before(raw.where, request)
        self._refuse_unwanted(raw, request)
        return await self._act(raw, request)

    def _still_holds(self, raw: RawRequest, request: Request, told: Answer) -> bool:
        """Whether an answer may be given again: not that a client is in control who has lost it since."""
        if raw.verb not in GRANTS:
            return True
        answer = orjson.loads(told)
        if answer["status"] != "ok":
            return True
        lease = self._commands.leases.get(raw.robot)
        return lease is not None and lease.is_valid(answer["data"].get("lease", request.lease))

    def admit(self, robot: str, where: str, lease: str | None) -> None:
        """Refuse whoever is not in control of a robot that somebody has to be in control of.

        Parameters
        ----------
        where : str
            What was asked for, for the message.
        lease : str or None
            What the client proves by that it is in control.

        Raises
        ------
        RequestError
            NOT_IN_CONTROL.
        """
        required = self._commands.leases.get(robot)
        if required is not None:
            required.admit(where, lease)

    def _refuse_unwanted(self, raw: RawRequest, request: Request) -> None:
        """Refuse what comes too late, or from somebody who is not in control; it uses up no transaction."""
        refuse_expired(raw, request.expires_at, self._now())
        if VERBS[raw.verb].needs_lease:
            self.admit(raw.robot, raw.where, request.lease)

    async def _act(self, raw: RawRequest, request: Request, **told: str) -> Answer:
        """Act on a request; what is told besides stands in the data of its answer."""
        try:
            self._refuse_flood(raw)
            self._running[raw.robot] += 1
            try:
                return await self._handle(raw, request, told)
            finally:
                self._running[raw.robot] -= 1
        except RequestError as error:
            return refused(error, request.transaction)

    def _refuse_flood(self, raw: RawRequest) -> None:
        if self._running[raw.robot] >= MOST_RUNNING and not VERBS[raw.verb].stops:
            problem, reason = f"{MOST_RUNNING} requests are being served", "a robot takes no more at once"
            raise RequestError("BUSY", raw.where, problem, reason, "wait for their answers")

    async def _handle(self, raw: RawRequest, request: Request, told: dict[str, str]) -> Answer:
        """Let the commands act; one request that fails unforeseen must not end the service of the others."""
        limit = asyncio.timeout(self._handle_timeout_s)
        try:
            async with limit:
                data = await self._commands.handle(raw.robot, raw.verb, request)
            return accepted(data | told, request.transaction)
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
            async with asyncio.timeout(min(LOOK_S, self._handle_timeout_s)):
                status = await self._commands.handle(robot, "status", StatusRequest())
                return f"the robot is {status['state']}"
        return "the robot does not answer"


def fingerprint_of(request: Request, *, with_lease: bool) -> bytes:
    """Return what makes a request the same when it is sent again, as a hash; how and until when does not.

    Parameters
    ----------
    request : Request
    with_lease : bool
        Whether its lease counts, as the answer holds a secret; elsewhere it only proves that it may be sent.
    """
    besides = {"transaction", "expires_at"} | (set() if with_lease else {"lease"})
    return hashlib.blake2b(request.model_dump_json(exclude=besides).encode(), digest_size=16).digest()


def used_before(where: str, request: Request) -> RequestError:
    """Return that a transaction stands for another request."""
    told = shortened(request.transaction or "", LONGEST_SHOWN)
    problem = f"transaction '{told}' was used for another request"
    reason = "its answer is not the answer to this one"
    return RequestError(
        "INVALID_REQUEST", where, problem, reason, "give each request a transaction of its own"
    )


def refuse_expired(raw: RawRequest, expires_at: float | None, now_s: float) -> None:
    """Refuse what comes too late.

    Parameters
    ----------
    expires_at : float or None
        Unix time in s, as the request says.
    now_s : float
        Unix time in s.

    Raises
    ------
    RequestError
        EXPIRED.
    """
    late_s = 0.0 if expires_at is None else round(now_s - expires_at, 3)
    if late_s > 0.0 or (raw.deadline_s is not None and now_s >= raw.deadline_s):
        problem, reason = f"expired {late_s:.3f} s ago", "it was not to be served any more"
        raise RequestError(
            "EXPIRED", raw.where, problem, reason, "send it anew, or with more time", late_s=late_s
        )


def _size(answer: asyncio.Future[Answer]) -> int:
    return len(answer.result()) if answer.done() and not answer.cancelled() else 0


def accepted(data: dict[str, Any], transaction: str | None) -> Answer:
    """Return the answer to a request that was served."""
    return _encode({"status": "ok", "data": data, "transaction": transaction})


def refused(error: RequestError, transaction: str | None) -> Answer:
    """Return the answer to a request that was refused."""
    refused = {"status": "error", "code": error.code, "error": str(error), "data": error.data}
    return _encode({**refused, "transaction": transaction})


def _encode(answer: dict[str, Any]) -> Answer:
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
