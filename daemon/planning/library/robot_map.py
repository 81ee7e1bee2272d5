"""A robot's motion map, read again whenever its file has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from motiond.formats import FormatError, ReadOptions, load_map

from .stamps import AGAIN, is_passing, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .stamps import Stamp


@dataclass(frozen=True, slots=True)
class Reading:
    """How motions are read; another one means that all are to be read again.

    - `options`: for what their files leave open
    - `problem`: why none can be read, by the map's file; '' where they can
    """

    options: ReadOptions
    problem: str = ""


class RobotMap:
    """The options by which a robot's motions are read.

    - `file`: the motion map; None where there is none
    - `options`: what counts besides

    A motion that has none of the map's columns is left as it is: it may have the robot's own joints.
    """

    def __init__(self, file: Path | None, options: ReadOptions) -> None:
        self._file, self._options = file, options
        self._stamp: Stamp | None = None
        self.reading = Reading(options)

    @property
    def is_unread(self) -> bool:
        """Whether the file could not be read for a reason that will pass."""
        return self._stamp == AGAIN

    def refresh(self, may_read: Callable[[Path], bool] | None = None) -> str:
        """Read the file if it has changed and may be read now; what it held before stays where it cannot be.

        Returns why it could not be read, for a reason that will pass.
        """
        file, known = self._file, self._stamp
        if file is None or (stamp := stamp_of(file)) == known:
            return ""
        if known not in {None, AGAIN} and may_read is not None and not may_read(file):
            return ""
        self._stamp = stamp
        try:
            map_ = replace(load_map(file), must_fit=False)
        except FormatError as error:
            if is_passing(error):
                self._stamp = AGAIN
                if known not in {None, AGAIN} or self.reading.options.map:
                    return str(error)
            self.reading = Reading(self._options, str(error))
        else:
            self.reading = Reading(replace(self._options, map=map_))
        return ""
