"""What a path may stand for besides a file that can be read: each is refused at once, and tells why."""

from __future__ import annotations

import os
import stat
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from motiond.formats import FormatError, load_motion, load_motions, load_robots
from motiond.formats.io.source import MOTION_SIZE, Source
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEQ = """type: CompositeSeq
content: BodyMotion
formatVersion: 4
frameRate: 10
components:
  - type: MultiValueSeq
    content: JointDisplacement
    numParts: 1
    frames: [ [ 0.5 ], [ 0.6 ] ]
"""


KERNELS = "it is no file on a disk, but the kernel's ({})"
STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (lambda path: path.mkdir(), "it is a folder"),
    "pipe that nobody writes to": (os.mkfifo, "it is a pipe"),
    "socket": (lambda path: os.mknod(path, stat.S_IFSOCK), "it is a socket"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "it is a device"),
    "file of /proc": (lambda path: path.symlink_to("/proc/version"), KERNELS.format("proc")),
    "log of the kernel": (lambda path: path.symlink_to("/proc/kmsg"), KERNELS.format("proc")),
    "memory of a process": (lambda path: path.symlink_to("/proc/self/mem"), KERNELS.format("proc")),
    "file of /sys": (lambda path: path.symlink_to("/sys/kernel/uevent_seqnum"), KERNELS.format("sysfs")),
    "link to itself": (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    "link to nothing": (lambda path: path.symlink_to("gone"), "no such file"),
    "nothing": (lambda _: None, "no such file"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    make, reason = STRANGE[kind]
    path = tmp_path / "wave.seq"
    make(path)
    for load in (load_motions, load_robots):
        with pytest.raises(FormatError) as caught:
            load(path)
        assert str(caught.value) == f"{path}: cannot be read; {reason}; check the path"


def test_what_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wave.seq"
    path.write_text(SEQ)
    path.chmod(0)

    def deny(*_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    if os.geteuid() == 0:  # root may read anything
        monkeypatch.setattr(os, "open", deny)
    with pytest.raises(FormatError) as caught:
        load_motions(path)
    assert str(caught.value) == f"{path}: cannot be read; Permission denied; check the path"


@pytest.mark.parametrize(
    ("load", "size", "message"),
    [
        (
            load_motions,
            5_000_000_000,
            "has 5000000000 bytes; a motion file has at most 1000000000; split the motion",
        ),
        (
            load_robots,
            100_000_001,
            "has 100000001 bytes; a file of this kind has at most 100000000; check that it is the right file",
        ),
    ],
)
def test_a_file_that_is_too_large_is_not_even_read(
    tmp_path: Path, load: Callable[[Path], object], size: int, message: str
) -> None:
    path = tmp_path / "wave.seq"
    path.touch()
    os.truncate(path, size)  # takes no room on the disk
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_what_comes_in_the_place_of_a_file_before_it_is_opened_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even to open a device may have an effect, as on a watchdog."""
    path, usual = tmp_path / "wave.seq", os.open
    path.write_text(SEQ)

    def swap(where: str, flags: int) -> int:
        if not flags & os.O_PATH:
            path.unlink()
            os.mkfifo(path)
        return usual(where, flags)

    monkeypatch.setattr(os, "open", swap)
    assert Source(path).read() == SEQ.encode()


def test_reading_takes_no_more_memory_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wave.seq"
    path.write_bytes(b"x" * 1_000_000)
    tracemalloc.start()
    try:
        assert len(Source(path).read(MOTION_SIZE)) == 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 1_100_000
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_while_it_is_read_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "wave.seq"
    path.write_bytes(b"x" * 10)
    usual = os.fstat

    def grow(fd: int) -> os.stat_result:
        status = usual(fd)
        path.write_bytes(b"x" * 3_000_000)
        return status

    monkeypatch.setattr(os, "fstat", grow)
    assert len(Source(path).read()) == 3_000_000


@table("name, printable")
def test_names_of_motions_are_printable(tmp_path: Path, name: bytes, printable: str) -> None:
    path = tmp_path / os.fsdecode(name + b".seq")
    path.write_text(SEQ)
    motion = load_motion(path)
    assert motion.name == printable
    motion.name.encode()
    path.write_text("tea\n")
    with pytest.raises(FormatError) as caught:
        load_motions(path)
    assert str(caught.value).startswith(f"{tmp_path}/{printable}.seq:1: ")
