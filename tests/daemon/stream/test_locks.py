"""Behaviour of the locks on devices: one process drives, and others wait until it ends, however it ends."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.ring import RingReader, RingWriter
from motiond.daemon.stream.locks import DeviceLocks, Holder, address_of, wait_readable
from motiond.daemon.stream.process.devices import BEAT_S, wait_for_devices
from tests.users import OTHER_USER, listening_as_other_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def device(name: str) -> str:
    """Return a device that no other test has."""
    return f"test:{os.getpid()}/{name}"


class Waiting:
    """A wait for devices: with the daemon's ends of its channel and ring, and with what happens meanwhile.

    `devices`: what is to be driven, as it is now. `messages`: what was reported to the daemon.
    """

    def __init__(self, *devices: str) -> None:
        self.daemon, theirs = Channel.pair()
        self._channel = Channel(theirs)
        fd = ring.create(1)
        self._writer, self.reader = RingWriter(fd, 1), RingReader(fd, 1)
        os.close(fd)
        self.devices = devices
        self.messages: list[str] = []
        self._locks = DeviceLocks(devices)

    def ends(self, *events: Callable[[], object]) -> bool:
        """Wait until it ends, and return whether the devices were taken.

        `events`: what happens in each beat, in their order; with the last one it has to end.
        """
        left = iter(events)

        def wait(fds: Sequence[int], timeout_s: float) -> list[int]:
            assert timeout_s == BEAT_S
            self._listen()
            next(left)()
            return wait_readable(fds, 0.0)

        taken = wait_for_devices(self._locks, lambda: self.devices, self._channel, self._writer, wait)
        assert next(left, None) is None
        self._listen()
        return taken

    def _listen(self) -> None:
        while self.daemon.fileno() >= 0 and (received := self.daemon.receive()) is not None:
            notice = received[0]
            assert isinstance(notice, messages.Lost)
            self.messages.append(notice.message)

    def close(self) -> None:
        for each in (self.daemon, self._locks, self._channel, self._writer, self.reader):
            each.close()


@contextmanager
def waiting(*devices: str) -> Iterator[Waiting]:
    wait = Waiting(*devices)
    yield wait
    wait.close()


@contextmanager
def held(*devices: str) -> Iterator[DeviceLocks]:
    """Let another hold devices."""
    locks = DeviceLocks(devices)
    assert locks.take() is None
    yield locks
    locks.close()


def holder_of(*devices: str) -> str:
    """Return who holds one of these devices; '' where nobody does."""
    locks = DeviceLocks(devices)
    holder = locks.take()
    name = "" if holder is None else str(holder)
    for each in (holder, locks):
        if each is not None:
            each.close()
    return name


def held_by(device: str, holder: str) -> str:
    return f"{device}: held by {holder}; one device has one master; waiting until that process ends"


def nothing() -> None:
    """Let a beat pass in which nothing happens."""


def test_a_device_is_held_once_and_may_be_taken_when_it_is_free_again() -> None:
    port = device("port")
    with held(port):
        assert holder_of(port) == held_by(port, f"process {os.getpid()}")
    assert holder_of(port) == ""


def test_all_devices_are_taken_or_none() -> None:
    one, two = device("one"), device("two")
    with held(two):
        both = DeviceLocks([one, two])
        holder = both.take()
        assert holder is not None
        assert holder_of(one) == ""
        holder.close()


def test_a_process_that_drives_other_devices_releases_only_what_it_no_longer_drives() -> None:
    port, old, new = device("port"), device("old"), device("new")
    with held(port, old) as locks:
        locks.follow([port, new])
        assert locks.take() is None
        assert [bool(holder_of(name)) for name in (port, old, new)] == [True, False, True]


def test_long_names_are_reported_apart_by_their_last_letter() -> None:
    name = device("x" * 300)
    with held(name + "a"), held(name + "b"):
        assert holder_of(name + "a")
        assert not holder_of(name + "c")


def test_a_device_is_waited_for_and_its_holder_named_once_until_it_is_free() -> None:
    port = device("port")
    with held(port) as other, waiting(port) as wait:
        assert wait.ends(nothing, nothing, other.close)
        assert wait.messages == [held_by(port, f"process {os.getpid()}")]


def test_who_waits_by_a_name_that_comes_to_stand_for_another_device_takes_that() -> None:
    name, taken, free = device("name"), device("held"), device("free")
    with held(taken), waiting(name, taken) as wait:
        assert wait.ends(nothing, lambda: setattr(wait, "devices", (name, free)))
        assert holder_of(name)
        assert holder_of(free)


def test_a_waiting_process_is_seen_to_be_alive_in_every_beat() -> None:
    port, pulses = device("port"), list[int]()
    with held(port) as other, waiting(port) as wait:
        look = lambda: pulses.append(wait.reader.pulse)  # noqa: E731 - as the others
        assert wait.ends(look, look, look, other.close)
        assert pulses == [pulses[0], pulses[0] + 1, pulses[0] + 2]
        assert wait.reader.written == 0


def shut_down(wait: Waiting) -> None:
    wait.daemon.send(messages.Enable())
    wait.daemon.send(messages.Shutdown())


@pytest.mark.parametrize("how", [shut_down, lambda wait: wait.daemon.close()], ids=["shut down", "gone"])
def test_the_wait_ends_when_the_daemon_reports_so_or_has_gone(how: Callable[[Waiting], None]) -> None:
    port = device("port")
    with held(port), waiting(port) as wait:
        assert not wait.ends(nothing, lambda: how(wait))


def test_a_device_that_another_user_holds_is_reported_with_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    port = device("port")
    with listening_as_other_user(monkeypatch, address_of(port)) as theirs, waiting(port) as wait:
        assert wait.ends(nothing, theirs.close)
        assert wait.messages == [held_by(port, f"process {os.getpid()} of user {OTHER_USER}")]


def test_a_holder_that_cannot_be_asked_is_still_a_holder() -> None:
    holder = Holder(device("no holder"))
    assert str(holder) == (
        f"{device('no holder')}: held by another process; "
        "one device has one master; waiting until that process ends"
    )
    holder.close()


@pytest.mark.parametrize("kind", ["hard link", "second node"])
def test_a_device_with_two_names_has_one_master(tmp_path: Path, kind: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    if kind == "hard link":
        one.touch()
        two.hardlink_to(one)
    else:  # by links, as only root can make nodes
        one, two = Path("/dev/null"), Path("/proc/self/root/dev/null")
    with held(f"test:{one}"):
        assert holder_of(f"test:{two}") == held_by(f"test:{two}", f"process {os.getpid()}")
    assert holder_of(f"test:{two}") == ""


def test_a_file_that_has_come_into_being_is_locked_when_locks_are_taken_again(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with held(f"test:{one}") as locks:
        one.touch()
        assert locks.take() is None
        two.hardlink_to(one)
        assert holder_of(f"test:{two}")


def test_a_name_that_comes_to_stand_for_another_device_frees_the_number_of_the_one_before(
    tmp_path: Path,
) -> None:
    """As a port does that comes back by another number, while another adapter has its own."""
    name, old, new = tmp_path / "by-id", tmp_path / "old", tmp_path / "new"
    old.touch()
    new.touch()
    name.symlink_to(old)
    with held(f"test:{name}") as locks:
        assert holder_of(f"test:{old}")
        name.unlink()
        name.symlink_to(new)
        locks.follow([f"test:{name}"])
        assert locks.take() is None
        assert [bool(holder_of(f"test:{path}")) for path in (old, new)] == [False, True]
