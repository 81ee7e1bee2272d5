"""Where a file's bytes come from, and how the files it refers to are found.

No reader opens a path by itself, so that the daemon can confine what a robot description may include to the
folders that it was configured with.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from motiond.text import nearest_file, printable

from ..errors import FormatError, Problem
from ..model.motion import check_rate
from .regular_file import open_regular
from .resource_folders import resource_folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..model.interpolation import Interpolation
    from ..model.mapping import MotionMap


class SizeBound(NamedTuple):
    """How many bytes a file may have."""

    most_bytes: int
    kind: str  # what such a file is called, with its article
    hint: str  # what to do about a larger one


PIECE_BYTES = 1 << 20
# What to do about a file that lies where none may be read.
MOVE_IT = "move it there, or name its folder in `resource_paths`"
MOTION_SIZE = SizeBound(1_000_000_000, "a motion file", "split the motion")
OTHER_SIZE = SizeBound(100_000_000, "a file of this kind", "check that it is the right file")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a motion's file may leave open, and who reads it knows.

    Attributes
    ----------
    frame_period_s : float
        Of key frames that have numbers and no times, in s; 32 ms is the step of Webots and XMDI.
    interpolation : {'hold', 'linear', 'cubic'}
        Between one key frame and the next.
    rate_hz : float, optional
        Of rows for which the file states neither times nor a rate, in rows/s; that of `map` unless given.
    topic : str, optional
        Which topic of a recording that holds several; that of `map` unless given.
    whole : bool
        Whether all of a recording of motiond is one motion, and not each goal that was played.
    drop : frozenset of str
        What of the file may be lost on reading, by the names that a refusal has.
    map : MotionMap, optional
        How columns become joints. Readers need not know it: the registry applies it to what they return.
    """

    frame_period_s: float = 0.032
    interpolation: Interpolation = "linear"
    rate_hz: float | None = None
    topic: str | None = None
    whole: bool = False
    drop: frozenset[str] = frozenset()
    map: MotionMap | None = None

    def __post_init__(self) -> None:
        if not 0 < self.frame_period_s < float("inf"):
            raise ValueError(f"frame period is {self.frame_period_s:g} s; it is above 0; XMDI's is 0.032 s")
        check_rate(self.rate_hz)
        if self.map is not None:
            object.__setattr__(self, "rate_hz", self.map.rate_hz if self.rate_hz is None else self.rate_hz)
            object.__setattr__(self, "topic", self.map.topic if self.topic is None else self.topic)


def _read(file: BinaryIO, size: int, most_bytes: int) -> bytes:
    """Read a file of a stated size, and on where there is more: it may grow, or be one of /proc."""
    parts = [file.read(size + 1)]
    count = len(parts[0])
    while size < count <= most_bytes and (part := file.read(min(PIECE_BYTES, most_bytes + 1 - count))):
        parts.append(part)
        count += len(part)
    return b"".join(parts) if len(parts) > 1 else parts[0]


@dataclass(frozen=True, slots=True)
class Source:
    """One file, and the folders that files it refers to must lie in.

    Attributes
    ----------
    path : Path
        The file; messages name it as given.
    within : tuple of Path
        Folders that may be read from, besides those that models are looked for in; empty means anywhere.
    resource_paths : tuple of Path
        Folders that models and meshes are looked for in before those that the environment names.
    options : ReadOptions
        For what a motion's file may leave open.
    """

    path: Path
    within: tuple[Path, ...] = ()
    resource_paths: tuple[Path, ...] = ()
    options: ReadOptions = ReadOptions()

    @property
    def name(self) -> str:
        """The file as messages name it, printable."""
        return printable(str(self.path))

    def read(self, bound: SizeBound = OTHER_SIZE) -> bytes:
        """Read the file whole, if it is a regular file and no larger than it may be.

        Raises `FormatError` if it cannot be read, with the system's reason.
        """
        with self.opened() as file:
            size = os.fstat(file.fileno()).st_size
            self._refuse_large(size, bound)
            data = _read(file, size, bound.most_bytes)
        self._refuse_large(len(data), bound)
        return data

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file, if it is a regular one, for as long as the context lasts.

        Raises `FormatError` if it cannot be read, with the system's reason.
        """
        try:
            with open_regular(self.path) as file:
                yield file
        except FileNotFoundError as error:
            raise self._unreadable("no such file", nearest_file(self.path)) from error
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error
        except ValueError as error:
            if isinstance(error, FormatError):
                raise
            raise self._unreadable(str(error)) from error
        except MemoryError as error:
            raise self._unreadable("there is not enough memory for it") from error

    def _refuse_large(self, size: int, bound: SizeBound) -> None:
        if size > bound.most_bytes:
            reason = f"{bound.kind} has at most {bound.most_bytes}"
            raise FormatError([Problem(self.name, 0, f"has {size} bytes", reason, bound.hint)])

    def _unreadable(self, reason: str, hint: str = "") -> FormatError:
        return FormatError([Problem(self.name, 0, "cannot be read", reason, hint or "check the path")])

    def beside(self, relative: str) -> Source:
        """Return the source of a file whose name is relative to this one's folder."""
        return self.at(self.path.parent / relative)

    def at(self, path: Path) -> Source:
        """Return the source of another file that this one refers to."""
        return replace(self, path=path)

    @property
    def readable(self) -> tuple[Path, ...]:
        """The folders that may be read from; empty means anywhere."""
        return (*self.within, *self.resource_paths, *resource_folders()) if self.within else ()

    def allowed(self) -> bool:
        """Whether the file lies in one of the folders that may be read from (symbolic links followed)."""
        real, readable = self.path.resolve(), self.readable
        return not readable or any(real.is_relative_to(folder.resolve()) for folder in readable)

    def identity(self) -> Path:
        """Return the real path, by which include cycles are found."""
        return self.path.resolve()
