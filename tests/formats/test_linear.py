"""Loading takes time in proportion to what a file has many of, in every format that is XML."""

from __future__ import annotations

import pytest

from bench.load_xml import FEWER, FILES, cpu_s

# Twice what is proportional; time that grows with the square would be FEWER times.
MOST = 2 * FEWER


@pytest.mark.parametrize("what", FILES)
def test_eight_times_the_parts_take_about_eight_times_as_long(what: str) -> None:
    parts = FILES[what][2]
    # Processor time, but caches shared with a busy neighbour still cost some: one of three comparisons does.
    ratios = (cpu_s(what, parts, times=1) / cpu_s(what, parts // FEWER) for _ in range(3))
    assert any(ratio < MOST for ratio in ratios)
