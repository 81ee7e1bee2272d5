"""The way that a goal takes: over which rows of which tracks, in which order.

In come the tracks of an approach, of a motion and of the way back from its end to its beginning, with how
often and in which direction to go over the motion; out come the legs of that way, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .ramp import longest_stop

if TYPE_CHECKING:
    from .track import Track


@dataclass(frozen=True, slots=True)
class Leg:
    """One way over a track, from row `first` to row `last`, forwards or backwards.

    Attributes
    ----------
    on_motion : bool
        Whether it is part of the motion, rather than a way to it.
    eases_in, eases_out : bool
        Whether the clock has to speed up from rest at its beginning, and slow down to rest at its end,
        because the rows there are in full motion.
    flows : bool
        Whether it passes into the next one without stopping.
    length : int
        In rows.
    direction : int
        1 forwards, -1 backwards.
    """

    track: Track
    first: int
    last: int
    on_motion: bool = True
    eases_in: bool = False
    eases_out: bool = False
    flows: bool = False

    length: int = field(init=False)
    direction: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", abs(self.last - self.first))
        object.__setattr__(self, "direction", 1 if self.last >= self.first else -1)

    def is_too_short_to_slow_down(self, rate: float, max_slope: float) -> bool:
        """Whether a clock that begins at a rate could not come to rest at its end, where it has to."""
        return self.eases_out and self.length < rate * longest_stop(rate, max_slope)


@dataclass(frozen=True, slots=True)
class Route:
    """An approach, and passes over a motion.

    Attributes
    ----------
    approach, motion, seam : Track
        All at the same rate. The seam leads from the last row back to the first; approach and seam may be
        empty.
    first, last : int
        The rows of the motion to play.
    passes : int
        How often; 0 is for ever.
    ping_pong : bool
        Whether every second pass goes backwards.
    flows : bool
        Whether a pass goes into the next without stopping: the motion's track then ends with the row at which
        the next pass begins.
    eases_in, eases_out : bool
        Whether the motion is in full motion on its first and last row.
    """

    approach: Track
    motion: Track
    seam: Track
    first: int
    last: int
    passes: int = 1
    ping_pong: bool = False
    flows: bool = False
    eases_in: bool = False
    eases_out: bool = False

    def ends_with(self, number: int) -> bool:
        """Whether a pass, counted from 0, is the last one."""
        return number + 1 == self.passes

    def leg(self, number: int, begin: int | None = None) -> Leg:
        """Give a pass, counted from 0.

        Parameters
        ----------
        begin : int, optional
            The row to begin on, in place of the pass's own.
        """
        forwards = not (self.ping_pong and number % 2)
        first, last = (self.first, self.last) if forwards else (self.last, self.first)
        eases_in, eases_out = (self.eases_in, self.eases_out) if forwards else (self.eases_out, self.eases_in)
        if self.flows and not self.ends_with(number):
            last, eases_out = self.motion.last, False
        if begin is not None and begin != first:
            first, eases_in = begin, True
        flows = self.flows and not self.ends_with(number)
        return Leg(self.motion, first, last, eases_in=eases_in, eases_out=eases_out, flows=flows)
