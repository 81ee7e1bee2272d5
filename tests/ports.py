"""Ports for tests to listen on, below those that the system hands out by itself and apart for each worker."""

from __future__ import annotations

import itertools
import os
import random
import socket

FIRST, FOR_EACH_WORKER = 20_000, 1_000

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
# From anywhere on: another run of the tests beside this one takes its ports from the same range.
_begin = random.randrange(FOR_EACH_WORKER)
_candidates = (
    FIRST + _worker * FOR_EACH_WORKER + (_begin + count) % FOR_EACH_WORKER for count in itertools.count()
)


def free_port() -> int:
    """Return a port of loopback that nobody listens on and that was not given lately."""
    for port in itertools.islice(_candidates, FOR_EACH_WORKER):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
