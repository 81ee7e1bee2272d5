"""Rounding of whole arrays to significant decimal digits, so that the shortest text of a number has no more.

Each value becomes the double nearest to its decimal form with so many digits, as by `%.9g`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...arrays import Floats

# How many numbers are turned into text at a time; so many stay in the processor's cache.
CHUNK_NUMBERS = 1 << 14
# All that a number has; written unless fewer are asked for, as rounding makes steps of what is smooth.
ALL_DIGITS = 17
# With more, the rounding of the multiplication itself would show; then all are written.
MOST_DIGITS = 12
# 10^22 is the last power of ten that is a double; a whole double divided by it is rounded once, and rightly.
_LARGEST_EXACT_POWER = 22
_EXPONENT_BITS, _BIAS = 52, 1023


def check_digits(digits: int | None) -> None:
    """Raise `ValueError` for what is no number of digits; None stands for all of them."""
    if digits is not None and not 1 <= digits <= ALL_DIGITS:
        raise ValueError(
            f"precision is {digits}; it is 1 to {ALL_DIGITS} digits, or None for exact times too"
        )


def rounded_within(values: Floats, digits: int | None, lowest: Floats, highest: Floats) -> Floats:
    """Round finite values to significant digits where that does not carry them out of a range.

    What is at a limit must not be beyond it; such a value keeps all its digits.
    """
    if digits is None or digits > MOST_DIGITS:
        return values
    return np.clip(rounded(values, digits), lowest, highest)


def rounded_columns(values: Floats, digits: int | None) -> Floats:
    """Round finite values to significant digits, none beyond the range of its column."""
    return rounded_within(values, digits, values.min(axis=0), values.max(axis=0))


def rounded(values: Floats, digits: int) -> Floats:
    """Round finite values to significant digits.

    `digits`: 1 to 12. A number too small for a full double (2e-308) becomes 0.
    """
    values = np.ascontiguousarray(values)
    exponents = (values.view(np.int64) >> _EXPONENT_BITS) & 0x7FF
    scale = _scales(digits)[exponents]
    # Some binary exponents span a power of ten; a number that comes out a digit too long is scaled less.
    too_long = np.abs(values * scale) >= 10.0**digits - 0.5
    scale = np.where(too_long, scale / 10, scale)
    result: Floats = np.rint(values * scale) / scale
    inexact = np.isnan(scale)
    if inexact.any():
        result[inexact] = [float(f"{value:.{digits}g}") for value in values[inexact]]
    return result


@cache
def _scales(digits: int) -> Floats:
    """Return by biased binary exponent the power of ten that makes a number whole; NaN where inexact."""
    powers = digits - 1 - np.floor((np.arange(2048) - _BIAS) * np.log10(2.0))
    # At least 1, as `rounded` takes one off where a number comes out too long. Zero is whole at any scale.
    exact = (powers >= 1) & (powers <= _LARGEST_EXACT_POWER)
    scales = np.where(exact, 10.0 ** np.where(exact, powers, 0), np.nan)
    scales[0] = 1.0
    return scales
