"""Targets of a follow: passed on as they arrive, so that none waits for a request and no request for one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...api import Pace, RequestError, cost_of
from ...log import RateLimitedLog

if TYPE_CHECKING:
    import aiomqtt

    from ..topics import RequestTopic
    from .responder import Responder

RATE_HZ, BURST = 500.0, 100
ANSWERED_HZ, ANSWERED_BURST = 10.0, 20


class TargetIntake:
    """Takes the targets to all robots.

    Of each robot 100 at once and 500 a second are passed on; what comes faster is dropped, as the next one
    makes up for it. Only those that are refused are answered, a few in each second.
    """

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._now = asyncio.get_running_loop().time
        self._paces: dict[str, Pace] = {}
        self._answered = Pace(ANSWERED_HZ, ANSWERED_BURST, self._now)
        self._log = RateLimitedLog(self._now)

    def take(self, asked: RequestTopic, message: aiomqtt.Message) -> RequestError | None:
        """Pass a target on; return the refusal that is to be answered."""
        pace = self._paces.setdefault(asked.robot, Pace(RATE_HZ, BURST, self._now))
        if pace.allows(cost_of(len(message.payload))):
            error = self._responder.pass_on(message)
        else:
            problem, reason = "too many targets", f"a robot takes {RATE_HZ:g} a second over MQTT"
            error = RequestError("BUSY", f"{asked.robot}/{asked.verb}", problem, reason, "send fewer")
            self._log.warning("%s", error)
        return error if error is not None and self._answered.allows() else None
