"""How a stream process ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.waiting import PATIENCE_S

ENDS = """
import atexit, socket, sys
from motiond.daemon.stream.process import process

def stream(channel, machine):
    atexit.register(print, "the vendor's library was notified", flush=True)
    return int(sys.argv[1])

(daemon, channel), (_, requests) = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in "ab")
process.ForkServer.serve = lambda _: channel.detach()
process.stream = stream
process.main(requests.detach())
"""


@pytest.mark.parametrize("code", [0, 1])
def test_what_a_driver_has_asked_for_at_the_exit_is_done(code: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ENDS, str(code)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (code, "the vendor's library was notified\n", "")
