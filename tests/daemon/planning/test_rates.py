"""Behaviour of a plan at another rate: its rows, frames and markers, and what is checked."""

from __future__ import annotations

import numpy as np
import pytest

from motiond.daemon.api import PlaceRequest
from motiond.daemon.planning.library.markers import Marker
from motiond.daemon.planning.planner import Plan, at_rate, plan
from motiond.daemon.planning.playback import StepBegin, row_of, whole, whole_of
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion
from tests.daemon.planning.test_blend import ARM
from tests.daemon.rig import sweep
from tests.robots import map_of, settings_of

ROBOT, SETTINGS = map_of(ARM), settings_of(ARM)


def planned(rate_hz: float, duration_s: float = 1.0) -> Plan:
    rows = sweep(duration_s, rate_hz)
    motion = Motion("wave", ("shoulder", "elbow"), rate_hz, np.arange(len(rows)) / rate_hz, rows)
    return plan(motion, ROBOT, SETTINGS, 1000.0)


def test_rows_between_its_own_are_on_the_curve_that_interpolation_names() -> None:
    own = planned(100.0)
    made = at_rate(own, 500.0, ROBOT, SETTINGS)
    assert (made.rate_hz, len(made.positions), made.frames_per_tick) == (500.0, 501, 0.2)
    assert np.abs(made.positions[::5] - own.positions).max() < 1e-12
    assert np.abs(made.positions - sweep(1.0, 500.0)).max() < 1e-4
    assert (made.motion, made.duration_s, made.warnings) == ("wave", own.duration_s, own.warnings)


def test_at_a_lower_rate_it_keeps_its_ends_and_every_so_many_th_row() -> None:
    own = planned(500.0)
    made = at_rate(own, 100.0, ROBOT, SETTINGS)
    assert (made.rate_hz, made.frames_per_tick, made.slowed_to) == (100.0, 5.0, 1.0)
    assert (made.positions == own.positions[::5]).all()


def test_it_lasts_a_whole_number_of_rows_and_its_places_keep_their_meaning() -> None:
    own = planned(200.0, 1.005)
    made = at_rate(own, 100.0, ROBOT, SETTINGS)
    assert len(made.positions) == 102
    assert (made.positions[[0, -1]] == own.positions[[0, -1]]).all()
    assert made.frames_per_tick == pytest.approx(201 / 101)
    assert made.slowed_to == pytest.approx(1.005 / 1.01)
    markers = (Marker("end", 1.005, None, 201.0), Marker("half", 0.25, None, 50.0))
    playback = whole_of(made, whole(own, markers))
    assert playback.marker_rows == pytest.approx([101.0, 50.0 * 101 / 201])
    assert row_of(PlaceRequest(frame=201), made, markers) == 101
    assert row_of(PlaceRequest(marker="half"), made, markers) == 25


def test_steps_of_a_sequence_begin_on_the_rows_that_are_nearest() -> None:
    own = planned(100.0)
    begins = (StepBegin(0, 0, 0, "wave"), StepBegin(21, 1, 0, "nod"))
    playback = whole(own)
    sequence = type(playback)(own, own, 0, playback.passes, begins=begins)
    made = at_rate(own, 500.0, ROBOT, SETTINGS)
    assert [begin.row for begin in whole_of(made, sequence).begins] == [0, 105]


def test_what_rests_at_its_ends_does_so_at_any_rate() -> None:
    times = np.array([0.0, 0.3, 0.7, 1.0])
    rows = np.array([[0.0], [0.2], [0.3], [0.1]])
    own = plan(Motion("poses", ("shoulder",), 10.0, times, rows), ROBOT, SETTINGS, 1000.0)
    made = at_rate(own, 500.0, ROBOT, SETTINGS)
    assert own.rests
    assert made.rests
    assert not made.velocities[[0, -1]].any()


def test_a_posture_has_one_row_at_any_rate() -> None:
    motion = Motion("pose", ("shoulder",), 200.0, np.zeros(1), np.array([[0.4]]))
    own = plan(motion, ROBOT, SETTINGS, 200.0)
    made = at_rate(own, 500.0, ROBOT, SETTINGS)
    assert (made.rate_hz, made.duration_s) == (500.0, 0.0)
    assert (made.positions == own.positions).all()


def test_rows_that_break_a_limit_between_those_of_the_file_are_refused_by_its_frame() -> None:
    """A recording that ends in motion comes to rest within one row, and that is five times as short."""
    rows = sweep(1.0, 100.0)
    rows[-1] = rows[-2] + (rows[-2] - rows[-3]) + 0.001
    motion = Motion("cut", ("shoulder", "elbow"), 100.0, np.arange(len(rows)) / 100.0, rows)
    own = plan(motion, ROBOT, SETTINGS, 1000.0)
    with pytest.raises(PlanError) as caught:
        at_rate(own, 500.0, ROBOT, SETTINGS)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("cut: at the 500 rows/s of what plays, joint 'shoulder' ")
    assert "at 1.000 s (frame 100" in lines[0]


def test_too_many_rows_are_refused() -> None:
    rows = np.zeros((6001, 2))
    motion = Motion("long", ("shoulder", "elbow"), 1.0, np.arange(6001.0), rows)
    own = plan(motion, ROBOT, SETTINGS, 1000.0)
    with pytest.raises(PlanError) as caught:
        at_rate(own, 200.0, ROBOT, SETTINGS)
    assert str(caught.value) == (
        "long: at the 200 rows/s of what plays it has 1200001; 500000 are allowed; play it alone"
    )
