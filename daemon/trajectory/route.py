"""The route of a goal: over which rows of which tracks it goes, leg by leg."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .ramp import longest_stop

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from .track import Track


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
    # how much further on each pass is than the one before, in rad or m, for each joint: whole turns of joints
    # that turn without end; empty where no joint is
    advance: list[float] = field(default_factory=list)

    def end_with(self, number: int) -> bool:
        """Whether a pass, counted from 0, is the last one."""
        return number + 1 == self.count


@dataclass(frozen=True, slots=True)
class Leg:
    """One way over a track, from row `first` to row `last`, forwards or backwards."""

    track: Track
    first: int
    last: int
    # eases_in, eases_out: whether the clock has to speed up from rest at its beginning, and slow down to rest
    # at its end, because the rows there are in full motion
    eases_in: bool = False
    eases_out: bool = False
    seamless: bool = False  # whether it passes into the next one without stopping
    # shape (joints,): what is added to the positions of the track, in rad or m; None for nothing
    turned: Floats | None = None
    # of one that flows into what is played next: how it would be without that; None of any other
    unshortened: Leg | None = None
    beside: int = 0  # how many rows further on in the motion its rows are; not 0 on a blend

    length: int = field(init=False)  # in rows
    direction: int = field(init=False)  # 1 forwards, -1 backwards

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", abs(self.last - self.first))
        object.__setattr__(self, "direction", 1 if self.last >= self.first else -1)

    def turned_on(self, turned: Floats) -> Leg:
        """Return the same way, so much further on."""
        return replace(self, turned=turned if self.turned is None else self.turned + turned)

    @property
    def flows(self) -> bool:
        """Whether it flows into what is played next."""
        return self.unshortened is not None

    def flowing(self, rows: int) -> Leg:
        """Return this leg without its last rows, over which it flows into what is played next."""
        last = self.last - self.direction * rows
        return replace(self, last=last, eases_out=False, seamless=True, unshortened=self)

    def is_too_short_to_slow_down(self, rate: float, max_slope: float) -> bool:
        """Whether a clock that begins at a rate could not come to rest at its end, where it has to."""
        return self.eases_out and self.length < rate * longest_stop(rate, max_slope)


@dataclass(frozen=True, slots=True)
class Route:
    """An approach, and passes over a motion."""

    # approach, motion, return_track: all at the same rate. The return track leads from the last row back to
    # the first; it and the approach may be empty.
    approach: Track
    motion: Track
    return_track: Track
    passes: Passes  # over the motion

    def turned(self, number: int, first: Floats | None) -> Floats | None:
        """Return what is added to the rows of a pass, counted from 0; `first`: to those of the first one.

        It is no sum over the passes, so that nothing adds up in the last digits.
        """
        if not self.passes.advance:
            return first
        further: Floats = np.multiply(self.passes.advance, float(number))
        return further if first is None else first + further

    def leg(
        self, number: int, begin: int | None = None, turned: Floats | None = None, *, eases: bool = True
    ) -> Leg:
        """Return a pass, counted from 0.

        - `begin`: the row to begin on, in place of the pass's own
        - `turned`: what is added to the rows of the first pass
        - `eases`: whether it begins there from rest
        """
        passes = self.passes
        seamless = passes.seamless and not passes.end_with(number)
        first, last, eases_in, eases_out = passes.first, passes.last, passes.eases_in, passes.eases_out
        if passes.ping_pong and number % 2:
            first, last, eases_in, eases_out = last, first, eases_out, eases_in
        if seamless:
            last, eases_out = self.motion.last, False
        if begin is not None and begin != first:
            first, eases_in = begin, eases
        return Leg(
            self.motion,
            first,
            last,
            eases_in=eases_in,
            eases_out=eases_out,
            seamless=seamless,
            turned=self.turned(number, turned),
        )
