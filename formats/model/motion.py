"""The neutral motion, which every motion reader makes; it knows no file format.

SI units, times in seconds. `interpolation` samples between the rows; `editing` and `joining` make new motions
of motions.

    ValueError
    └── MotionError      what cannot be done with a motion
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import Floats, frozen
from .interpolation import (
    SAME_TIME_S,
    Interpolation,
    TooManyRows,
    interpolate,
    interpolate_poses,
    rows_between,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

# Relative departure of a frame's spacing from 1 / frame_rate that files with rounded times show.
SAME_SPACING = 1e-3

# Beyond any actuator's rate, and any file's.
SLOWEST_FRAME_RATE, FASTEST_FRAME_RATE = 0.001, 100_000.0
RATE_RULE = f"it is above 0 and at most {FASTEST_FRAME_RATE:g}"
FRAME_RATE_RULE = f"a frame rate lies between {SLOWEST_FRAME_RATE:g} and {FASTEST_FRAME_RATE:g} frames/s"

# The types of series whose meaning is known; a series of another type is kept as it stands in its file.
SERIES_TYPES = frozenset({"MultiValueSeq", "MultiSE3Seq", "Vector3Seq"})


class MotionError(ValueError):
    """Something that cannot be done with a motion; `str()` says why and how to fix it."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Joint positions over time, with everything else that its file holds.

    Attributes
    ----------
    name : str
        What people call it; for .seq the file's name without suffix.
    joint_names : tuple of str
        One for each column of `positions`, or () where the format has none.
    frame_rate : float
        In frames/s, as the file states it.
    times : ndarray, shape (frames,)
        In s, increasing.
    positions : ndarray, shape (frames, joints)
        In rad or m, by the joint's type.
    components : mapping
        Every other series of the file by content name, such as `LinkPosition` with shape (frames, parts, 7)
        as x y z qw qx qy qz, and `ZMP` with shape (frames, 3).
    metadata : mapping
        What the file says besides. `units`: column to the unit ('rad', 'deg', 'm', 'cm', 'mm') that the file
        or a map states for it, where one does; by number, from 0, where columns have no names.
    warnings : tuple of str
        `file:line: problem; reason; hint`, one for each oddity that was read all the same.
    """

    name: str
    joint_names: tuple[str, ...]
    frame_rate: float
    times: Floats
    positions: Floats
    components: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("times", "positions"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        frames, joints = self.times.size, len(self.joint_names)
        if not frames or self.positions.ndim != 2 or self.times.shape != self.positions.shape[:1]:
            raise ValueError(
                f"{self.name}: {self.times.shape} times and {self.positions.shape} positions; "
                "a motion has (frames,) and (frames, joints), and at least one frame"
            )
        if joints not in {0, self.positions.shape[1]}:
            raise ValueError(f"{self.name}: {joints} joint names for {self.positions.shape[1]} joints")

    @property
    def duration_s(self) -> float:
        """From the first frame to the last."""
        return float(self.times[-1] - self.times[0])

    @property
    def is_uniform(self) -> bool:
        """Whether the frames lie 1 / frame_rate apart, so that they can be played row by row."""
        return bool(np.all(np.abs(np.diff(self.times) * self.frame_rate - 1.0) < SAME_SPACING))

    def derivatives(self) -> tuple[Floats, Floats]:
        """Return velocity and acceleration at every row by central differences, each (frames, joints).

        At the first and the last row the velocity is one-sided and the acceleration that of its neighbour.
        A motion of one frame does not move; one of two has no acceleration.
        """
        velocity, acceleration = np.zeros_like(self.positions), np.zeros_like(self.positions)
        if self.times.size > 1:
            velocity[:] = np.gradient(self.positions, self.times, axis=0)
        if self.times.size > 2:
            steps = np.diff(self.times)[:, None]
            secants = np.diff(self.positions, axis=0) / steps
            acceleration[1:-1] = 2 * np.diff(secants, axis=0) / (steps[:-1] + steps[1:])
            acceleration[0], acceleration[-1] = acceleration[1], acceleration[-2]
        return velocity, acceleration

    def sample(self, at: ArrayLike, interpolation: Interpolation = "cubic") -> Floats:
        """Return positions at any times; before the first row and after the last, these rows hold.

        Parameters
        ----------
        at : array_like, shape (m,)
            In s, on the scale of `times`.
        interpolation : {'hold', 'linear', 'cubic', 'smooth'}
            `hold` keeps a row until the next one.

        Returns
        -------
        ndarray, shape (m, joints)
            At the time of a row exactly that row.
        """
        return interpolate(np.atleast_1d(np.asarray(at, float)), self.times, self.positions, interpolation)

    def closest_frame(self, time_s: float) -> int:
        """Return the number of the frame whose time is nearest; of two as near, the earlier."""
        after = min(int(np.searchsorted(self.times, time_s)), self.times.size - 1)
        before = max(after - 1, 0)
        # Halfway stays halfway in spite of rounding.
        nearer_before = time_s - self.times[before] <= self.times[after] - time_s + SAME_TIME_S
        return before if nearer_before else after

    def series(self, name: str) -> tuple[Floats, Floats]:
        """Return the times, shape (n,), and the values, shape (n, ...), of a component.

        Raises
        ------
        MotionError
            If the component is no series of numbers over time.
        """
        values, about = self.components[name], self.about(name)
        known = about.get("type", "MultiValueSeq") in SERIES_TYPES and isinstance(values, np.ndarray)
        times = about.get("times", self.times)
        if not known or len(values) != len(times):
            raise MotionError(
                f"{self.name}: component '{name}' cannot go along; "
                "it is no series of numbers over time that is known here; drop it first"
            )
        return times, values

    def about(self, name: str) -> Mapping[str, Any]:
        """Return what the file says of a component besides its values."""
        found: Mapping[str, Any] = self.metadata.get("components", {}).get(name, {})
        return found

    def missing_frames(self) -> dict[str, tuple[int, int]]:
        """Return the series with fewer frames than their file states: how many each has, and should have."""
        return {
            name: (len(self.components.get(name, self.positions)), said["frames_stated"])
            for name, said in self.metadata.get("components", {}).items()
            if "frames_stated" in said
        }

    def is_poses(self, name: str) -> bool:
        """Whether a component holds poses as x y z qw qx qy qz."""
        return bool(self.about(name).get("type", name) in {"MultiSE3Seq", "LinkPosition"})

    def resampled(self, rate_hz: float, interpolation: Interpolation = "cubic") -> Motion:
        """Return the motion with frames 1 / rate_hz apart, from the first row until the last is reached.

        Time-specified frames become frames at a fixed rate, which begin and end at rest (`curve`), as they
        would be played. Every component is resampled too, poses on the
        shorter arc; a component with times of its own then has the motion's.

        Raises
        ------
        MotionError
            If a component is no series of numbers over time, the rate is none above 0 or above 100,000,
            rows would be further apart than the motion lasts, or there would be too many of them.
        """
        if not 0 < rate_hz <= FASTEST_FRAME_RATE:
            rate = told_exactly(rate_hz)
            raise MotionError(f"{self.name}: the rate is {rate} frames/s; {RATE_RULE}; correct it")
        if 0 < self.duration_s * rate_hz < 1 - SAME_SPACING:
            problem = f"lasts {self.duration_s:g} s; at {rate_hz:g} frames/s rows are {1 / rate_hz:g} s apart"
            raise MotionError(f"{self.name}: {problem}; choose at least {1 / self.duration_s:.6g}")
        series = (
            self.positions,
            *(value for value in self.components.values() if isinstance(value, np.ndarray)),
        )
        columns = sum(math.prod(one.shape[1:]) for one in series)
        try:
            count = rows_between(
                self.duration_s, rate_hz, frames=self.times.size, columns=columns, slack=SAME_SPACING
            )
        except TooManyRows as error:
            raise MotionError(f"{self.name}: {error}") from error
        times, at_rest = self.times[0] + np.arange(count) / rate_hz, not self.is_uniform
        return self.with_series(
            times,
            interpolate(times, self.times, self.positions, interpolation, at_rest=at_rest),
            {
                name: (times, self._sampled(name, times, interpolation, at_rest=at_rest))
                for name in self.components
            },
            frame_rate=float(rate_hz),
        )

    def _sampled(self, name: str, at: Floats, interpolation: Interpolation, *, at_rest: bool) -> Floats:
        times, values = self.series(name)
        sampled = interpolate_poses if self.is_poses(name) else interpolate
        return sampled(at, times, values, interpolation, at_rest=at_rest)

    def with_series(
        self,
        times: Floats,
        positions: Floats,
        series: Mapping[str, tuple[Floats, Floats]],
        *,
        frame_rate: float | None = None,
    ) -> Motion:
        """Return a motion with other rows and everything else unchanged.

        Parameters
        ----------
        times : ndarray, shape (frames,)
        positions : ndarray, shape (frames, joints)
        series : mapping
            For every component its times, shape (n,), and its values, shape (n, ...).
        frame_rate : float, optional
            In frames/s, of the motion and of every component; unchanged unless given.
        """
        about = {
            name: {
                key: value
                for key, value in said.items()
                if key not in {"times", "frame_rate", "frames_stated"}
            }
            for name, said in self.metadata.get("components", {}).items()
        }
        for name, (own_times, _) in series.items():
            if not np.array_equal(own_times, times):
                own_rate = self.about(name).get("frame_rate", self.frame_rate)
                about.setdefault(name, {}).update(times=_read_only(own_times), frame_rate=own_rate)
        return replace(
            self,
            frame_rate=self.frame_rate if frame_rate is None else frame_rate,
            times=times,
            positions=positions,
            components={name: _read_only(values) for name, (_, values) in series.items()},
            metadata={**self.metadata, "components": about} if about else self.metadata,
        )


def _read_only(values: Floats) -> Floats:
    return frozen(np.ascontiguousarray(values, dtype=np.float64).view())


def check_rate(rate_hz: float | None) -> None:
    """Raise `ValueError` for what no rows can have; None stands for none that is known."""
    if rate_hz is not None and not 0 < rate_hz <= FASTEST_FRAME_RATE:
        raise ValueError(f"rate is {told_exactly(rate_hz)} rows/s; {RATE_RULE}; correct it")


def told_exactly(value: float) -> str:
    """Return a number with as many digits as it takes, where few would be another number."""
    few = f"{value:g}"
    return few if float(few) == value else repr(float(value))
