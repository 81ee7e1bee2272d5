"""The kernel keeps the locks on devices: for processes that hold, wait, end and are killed."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.ring import RingReader, RingWriter
from motiond.daemon.stream.locks import DeviceLocks
from motiond.daemon.stream.process.devices import wait_for_devices
from tests.daemon.stream.test_locks import (  # these run here on sockets of the system
    device,
    held_by,
    test_a_device_is_held_once_and_may_be_taken_when_it_is_free_again,  # noqa: F401
    test_long_names_are_reported_apart_by_their_last_letter,  # noqa: F401
)
from tests.waiting import PATIENCE_S, eventually, lines_until, started

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
hold()  # the locks last, though nothing knows of them any more
print("held", file=sys.stderr, flush=True)
time.sleep(600)
"""


@contextmanager
def held_elsewhere(*devices: str) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold devices."""
    with started([sys.executable, "-c", HOLDER, " ".join(devices)], stderr=-1, text=True) as process:
        lines_until(process.stderr, "held", PATIENCE_S)
        yield process


class Waiting:
    """A wait for devices, with the daemon's ends of its channel and ring."""

    def __init__(self, *devices: str) -> None:
        self.daemon, theirs = Channel.pair()
        self._channel = Channel(theirs)
        fd = ring.create(1)
        self._writer, self.reader = RingWriter(fd, 1), RingReader(fd, 1)
        os.close(fd)
        self.devices = devices
        self.locks = DeviceLocks(devices)
        self.taken: bool | None = None
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        self.taken = wait_for_devices(self.locks, lambda: self.devices, self._channel, self._writer)

    def ends(self) -> bool:
        """Wait for the end, and give whether the devices were taken."""
        self._thread.join(PATIENCE_S)
        assert self.taken is not None
        return self.taken

    def reported(self) -> list[str]:
        """Return what it has reported since the last time."""
        reasons = []
        while (received := self.daemon.receive()) is not None:
            notice = received[0]
            assert isinstance(notice, messages.Lost)
            reasons.append(notice.message)
        return reasons

    def is_reported(self) -> list[str]:
        """Wait until it reports something."""
        return eventually("what keeps it waiting is reported", self.reported, bool)

    def close(self) -> None:
        self.daemon.close()
        self._thread.join(PATIENCE_S)
        self.locks.close()
        self._channel.close()
        self._writer.close()
        self.reader.close()


@contextmanager
def waiting(*devices: str) -> Iterator[Waiting]:
    wait = Waiting(*devices)
    yield wait
    wait.close()


def test_a_device_is_waited_for_in_beats_and_its_holder_named_until_that_is_killed() -> None:
    port = device("port")
    with held_elsewhere(port) as process, waiting(port) as wait:
        assert wait.is_reported() == [held_by(port, f"process {process.pid} (motiond stream of robot 'leg')")]
        before = wait.reader.pulse
        eventually("beats", lambda: wait.reader.pulse, lambda pulse: pulse >= before + 2)
        assert wait.taken is None
        process.kill()
        assert wait.ends()
        assert wait.reported() == []


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
        (told,) = lines_until(process.stdout, "plant", PATIENCE_S)
        process.wait(PATIENCE_S)
    assert told.startswith(f"plant:{plant}: held by process {process.pid}; ")
    locks = DeviceLocks([f"plant:{plant}"])
    assert locks.take() is None
    locks.close()
