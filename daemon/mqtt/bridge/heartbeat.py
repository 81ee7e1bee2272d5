"""The daemon subscribes to its own beats: so it notices a broker that hangs or withholds messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from ..client import ConnectionUseless, heed_cancellation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

UNANSWERED = 4
WITHOUT_STOP_S = 10.0


def beat_s(allowed_s: float | None) -> float:
    """Return the time from beat to beat; `allowed_s` as of `Heartbeat`."""
    return (WITHOUT_STOP_S if allowed_s is None else allowed_s) / (UNANSWERED + 1)


class Heartbeat:
    """The beats over one connection.

    Beats without an echo are counted, rather than time: a daemon that was held up itself has sent none.
    """

    def __init__(self, topic: str, once: Iterable[str], allowed_s: float | None) -> None:
        self.returned = asyncio.Event()
        self._topic = topic
        self._beat_s = beat_s(allowed_s)
        self._unanswered = {topic: 0, **dict.fromkeys(once, 0)}
        self._is_new = True

    async def run(self, publish: Callable[[str, bytes], Awaitable[None]]) -> NoReturn:
        """Beat until the echo stays away."""
        while True:
            for topic in tuple(self._unanswered):
                if topic in self._unanswered:  # it may come back while another is sent
                    self._unanswered[topic] += 1
                    await publish(topic, b"{}")
            heed_cancellation()
            await asyncio.sleep(self._beat_s)
            self._refuse_silence()

    @property
    def topics(self) -> list[str]:
        """Where it beats until a beat has come back."""
        return list(self._unanswered)

    def _refuse_silence(self) -> None:
        for topic, unanswered in self._unanswered.items():
            if unanswered >= UNANSWERED:
                self._refuse(topic, self._beat_s * (UNANSWERED + 1))

    def _refuse(self, topic: str, silent_s: float) -> NoReturn:
        problem = f"what is published on '{topic}' has not come back for {silent_s:g} s"
        came_before = topic == self._topic and not self._is_new
        hint = "the broker hangs" if came_before else "permit it in the broker's access list"
        raise ConnectionUseless(f"{problem}; {hint}")

    def receive(self, topic: str) -> None:
        """Note an echo."""
        if topic == self._topic:
            self._unanswered[topic] = 0
            self._is_new = False
        else:
            self._unanswered.pop(topic, None)
        if not self._is_new and len(self._unanswered) == 1:
            self.returned.set()
