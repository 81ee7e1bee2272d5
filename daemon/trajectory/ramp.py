"""Jerk-limited ramps of the trajectory clock's rate, and what they do to the place on the trajectory.

A ramp leads from the clock's present place, rate and slope to another rate, within bounds of slope and jerk
(by the library `ruckig`). One to rate 1 ends on a whole row; one to rest may be carried on to a given row.
Places are in rows, times in ticks.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ruckig import ControlInterface, InputParameter, Ruckig, Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Floats

SHARE = 0.8
"""How much of the greatest slope ramps use; the rest is for bending those to rate 1 onto a whole row."""
FULL_RAMP = 1.5 / SHARE
"""A ramp from 0 to 1 takes this over the greatest slope; for two thirds of the time the slope changes."""


class Segment(NamedTuple):
    """A part of a ramp with constant jerk; values at its beginning, in rows and ticks."""

    begin: float
    place: float
    rate: float
    slope: float
    jerk: float

    def after(self, t: float) -> tuple[float, float, float]:
        """Return the place, the rate and its slope t ticks after the beginning."""
        place = self.place + t * (self.rate + t * (self.slope / 2 + t * self.jerk / 6))
        return place, self.rate + t * (self.slope + t * self.jerk / 2), self.slope + t * self.jerk


@dataclass(frozen=True, slots=True)
class Ramp:
    """A change of the clock's rate, and what it does to the place.

    From `shifted_from` on, with u the share of the rest that has passed, `shift` times
    `u³ (10 - 15 u + 6 u²)` is added to the place; that leaves the rate and its slope at both ends alone.
    """

    segments: tuple[Segment, ...]
    ticks: float  # how long it takes
    end: float  # the place where it ends, in rows
    shift: float = 0.0  # how far the place is carried on besides, in rows
    shifted_from: float = 0.0  # in ticks

    def at(self, elapsed: float) -> tuple[float, float, float]:
        """Return the place, the rate and its slope after so many ticks."""
        segment = self.segments[0]
        for later in self.segments:
            if later.begin > elapsed:
                break
            segment = later
        place, rate, slope = segment.after(elapsed - segment.begin)
        if self.shift and elapsed > self.shifted_from:
            ticks = self.ticks - self.shifted_from
            u = (elapsed - self.shifted_from) / ticks
            left = 1.0 - u
            place += self.shift * u**3 * (10.0 - u * (15.0 - 6.0 * u))
            rate += self.shift / ticks * 30.0 * (u * left) ** 2
            slope += self.shift / ticks**2 * 60.0 * u * left * (left - u)
        return place, rate, slope


def plan_ramp(
    place: float,
    rate: float,
    slope: float,
    to: float,
    *,
    max_slope: float,
    not_past: float,
    land_on: float | None = None,
) -> Ramp:
    """Plan the quickest ramp of the clock's rate within its bounds (by the library `ruckig`).

    `place`, `rate`, `slope`: in rows, rows per tick and rows per tick²: where the clock is.
    `to`: the rate to reach; at 1 the ramp ends on a whole row, after a whole number of ticks.
    `max_slope`: bound of the slope. Ramps use a share of it, and have a jerk of at most twice the square of
    that; so a full one, from 0 to 1, takes `FULL_RAMP / max_slope` ticks.
    `not_past`: the rate that the clock has been heading for, and that is not to be passed in turning round,
    nor where the slope is too great for `to` to be met with the usual jerk.
    `land_on`: of a ramp to 0: the row to come to rest on, not before the end of the quickest one.
    """
    start, usual = Segment(0.0, place, rate, slope, 0.0), SHARE * max_slope
    turn: tuple[Segment, ...] = ()
    if (to - rate) * math.copysign(1.0, slope) < slope**2 / (4.0 * usual**2):  # it cannot but pass `to`
        turn, start = _turn_round(start, usual, not_past)
    segments = (*turn, *_quickest(start, to, usual))
    ramp = Ramp(segments, segments[-1].begin, segments[-1].place)
    if land_on is not None:
        return _carried_to(land_on, ramp, start.begin, max_slope)
    return _ended_on_a_row(ramp, start.begin, max_slope) if to == 1.0 else ramp


def longest_stop(rate: float, max_slope: float, skipped: float = 0.0) -> float:
    """Return a bound, in ticks, of how long a stop takes from up to `rate`, whatever ramp it breaks off.

    Turning round from the greatest slope takes at most 1 / (2 `SHARE`² `max_slope`) ticks; slowing down from
    the rate at the usual slope and jerk (`plan_ramp`) takes (rate + 1/2) / (`SHARE` `max_slope`) more. A
    brake for a row has begun no earlier than one tick before the last moment, so it is carried on by that
    tick's rows; a late one has those of the ticks that it skips as well.

    `rate`: in rows per tick.
    `max_slope`: in rows per tick².
    `skipped`: how many ticks a late tick may skip.
    """
    slowing = max((rate + 0.5) / (SHARE * max_slope), _ticks_to_shift((1.0 + skipped) * rate, max_slope))
    return slowing + 0.5 / (SHARE**2 * max_slope) + 1.0


def slowing(rate: float, to: float, max_slope: float) -> tuple[Floats, Floats]:
    """Return places, in rows, and up to which rate the clock may be there while it slows down.

    From the first place at up to `rate` on, whatever ramp it breaks off, until it is at the rate `to`; as of
    `plan_ramp`. Between two places the rate falls.
    """
    ramp = plan_ramp(0.0, rate, 0.0, to, max_slope=max_slope, not_past=rate)
    turns = (0.5 / (SHARE**2 * max_slope) + 1.0) * rate
    elapsed = np.append(np.arange(math.ceil(ramp.ticks)), ramp.ticks)
    places, rates, _ = zip(*map(ramp.at, elapsed.tolist()), strict=True)
    return np.append(0.0, turns + np.array(places)), np.append(rate, rates)


def _turn_round(start: Segment, usual: float, not_past: float) -> tuple[tuple[Segment, ...], Segment]:
    """Bring the slope to 0 before the rate passes `not_past`; return that segment, and what follows it."""
    room = abs(not_past - start.rate)
    jerk = max(2.0 * usual**2, start.slope**2 / (2.0 * room) if room > 0.0 else 0.0)
    lasts = abs(start.slope) / jerk
    segment = start._replace(jerk=math.copysign(jerk, -start.slope))
    place, rate, _ = segment.after(lasts)
    return (segment,), Segment(lasts, place, rate, 0.0, 0.0)


def _quickest(start: Segment, to: float, usual: float) -> Iterator[Segment]:
    """Plan with a slope of `usual` and a jerk of 2 `usual`²; the last segment is where it ends."""
    wanted = InputParameter(1)
    wanted.control_interface = ControlInterface.Velocity
    # In units of 1 / usual ticks, in which ruckig's own tolerances are small.
    wanted.current_position, wanted.current_velocity = [0.0], [start.rate]
    wanted.current_acceleration, wanted.target_velocity = [start.slope / usual], [to]
    wanted.max_acceleration, wanted.max_jerk = [max(1.0, abs(start.slope / usual))], [2.0]
    trajectory = Trajectory(1)
    Ruckig(1).calculate(wanted, trajectory)
    profile = trajectory.profiles[0][0]
    begins = [0.0, *itertools.accumulate(profile.t)]
    for begin, p, v, a, j in zip(begins, profile.p, profile.v, profile.a, [*profile.j, 0.0], strict=True):
        yield Segment(start.begin + begin / usual, start.place + p / usual, v, a * usual, j * usual**2)


def _ended_on_a_row(ramp: Ramp, begin: float, max_slope: float) -> Ramp:
    """Make a ramp to rate 1 a little longer, and hold it back by less than a row, onto a whole one.

    From `begin` on, the rate is at least that of a start from rest: held back, it never falls below 0.
    """
    ticks = math.ceil(max(ramp.ticks, begin + _ticks_to_shift(1.0, max_slope), begin + 20.0))
    end = ramp.end + ticks - ramp.ticks
    row = math.floor(end + 1e-9)
    return Ramp(ramp.segments, float(ticks), float(row), min(0.0, row - end), begin)


def _carried_to(row: float, ramp: Ramp, begin: float, max_slope: float) -> Ramp:
    """Make a ramp to rest longer, and carry it on to a row.

    From `begin` on, the rate is at most what is left after a slowing down: carried on, it does not rise.
    """
    shift = row - ramp.end
    ticks = max(ramp.ticks, begin + _ticks_to_shift(shift, max_slope))
    return Ramp(ramp.segments, float(math.ceil(ticks)), row, shift, begin)


def _ticks_to_shift(rows: float, max_slope: float) -> float:
    """Return how many ticks a shift by so many rows has to take.

    A change of the rate from rest to rest of slope takes up (`SHARE` `max_slope`)² t² after t ticks, and the
    shift at most 30 `rows` t² / ticks³ of it. The slope of the shift, at most 5.78 `rows` / ticks², has the
    room that `SHARE` leaves.
    """
    rows = max(rows, 0.0)
    by_rate: float = (30.0 * rows / (SHARE * max_slope) ** 2) ** (1 / 3)
    return max(by_rate, math.sqrt(5.78 * rows / ((1.0 - SHARE) * max_slope)))
