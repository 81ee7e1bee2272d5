"""Long series become as many points as are drawn, and no peak is lost."""

from __future__ import annotations

import numpy as np
import pytest

from motiond.formats.mcap.thinning import Thinned

NOISE = np.random.default_rng(1).normal(size=(10_000, 3))


@pytest.mark.parametrize("piece", [1, 7, 1000, 10_000])
@pytest.mark.parametrize("count", [1, 399, 400])
def test_what_fits_stays_as_it_is(count: int, piece: int) -> None:
    thinned = Thinned(3, 400)
    for at in range(0, count, piece):
        end = min(count, at + piece)
        thinned.add(np.arange(at, end) / 10, NOISE[at:end])
    times, values = thinned.points()
    assert thinned.every == 1
    assert times.tolist() == (np.arange(count) / 10).tolist()
    assert values.tobytes() == NOISE[:count].tobytes()


@pytest.mark.parametrize("piece", [1, 7, 1000, 10_000])
@pytest.mark.parametrize("count", [401, 800, 801, 1603, 9_999, 10_000])
def test_bins_are_their_extremes_in_the_order_in_which_they_came(count: int, piece: int) -> None:
    thinned = Thinned(3, 400)
    for at in range(0, count, piece):
        end = min(count, at + piece)
        thinned.add(np.arange(at, end) / 10, NOISE[at:end])
    times, values = thinned.points()
    every = thinned.every
    assert len(times) == len(values) == 2 * -(-count // every)
    assert 100 <= len(times) <= 400
    for number in range(len(times) // 2):
        first, last = every * number, min(every * (number + 1), count) - 1
        samples, pair = NOISE[first : last + 1], values[2 * number : 2 * number + 2]
        assert (pair.min(axis=0) == samples.min(axis=0)).all()
        assert (pair.max(axis=0) == samples.max(axis=0)).all()
        rises = samples.argmin(axis=0) <= samples.argmax(axis=0)
        assert (rises == (pair[0] <= pair[1])).all()
        assert times[2 * number : 2 * number + 2].tolist() == [first / 10, last / 10]


def test_what_is_not_known_counts_only_where_nothing_else_is_there() -> None:
    values = np.full((800, 2), np.nan)
    values[5, 0] = 3.0
    thinned = Thinned(2, 400)
    thinned.add(np.arange(800.0), values)
    _, points = thinned.points()
    assert points[2:4, 0].tolist() == [3.0, 3.0]
    assert np.isnan(points[4:, 0]).all()
    assert np.isnan(points[:, 1]).all()
