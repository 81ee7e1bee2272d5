"""Transactions: a request that is sent again is not acted on again, but gets its first answer."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from motiond.text import echoed

from .errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .verbs.verb import Request

MOST_REMEMBERED, MOST_REMEMBERED_BYTES = 1000, 500_000
REMEMBERED_S = 600.0


class Remembered(NamedTuple):
    """A transaction: when it began, what was asked for by it, and the answer."""

    since_s: float
    fingerprint: bytes
    answer: asyncio.Future[bytes]


class Transactions:
    """The first answer to each transaction, also while it is still to come.

    Bounded by number, age and bytes; the newest answer is always remembered.
    """

    def __init__(self) -> None:
        self._first: OrderedDict[str, Remembered] = OrderedDict()
        self._bytes = 0

    def first(self, transaction: str) -> Remembered | None:
        """Return the first request with a transaction, if there was one."""
        oldest_s = time.monotonic() - REMEMBERED_S
        while self._first and next(iter(self._first.values())).since_s < oldest_s:
            self._forget_oldest()
        return self._first.get(transaction)

    def forget(self, transaction: str) -> None:
        """Let a transaction be used again."""
        if first := self._first.pop(transaction, None):
            self._bytes -= _size(first.answer)

    async def answered_by(
        self, act: Callable[[], Awaitable[bytes]], transaction: str, fingerprint: bytes = b""
    ) -> bytes:
        """Act, and remember the answer; whoever asks meanwhile waits for it."""
        if len(self._first) >= MOST_REMEMBERED:
            self._forget_oldest()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._first[transaction] = Remembered(time.monotonic(), fingerprint, answer)
        try:
            answer.set_result(await act())
        finally:
            answer.cancel()  # only a cancelled request comes here without a result
        if transaction in self._first:  # it may be forgotten already, as so many have come since
            self._bytes += _size(self._first[transaction].answer)
            while self._bytes > MOST_REMEMBERED_BYTES and len(self._first) > 1:
                self._forget_oldest()
        return answer.result()

    def _forget_oldest(self) -> None:
        _, oldest = self._first.popitem(last=False)
        self._bytes -= _size(oldest.answer)


def _size(answer: asyncio.Future[bytes]) -> int:
    return len(answer.result()) if answer.done() and not answer.cancelled() else 0


def fingerprint_of(request: Request, *, with_lease: bool) -> bytes:
    """Return what makes a request the same when it is sent again; when it expires does not.

    Its lease counts where the answer holds a secret; elsewhere it only proves that the request may be sent.
    """
    besides = {"transaction", "expires_at"} | (set() if with_lease else {"lease"})
    return hashlib.blake2b(request.model_dump_json(exclude=besides).encode(), digest_size=16).digest()


def used_before(where: str, request: Request) -> RequestError:
    """Return that a transaction stands for another request."""
    problem = f"transaction '{echoed(request.transaction or '')}' was used for another request"
    reason = "its answer is not the answer to this one"
    hint = "give each request a transaction of its own"
    return RequestError("INVALID_REQUEST", where, problem, reason, hint, field="transaction")
