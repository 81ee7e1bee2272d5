"""Stands in for hardware: three actuators behind a UDP port, which release when setpoints end.

The controller answers the datagrams of `toy_link`. Start it: `python -m toy_controller PORT [LIFETIME_S]`; it
prints the port once it listens.
"""

import math
import socket
import sys
import time
from collections.abc import Callable

from toy_link import FRAME

LIFETIME_S = 0.2
SPEED = 100.0


class ToyController:
    """Actuators that move to their goals at `SPEED` rad/s.

    Parameters
    ----------
    now : callable
        Returns monotonic time in seconds.
    lifetime_s : float
        How long they hold without a setpoint.

    Attributes
    ----------
    position : list of float
        In rad; may be set, as by hand.
    silent : bool
        Whether to leave datagrams unanswered.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, lifetime_s: float = LIFETIME_S) -> None:
        self.position = [0.0, 0.0, 0.0]
        self.silent = False
        self._now, self._lifetime_s = now, lifetime_s
        self._goal = self.position
        self._holding = False
        self._commanded_s = self._moved_s = now()

    def catch_up(self) -> None:
        """Move the actuators by the time since the last call."""
        now_s = self._now()
        if now_s - self._commanded_s > self._lifetime_s:
            self._holding = False
        way = SPEED * (now_s - self._moved_s)
        self._moved_s = now_s
        if self._holding:
            pairs = zip(self.position, self._goal, strict=True)
            self.position = [q + max(-way, min(way, goal - q)) for q, goal in pairs]

    def answer(self, datagram: bytes) -> bytes:
        """Do what a datagram asks, and return the answer to it."""
        letter, number, *values = FRAME.unpack(datagram)
        self.catch_up()
        if letter in b"ED":
            self._holding = letter == b"E"
        if letter in b"EDH":
            self._goal = self.position
        elif letter == b"P":
            pairs = zip(values, self._goal, strict=True)
            self._goal = [goal if math.isnan(value) else value for value, goal in pairs]
        if letter in b"EHP" and self._holding:
            self._commanded_s = self._moved_s
        return FRAME.pack(b"T" if self._holding else b"F", number, *self.position)

    def serve(self, listening: socket.socket) -> None:
        """Answer datagrams until an empty one comes."""
        while True:
            datagram, sender = listening.recvfrom(1024)
            if not datagram:
                return
            if not self.silent:
                listening.sendto(self.answer(datagram), sender)


def main() -> None:
    """Serve on the port that the command line names, 0 for any free one, with the lifetime that it gives."""
    port, lifetime_s = (*sys.argv[1:], str(LIFETIME_S))[:2]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", int(port)))
        print(listening.getsockname()[1], flush=True)
        ToyController(lifetime_s=float(lifetime_s)).serve(listening)


if __name__ == "__main__":
    main()
