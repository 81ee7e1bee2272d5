"""Opens one robot's driver and runs its loop, again after a loss, until the daemon goes."""

from __future__ import annotations

import atexit
import logging
import os
import select
import signal
import socket
from typing import TYPE_CHECKING, NoReturn

from motiond.drivers import DriverError, make_driver

from ...ipc import messages
from ...ipc.channel import Channel, ChannelClosed
from ...ipc.ring import RingWriter
from ...log import start_logging
from ..engine import StreamLoop
from ..locks import DeviceLocks, wait_readable
from ..timing import Clock, FastForwardClock, RealClock, prepare
from .devices import (
    ShutdownRequested,
    asked_by,
    interruptible,
    open_alone,
    recover_first,
    reopen,
    wait_for_devices,
)
from .fork_server import ForkServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from motiond.drivers import Driver

log = logging.getLogger("motiond.daemon.stream")


def main(requests_fd: int) -> int:
    """Serve the daemon's requests for stream processes; in each of these, run its robot's stream and end."""
    start_logging(logging.INFO)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # A terminal and systemd send them to all; the daemon decides, and its end is seen on the sockets.
        signal.signal(number, signal.SIG_IGN)
    # Whoever started the daemon may have ignored it, which is inherited.
    signal.signal(messages.HURRY, signal.SIG_DFL)
    with socket.socket(fileno=requests_fd) as requests:
        channel_fd = ForkServer(requests).serve()
    if channel_fd is not None:
        _end(stream(Channel(_inherited(channel_fd)), Machine()))
    return 0


def _end(code: int) -> NoReturn:
    """End, after what a driver has asked for; to take down all that the server has loaded would copy it."""
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to have them run
    os._exit(code)


class Machine:
    """What a stream process asks of the machine on which it runs."""

    def clock(self, kind: str) -> Clock:
        """Return a clock, `real` or `virtual` as the robot's settings have it."""
        return FastForwardClock() if kind == "virtual" else RealClock()

    def driver(self, setup: messages.Setup, clock: Clock) -> Driver:
        """Return a robot's driver, which is not open yet."""
        return make_driver(setup.driver, setup.options, setup.actuators, clock.now)

    def loop(
        self, setup: messages.Setup, driver: Driver, clock: Clock, channel: Channel, ring: RingWriter
    ) -> StreamLoop:
        """Return the loop of a driver that is open."""
        return StreamLoop(setup, driver, clock, channel, ring)

    def locks(self, devices: Iterable[str]) -> DeviceLocks:
        """Return locks on devices, which last as long as the process; none is taken yet."""
        return DeviceLocks(devices)

    def wait(self, fds: Sequence[int], timeout_s: float) -> list[int]:
        """Wait until one of some descriptors can be read, for so long at most; return those that can."""
        return wait_readable(fds, timeout_s)

    def interruptible(self) -> AbstractContextManager[None]:
        """Return a context within which the daemon may interrupt the process."""
        return interruptible()

    def make_punctual(self, setup: messages.Setup) -> list[str]:
        """Make the process as punctual as the system allows; return what was refused."""
        return prepare(setup.priority, setup.core, lock_memory=setup.lock_memory)


def stream(channel: Channel, machine: Machine) -> int:
    """Run one robot's stream; return the exit code."""
    setup, ring = _receive_setup(channel)
    try:
        return _run(setup, channel, ring, machine)
    except ChannelClosed:
        log.warning("%s: the daemon has gone; this process ends", setup.robot)
        return 0
    except Exception:
        log.exception("%s: the stream process failed inside motiond", setup.robot)
        return 1
    finally:
        channel.close()
        ring.close()


def _inherited(fd: int) -> socket.socket:
    """Return the inherited socket on a low descriptor; the daemon's may be beyond what `select` takes."""
    low = os.dup(fd)
    os.close(fd)
    return socket.socket(fileno=low)


def _run(setup: messages.Setup, channel: Channel, ring: RingWriter, machine: Machine) -> int:
    """Open the driver once no other process drives the same, and run its loop; return the exit code."""
    clock = machine.clock(setup.clock)
    try:
        driver = machine.driver(setup, clock)
        locks = machine.locks(driver.devices)
        while True:
            if not wait_for_devices(locks, lambda: driver.devices, channel, ring, machine.wait):
                return 0
            asked = asked_by(channel)
            if asked.ends:
                return 0
            recover_first(driver, asked, channel, machine.interruptible)
            if (holder := open_alone(driver, locks, machine.interruptible)) is None:
                break
            holder.close()
    except ShutdownRequested:
        driver.close()
        return 0
    except DriverError as error:
        channel.send(messages.Failed(str(error), error.actuators))
        return 1
    warnings = machine.make_punctual(setup)
    try:
        while _drive(machine.loop(setup, driver, clock, channel, ring), warnings):
            if not reopen(driver, locks, channel, clock, machine.interruptible):
                break
    except DriverError as error:  # where what stands around the robot cannot be loaded
        channel.send(messages.Failed(str(error)))
        return 1
    finally:
        driver.close()
    return 0


def _drive(loop: StreamLoop, warnings: list[str]) -> bool:
    """Run a loop on a driver that is open; return whether to look for actuators that it has lost."""
    driver = loop.driver
    warned = [*driver.warnings, *warnings]
    loop.channel.send(messages.Ready(driver.max_rate_hz, warned, driver.limits.as_lists(), [*driver.bodies]))
    loop.run()
    if loop.lost:
        loop.channel.send(loop.lost)
    return bool(loop.lost) and not loop.is_shutting_down


def _receive_setup(channel: Channel) -> tuple[messages.Setup, RingWriter]:
    select.select((channel.fileno(),), (), (), 10.0)
    setup, fds = channel.receive() or (None, [])
    if not isinstance(setup, messages.Setup):
        raise SystemExit("motiond stream: started without a setup; it is started by the daemon alone")
    (ring_fd,) = fds
    try:
        return setup, RingWriter(ring_fd, len(setup.joints), setup.contact_slots)
    finally:
        os.close(ring_fd)
