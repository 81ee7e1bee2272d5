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
    from collections.abc import Callable

    from .errors import RequestError
    from .parsing import RawRequest
    from .verbs.verb import Request

log = logging.getLogger(__name__)

REPEATED_S = 10.0
LONGEST_REQUEST = 200
NOT_LOGGED = {"transaction", "expires_at", "lease", "token", "token_sha256"}
"""Secrets, and what is of no use to who reads the log."""


class RequestLog:
    """Logs the requests to all robots; of other requests than stops, a few for each robot and period.

    A stop that is sent again and again is logged once, until another request comes, or none for 10 s.
    `clock`: gives the time in s.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = defaultdict[str, RateLimitedLog](lambda: RateLimitedLog(clock))
        self._refused = defaultdict[str, RateLimitedLog](lambda: RateLimitedLog(clock))
        self._stopped: dict[str, tuple[str, float]] = {}

    def asked(self, raw: RawRequest, request: Request, holder: str | None) -> None:
        """Log a request before it is acted on, if it commands the robot.

        `holder`: who is in control of the robot by this request; None where that is not required.
        """
        verb = VERBS[raw.verb]
        if not (verb.needs_lease or verb.stops):
            return
        who = ", ".join(filter(None, (holder, raw.caller))) or "a client"
        keys = request.model_dump_json(exclude=NOT_LOGGED, exclude_defaults=True)
        details = "" if keys == "{}" else f"; {shortened(keys, LONGEST_REQUEST)}"
        extra = {"robot": raw.robot}
        if not verb.stops:
            self._stopped.pop(raw.robot, None)
            self._asked[raw.robot].info("%s: asked by %s%s", raw.where, who, details, extra=extra)
            return
        now_s = self._clock()
        before, before_s = self._stopped.get(raw.robot, ("", 0.0))
        self._stopped[raw.robot] = raw.verb, now_s
        if before != raw.verb or now_s - before_s >= REPEATED_S:
            log.info("%s: asked by %s%s", raw.where, who, details, extra=extra)

    def refused(self, raw: RawRequest, error: RequestError, *, is_known: bool) -> None:
        """Log a refusal; `is_known` is whether there is such a robot."""
        limited = self._refused[raw.robot if is_known else ""]
        extra = {"robot": raw.robot if is_known else None, "code": error.code}
        limited.info("%s: refused to %s; %s", raw.where, raw.caller or "a client", error, extra=extra)
