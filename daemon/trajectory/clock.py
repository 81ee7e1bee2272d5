"""Time: the machine's, a virtual one, and the trajectory's.

In come deadlines and wished rates, out come the present time and the place on a trajectory. Nothing else in
the streaming process asks what time it is, so the same code runs on real and on virtual time.
"""

from __future__ import annotations

import itertools
import math
import select
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ruckig import ControlInterface, InputParameter, Ruckig, Trajectory

SHARE = 0.8
"""How much of the steepest slope ramps use; the rest is for bending those to rate 1 onto a whole row."""
FULL_RAMP = 1.5 / SHARE
"""A ramp from 0 to 1 takes this over the steepest slope; for two thirds of the time the slope changes."""
MARGIN = 1e-3
"""In rows: far more than ruckig's rounding, and far less than anybody sees."""


if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock(Protocol):
    """What the streaming loop needs of time; seconds on a monotonic scale."""

    def now(self) -> float:
        """Give the present time in seconds."""

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, or at once if it has passed."""

    def rest_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, while nothing moves."""

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Return when `fd` can be read, at `deadline_s` at the latest."""


class RealClock:
    """The machine's monotonic clock; `now` is CLOCK_MONOTONIC itself, as it is asked often."""

    now = staticmethod(time.monotonic)

    def sleep_until(self, deadline_s: float) -> None:
        """Sleep to an absolute deadline; Python hands it to clock_nanosleep as such."""
        remaining_s = deadline_s - time.monotonic()
        if remaining_s > 0.0:
            time.sleep(remaining_s)

    rest_until = sleep_until

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Wait for a message or the deadline, whichever comes first."""
        select.select((fd,), (), (), max(0.0, deadline_s - time.monotonic()))


class VirtualClock:
    """Time that passes only when somebody sleeps.

    Parameters
    ----------
    start_s : float
        The time at first.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self.time_s = start_s

    def now(self) -> float:
        """Give the virtual time in seconds."""
        return self.time_s

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once."""
        self.time_s = max(self.time_s, deadline_s)

    def rest_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once."""
        self.sleep_until(deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Let time pass to the deadline, unless there is a message already."""
        if not select.select((fd,), (), (), 0.0)[0]:
            self.sleep_until(deadline_s)


class FastForwardClock(VirtualClock):
    """Virtual time that passes at once while something moves, and no faster than real time at rest.

    Otherwise a robot that waits for somebody would keep a processor busy, and its time would run away.
    """

    def rest_until(self, deadline_s: float) -> None:
        """Sleep for as long as there is to the deadline."""
        time.sleep(max(0.0, deadline_s - self.time_s))
        self.sleep_until(deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Wait for a message for as long as there is to the deadline; with a message no time passes."""
        if not select.select((fd,), (), (), max(0.0, deadline_s - self.time_s))[0]:
            self.sleep_until(deadline_s)


class TrajectoryClock:
    """Where on a trajectory the robot is, in rows, and how fast that place moves.

    The rate, in rows a tick, goes from one value to another on a ramp with bounded acceleration and jerk, so
    the robot slows down and speeds up on the path. A ramp to rate 1 ends on a whole row, and at rate 1 the
    place stays on whole rows: that is how rows reach the actuators bit for bit.

    Attributes
    ----------
    position : float
        Rows from the first one; a fraction lies between two rows.
    rate : float
        Rows per tick; 1 plays at the file's speed.
    steepest : float
        How much the rate may change in one tick; for the ramps to come.
    """

    __slots__ = (
        "_behind",
        "_braking",
        "_elapsed",
        "_heading",
        "_ramp",
        "_target",
        "position",
        "rate",
        "steepest",
    )

    def __init__(self) -> None:
        self.position = 0.0
        self.rate = 0.0
        self._target = self._heading = 0.0
        self.steepest = 1.0
        self._elapsed = 0
        self._behind = 0.0
        self._braking = False
        self._ramp: Ramp | None = None

    def start(self, rate: float, steepest: float) -> None:
        """Stand so that the next tick is at row 0, moving at `rate`; or at row 0, if that is 0.

        Parameters
        ----------
        rate : float
            Rows per tick.
        steepest : float
            How much the rate may change in one tick.
        """
        self.position = -rate
        self.rate = self._target = self._heading = rate
        self.steepest = steepest
        self._ramp, self._braking = None, False

    def aim(self, rate: float) -> None:
        """Ramp to another rate from the next tick on; a brake for a row is not broken off."""
        if rate != self._target and not self._braking:
            self._follow(self._ramp_from(*self._state_after(0), rate), rate)

    def rest(self) -> None:
        """Stay where it is; what is left of a ramp is rounding, or beyond the last row."""
        self.rate = self._target = self._heading = 0.0
        self._ramp, self._braking = None, False

    def brake_for(self, row: float, ticks: int) -> None:
        """Begin the stop that comes to rest on `row`, if after `ticks` more it would be too late for it.

        To be called before every tick; then the clock never passes the row.
        """
        fastest = max(self.rate, self._target)
        if self._target == 0.0 or row - self.position > fastest * (
            longest_stop(fastest, self.steepest) + ticks
        ):
            return
        if self._ramp_from(*self._state_after(ticks), 0.0).end > row - MARGIN:
            self._follow(self._ramp_from(*self._state_after(0), 0.0, row), 0.0)
            self._braking = True

    def carry_back(self, rows: int) -> None:
        """Count from a row so many further on; a ramp goes on as it was."""
        self.position -= rows
        self._behind += rows

    @property
    def at_rest(self) -> bool:
        """Whether the rate has come down to 0."""
        return self.rate == 0.0 and self._ramp is None

    @property
    def rows_to_rest(self) -> float:
        """How many rows a stop from here would take; the stopping distance on the path."""
        return self._ramp_from(*self._state_after(0), 0.0).end - self.position

    def _follow(self, ramp: Ramp, target: float) -> None:
        self._heading = self._heading_at(*self._state_after(0)[1:])
        self._ramp, self._target = ramp, target
        self._elapsed, self._behind = 0, 0.0

    def _ramp_from(
        self, place: float, rate: float, slope: float, to: float, land_on: float | None = None
    ) -> Ramp:
        not_past = self._heading_at(rate, slope)
        return plan_ramp(place, rate, slope, to, steepest=self.steepest, not_past=not_past, land_on=land_on)

    def _heading_at(self, rate: float, slope: float) -> float:
        turned = slope * (self._target - rate) >= 0.0  # otherwise it still turns round
        return self._target if turned else self._heading

    def _state_after(self, ticks: int) -> tuple[float, float, float]:
        """Give the place, the rate and its slope so many ticks from now."""
        if self._ramp is None:
            return self.position + self.rate * ticks, self.rate, 0.0
        elapsed = self._elapsed + ticks
        if elapsed < self._ramp.ticks:
            place, rate, slope = self._ramp.at(elapsed)
            return place - self._behind, rate, slope
        end = self._ramp.end - self._behind
        return end + self._target * (elapsed - self._ramp.ticks), self._target, 0.0

    def advance(self, ticks: int) -> float:
        """Move on by so many ticks and give the new position."""
        self.position, self.rate, _ = self._state_after(ticks)
        self._elapsed += ticks
        if self._ramp is not None and self._elapsed >= self._ramp.ticks:
            self._ramp, self._braking = None, False
        return self.position


def longest_stop(rate: float, steepest: float) -> float:
    """Give a bound, in ticks, of how long a stop takes from up to `rate`, whatever ramp it breaks off.

    Turning round from the steepest slope takes at most 1 / (2 `SHARE`² steepest) ticks; slowing down from the
    rate at the usual slope and jerk (`plan_ramp`) takes (rate + 1/2) / (`SHARE` steepest) more. A brake for a
    row has begun no earlier than one tick before the last moment, so it is carried on by that tick's rows.
    """
    slowing = max((rate + 0.5) / (SHARE * steepest), _ticks_to_shift(rate, steepest))
    return slowing + 0.5 / (SHARE**2 * steepest) + 1.0


class Phase(NamedTuple):
    """A stretch of constant jerk; values at its beginning, in rows and ticks."""

    begin: float
    place: float
    rate: float
    slope: float
    jerk: float

    def after(self, t: float) -> tuple[float, float, float]:
        """Give the place, the rate and its slope t ticks after the beginning."""
        place = self.place + t * (self.rate + t * (self.slope / 2 + t * self.jerk / 6))
        return place, self.rate + t * (self.slope + t * self.jerk / 2), self.slope + t * self.jerk


@dataclass(frozen=True, slots=True)
class Ramp:
    """A change of the clock's rate, and what it does to the place.

    From `shifted_from` on, with u the share of the rest that has passed, `shift` times
    `u³ (10 - 15 u + 6 u²)` is added to the place; that leaves the rate and its slope at both ends alone.

    Attributes
    ----------
    phases : tuple of Phase
    ticks : float
        How long it takes.
    end : float
        The place where it ends, in rows.
    shift : float
        How far the place is carried on besides, in rows.
    shifted_from : float
        In ticks.
    """

    phases: tuple[Phase, ...]
    ticks: float
    end: float
    shift: float = 0.0
    shifted_from: float = 0.0

    def at(self, elapsed: float) -> tuple[float, float, float]:
        """Give the place, the rate and its slope after so many ticks."""
        phase = self.phases[0]
        for later in self.phases:
            if later.begin > elapsed:
                break
            phase = later
        place, rate, slope = phase.after(elapsed - phase.begin)
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
    steepest: float,
    not_past: float,
    land_on: float | None = None,
) -> Ramp:
    """Plan the quickest ramp of the clock's rate within its bounds (by the library `ruckig`).

    Parameters
    ----------
    place, rate, slope : float
        In rows, rows per tick and rows per tick²: where the clock is.
    to : float
        The rate to reach; at 1 the ramp ends on a whole row, after a whole number of ticks.
    steepest : float
        Bound of the slope. Ramps use a share of it, and have a jerk of at most twice the square of that; so a
        full one, from 0 to 1, takes `FULL_RAMP / steepest` ticks.
    not_past : float
        The rate that the clock has been heading for, and that is not to be passed in turning round.
    land_on : float, optional
        Of a ramp to 0: the row to come to rest on, not before the end of the quickest one.
    """
    start, usual = Phase(0.0, place, rate, slope, 0.0), SHARE * steepest
    turn: tuple[Phase, ...] = ()
    if slope * (to - rate) < 0.0:
        turn, start = _turn_round(start, usual, not_past)
    phases = (*turn, *_quickest(start, to, usual))
    ramp = Ramp(phases, phases[-1].begin, phases[-1].place)
    if land_on is not None:
        return _carried_to(land_on, ramp, start.begin, steepest)
    return _ended_on_a_row(ramp, start.begin, steepest) if to == 1.0 else ramp


def _turn_round(start: Phase, steepest: float, not_past: float) -> tuple[tuple[Phase, ...], Phase]:
    """Bring the slope to 0 before the rate passes `not_past`; give that phase, and what follows it."""
    room = abs(not_past - start.rate)
    jerk = max(2.0 * steepest**2, start.slope**2 / (2.0 * room) if room > 0.0 else 0.0)
    lasts = abs(start.slope) / jerk
    phase = start._replace(jerk=math.copysign(jerk, -start.slope))
    place, rate, _ = phase.after(lasts)
    return (phase,), Phase(lasts, place, rate, 0.0, 0.0)


def _quickest(start: Phase, to: float, steepest: float) -> Iterator[Phase]:
    """Plan with a jerk of 2 `steepest`²; the last phase is where it ends."""
    wanted = InputParameter(1)
    wanted.control_interface = ControlInterface.Velocity
    # In units of 1 / steepest ticks, in which ruckig's own tolerances are small.
    wanted.current_position, wanted.current_velocity = [0.0], [start.rate]
    wanted.current_acceleration, wanted.target_velocity = [start.slope / steepest], [to]
    wanted.max_acceleration, wanted.max_jerk = [max(1.0, abs(start.slope / steepest))], [2.0]
    trajectory = Trajectory(1)
    Ruckig(1).calculate(wanted, trajectory)
    profile = trajectory.profiles[0][0]
    begins = [0.0, *itertools.accumulate(profile.t)]
    for begin, p, v, a, j in zip(begins, profile.p, profile.v, profile.a, [*profile.j, 0.0], strict=True):
        yield Phase(
            start.begin + begin / steepest, start.place + p / steepest, v, a * steepest, j * steepest**2
        )


def _ended_on_a_row(ramp: Ramp, begin: float, steepest: float) -> Ramp:
    """Make a ramp to rate 1 a little longer, and hold it back by less than a row, onto a whole one.

    From `begin` on, the rate is at least that of a start from rest: held back, it never falls below 0.
    """
    ticks = math.ceil(max(ramp.ticks, begin + _ticks_to_shift(1.0, steepest), begin + 20.0))
    end = ramp.end + ticks - ramp.ticks
    row = math.floor(end + 1e-9)
    return Ramp(ramp.phases, float(ticks), float(row), min(0.0, row - end), begin)


def _carried_to(row: float, ramp: Ramp, begin: float, steepest: float) -> Ramp:
    """Make a ramp to rest longer, and carry it on to a row.

    From `begin` on, the rate is at most what is left after a slowing down: carried on, it does not rise.
    """
    shift = row - ramp.end
    ticks = max(ramp.ticks, begin + _ticks_to_shift(shift, steepest))
    return Ramp(ramp.phases, float(math.ceil(ticks)), row, shift, begin)


def _ticks_to_shift(rows: float, steepest: float) -> float:
    """Give how long a shift by so many rows has to take.

    A change of the rate from rest to rest of slope takes up (`SHARE` `steepest`)² t² after t ticks, and the
    shift at most 30 `rows` t² / ticks³ of it. The slope of the shift, at most 5.78 `rows` / ticks², has the
    room that `SHARE` leaves.
    """
    rows = max(rows, 0.0)
    by_rate: float = (30.0 * rows / (SHARE * steepest) ** 2) ** (1 / 3)
    return max(by_rate, math.sqrt(5.78 * rows / ((1.0 - SHARE) * steepest)))
