"""The kernel keeps the locks on devices: for processes that hold, wait, end and are killed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from motiond.daemon.stream.locks import DeviceLocks
from tests.daemon.stream.test_locks import (  # these run here on sockets of the system
    device,
    held_by,
    nothing,
    test_a_device_is_held_once_and_may_be_taken_when_it_is_free_again,  # noqa: F401
    test_long_names_are_reported_apart_by_their_last_letter,  # noqa: F401
    waiting,
)
from tests.waiting import PATIENCE_S, lines_until, started

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

HOLDER = """
import sys, time
from setproctitle import setproctitle
from motiond.daemon.stream.locks import TITLE
from motiond.daemon.stream.locks import DeviceLocks
setproctitle(f"{TITLE} leg")  # as a stream process is named
def hold():
    assert DeviceLocks(sys.argv[1].split()).take() is None
hold()  # the locks last, though nothing refers to them any more
print("held", file=sys.stderr, flush=True)
time.sleep(600)
"""


@contextmanager
def held_elsewhere(*devices: str) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold devices."""
    with started([sys.executable, "-c", HOLDER, " ".join(devices)], stderr=-1, text=True) as process:
        lines_until(process.stderr, "held", PATIENCE_S)
        yield process


def test_a_device_is_waited_for_and_its_holder_named_until_that_is_killed() -> None:
    port = device("port")
    with held_elsewhere(port) as process, waiting(port) as wait:

        def kill() -> None:
            process.kill()
            process.wait(PATIENCE_S)

        assert wait.ends(nothing, nothing, kill)
        assert wait.messages == [held_by(port, f"process {process.pid} (motiond stream of robot 'leg')")]


# What a stream process does once its daemon has gone: its driver is closed, and it is about to end.
ENDING = """
import os, sys
from motiond.daemon.ipc import ring
from motiond.daemon.ipc.channel import Channel, ChannelClosed
from motiond.daemon.stream.process import process as stream
from motiond.daemon.stream.locks import DeviceLocks
from tests.daemon.stream.test_loop import setup_of
daemon, theirs = Channel.pair()
make = stream.make_driver
def make_driver(*how):
    driver = make(*how)
    opened = driver.open
    driver.open = lambda: (opened(), daemon.close())
    return driver
stream.make_driver = make_driver
writer = ring.RingWriter(ring.create(2), 2)
try:
    stream._run(setup_of(options={"plant": sys.argv[1]}), Channel(theirs), writer, stream.Machine())
except ChannelClosed:
    print(DeviceLocks([f"plant:{sys.argv[1]}"]).take() or "the plant is free")
"""


def test_a_stream_process_holds_its_devices_until_it_has_ended_itself(tmp_path: Path) -> None:
    plant = tmp_path / "plant.bin"
    with started([sys.executable, "-c", ENDING, plant], stdout=-1, text=True) as process:
        (line,) = lines_until(process.stdout, "plant", PATIENCE_S)
        process.wait(PATIENCE_S)
    assert line.startswith(f"plant:{plant}: held by process {process.pid}; ")
    locks = DeviceLocks([f"plant:{plant}"])
    assert locks.take() is None
    locks.close()
