"""Behaviour of rows in shared memory and of the setpoints between them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.trajectory.track import Track, map_shared, share
from motiond.formats.model import hermite, pchip_slopes

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats


def track_of(positions: list[list[float]], rate_hz: float = 100.0, driven: list[bool] | None = None) -> Track:
    rows = np.array(positions, dtype=float)
    times = np.arange(len(rows)) / rate_hz
    slopes = pchip_slopes(times, rows) if len(rows) > 1 else np.zeros_like(rows)
    mask = np.array(driven if driven is not None else [True] * rows.shape[1])
    return Track(rows, slopes, mask, rate_hz, 2.0)


def at(track: Track, place: float, rate: float = 1.0) -> tuple[Floats, Floats]:
    position, velocity = np.zeros(track.positions.shape[1]), np.zeros(track.positions.shape[1])
    track.sample(place, position, velocity, rate)
    return position, velocity


def test_on_a_row_the_setpoint_is_that_row_bit_for_bit() -> None:
    track = track_of([[0.1, -7.779e-05], [0.2, 1 / 3], [0.3, 5e-324]])
    for row in range(3):
        assert at(track, float(row))[0].tobytes() == track.positions[row].tobytes()


def test_the_velocity_scales_with_the_rate() -> None:
    track = track_of([[0.0], [0.1], [0.2], [0.3]])
    assert at(track, 1.0, rate=0.5)[1] == pytest.approx(0.5 * track.velocities[1])
    assert at(track, 1.5, rate=0.5)[1] == pytest.approx(0.5 * 10.0)


def test_a_joint_that_the_rows_do_not_drive_keeps_its_setpoint() -> None:
    track = track_of([[1.0, 2.0], [3.0, 4.0]], driven=[True, False])
    position, velocity = np.array([9.0, 9.0]), np.zeros(2)
    track.sample(0.0, position, velocity, 1.0)
    assert position.tolist() == [1.0, 9.0]
    track.sample(0.5, position, velocity, 1.0)
    assert position.tolist() == [2.0, 9.0]


@given(
    rows=st.lists(st.floats(-10, 10), min_size=2, max_size=12),
    place=st.floats(0, 1, exclude_max=True),
)
def test_between_two_rows_the_setpoint_never_leaves_them(rows: list[float], place: float) -> None:
    track = track_of([[value] for value in rows])
    where = place * track.last
    low, high = sorted((rows[int(where)], rows[min(int(where) + 1, track.last)]))
    slack = 1e-12 * max(1.0, abs(low), abs(high))
    assert low - slack <= at(track, where)[0][0] <= high + slack


@pytest.mark.parametrize(
    ("interpolation", "position", "velocity"), [("hold", 0.1, 0.0), ("linear", 0.125, 10.0)]
)
def test_rows_may_be_held_or_joined_by_lines_instead(
    interpolation: Interpolation, position: float, velocity: float
) -> None:
    track = replace(track_of([[0.1], [0.2]]), velocities=np.zeros((2, 1)), interpolation=interpolation)
    fd = share(track)
    mapped = map_shared(fd)
    os.close(fd)
    assert [part.tolist() for part in at(mapped, 0.25)] == [[position], [velocity]]


def test_a_smooth_track_keeps_its_slopes_across_processes_and_between_rows() -> None:
    rows, slopes = np.array([[0.0], [1.0]]), np.array([[0.0], [100.0]])
    fd = share(replace(track_of(rows.tolist()), velocities=slopes, interpolation="smooth"))
    mapped = map_shared(fd)
    os.close(fd)
    assert mapped.interpolation == "smooth"
    wanted = hermite(np.array([0.25 / mapped.rate_hz]), np.array([0.0, 1.0 / mapped.rate_hz]), rows, slopes)
    assert [part.tolist() for part in at(mapped, 0.25)] == [pytest.approx(part[0]) for part in wanted]


@pytest.mark.parametrize("rows", [[], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
def test_what_is_shared_is_mapped_the_same(rows: list[list[float]]) -> None:
    track = Track(np.array(rows).reshape(-1, 2), np.ones((len(rows), 2)), np.array([True, False]), 500.0, 1.5)
    fd = share(track)
    mapped = map_shared(fd)
    os.close(fd)
    assert mapped.positions.tobytes() == track.positions.tobytes()
    assert mapped.velocities.tobytes() == track.velocities.tobytes()
    assert (mapped.driven.tolist(), mapped.rate_hz, mapped.clock_acceleration) == ([True, False], 500.0, 1.5)
    assert mapped.last == len(rows) - 1


def test_a_mapped_track_cannot_be_written() -> None:
    fd = share(track_of([[0.0], [1.0]]))
    mapped = map_shared(fd)
    os.close(fd)
    with pytest.raises(ValueError, match="read-only"):
        mapped.positions[0] = 1.0


def test_memory_that_was_cut_short_is_refused() -> None:
    fd = share(track_of([[0.0], [1.0]]))
    os.ftruncate(fd, 41)
    with pytest.raises(ValueError, match="shared track: 41 bytes; its header says 2 x 1"):
        map_shared(fd)
    os.close(fd)
