"""The trajectory clock: where on a trajectory the robot is, and how fast that place moves."""

from __future__ import annotations

from .ramp import Ramp, longest_stop, plan_ramp

MARGIN = 1e-3
"""In rows: far more than ruckig's rounding, and far less than anybody sees."""


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
    max_slope : float
        How much the rate may change in one tick; for the ramps to come.
    """

    __slots__ = (
        "_behind",
        "_braking",
        "_elapsed",
        "_heading",
        "_ramp",
        "_target",
        "max_slope",
        "position",
        "rate",
    )

    def __init__(self) -> None:
        self.position = 0.0
        self.rate = 0.0
        self._target = self._heading = 0.0
        self.max_slope = 1.0
        self._elapsed = 0
        self._behind = 0.0
        self._braking = False
        self._ramp: Ramp | None = None

    def start(self, rate: float, max_slope: float) -> None:
        """Stand so that the next tick is at row 0, moving at `rate`; or at row 0, if that is 0.

        `rate`: rows per tick.
        `max_slope`: how much the rate may change in one tick.
        """
        self.position = -rate
        self.rate = self._target = self._heading = rate
        self.max_slope = max_slope
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
            longest_stop(fastest, self.max_slope) + ticks
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
    def settles_at(self) -> float:
        """The place where the ramp that it is on ends; where it is, without one."""
        return self.position if self._ramp is None else self._ramp.end - self._behind

    @property
    def brakes(self) -> bool:
        """Whether it slows down for a row, and cannot be kept from it."""
        return self._braking

    @property
    def fastest(self) -> float:
        """The higher one of its rate and of the one that it goes to."""
        return max(self.rate, self._target)

    @property
    def at_rest(self) -> bool:
        """Whether the rate has come down to 0."""
        return self.rate == 0.0 and self._ramp is None

    def _follow(self, ramp: Ramp, target: float) -> None:
        self._heading = self._heading_at(*self._state_after(0)[1:])
        self._ramp, self._target = ramp, target
        self._elapsed, self._behind = 0, 0.0

    def _ramp_from(
        self, place: float, rate: float, slope: float, to: float, land_on: float | None = None
    ) -> Ramp:
        not_past = self._heading_at(rate, slope)
        return plan_ramp(place, rate, slope, to, max_slope=self.max_slope, not_past=not_past, land_on=land_on)

    def _heading_at(self, rate: float, slope: float) -> float:
        turned = slope * (self._target - rate) >= 0.0  # otherwise it still turns round
        return self._target if turned else self._heading

    def _state_after(self, ticks: int) -> tuple[float, float, float]:
        """Return the place, the rate and its slope so many ticks from now."""
        if self._ramp is None:
            return self.position + self.rate * ticks, self.rate, 0.0
        elapsed = self._elapsed + ticks
        if elapsed < self._ramp.ticks:
            place, rate, slope = self._ramp.at(elapsed)
            return place - self._behind, rate, slope
        end = self._ramp.end - self._behind
        return end + self._target * (elapsed - self._ramp.ticks), self._target, 0.0

    def place_after(self, ticks: int) -> float:
        """Return the place so many ticks from now, as far as no other rate is asked for."""
        return self._state_after(ticks)[0]

    def advance(self, ticks: int) -> float:
        """Move on by so many ticks and return the new position."""
        self.position, self.rate, _ = self._state_after(ticks)
        self._elapsed += ticks
        if self._ramp is not None and self._elapsed >= self._ramp.ticks:
            self._ramp, self._braking = None, False
        return self.position
