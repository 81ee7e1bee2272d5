"""The daemon hears itself through the broker, so that one that hangs or keeps messages back is noticed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from .link import heed_cancellation
from .reasons import ConnectionUseless

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UNANSWERED = 4
WITHOUT_STOP_S = 10.0


def beat_s(allowed_s: float | None) -> float:
    """Return the time from beat to beat; `allowed_s` as of `Heartbeat`."""
    return (WITHOUT_STOP_S if allowed_s is None else allowed_s) / (UNANSWERED + 1)


class Heartbeat:
    """The beats over one connection.

    Beats without an echo are counted, rather than time: a daemon that was held up itself has sent none.

    Parameters
    ----------
    topic : str
        Where the beats go, and where they come back.
    allowed_s : float or None
        How long the broker may be silent; None for `WITHOUT_STOP_S`.

    Attributes
    ----------
    heard : asyncio.Event
        Set by the first echo.
    """

    def __init__(self, topic: str, allowed_s: float | None) -> None:
        self.heard = asyncio.Event()
        self._echo = asyncio.Event()
        self._topic = topic
        self._beat_s = beat_s(allowed_s)
        self._unanswered = 0

    async def run(self, publish: Callable[[str, bytes], Awaitable[None]]) -> NoReturn:
        """Beat until the echo stays away.

        Raises
        ------
        ConnectionUseless
            Once `UNANSWERED` beats have not come back.
        """
        while True:
            await publish(self._topic, b"{}")
            heed_cancellation()
            self._unanswered += 1
            await asyncio.sleep(self._beat_s)
            if self._unanswered >= UNANSWERED:
                silent_s = self._beat_s * (UNANSWERED + 1)
                what = f"what is published on '{self._topic}' has not come back for {silent_s:g} s"
                mend = (
                    "permit it in the broker's access list" if not self.heard.is_set() else "the broker hangs"
                )
                raise ConnectionUseless(f"{what}; {mend}")

    def hear(self) -> None:
        """Take note of an echo."""
        self._unanswered = 0
        self.heard.set()
        self._echo.set()
        self._echo.clear()

    async def again(self) -> None:
        """Wait until an echo has come of a beat that was sent after now."""
        for _ in range(2):  # the first one may have been on its way
            await self._echo.wait()
