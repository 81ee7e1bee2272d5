"""Topics on which the broker refuses what is published (MQTT 5): those of a moment are told in one line."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import paho.mqtt.client as paho

log = logging.getLogger(__name__)

FAILURE = 0x80
"""Reason codes from here on say that it failed (MQTT 5.0, 2.4)."""
MOST = 20
MOST_NAMED = 3
QUIET_S = 1.0
REFUSED = "the broker refuses what is published there; permit it in the broker's access list"


class Refusals:
    """What one client is refused; each topic is told once.

    An access list that permits nothing refuses a report of each kind within milliseconds: they are told
    together, once `QUIET_S` has passed without another one, or at the end.

    Attributes
    ----------
    topics : set of str
        The first `MOST` of them.
    """

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self._untold: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def note(self, topic: str, *, to_be_told: bool) -> None:
        """Take note of a refusal.

        Parameters
        ----------
        topic : str
        to_be_told : bool
            Whether the log is to tell of it, where it is the first one of this topic.
        """
        if topic in self.topics or len(self.topics) >= MOST:
            return
        self.topics.add(topic)
        if to_be_told:
            self._untold.append(topic)
            self._cancel()
            self._timer = asyncio.get_running_loop().call_later(QUIET_S, self.tell)

    def tell(self) -> None:
        """Tell what is not told yet."""
        self._cancel()
        if self._untold:
            named, others = self._untold[:MOST_NAMED], len(self._untold) - MOST_NAMED
            more = f" and {others} more" if others > 0 else ""
            log.warning("%s%s: %s", ", ".join(named), more, REFUSED)
            self._untold.clear()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def heed_pubrec(client: paho.Client, refused: Callable[[int], None]) -> None:
    """Have a client heed the reason code of each PUBREC, which paho drops (MQTT 5.0, 3.5.2.1).

    Paho takes the message for received and goes on to PUBREL, which the broker answers as if it had it.

    Parameters
    ----------
    client : paho.mqtt.client.Client
        One that speaks MQTT 5.
    refused : callable
        Takes the number of a message of QoS 2 that the broker refuses.
    """
    handle = client._handle_pubrec  # noqa: SLF001 # paho tells its reason nowhere

    def heed() -> object:
        packet = bytes(client._in_packet["packet"])  # noqa: SLF001 # the same
        number, code = int.from_bytes(packet[:2], "big"), packet[2:3] or b"\0"
        if code[0] >= FAILURE:
            refused(number)
        return handle()

    client._handle_pubrec = heed  # type: ignore[method-assign,assignment] # noqa: SLF001 # the same
