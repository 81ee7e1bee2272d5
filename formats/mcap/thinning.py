"""Series of any length, thinned while they come, so that no peak is lost and little is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..arrays import Floats


class Thinned:
    """Keeps no more than `most` points, a multiple of four, of `columns` series, which come piece by piece.

    As long as all fit, each sample is a point. Then bins of more and more samples are two points each: for
    each series its lowest and its highest value in the order in which they came, at the times of the first
    and the last sample of the bin. NaN counts only where nothing else is there.

    - `every`: how many samples a bin has
    """

    def __init__(self, columns: int, most: int) -> None:
        self.every = 1
        self._most = most
        self._count = 0
        # of each bin the lowest value, and the highest with its sign turned; and the numbers of their samples
        self._ends, self._ends_at = np.empty((2, 2, most, columns))
        self._first_s, self._last_s = np.empty(most), np.empty(most)
        self._samples = 0
        self._rest_s, self._rest = np.empty(0), np.empty((0, columns))

    @property
    def _capacity(self) -> int:
        return self._most if self.every == 1 else self._most // 2

    @property
    def _is_full(self) -> bool:
        return self._count >= self._capacity

    def add(self, times: Floats, values: Floats) -> None:
        """Add samples.

        `times`: shape (n,). `values`: shape (n, columns).
        """
        times, values = np.concatenate([self._rest_s, times]), np.concatenate([self._rest, values])
        at = 0
        while (bins := (len(times) - at) // self.every) > 0:
            if self._is_full:
                self._halve()
                continue
            end = at + min(bins, self._capacity - self._count) * self.every
            self._append(times[at:end], values[at:end], self.every)
            at = end
        self._rest_s, self._rest = times[at:], values[at:]

    def points(self) -> tuple[Floats, Floats]:
        """Return the times, shape (n,), and the values, shape (n, columns), of all that was added."""
        if len(self._rest_s):
            if self._is_full:
                self._halve()
            self._append(self._rest_s, self._rest, len(self._rest_s))
            self._rest_s, self._rest = self._rest_s[:0], self._rest[:0]
        used = slice(self._count)
        if self.every == 1:
            return self._first_s[used], self._ends[0, used]
        low, high = self._ends[0, used], -self._ends[1, used]
        is_low_first = self._ends_at[0, used] <= self._ends_at[1, used]
        pairs = np.where(is_low_first, low, high), np.where(is_low_first, high, low)
        times = np.stack([self._first_s[used], self._last_s[used]], axis=1)
        return times.reshape(-1), np.stack(pairs, axis=1).reshape(2 * self._count, -1)

    def _append(self, times: Floats, values: Floats, every: int) -> None:
        """Append bins of so many samples."""
        binned = values.reshape(-1, every, values.shape[1])
        now = slice(self._count, self._count + len(binned))
        numbers = self._samples + every * np.arange(len(binned))[:, None]
        is_none = np.isnan(binned)
        for sign, ends, ends_at in zip((1.0, -1.0), self._ends, self._ends_at, strict=True):
            known = np.where(is_none, np.inf, sign * binned)
            ends_at[now] = known.argmin(axis=1) + numbers
            ends[now] = np.where(is_none.all(axis=1), np.nan, known.min(axis=1))
        self._first_s[now], self._last_s[now] = times[::every], times[every - 1 :: every]
        self._count += len(binned)
        self._samples += len(values)

    def _halve(self) -> None:
        """Make one bin of every two."""
        half = self._count // 2
        first, second = self._ends[:, 0 : 2 * half : 2], self._ends[:, 1 : 2 * half : 2]
        is_second = (second < first) | np.isnan(first)
        self._ends[:, :half] = np.where(is_second, second, first)
        at = self._ends_at
        at[:, :half] = np.where(is_second, at[:, 1 : 2 * half : 2], at[:, 0 : 2 * half : 2])
        self._first_s[:half] = self._first_s[0 : self._count : 2]
        self._last_s[:half] = self._last_s[1 : self._count : 2]
        self._count = half
        self.every *= 2
