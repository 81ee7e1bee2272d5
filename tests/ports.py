"""Ports for tests to listen on, below those that the system hands out by itself and apart for each worker."""

from __future__ import annotations

import itertools
import os
import socket

FIRST, FOR_EACH_WORKER = 20_000, 1_000

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_candidates = itertools.cycle(
    range(FIRST + _worker * FOR_EACH_WORKER, FIRST + (_worker + 1) * FOR_EACH_WORKER)
)


def free_port() -> int:
    """Give a port of loopback that nobody listens on and that was not given lately."""
    for port in itertools.islice(_candidates, FOR_EACH_WORKER):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
