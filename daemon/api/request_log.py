"""What clients ask of robots, in the log: each request that commands one, who asked, and each refusal."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from motiond.text import shortened

from ..log import RateLimitedLog
from .verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .errors import RequestError
    from .parsing import RawRequest
    from .verbs.verb import Request, Verb

log = logging.getLogger(__name__)

REPEATED_S = 10.0
LONGEST_REQUEST = 200
NOT_LOGGED = {"transaction", "expires_at", "lease", "token", "token_sha256"}
"""Secrets, and what is of no use to who reads the log."""


def who_asks(raw: RawRequest, holder: str | None = None) -> str:
    """Return who asks, for people; `holder` is who is in control of the robot by this request."""
    return ", ".join(filter(None, (holder, raw.caller))) or "a client"


class RequestLog:
    """Logs the requests to all robots; of other requests than stops, a few for each robot and period.

    A stop that is sent again and again is logged once, until another request comes, or none for 10 s. A
    `name` is that of the robot, and '' of what is none: a group, or what a client has made up.

    `verbs`: those that there are; `clock`: gives the time in s.
    """

    def __init__(
        self, verbs: Mapping[str, Verb] = VERBS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._verbs = verbs
        self._clock = clock
        self._asked = defaultdict[str, RateLimitedLog](lambda: RateLimitedLog(clock))
        self._refused = defaultdict[str, RateLimitedLog](lambda: RateLimitedLog(clock))
        self._stopped: dict[str, tuple[str, float]] = {}

    def asked(self, raw: RawRequest, request: Request, name: str, holder: str | None = None) -> None:
        """Log a request before it is acted on, unless it only looks, keeps control, or streams.

        `holder`: who is in control of the robot by this request; None where that is not required.
        """
        verb = self._verbs[raw.verb]
        if verb.streams or not (verb.needs_lease or verb.stops or verb.is_logged):
            return
        is_repeated = verb.stops and self._is_repeated(raw.where, name)
        if not verb.stops:
            self._stopped.pop(name, None)
        if is_repeated:
            return
        keys = request.model_dump_json(exclude=NOT_LOGGED, exclude_defaults=True, by_alias=True)
        details = "" if keys == "{}" else f"; {shortened(keys, LONGEST_REQUEST)}"
        write = log.info if verb.stops and name else self._asked[name].info
        write("%s: asked by %s%s", raw.where, who_asks(raw, holder), details, extra={"robot": name or None})

    def _is_repeated(self, where: str, name: str) -> bool:
        """Whether a stop is that of before, sent again."""
        now_s = self._clock()
        before, before_s = self._stopped.get(name, ("", 0.0))
        self._stopped[name] = where, now_s
        return before == where and now_s - before_s < REPEATED_S

    def refused(self, raw: RawRequest, error: RequestError, name: str) -> None:
        """Log a refusal."""
        extra = {"robot": name or None, "code": error.code}
        self._refused[name].info("%s: refused to %s; %s", raw.where, who_asks(raw), error, extra=extra)
