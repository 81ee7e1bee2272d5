"""Opens one robot's driver and runs its loop, again after a loss, until the daemon goes."""

from __future__ import annotations

import atexit
import logging
import os
import select
import signal
import socket
from typing import NoReturn

from motiond.drivers.base import DriverError
from motiond.drivers.registry import make_driver

from ..ipc import messages
from ..ipc.channel import Channel, ChannelClosed
from ..ipc.ring import RingWriter
from ..log.lines import start_logging
from . import realtime
from .clocks import Clock, FastForwardClock, RealClock
from .fork_server import ForkServer
from .idle import asked_by
from .leaving import ToldToLeave
from .locks import DeviceLocks, wait_for_devices
from .loop import StreamLoop
from .reconnect import open_alone, reopen, restart_first

log = logging.getLogger("motiond.daemon.stream")


def main(requests_fd: int) -> int:
    """Serve the daemon's requests for stream processes; in each of these, run its robot's stream and end.

    Parameters
    ----------
    requests_fd : int
        Where the requests come in.

    Returns
    -------
    int
        The fork server's exit code.
    """
    start_logging(logging.INFO)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # A terminal and systemd send them to all; the daemon decides, and its end is seen on the sockets.
        signal.signal(number, signal.SIG_IGN)
    # Whoever started the daemon may have ignored it, which is inherited.
    signal.signal(messages.HURRY, signal.SIG_DFL)
    with socket.socket(fileno=requests_fd) as requests:
        channel_fd = ForkServer(requests).serve()
    if channel_fd is not None:
        _end(stream(channel_fd))
    return 0


def _end(code: int) -> NoReturn:
    """End, after what a driver has asked for; to take down all that the server has loaded would copy it."""
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to have them run
    os._exit(code)


def stream(channel_fd: int) -> int:
    """Run one robot's stream; give the exit code."""
    channel = Channel(_inherited(channel_fd))
    setup, ring = _receive_setup(channel)
    clock: Clock = FastForwardClock() if setup.clock == "virtual" else RealClock()
    try:
        return _run(setup, channel, ring, clock)
    except ChannelClosed:
        log.warning("%s: the daemon has gone; leaving", setup.robot)
        return 0
    except Exception:
        log.exception("%s: the stream process failed inside motiond", setup.robot)
        return 1
    finally:
        channel.close()


def _inherited(fd: int) -> socket.socket:
    """Return the inherited socket on a low descriptor; the daemon's may be beyond what `select` takes."""
    low = os.dup(fd)
    os.close(fd)
    return socket.socket(fileno=low)


def _run(setup: messages.Setup, channel: Channel, ring: RingWriter, clock: Clock) -> int:
    """Open the driver once nobody else drives the same, and run its loop; return the exit code."""
    try:
        driver = make_driver(setup.driver, setup.options, setup.actuators, clock.now)
        locks = DeviceLocks(driver.devices)
        while True:
            if not wait_for_devices(locks, lambda: driver.devices, channel, ring):
                return 0
            asked = asked_by(channel)
            if asked.leaves:
                return 0
            restart_first(driver, asked, channel)
            if (holder := open_alone(driver, locks)) is None:
                break
            holder.close()
    except ToldToLeave:
        driver.close()
        return 0
    except DriverError as error:
        channel.send(messages.Failed(str(error)))
        return 1
    warnings = realtime.prepare(setup.priority, setup.core, lock_memory=setup.lock_memory)
    try:
        while _drive(StreamLoop(setup, driver, clock, channel, ring), warnings):
            if not reopen(driver, locks, channel, clock):
                break
    finally:
        driver.close()
    return 0


def _drive(loop: StreamLoop, warnings: list[str]) -> bool:
    """Run a loop on a driver that is open; tell whether it has lost its actuators."""
    driver = loop.driver
    told = [*driver.warnings, *warnings]
    loop.channel.send(messages.Ready(driver.max_rate_hz, told, driver.limits.as_lists()))
    loop.run()
    if loop.lost:
        loop.channel.send(messages.Lost(loop.lost))
    return bool(loop.lost)


def _receive_setup(channel: Channel) -> tuple[messages.Setup, RingWriter]:
    select.select((channel.fileno(),), (), (), 10.0)
    setup, fds = channel.receive() or (None, [])
    if not isinstance(setup, messages.Setup):
        raise SystemExit("motiond stream: started without a setup; it is started by the daemon alone")
    (ring_fd,) = fds
    try:
        return setup, RingWriter(ring_fd, len(setup.joints))
    finally:
        os.close(ring_fd)
