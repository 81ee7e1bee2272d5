"""A cache of large motions: what a reader made of a file is kept, and mapped into memory the next time.

The motions are those that the reader would return, bit for bit. An entry is named by a digest of the file's
content, and of all else that its motions depend on: the file's name, the code of the readers and how key
frames become rows. Where a file has the same times, size and inode as when it was read, its content is taken
to be the same and is not read at all. Whatever is wrong with the cache, the file is read: loading fails for
no reason but the reader's.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
import time
from dataclasses import astuple, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING

import orjson

from .. import registry
from ..io.regular_file import open_regular
from ..io.source import MOTION_SIZE, KeyFrames, SizeBound, Source
from . import entry as cache_entry
from .entry import DamagedEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.resources.abc import Traversable

    from ..model.motion import Motion

log = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 2_000_000_000
# Reading a smaller file takes little longer than looking for its entry.
DEFAULT_MIN_FILE_BYTES = 1_000_000
# A file written twice within a tick of the system's clock shows one time; ticks are at most 10 ms.
YOUNG_NS = 100_000_000
# A temporary file this old was left behind by a writer that died; no writing takes so long.
ABANDONED_NS = 3600 * 10**9
MOST_RECORD_BYTES = 1000
TEMPORARY = ".writing-"
DEFAULT_KEY_FRAMES = KeyFrames()


def default_folder() -> Path | None:
    """Return `$XDG_CACHE_HOME/motiond`, by default `~/.cache/motiond`; None for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:  # neither $HOME nor a name of the user, as in a container
            return None
    return base / "motiond"


def default_cache() -> MotionCache:
    """Return the cache of this user; the log says where there is none."""
    folder = default_folder()
    if folder is None:
        log.warning("motions are not cached; this user has no home folder; set HOME or XDG_CACHE_HOME")
    return MotionCache(folder)


class MotionCache:
    """Motions that were read, kept in a folder that any number of processes may share.

    Parameters
    ----------
    folder : path or None
        Made when first needed; None keeps nothing.
    max_bytes : int
        What all entries may take together; those not asked for the longest are removed first.
    min_file_bytes : int
        Smaller files are always read.
    now_ns : callable
        Returns the system's time in ns, as files have it.

    Attributes
    ----------
    folder : Path
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        min_file_bytes: int = DEFAULT_MIN_FILE_BYTES,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.max_bytes = max_bytes
        self.min_file_bytes = min_file_bytes
        self._now_ns = now_ns
        self.folder = None if folder is None else Path(folder)
        self._readers = _code_of_readers()
        self._warned = False

    def load_motions(
        self, path: str | os.PathLike[str], *, key_frames: KeyFrames = DEFAULT_KEY_FRAMES
    ) -> list[Motion]:
        """Return every motion in a file as `motiond.formats.load_motions` does, from memory where it can.

        Raises
        ------
        FormatError
            If the file cannot be read or is invalid, with every problem found in it.
        """
        source = Source(Path(path), key_frames=key_frames)
        stamp = _Stamp.of(source.path)
        if self.folder is None or stamp is None or stamp.size < self.min_file_bytes:
            return registry.load_motions(source)
        return self._unchanged(source, stamp) or self._load_anew(source, stamp)

    def known_motions(
        self, path: str | os.PathLike[str], *, key_frames: KeyFrames = DEFAULT_KEY_FRAMES
    ) -> list[Motion] | None:
        """Return the motions of a file that has not changed since it was read; None of any other.

        No byte of the file is read.
        """
        source = Source(Path(path), key_frames=key_frames)
        stamp = _Stamp.of(source.path)
        return None if stamp is None or self.folder is None else self._unchanged(source, stamp)

    def verify(self) -> int:
        """Check every entry by all its checksums, drop the damaged ones, and return their number."""
        damaged = 0
        for file in self._files(self._entries) if self.folder else ():
            try:
                cache_entry.verify(file.path)
            except DamagedEntry as error:
                damaged += 1
                self._drop(file.path, str(error))
            except OSError as error:
                self._warn(error)
        return damaged

    def _load_anew(self, source: Source, stamp: _Stamp) -> list[Motion]:
        began_ns = self._now_ns()
        data = source.read(MOTION_SIZE)
        digest = hashlib.blake2b(data, digest_size=32).hexdigest()
        motions = self._kept(digest, source)
        if not motions:
            motions = registry.load_motions(_InMemory(source.path, key_frames=source.key_frames, data=data))
            self._keep(digest, source, motions)
        # A file that changed meanwhile, or could change without showing it, must be read the next time.
        if stamp == _Stamp.of(source.path) and began_ns - stamp.changed_ns > YOUNG_NS:
            self._remember(source.path, stamp, digest)
        return motions

    def _unchanged(self, source: Source, stamp: _Stamp) -> list[Motion] | None:
        digest = self._remembered(source.path, stamp)
        return self._kept(digest, source) if digest else None

    @property
    def _entries(self) -> Path:
        return Path(self.folder or "") / "entries"

    @property
    def _index(self) -> Path:
        return Path(self.folder or "") / "index"

    def _entry(self, digest: str, source: Source) -> Path:
        """Return the path of an entry: named by content, then by all else that its motions depend on."""
        return self._entries / f"{digest}-{_name(source.path.name, self._readers, source.key_frames)}"

    def _kept(self, digest: str, source: Source) -> list[Motion] | None:
        path = self._entry(digest, source)
        try:
            name, motions = cache_entry.read(path)
        except FileNotFoundError:
            return None
        except DamagedEntry as error:
            self._drop(path, str(error))
            return None
        except OSError as error:
            self._warn(error)
            return None
        # The modification time of an entry is that of its last use.
        with contextlib.suppress(OSError):
            os.utime(path)
        return [_with_warnings_of(motion, name, source.name) for motion in motions]

    def _keep(self, digest: str, source: Source, motions: list[Motion]) -> None:
        try:
            packed = cache_entry.pack(motions, source.name)
        except TypeError as error:
            log.info("%s: it is not cached; %s", source.name, error)
            return

        def write(out: IO[bytes]) -> None:
            packed.write(out)
            out.flush()
            os.fsync(out.fileno())
            cache_entry.verify(Path(out.name))

        if packed.size <= self.max_bytes:
            self._make_room(packed.size)
            self._write(self._entry(digest, source), write)

    def _remembered(self, path: Path, stamp: _Stamp) -> str | None:
        """Return the digest of a file's content if the file has not changed since it was read."""
        record = _record(self._index / _name(path.absolute()))
        return str(record[-1]) if record[:-1] == list(astuple(stamp)) else None

    def _remember(self, path: Path, stamp: _Stamp, digest: str) -> None:
        record = orjson.dumps([*astuple(stamp), digest])
        self._write(self._index / _name(path.absolute()), lambda out: out.write(record))

    def _write(self, path: Path, write: Callable[[IO[bytes]], object]) -> None:
        """Write a file whole or not at all."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=TEMPORARY, delete=False) as out:
                temporary = Path(out.name)
                try:
                    write(out)
                    out.flush()
                    temporary.replace(path)
                finally:
                    temporary.unlink(missing_ok=True)
        except (OSError, DamagedEntry) as error:
            self._warn(error)

    def _make_room(self, size: int) -> None:
        """Remove the entries not asked for the longest, and their records, until `size` more bytes fit."""
        kept = sorted(self._files(self._entries), key=lambda file: file.used_ns)
        excess = size + sum(file.size for file in kept) - self.max_bytes
        while excess > 0 and kept:
            oldest = kept.pop(0)
            excess -= oldest.size
            self._remove(oldest.path)
        digests = {file.path.name.partition("-")[0] for file in kept}
        for file in self._files(self._index):
            if not digests.intersection(map(str, _record(file.path)[-1:])):
                self._remove(file.path)

    def _files(self, folder: Path) -> list[_File]:
        """Return the files of a folder; those that writers left behind when they died are removed."""
        found = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    known = entry.stat()
                    file = _File(Path(entry.path), known.st_size, known.st_mtime_ns)
                    if not entry.name.startswith(TEMPORARY):
                        found.append(file)
                    elif self._now_ns() - file.used_ns > ABANDONED_NS:
                        self._remove(file.path)
        return found

    def _drop(self, path: Path, reason: str) -> None:
        log.warning("%s: a cached motion is damaged; %s; its file is read anew", path, reason)
        self._remove(path)

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        """Log the first trouble with the cache alone, as there will be more of the same."""
        if not self._warned:
            self._warned = True
            reason = (isinstance(error, OSError) and error.strerror) or error
            hint = "check its rights and its disk, or give another folder"
            log.warning("%s: the cache of motions does not work; %s; %s", self.folder, reason, hint)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Properties of a file that change with its content; the system alone sets `changed_ns`."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> _Stamp | None:
        """Return those of a file; None where there is none."""
        try:
            known = path.stat()
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(known.st_mode):
            return None
        return cls(known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino)


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the cache."""

    path: Path
    size: int
    used_ns: int


@dataclass(frozen=True, slots=True)
class _InMemory(Source):
    """A file whose bytes are at hand, so that what is hashed is what is read."""

    data: bytes = b""

    def read(self, _bound: SizeBound = MOTION_SIZE) -> bytes:
        """Return the bytes."""
        return self.data


def _record(path: Path) -> list[object]:
    """Return a record of the index; an empty one where it is missing or damaged."""
    try:
        with open_regular(path) as file:
            record = orjson.loads(file.read(MOST_RECORD_BYTES))
    except (OSError, ValueError):
        return []
    return record if isinstance(record, list) else []


def _name(*what: object) -> str:
    """Return a name for a file, made of what it depends on."""
    return hashlib.blake2b(repr(what).encode(), digest_size=16).hexdigest()


def _code_of_readers() -> str:
    """Return a digest of all of `formats`, so that no entry outlives the reader that made it."""
    digest = hashlib.blake2b(digest_size=16)
    for name, content in sorted(_files(resources.files("motiond.formats"))):
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(folder: Traversable, name: str = "") -> Iterator[tuple[str, bytes]]:
    """Return path and content of every file in a folder and below it, compiled ones left out."""
    for entry in folder.iterdir():
        path = f"{name}/{entry.name}"
        if entry.is_file():
            yield path, entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _files(entry, path)


def _with_warnings_of(motion: Motion, old: str, new: str) -> Motion:
    """Return a motion whose warnings name the file as it is named now."""
    warnings = tuple(
        new + warning.removeprefix(old) if warning.startswith(f"{old}:") else warning
        for warning in motion.warnings
    )
    return motion if old == new else replace(motion, warnings=warnings)
