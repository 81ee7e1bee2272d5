"""What the cache of motions returns, when it reads a file anew, and that its own trouble does no harm."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond import formats
from motiond.formats import FormatError, KeyFrames, Motion
from motiond.formats.cache import MotionCache, default_cache, default_folder, store, worker
from motiond.formats.cache import entry as cache_entry
from motiond.formats.io.source import SizeBound, Source

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = Path(__file__).parents[2] / "files" / "good"
FILES = ["logged.seq", "old_wave.seq", "gestures.xmdi"]
SEQ = """type: CompositeSeq
content: BodyMotion
formatVersion: 4
frameRate: 10
author: nobody
components:
  - type: MultiValueSeq
    content: JointDisplacement
    numParts: 1
    frames: [ [ 0.5 ], [ {number} ] ]
  - type: FaceSeq
    content: Faces
    frames: [ smile, [ 1, 2 ], {{ eyes: null, open: true }}, [ [ 1, 2 ], [ 3, 4 ] ] ]
"""


MEND = "check its rights and its disk, or give another folder"


def in_a_second_ns() -> int:
    """Return a time at which what has just been written is old enough for its times to be trusted."""
    return time.time_ns() + 10**9


def cache_in(folder: Path, **options: Any) -> MotionCache:
    return MotionCache(folder / "cache", **{"min_file_bytes": 0, "now_ns": in_a_second_ns, **options})


@pytest.fixture
def cache(tmp_path: Path) -> MotionCache:
    return cache_in(tmp_path)


@pytest.fixture
def wave(tmp_path: Path) -> Path:
    return write(tmp_path / "wave.seq", 0.25)


def write(path: Path, number: float) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(SEQ.format(number=number))
    return path


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "entries").iterdir())


def told(value: Any) -> Any:
    """Return a value in a form to compare, with arrays as their bits."""
    match value:
        case np.ndarray():
            return ("array", value.dtype, value.shape, value.tobytes(), value.flags.writeable)
        case Motion():
            return [told(getattr(value, name)) for name in Motion.__dataclass_fields__]
        case dict():
            return {key: told(one) for key, one in value.items()}
        case list() | tuple():
            return type(value)(map(told, value))
    return (type(value), value)


def is_mapped(motions: list[Motion]) -> bool:
    """Whether numbers are mapped from a file rather than made by a reader."""
    base: Any = motions[0].positions
    while isinstance(base, np.ndarray):
        base = base.base
    return type(base).__name__ == "mmap"


@pytest.mark.parametrize("name", FILES)
def test_the_second_load_gives_all_that_the_first_gave_bit_for_bit(cache: MotionCache, name: str) -> None:
    path = GOOD / name
    read, first, second = formats.load_motions(path), cache.load_motions(path), cache.load_motions(path)
    assert told(first) == told(read)
    assert told(second) == told(read)
    assert not is_mapped(first)
    assert is_mapped(second)


def test_unknown_components_and_warnings_survive(cache: MotionCache, wave: Path) -> None:
    first, second = cache.load_motions(wave), cache.load_motions(wave)
    assert is_mapped(second)
    assert told(second) == told(first)
    assert second[0].components["Faces"][0] == "smile"
    assert second[0].warnings


def test_mapped_numbers_cannot_be_changed_and_outlive_their_file(cache: MotionCache, wave: Path) -> None:
    cache.load_motions(wave)
    (motion,) = cache.load_motions(wave)
    with pytest.raises(ValueError, match="read-only"):
        motion.positions[0, 0] = 5
    shutil.rmtree(wave.parent / "cache")
    assert motion.positions[:, 0].tolist() == [0.5, 0.25]


def test_an_unchanged_file_is_not_even_opened(
    cache: MotionCache, wave: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.load_motions(wave)
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        assert path != wave
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert is_mapped(cache.load_motions(wave))


def test_small_files_are_read(tmp_path: Path, wave: Path) -> None:
    cache = MotionCache(tmp_path / "cache")
    assert not is_mapped([*cache.load_motions(wave), *cache.load_motions(wave)])
    assert not (tmp_path / "cache").exists()


def test_the_same_content_elsewhere_needs_no_reader(cache: MotionCache, wave: Path, tmp_path: Path) -> None:
    cache.load_motions(wave)
    copy = tmp_path / "other" / "wave.seq"
    copy.parent.mkdir()
    shutil.copy(wave, copy)
    (motion,) = cache.load_motions(copy)
    assert is_mapped([motion])
    assert motion.warnings == formats.load_motion(copy).warnings


def test_another_file_name_is_another_entry_for_it_names_the_motion(cache: MotionCache, wave: Path) -> None:
    cache.load_motions(wave)
    nod = wave.rename(wave.with_name("nod.seq"))
    assert [motion.name for motion in cache.load_motions(nod)] == ["nod"]


def test_key_frames_are_part_of_what_is_asked_for(cache: MotionCache) -> None:
    path, slow = GOOD / "gestures.xmdi", KeyFrames(0.1)
    cache.load_motions(path)
    assert told(cache.load_motions(path, key_frames=slow)) == told(
        formats.load_motions(path, key_frames=slow)
    )


def test_another_reader_reads_anew(cache: MotionCache, wave: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.load_motions(wave)
    monkeypatch.setattr("motiond.formats.cache.store._code_of_readers", lambda: "newer")
    assert not is_mapped(cache_in(wave.parent).load_motions(wave))


def test_a_change_in_any_reader_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = shutil.copytree(Path(formats.__file__).parent, tmp_path / "formats")
    (code / "__pycache__").mkdir(exist_ok=True)
    monkeypatch.setattr("motiond.formats.cache.store.resources.files", lambda _: code)
    digest = store._code_of_readers()
    (code / "__pycache__" / "made.pyc").write_bytes(b"compiled anew")
    assert store._code_of_readers() == digest
    for changed in ("errors.py", "seq/rows.py", "xmdi/xmdi.xsd"):
        with (code / changed).open("a") as file:
            file.write("\n")
        assert store._code_of_readers() != digest
        digest = store._code_of_readers()


def second_row(motions: list[Motion]) -> float:
    return float(motions[0].positions[1, 0])


def test_changed_content_is_seen_though_size_and_time_stay(cache: MotionCache, wave: Path) -> None:
    cache.load_motions(wave)
    before = wave.stat()
    write(wave, 0.75)
    os.utime(wave, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = wave.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert second_row(cache.load_motions(wave)) == 0.75


def test_a_file_put_in_the_place_of_another_is_seen(cache: MotionCache, wave: Path, tmp_path: Path) -> None:
    cache.load_motions(wave)
    before = wave.stat()
    other = write(tmp_path / "other" / "wave.seq", 0.75)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(wave)
    assert second_row(cache.load_motions(wave)) == 0.75


def test_a_file_written_just_now_is_not_trusted_by_its_times(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, now_ns=time.time_ns)
    young = tmp_path / "young.seq"
    for number in (0.25, 0.75, 0.125):
        # All within a tick or two of the system's clock, so that the times may be equal.
        young.write_text(SEQ.format(number=number))
        assert second_row(cache.load_motions(young)) == number


def test_a_file_that_changes_while_it_is_read_is_read_again(
    cache: MotionCache, wave: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Source.read

    def change(source: Source, bound: SizeBound) -> bytes:
        data = read(source, bound)
        write(wave, 0.75)
        return data

    with monkeypatch.context() as patched:
        patched.setattr(Source, "read", change)
        assert second_row(cache.load_motions(wave)) == 0.25
    assert second_row(cache.load_motions(wave)) == 0.75


def test_bad_and_missing_files_are_the_reader_s_to_refuse(cache: MotionCache, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.seq", float("nan"))
    for path in (bad, bad, tmp_path / "missing.seq", tmp_path, tmp_path / "nul\0.seq"):
        with pytest.raises(FormatError) as by_reader:
            formats.load_motions(path)
        with pytest.raises(FormatError) as by_cache:
            cache.load_motions(path)
        assert str(by_cache.value) == str(by_reader.value)
    assert not (tmp_path / "cache").exists()


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "it does not begin as one"),
    "something else": (lambda data: b"x" * len(data), "it does not begin as one"),
    "length of the header": (lambda data: flip(data, 8), "its header is not what was written"),
    "far too long a header": (lambda data: flip(data, 14), "its header would be longer than any"),
    "digest of the header": (lambda data: flip(data, 20), "its header is not what was written"),
    "header": (lambda data: flip(data, 100), "its header is not what was written"),
    "cut in the header": (lambda data: data[:200], "its header is not what was written"),
    "cut in the arrays": (lambda data: data[:-1], "it has {short} bytes, not {size}"),
    "more at the end": (lambda data: data + b"x", "it has {long} bytes, not {size}"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_entry_is_dropped_and_the_file_read(
    cache: MotionCache, wave: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = cache.load_motions(wave)
    (entry,) = entries(tmp_path)
    damage, message = DAMAGE[kind]
    size = entry.stat().st_size
    entry.write_bytes(damage(entry.read_bytes()))
    again = cache.load_motions(wave)
    assert told(again) == told(first)
    assert not is_mapped(again)
    reason = message.format(size=size, short=size - 1, long=size + 1)
    assert caplog.messages == [f"{entry}: a cached motion is damaged; {reason}; its file is read anew"]
    assert is_mapped(cache.load_motions(wave))


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"[1, 2", b"null", b"\xff"])
def test_a_damaged_record_is_no_record(
    cache: MotionCache, wave: Path, tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    cache.load_motions(wave)
    (record,) = (tmp_path / "cache" / "index").iterdir()
    record.write_bytes(damage)
    assert is_mapped(cache.load_motions(wave))
    assert len(record.read_bytes()) > 64
    assert not caplog.messages


def test_changed_numbers_are_found_when_everything_is_verified(
    cache: MotionCache, wave: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.load_motions(wave)
    (entry,) = entries(tmp_path)
    data = entry.read_bytes()
    assert cache.verify() == 0
    entry.write_bytes(flip(data, data.index(np.array([0.5, 0.25]).tobytes())))
    assert cache.verify() == 1
    assert entries(tmp_path) == []
    reason = "its numbers are not those that were written"
    assert caplog.messages == [f"{entry}: a cached motion is damaged; {reason}; its file is read anew"]


def test_what_was_not_asked_for_the_longest_goes_first(wave: Path, tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    cache.load_motions(wave)
    size = entries(tmp_path)[0].stat().st_size
    cache = cache_in(tmp_path, max_bytes=2 * size + size // 2)
    second, third = (write(tmp_path / f"{name}.seq", 0.75) for name in ("bend", "turn"))
    cache.load_motions(second)
    for entry in entries(tmp_path):
        os.utime(entry, (0, 0))
    assert is_mapped(cache.load_motions(wave))
    cache.load_motions(third)
    assert len(entries(tmp_path)) == 2
    assert is_mapped(cache.load_motions(wave))
    assert is_mapped(cache.load_motions(third))
    assert not is_mapped(cache.load_motions(second))


def test_what_is_larger_than_the_whole_cache_is_not_kept(wave: Path, tmp_path: Path) -> None:
    cache = MotionCache(tmp_path / "cache", max_bytes=100, min_file_bytes=0)
    assert not is_mapped([*cache.load_motions(wave), *cache.load_motions(wave)])
    assert not (tmp_path / "cache" / "entries").exists()


def test_what_is_of_no_more_use_is_cleared_away(cache: MotionCache, wave: Path, tmp_path: Path) -> None:
    cache.load_motions(wave)
    (record,) = (tmp_path / "cache" / "index").iterdir()
    entries(tmp_path)[0].unlink()
    abandoned, in_use = (tmp_path / "cache" / "entries" / f".writing-{name}" for name in "ab")
    abandoned.touch()
    in_use.touch()
    os.utime(abandoned, (0, 0))
    cache.load_motions(write(tmp_path / "bend.seq", 0.75))
    assert not record.exists()
    assert not abandoned.exists()
    assert in_use.exists()


def test_a_folder_that_cannot_be_written_costs_one_warning(
    wave: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    cache = MotionCache(folder, min_file_bytes=0)
    assert [second_row(cache.load_motions(wave)) for _ in range(3)] == [0.25] * 3
    assert caplog.messages == [f"{folder}: the cache of motions does not work; Not a directory; {MEND}"]


def test_a_full_disk_costs_one_warning_and_leaves_nothing(
    cache: MotionCache,
    wave: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_entry.Packed, "write", full)
    assert second_row(cache.load_motions(wave)) == 0.25
    assert entries(tmp_path) == []
    assert caplog.messages == [
        f"{tmp_path / 'cache'}: the cache of motions does not work; No space left on device; {MEND}"
    ]


def test_what_a_disk_gives_back_otherwise_than_written_is_not_kept(
    cache: MotionCache, wave: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole = cache_entry.Packed.write

    def write_badly(packed: cache_entry.Packed, out: Any) -> None:
        write_whole(packed, out)
        out.seek(len(packed.preamble))
        out.write(b"\xff")

    monkeypatch.setattr(cache_entry.Packed, "write", write_badly)
    assert second_row(cache.load_motions(wave)) == 0.25
    assert entries(tmp_path) == []


def test_what_is_no_plain_data_is_not_kept(
    cache: MotionCache,
    wave: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strange = Motion("wave", (), 1.0, np.zeros(1), np.zeros((1, 1)), metadata={"made": {1, 2}})
    monkeypatch.setattr("motiond.formats.registry.load_motions", lambda _: [strange])
    caplog.set_level(logging.INFO)
    assert cache.load_motions(wave) == [strange]
    assert caplog.messages == [f"{wave}: it is not cached; set cannot be kept"]
    assert not (tmp_path / "cache" / "entries").exists()


@pytest.mark.parametrize(("base", "folder"), [("/srv/cache", "/srv/cache/motiond"), ("not/absolute", None)])
def test_the_default_folder_is_the_user_s(
    monkeypatch: pytest.MonkeyPatch, base: str, folder: str | None
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_folder() == Path(folder or "/home/somebody/.cache/motiond")


@pytest.mark.usefixtures("nameless")
def test_for_a_user_without_a_home_each_file_is_read_and_one_line_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert default_folder() is None
    cache = default_cache()
    cache.min_file_bytes = 0
    for _ in range(2):
        (motion,) = cache.load_motions(GOOD / "logged.seq")
        assert motion.name == formats.load_motions(GOOD / "logged.seq")[0].name
    assert cache.verify() == 0
    assert caplog.messages == [
        "motions are not cached; this user has no home folder; set HOME or XDG_CACHE_HOME"
    ]


def test_a_reader_ends_quietly_when_the_one_who_asked_has_gone(cache: MotionCache, wave: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        ours.send(os.fsencode(wave))
        ours.close()
        worker.serve(theirs, cache)
