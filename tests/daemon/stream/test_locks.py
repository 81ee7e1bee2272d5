"""Behaviour of the locks on devices: one process drives, and others wait until it ends, however it ends."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.ring import RingReader, RingWriter
from motiond.daemon.stream.locks import DeviceLocks, Holder, address_of, wait_for_devices
from tests.users import OTHER_USER, as_other_user
from tests.waiting import PATIENCE_S, eventually, lines_until, started

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

HOLDER = """
import sys, time
from setproctitle import setproctitle
from motiond.daemon.stream.fork_server import TITLE
from motiond.daemon.stream.locks import DeviceLocks
setproctitle(f"{TITLE} leg")  # as a stream process is named
def hold():
    assert DeviceLocks(sys.argv[1].split()).take() is None
hold()  # the locks last, though nothing knows of them any more
print("held", file=sys.stderr, flush=True)
time.sleep(600)
"""


def device(name: str) -> str:
    """Return a device that no other test has."""
    return f"test:{os.getpid()}/{name}"


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

    def told(self) -> list[str]:
        """Return what it has told since the last time."""
        told = []
        while (received := self.daemon.receive()) is not None:
            notice = received[0]
            assert isinstance(notice, messages.Lost)
            told.append(notice.message)
        return told

    def is_told(self) -> list[str]:
        """Wait until it tells something."""
        return eventually("what keeps it waiting is told", self.told, bool)

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


def test_a_device_is_held_once_and_may_be_taken_when_it_is_free_again() -> None:
    first, second = DeviceLocks([device("port")]), DeviceLocks([device("port")])
    assert first.take() is None
    holder = second.take()
    assert holder is not None
    holder.close()
    first.close()
    assert second.take() is None
    second.close()


def test_all_devices_are_taken_or_none() -> None:
    one, two = device("one"), device("two")
    first, both, other = DeviceLocks([two]), DeviceLocks([one, two]), DeviceLocks([one])
    assert first.take() is None
    holder = both.take()
    assert holder is not None
    assert other.take() is None
    for each in (holder, first, both, other):
        each.close()


def test_who_drives_other_devices_lets_go_of_what_it_drives_no_more_alone() -> None:
    port, old, new = device("port"), device("old"), device("new")
    locks = DeviceLocks([port, old])
    assert locks.take() is None
    locks.follow([port, new])
    assert locks.take() is None
    for name, is_free in ((port, False), (old, True), (new, False)):
        other = DeviceLocks([name])
        holder = other.take()
        assert (holder is None) == is_free, name
        for each in (holder, other):
            if each is not None:
                each.close()
    locks.close()


def test_a_device_that_is_held_elsewhere_costs_none_of_those_that_are_held_already() -> None:
    port, new = device("port"), device("new")
    locks, other, third = DeviceLocks([port]), DeviceLocks([new]), DeviceLocks([port])
    assert (locks.take(), other.take()) == (None, None)
    locks.follow([port, new])
    holders = locks.take(), third.take()
    assert None not in holders
    other.close()
    assert locks.take() is None
    for each in (*holders, locks):
        assert each is not None
        each.close()


def test_a_device_that_is_named_twice_is_one() -> None:
    locks = DeviceLocks([device("port"), device("port")])
    assert locks.take() is None
    locks.close()


def test_long_names_are_told_apart_by_their_last_letter() -> None:
    name = device("x" * 300)
    one, other, same = DeviceLocks([name + "a"]), DeviceLocks([name + "b"]), DeviceLocks([name + "a"])
    assert (one.take(), other.take()) == (None, None)
    holder = same.take()
    assert holder is not None
    for each in (holder, one, other):
        each.close()


def test_a_robot_that_shares_nothing_waits_for_nothing() -> None:
    with waiting() as wait:
        assert wait.ends()
        assert wait.told() == []


def test_a_device_is_waited_for_and_its_holder_named_until_it_is_killed() -> None:
    port = device("port")
    with held_elsewhere(port) as process, waiting(port) as wait:
        assert wait.is_told() == [
            (
                f"{port}: held by process {process.pid} (motiond stream of robot 'leg'); "
                "one device has one master; waiting until that process ends"
            )
        ]
        assert wait.taken is None
        process.kill()
        assert wait.ends()
        assert wait.told() == []


def test_who_waits_by_a_name_that_comes_to_stand_for_another_device_takes_that() -> None:
    name, held, free = device("name"), device("held"), device("free")
    with held_elsewhere(held), waiting(name, held) as wait:
        wait.is_told()
        wait.devices = (name, free)
        assert wait.ends()
        for one, is_held in ((name, True), (free, True)):
            other = DeviceLocks([one])
            holder = other.take()
            assert (holder is not None) == is_held, one
            for each in (holder, other):
                if each is not None:
                    each.close()


def test_whoever_waits_is_seen_to_be_alive() -> None:
    port = device("port")
    with held_elsewhere(port), waiting(port) as wait:
        wait.is_told()
        before = wait.reader.pulse
        eventually("beats", lambda: wait.reader.pulse, lambda pulse: pulse >= before + 2)
        assert wait.reader.written == 0


@pytest.mark.parametrize("how", ["told", "gone"])
def test_the_wait_ends_when_the_daemon_says_so_or_has_gone(how: str) -> None:
    port = device("port")
    with held_elsewhere(port), waiting(port) as wait:
        wait.is_told()
        if how == "told":
            wait.daemon.send(messages.Enable())
            wait.daemon.send(messages.Shutdown())
        else:
            wait.daemon.close()
        assert not wait.ends()


def test_a_holder_that_cannot_be_asked_is_still_a_holder() -> None:
    holder = Holder(device("nobody holds it"))
    assert str(holder) == (
        f"{device('nobody holds it')}: held by another process; "
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
    first, second = DeviceLocks([f"test:{one}"]), DeviceLocks([f"test:{two}"])
    assert first.take() is None
    holder = second.take()
    assert holder is not None
    assert str(holder) == (
        f"test:{two}: held by process {os.getpid()}; one device has one master; "
        "waiting until that process ends"
    )
    first.close()
    assert second.take() is None
    for each in (holder, second):
        each.close()


def test_a_file_that_has_come_into_being_is_locked_when_locks_are_taken_again(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first, second = DeviceLocks([f"test:{one}"]), DeviceLocks([f"test:{two}"])
    assert first.take() is None
    one.touch()
    assert first.take() is None
    two.hardlink_to(one)
    holder = second.take()
    assert holder is not None
    for each in (holder, first, second):
        each.close()


def test_a_name_that_comes_to_stand_for_another_device_frees_the_number_of_the_one_before(
    tmp_path: Path,
) -> None:
    """As a port does that comes back by another number, while another adapter has its own."""
    name, old, new = tmp_path / "by-id", tmp_path / "old", tmp_path / "new"
    old.touch()
    new.touch()
    name.symlink_to(old)
    locks, other = DeviceLocks([f"test:{name}"]), DeviceLocks([f"test:{old}"])
    assert locks.take() is None
    holder = other.take()
    assert holder is not None
    holder.close()
    name.unlink()
    name.symlink_to(new)
    locks.follow([f"test:{name}"])
    assert (locks.take(), other.take()) == (None, None)
    third = DeviceLocks([f"test:{new}"])
    holder = third.take()
    for each in (holder, locks, other):
        assert each is not None
        each.close()


@pytest.mark.parametrize("how", ["listens", "binds alone"] if os.geteuid() == 0 else ["listens"])
def test_a_device_whose_name_another_user_has_bound_is_told_with_that_user(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    port = device("port")
    with as_other_user(monkeypatch):
        theirs = socket.socket(socket.AF_UNIX)
        theirs.bind(address_of(port))
        if how == "listens":
            theirs.listen()
    process = f"process {os.getpid()}" if how == "listens" else "a process"
    with theirs, waiting(port) as wait:
        assert wait.is_told() == [
            (
                f"{port}: held by {process} of user {OTHER_USER}; one device has one master; "
                "waiting until that process ends"
            )
        ]
        theirs.close()
        assert wait.ends()


# What a stream process does once its daemon has gone: its driver is closed, and it is about to end.
ENDING = """
import os, sys
from motiond.daemon.ipc import ring
from motiond.daemon.ipc.channel import Channel, ChannelClosed
from motiond.daemon.stream import process as stream
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
