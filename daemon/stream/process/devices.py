"""Waits for a robot's devices, opens its driver, and finds lost actuators again.

Opening may wait for actuators for seconds, in a vendor's code, and reads no command. Until it is done a
signal of the daemon ends the process at once (`ShutdownRequested`); from then on the signal is ignored, and
`Shutdown` counts. Lost actuators are looked for with longer and longer waits. A port that comes back by
another name is locked by that first. Nothing moves by itself: actuators that hold still go on holding, and
those that do not stay released, until somebody asks for more.
"""

from __future__ import annotations

import os
import signal
from contextlib import closing, contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from motiond.drivers import DriverError

from ...ipc.channel import ChannelClosed
from ...ipc.messages import HURRY, Lost, Recover, Reset, Shutdown
from ..engine import recover
from ..locks import wait_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from motiond.drivers import Driver

    from ...ipc.channel import Channel
    from ...ipc.messages import Notice
    from ...ipc.ring import RingWriter
    from ..locks import DeviceLocks, Holder, Wait
    from ..timing import Clock

    Interruptible: TypeAlias = Callable[[], AbstractContextManager[None]]

BACK_OFF_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
BEAT_S = 0.25


class Asked(NamedTuple):
    """What the daemon has asked for."""

    ends: bool = False
    tries: bool = False
    recoveries: Sequence[Recover] = ()


def asked_by(channel: Channel) -> Asked:
    """Take all commands that have come."""
    tries, recoveries = False, list[Recover]()
    try:
        while (received := channel.receive()) is not None:
            command, fds = received
            for fd in fds:
                os.close(fd)
            if isinstance(command, Shutdown):
                return Asked(ends=True)
            tries |= isinstance(command, Reset | Recover)
            recoveries += [command] if isinstance(command, Recover) else []
    except ChannelClosed:
        return Asked(ends=True)
    return Asked(tries=tries, recoveries=recoveries)


def notify(channel: Channel, notice: Notice) -> bool:
    """Send a notice, or lose it where the daemon does not read; False if the daemon has gone."""
    try:
        channel.send(notice)
    except ChannelClosed:
        return False
    except BlockingIOError:
        return True
    return True


class ShutdownRequested(BaseException):
    """The process is to end; like KeyboardInterrupt it is no error that a driver should deal with."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the signal raise `ShutdownRequested` in here, and ignore it from then on."""
    signal.signal(HURRY, _interrupt)
    try:
        yield
    finally:
        signal.signal(HURRY, signal.SIG_IGN)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise ShutdownRequested


def wait_for_devices(
    locks: DeviceLocks,
    devices: Callable[[], Iterable[str]],
    channel: Channel,
    ring: RingWriter,
    wait: Wait = wait_readable,
) -> bool:
    """Take the locks as soon as no other process holds one; False if the process is to end before.

    Each holder is reported once, as `Lost`; `ring` gets beats meanwhile.

    Raises DriverError as `DeviceLocks.take` does.
    """
    reported = ""
    while True:
        wanted = set(devices())
        locks.follow(wanted)
        holder = locks.take()
        if holder is None:
            return True
        with closing(holder):
            if str(holder) != reported:
                reported = str(holder)
                if not notify(channel, Lost(reported)):
                    return False
            looks_again = False
            while not looks_again:
                looks_again = holder.has_ended(channel, BEAT_S, wait) or set(devices()) != wanted
                ring.beat()
                if asked_by(channel).ends:
                    return False


def open_alone(
    driver: Driver, locks: DeviceLocks, interruptible: Interruptible = interruptible
) -> Holder | None:
    """Open a driver whose devices are locked, and lock what has come into being with it.

    Returns who was first to lock that; the driver is closed again then. Raises ShutdownRequested if the
    process is to end. Raises DriverError if the driver cannot be opened.
    """
    with interruptible():
        driver.open()
    if (holder := locks.take()) is not None:
        driver.close()
    return holder


def recover_first(
    driver: Driver, asked: Asked, channel: Channel, interruptible: Interruptible = interruptible
) -> None:
    """Let errors of actuators go, where that is asked for, before a driver opens whose devices are locked.

    Raises ShutdownRequested if the process is to end.
    """
    for command in asked.recoveries:
        with interruptible():
            notice = recover(driver, command)
        notify(channel, notice)


def reopen(
    driver: Driver,
    locks: DeviceLocks,
    channel: Channel,
    clock: Clock,
    interruptible: Interruptible = interruptible,
) -> bool:
    """Open a driver that has lost its actuators, however long it takes; False once the process is to end."""
    driver.close()
    for wait_s in chain(BACK_OFF_S, repeat(BACK_OFF_S[-1])):
        asked = _asked_within(channel, clock, clock.now() + wait_s)
        if asked.ends:
            return False
        try:
            locks.follow(driver.devices)
            holder = locks.take()
            if holder is None:
                recover_first(driver, asked, channel, interruptible)
                holder = open_alone(driver, locks, interruptible)
            if holder is None:
                return True
            lost = Lost(str(holder))
            holder.close()
        except ShutdownRequested:
            driver.close()
            return False
        except Exception as error:  # noqa: BLE001 - whatever keeps it from opening, it is tried again
            driver.close()
            failed = error.actuators if isinstance(error, DriverError) else []
            lost = Lost(str(error) or type(error).__name__, failed)
        if not notify(channel, lost):
            return False
    return False


def _asked_within(channel: Channel, clock: Clock, deadline_s: float) -> Asked:
    """Wait, no longer than until something is asked for, and drop commands that need actuators."""
    while clock.now() < deadline_s:
        clock.wait_readable(channel.fileno(), deadline_s)
        asked = asked_by(channel)
        if asked.ends or asked.tries:
            return asked
    return Asked()
