"""Loading takes calls in proportion to what a file has many of, in every format that is XML.

Calls are the same on every machine; `python -m bench load_xml` measures time, with many more parts.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench.load_xml import FEWER, FILES, GOOD
from motiond.formats.io.source import Source

if TYPE_CHECKING:
    from types import FrameType

pytestmark = pytest.mark.slow

# Half more than what is proportional; calls that grow with the square would be FEWER times.
MOST = 1.5 * FEWER
LEAST_PARTS = 64
SHARE = 32


def calls_of_loading(what: str, parts: int) -> int:
    """Return how many functions are called, Python's and others, while a file of so many parts loads."""
    name, make, _ = FILES[what]
    module: Any = importlib.import_module(f"motiond.formats.{name}")
    data, source, calls = make(parts).encode(), Source(GOOD / f"many.{name}"), 0

    def count(_frame: FrameType, event: str, _function: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    sys.setprofile(count)
    try:
        module.load(data, source)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("what", FILES)
def test_eight_times_the_parts_take_about_eight_times_the_calls(what: str) -> None:
    parts = max(LEAST_PARTS, FILES[what][2] // SHARE)
    calls_of_loading(what, 1)  # imports, and what is made once
    assert calls_of_loading(what, parts) < MOST * calls_of_loading(what, parts // FEWER)
