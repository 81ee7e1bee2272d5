"""Where a file's bytes come from, and how the files it refers to are found.

No reader opens a path by itself, so that the daemon can confine what a robot description may include to the
folders that it was configured with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import FormatError, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from ..model.interpolation import Interpolation


@dataclass(frozen=True, slots=True)
class KeyFrames:
    """How key frames become rows, in a format that has them and states no time for a frame.

    Attributes
    ----------
    frame_period_s : float
        In s; 32 ms is the step of Webots and XMDI.
    interpolation : {'hold', 'linear', 'cubic'}
        Between one key frame and the next.
    """

    frame_period_s: float = 0.032
    interpolation: Interpolation = "linear"

    def __post_init__(self) -> None:
        if not 0 < self.frame_period_s < float("inf"):
            raise ValueError(f"frame period is {self.frame_period_s} s; it is above 0; XMDI's is 0.032 s")


@dataclass(frozen=True, slots=True)
class Source:
    """One file, and the folders that files it refers to must lie in.

    Attributes
    ----------
    path : Path
        The file; messages name it as given.
    within : tuple of Path
        Folders that may be read from; empty means anywhere.
    key_frames : KeyFrames
        For formats that have key frames.
    """

    path: Path
    within: tuple[Path, ...] = ()
    key_frames: KeyFrames = KeyFrames()

    @property
    def name(self) -> str:
        """The file as messages name it."""
        return str(self.path)

    def read(self) -> bytes:
        """Read the file whole.

        Raises
        ------
        FormatError
            If it cannot be read, with the system's reason.
        """
        try:
            if not self.path.is_file():
                why = "it is a folder" if self.path.is_dir() else "no such file"
                raise FormatError([Problem(self.name, 0, "cannot be read", why, "check the path")])
            return self.path.read_bytes()
        except (OSError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise FormatError([Problem(self.name, 0, "cannot be read", reason, "check the path")]) from error

    def beside(self, relative: str) -> Source:
        """Return the source of a file whose name is relative to this one's folder."""
        return Source(self.path.parent / relative, self.within)

    def allowed(self) -> bool:
        """Whether the file lies in one of the folders that may be read from (symbolic links followed)."""
        if not self.within:
            return True
        real = self.path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in self.within)

    def identity(self) -> Path:
        """Return the real path, by which include cycles are found."""
        return self.path.resolve()
