"""Numbers, truth values and vectors as texts of XML write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import quoted

from ...errors import BadText

if TYPE_CHECKING:
    from ...arrays import Floats

# Far beyond any robot; sums and products of a few such numbers stay finite.
MOST = 1e15

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def parse_number(text: str) -> float:
    """Read a number of any size that a robot needs. Raises `BadText` if it is none."""
    value = parse_bound(text)
    if abs(value) > MOST:
        raise BadText(f"{quoted(text)} is too large", f"no robot needs more than {MOST:g}")
    return value


def parse_bound(text: str) -> float:
    """Read a number or an infinity, `inf`. Raises `BadText` if it is none."""
    if not _NUMBER.fullmatch(text) and not _INFINITE.fullmatch(text):
        raise BadText(f"{quoted(text)} is no number", "a number is written as 3.24, -.5 or 32e-4")
    return float(text)


def parse_truth(text: str) -> bool:
    """Read `true`, `false`, `1` or `0`, in any case. Raises `BadText` if it is none of them."""
    truth = _TRUTH.get(text.lower())
    if truth is None:
        raise BadText(f"{quoted(text)} is neither true nor false", "write true, false, 1 or 0")
    return truth


def parse_vector(text: str) -> Floats:
    """Read `x y z`, shape (3,). Raises `BadText` if there are not three, or one is no number."""
    return np.array(parse_numbers(text, 3, "a vector is three numbers, x y z"))


def parse_colour(text: str) -> list[float]:
    """Read `r g b` or `r g b a`; the last is 1 unless it is given. Raises `BadText` for anything else."""
    opaque = [1.0] if len(text.split()) == 3 else []
    return [*parse_numbers(text, 4 - len(opaque), "a colour is three or four numbers, r g b a"), *opaque]


def parse_numbers(text: str, count: int, reason: str) -> list[float]:
    """Read so many numbers; `reason` says what they are. Raises `BadText` for more, fewer or others."""
    words = text.split()
    if len(words) != count:
        numbers = "1 number" if len(words) == 1 else f"{len(words)} numbers"
        raise BadText(f"{quoted(text)} has {numbers}", reason)
    return [parse_number(word) for word in words]
