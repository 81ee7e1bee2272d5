"""Behaviour when actuators are lost: the goal ends, they are looked for, and nothing moves by itself."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.stream.locks import DeviceLocks
from motiond.daemon.stream.process.devices import reopen
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.base import CommunicationLost, Driver, DriverOptions
from tests.daemon.stream.test_locks import device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.drivers.base import ActuatorCommand, ActuatorState


class Away(Driver):
    """A driver whose actuators come back at the third try."""

    max_rate_hz = 100.0
    devices: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(["elbow"], DriverOptions())
        self.calls: list[str] = []

    def open(self) -> None:
        self.calls.append("open")
        if self.calls.count("open") < 3:
            raise CommunicationLost("/dev/ttyUSB0", "no such port")

    def disable(self) -> None:
        self.calls.append("disable")

    def close(self) -> None:
        self.calls.append("close")

    def enable(self) -> None: ...
    def halt(self) -> None: ...
    def read(self, state: ActuatorState) -> None: ...
    def write(self, command: ActuatorCommand) -> None: ...


def test_a_driver_is_opened_again_after_longer_and_longer_waits_and_is_left_as_it_is() -> None:
    ours, theirs = Channel.pair()
    driver, clock, loop_end = Away(), VirtualClock(), Channel(theirs)
    assert reopen(driver, DeviceLocks(()), loop_end, clock)
    assert driver.calls == ["close", "open", "close", "open", "close", "open"]
    assert clock.now() == pytest.approx(0.1 + 0.5 + 1.0)
    notices = [received[0] for _ in range(2) if (received := ours.receive())]
    assert notices == [messages.Lost("/dev/ttyUSB0: no such port")] * 2
    ours.close()
    loop_end.close()


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    """Let this process, unlike one that runs a stream, receive that signal afterwards."""
    before = signal.getsignal(messages.HURRY)
    yield
    signal.signal(messages.HURRY, before)


@pytest.mark.parametrize("how", ["shut down", "gone"])
def test_the_search_ends_when_the_daemon_reports_so_or_has_gone(how: str) -> None:
    ours, theirs = Channel.pair()
    driver, loop_end = Away(), Channel(theirs)
    if how == "shut down":
        ours.send(messages.Enable())
        ours.send(messages.Shutdown())
    else:
        ours.close()
    assert not reopen(driver, DeviceLocks(()), loop_end, VirtualClock())
    assert driver.calls == ["close"]
    ours.close()
    loop_end.close()


class Endless(Away):
    """A driver whose process is signalled to end in the middle of a search without end."""

    def open(self) -> None:
        self.calls.append("open")
        os.kill(os.getpid(), messages.HURRY)
        time.sleep(600)


def test_a_search_without_end_is_broken_off_when_the_daemon_reports_so() -> None:
    ours, theirs = Channel.pair()
    driver, loop_end = Endless(), Channel(theirs)
    assert not reopen(driver, DeviceLocks(()), loop_end, VirtualClock())
    assert driver.calls == ["close", "open", "close"]
    assert ours.receive() is None
    ours.close()
    loop_end.close()


class Moved(Away):
    """A driver whose port has another name since it came back, which another has until it is asked twice."""

    def __init__(self, name: str, other: DeviceLocks) -> None:
        super().__init__()
        self._name, self._other = name, other

    @property
    def devices(self) -> tuple[str, ...]:  # type: ignore[override]
        self.calls.append("devices")
        if self.calls.count("devices") == 2:
            self._other.close()
        return (self._name,)

    def open(self) -> None:
        self.calls.append("open")


def test_a_port_that_comes_back_by_another_name_is_opened_once_no_other_has_it() -> None:
    ours, theirs = Channel.pair()
    loop_end = Channel(theirs)
    before, now = device("ttyUSB0"), device("ttyUSB1")
    locks, other, third = DeviceLocks([before]), DeviceLocks([now]), DeviceLocks([before])
    assert (locks.take(), other.take()) == (None, None)
    driver = Moved(now, other)
    assert reopen(driver, locks, loop_end, VirtualClock())
    assert driver.calls == ["close", "devices", "devices", "open"]
    received = ours.receive()
    assert received is not None
    (notice, _) = received
    reason = "one device has one master; waiting until that process ends"
    assert notice == messages.Lost(f"{now}: held by process {os.getpid()}; {reason}")
    assert third.take() is None, "by the name of before, others may drive what has it now"
    holder = other.take()
    assert holder is not None
    for each in (holder, locks, third, ours, loop_end):
        each.close()
