"""Passes over a motion: which of its rows are played, how often, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

SeamPolicy = Literal["reject", "approach"]
"""What becomes of a last row from which the first cannot be reached in one tick within the limits: `reject`
such a loop, or `approach` the first row each time."""


class Place(NamedTuple):
    """A place on a motion, by one of the three."""

    frame: int | None = None
    time_s: float | None = None
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes over a track."""

    # first, last: the rows of the track to play
    first: int
    last: int
    count: int = 1  # how often; 0 is for ever
    ping_pong: bool = False  # whether every second pass goes backwards
    # whether a pass goes into the next without stopping: the track then ends with the row at which the next
    # pass begins
    seamless: bool = False
    # eases_in, eases_out: whether the motion is in full motion on its first and last row, so that the clock
    # has to speed up from rest and slow down to it
    eases_in: bool = False
    eases_out: bool = False

    def end_with(self, number: int) -> bool:
        """Whether a pass, counted from 0, is the last one."""
        return number + 1 == self.count
