"""The log of a connection: made, lost and made again, each told once, however often it is tried."""

from __future__ import annotations

import asyncio
import logging

from .reasons import ANOTHER_OF_OUR_NAME, is_absence, reason_of

log = logging.getLogger(__name__)

STEADY_S = 30.0
MOST_TOLD = 20


class ConnectionLog:
    """What is told of one connection.

    A reason that somebody has to fix is told once, until a connection has lasted `STEADY_S`: two daemons of
    one id would otherwise fill the log. That nobody is there is told once for each loss. A return is told
    where its loss was.

    Parameters
    ----------
    what : str
        The connection, as messages name it.
    tells_first : bool
        Whether the first time that it is made is told as well.
    """

    def __init__(self, what: str, *, tells_first: bool = True) -> None:
        self._what = what
        self._told: set[str] = set()
        self._tells_return = tells_first
        self._is_told = False
        self._again = ""
        self._made_s: float | None = None
        self._has_rival = False

    def make(self) -> None:
        """Tell that it is made."""
        self._made_s = asyncio.get_running_loop().time()
        log.log(
            logging.INFO if self._tells_return else logging.DEBUG, "%s: connected%s", self._what, self._again
        )
        self._tells_return, self._again = False, " again"

    def lose(self, error: BaseException | None) -> None:
        """Tell that it was lost, or could not be made."""
        made_s, self._made_s = self._made_s, None
        if made_s is not None and asyncio.get_running_loop().time() - made_s > STEADY_S:
            self._told.clear()
            self._has_rival = False
        reason, absent = reason_of(error), is_absence(error)
        if absent and made_s is not None and self._has_rival:  # MQTT 3.1.1 does not tell a take-over
            reason, absent = ANOTHER_OF_OUR_NAME, False
        if made_s is not None:
            self._is_told = False
        told = self._is_told if absent else reason in self._told
        problem = "not connected" if made_s is None else "connection lost"
        log.log(logging.DEBUG if told else logging.WARNING, "%s: %s; %s", self._what, problem, reason)
        if not told:
            self._is_told = self._tells_return = True
        if not absent and len(self._told) < MOST_TOLD:
            self._told.add(reason)

    def meet_rival(self) -> None:
        """Take note that another daemon of our id is told of: it may be the reason of the losses to come."""
        self._has_rival = True
        self._told.add(ANOTHER_OF_OUR_NAME)
