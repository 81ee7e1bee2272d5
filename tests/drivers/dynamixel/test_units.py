"""Positions in rad as whole ticks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.drivers.serial_bus.units import Units

UNITS = Units(
    tick_rad=np.array([0.0015, -0.0015]),
    zero_ticks=np.array([2048.0, 100.5]),
    velocity_rad_s=np.ones(2),
    effort_nm=np.ones(2),
)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
def test_whole_ticks_are_those_that_arrays_give(position: list[float]) -> None:
    ticks = np.zeros(2)
    UNITS.to_ticks(np.array(position), ticks)
    assert UNITS.whole_ticks(np.array(position)) == ticks.tolist()


@pytest.mark.parametrize("unknown", [np.nan, np.inf, -np.inf])
def test_positions_that_are_not_finite_have_no_whole_ticks(unknown: float) -> None:
    assert UNITS.whole_ticks(np.array([0.0, unknown])) is None
