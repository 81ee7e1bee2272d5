"""The daemon hears itself through the broker, so that one that hangs or keeps messages back is noticed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from ..client import ConnectionUseless, heed_cancellation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

UNANSWERED = 4
WITHOUT_STOP_S = 10.0
TRIED_S = 5.0
"""How long a topic that has come is tried; how often the daemon beats does not matter to it."""


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
    once : iterable of str
        Where they go too until one has come back there.
    allowed_s : float or None
        How long the broker may be silent; None for `WITHOUT_STOP_S`.

    Attributes
    ----------
    heard : asyncio.Event
        Set once a beat has come back on each topic.
    """

    def __init__(self, topic: str, once: Iterable[str], allowed_s: float | None) -> None:
        self.heard = asyncio.Event()
        self._echo = asyncio.Event()
        self._topic = topic
        self._beat_s = beat_s(allowed_s)
        self._unanswered = {topic: 0}
        self._is_new = True
        self._echoes = 0
        self._add(once)

    def _add(self, once: Iterable[str]) -> None:
        self._unanswered |= dict.fromkeys(once, 0)

    def leave(self, once: Iterable[str]) -> None:
        """Beat on some of these topics no more."""
        for topic in once:
            self._unanswered.pop(topic, None)

    async def run(self, publish: Callable[[str, bytes], Awaitable[None]]) -> NoReturn:
        """Beat until the echo stays away.

        Raises
        ------
        ConnectionUseless
            Once `UNANSWERED` beats on a topic have not come back.
        """
        while True:
            for topic in tuple(self._unanswered):
                if topic in self._unanswered:  # it may come back while another is sent
                    self._unanswered[topic] += 1
                    await publish(topic, b"{}")
            heed_cancellation()
            await asyncio.sleep(self._beat_s)
            self._refuse_silence()

    def _refuse_silence(self) -> None:
        for topic, unanswered in self._unanswered.items():
            if unanswered >= UNANSWERED:
                self._refuse(topic, self._beat_s * (UNANSWERED + 1))

    def _refuse(self, topic: str, silent_s: float) -> NoReturn:
        problem = f"what is published on '{topic}' has not come back for {silent_s:g} s"
        was_heard = topic == self._topic and not self._is_new
        hint = "the broker hangs" if was_heard else "permit it in the broker's access list"
        raise ConnectionUseless(f"{problem}; {hint}")

    def hear(self, topic: str) -> None:
        """Take note of an echo."""
        if topic == self._topic:
            self._unanswered[topic] = 0
            self._is_new = False
            self._echoes += 1
        else:
            self._unanswered.pop(topic, None)
        self._echo.set()
        self._echo.clear()
        if not self._is_new and len(self._unanswered) == 1:
            self.heard.set()

    async def try_topics(
        self, once: Collection[str], publish: Callable[[str, bytes], Awaitable[None]]
    ) -> None:
        """Beat on more topics, at once, and wait until a beat has come back on each.

        By then an echo has come, too, of a beat that was sent after now.

        Raises
        ------
        ConnectionUseless
            If they do not come back in `TRIED_S`.
        """
        self._add(once)
        sought = self._echoes + 2  # the first one may have been on its way
        try:
            async with asyncio.timeout(TRIED_S):
                for topic in (self._topic, self._topic, *once):
                    await publish(topic, b"{}")
                while self._echoes < sought or self._unanswered.keys() & once:
                    await self._echo.wait()
        except TimeoutError:
            silent = [topic for topic in once if topic in self._unanswered]
            self._refuse(next(iter(silent), self._topic), TRIED_S)
