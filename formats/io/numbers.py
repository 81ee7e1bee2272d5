"""Numbers in a text, read by simdjson where they are JSON or can be made so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    import simdjson

    from ..arrays import Floats

# What people write in lists and JSON has not, each with what JSON has in its place; in this order.
_AS_JSON = (
    (b"+", re.compile(rb"\+(?<=[\[, \t\n]\+)(?=[0-9.])"), b""),
    (b".", re.compile(rb"\.(?<=[\[, \t\n-]\.)(?=[0-9])"), b"0."),
    (b".", re.compile(rb"\.(?=[\],eE \t\r\n])"), b".0"),
    (b",", re.compile(rb",(?=[ \t\r\n]*\])"), b""),
)
# What numbers consist of, and the blanks between them.
IN_NUMBERS = b"0123456789+-.eE \t\r"


def as_json(lists: bytes) -> bytes:
    """Return lists with `+1`, `.5`, `1.` and a comma behind the last number as JSON writes them."""
    for sign, pattern, instead in _AS_JSON:
        if sign in lists:
            lists = pattern.sub(instead, lists)
    return lists


def read_numbers(json: bytes, parser: simdjson.Parser) -> Floats | None:
    """Return the numbers of a list of JSON, however deep, one after another; None if it is none."""
    try:
        numbers = cast("simdjson.Array", parser.parse(json)).as_buffer(of_type="d")
    except (ValueError, TypeError, RuntimeError):
        return None
    return np.frombuffer(numbers, np.float64)
