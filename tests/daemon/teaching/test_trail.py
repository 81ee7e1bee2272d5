"""A trail keeps each tick of what was moved, up to its bounds."""

from __future__ import annotations

import numpy as np

from motiond.daemon.teaching import Trail


def test_it_keeps_every_tick_bit_for_bit_and_counts_time_from_the_first() -> None:
    trail = Trail(2)
    ticks = 700.0 + np.arange(6) / 128.0
    positions = np.random.default_rng(0).normal(size=(6, 2))
    trail.add(ticks[:4], positions[:4])
    trail.add(ticks[4:], positions[4:])
    times, kept = trail.rows()
    assert (times.tolist(), kept.tolist()) == ((np.arange(6) / 128.0).tolist(), positions.tolist())
    assert (len(trail), trail.duration_s, trail.full) == (6, 5 / 128.0, "")


def test_what_is_added_may_be_overwritten_afterwards() -> None:
    trail, ticks = Trail(1), np.zeros((1, 2))
    trail.add(ticks[:, 0], ticks[:, 1:])
    ticks[:] = 7.0
    assert trail.rows()[1].tolist() == [[0.0]]


def test_it_says_which_joints_have_reported_a_position() -> None:
    trail = Trail(3)
    rows = np.array([[np.nan, 1.0, np.nan], [2.0, 1.0, np.nan]])
    for row in rows:
        trail.add(np.zeros(1), row[None])
    assert trail.known.tolist() == [True, True, False]
    assert np.isnan(trail.newest).tolist() == [False, False, True]


def test_it_is_empty_before_the_first_tick() -> None:
    times, positions = Trail(3).rows()
    assert (times.shape, positions.shape, Trail(3).duration_s) == ((0,), (0, 3), 0.0)


def test_it_is_full_after_half_an_hour() -> None:
    trail = Trail(1)
    ticks = np.arange(0.0, 2000.0, 100.0)
    trail.add(ticks, ticks[:, None])
    assert (trail.duration_s, trail.full) == (1800.0, "a movement lasts 30 minutes at most")
    trail.add(ticks + 5000.0, ticks[:, None])
    assert trail.duration_s == 1800.0


def test_it_is_full_where_no_more_rows_fit_into_its_memory() -> None:
    trail = Trail(1, most_bytes=1_234 * 16 + 15)
    ticks = np.arange(2000) / 1000.0
    trail.add(ticks, ticks[:, None])
    assert (len(trail), trail.full) == (1234, "a movement has 1,234 rows at most")
