"""What the daemon and its fork server say to each other: requests for processes, and what becomes of these.

A request is one packet with two sockets: the channel of the new process, and one for reports to the daemon.
There the server reports its id, with a descriptor of the process (pidfd), and how it ended; or why there is
none. A request may come before, to load a driver while the daemon does other things.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

import orjson

LEAN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""The environment of our own processes: no threads of numpy's, as its matrices are small here and no fork
copies threads, and no look through all that is installed for plugins of pydantic's."""
REQUEST_BYTES = 4096
REPORT = Struct("=cq")
"""The kind of report, and a number: the process's id, its exit code (negative: the signal), or an errno."""
BORN, ENDED, REFUSED = b"b", b"e", b"r"


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A process that the daemon asks for; or that a driver be loaded alone, without sockets or an answer."""

    driver: str  # the type of its driver
    # the robot whose stream it is to run; None where the driver is to be loaded alone
    robot: str | None = None

    def encode(self) -> bytes:
        """Return the packet."""
        return orjson.dumps(self)


def decode(packet: bytes) -> ForkRequest:
    """Read a packet."""
    return ForkRequest(**orjson.loads(packet))
