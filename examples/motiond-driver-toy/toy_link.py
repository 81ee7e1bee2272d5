"""Stands in for a vendor's library: asks a toy controller over UDP.

A datagram is a letter, its number, and a float64 for each of three actuators: `R`ead, `P`ositions, `E`nable,
`D`isable, `H`old. The answer is `T` or `F` for whether the controller holds, that number, and the positions.
"""

import math
import socket
import struct
from collections.abc import Sequence

FRAME = struct.Struct("<cI3d")
NOTHING = (math.nan, math.nan, math.nan)


class ToyLink:
    """A connection to a controller; every failure is an OSError, a late answer a TimeoutError."""

    def __init__(self, address: str, timeout_s: float) -> None:
        self._number = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(timeout_s)
        host, port = address.split(":")
        self._address = host, int(port)

    def ask(self, letter: bytes, values: Sequence[float] = NOTHING) -> tuple[bool, Sequence[float]]:
        """Return whether the controller holds, and where the actuators are."""
        self._number = (self._number + 1) % 2**32
        self._socket.connect(self._address)
        self._socket.send(FRAME.pack(letter, self._number, *values))
        while True:  # answers that came too late for former questions are dropped
            holding, number, *position = FRAME.unpack(self._socket.recv(1024))
            if number == self._number:
                return holding == b"T", position

    def close(self) -> None:
        """Free the port."""
        self._socket.close()
