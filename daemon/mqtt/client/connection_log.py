"""The log of a connection: made, lost and made again, each logged once, however often it is tried."""

from __future__ import annotations

import asyncio
import logging

from .reasons import ANOTHER_OF_OUR_NAME, is_absence, reason_of

log = logging.getLogger(__name__)

STEADY_S = 30.0
MOST_LOGGED = 20


class ConnectionLog:
    """What is logged of one connection.

    A reason that somebody has to fix is logged once, until a connection has lasted `STEADY_S`: two daemons of
    one id would otherwise fill the log. That nobody is there is logged once for each loss. A return is logged
    where its loss was.
    """

    def __init__(self, what: str, *, logs_first: bool = True) -> None:
        self._what = what
        self._logged: set[str] = set()
        self._logs_return = logs_first
        self._is_logged = False
        self._again = ""
        self._made_s: float | None = None
        self._has_rival = False

    def make(self) -> None:
        """Log that it is made."""
        self._made_s = asyncio.get_running_loop().time()
        log.log(
            logging.INFO if self._logs_return else logging.DEBUG, "%s: connected%s", self._what, self._again
        )
        self._logs_return, self._again = False, " again"

    def lose(self, error: BaseException | None) -> None:
        """Log that it was lost, or could not be made."""
        made_s, self._made_s = self._made_s, None
        if made_s is not None and asyncio.get_running_loop().time() - made_s > STEADY_S:
            self._logged.clear()
            self._has_rival = False
        reason, absent = reason_of(error), is_absence(error)
        if absent and made_s is not None and self._has_rival:  # MQTT 3.1.1 does not report a take-over
            reason, absent = ANOTHER_OF_OUR_NAME, False
        if made_s is not None:
            self._is_logged = False
        is_known = self._is_logged if absent else reason in self._logged
        problem = "not connected" if made_s is None else "connection lost"
        log.log(logging.DEBUG if is_known else logging.WARNING, "%s: %s; %s", self._what, problem, reason)
        if not is_known:
            self._is_logged = self._logs_return = True
        if not absent and len(self._logged) < MOST_LOGGED:
            self._logged.add(reason)

    def meet_rival(self) -> None:
        """Note that there is another daemon of our id: it may be the reason of the losses to come."""
        self._has_rival = True
        self._logged.add(ANOTHER_OF_OUR_NAME)
