"""Behaviour of sequences: what their rows are, where steps and markers are, and every problem at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.library.markers import Marker
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.sequence import SequenceError, SequencePlan, Step, plan_sequence
from motiond.formats import Motion
from tests.daemon.planning.test_blend import ARM, RATE_HZ, swing
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats


ROBOT, SETTINGS = map_of(ARM), settings_of(ARM)


def step(rows: Floats, name: str = "wave", rate_hz: float = RATE_HZ, joints: Any = None, **how: Any) -> Step:
    names = joints or ("shoulder", "elbow")
    motion = Motion(name, names, rate_hz, np.arange(len(rows)) / rate_hz, rows[:, : len(names)])
    markers = how.pop("markers", ())
    return Step(plan(motion, ROBOT, SETTINGS, 1000.0), markers, **how)


def sequence(*steps: Step) -> SequencePlan:
    return plan_sequence(steps, ROBOT, SETTINGS, 1000.0)


def problems(*steps: Step) -> list[str]:
    with pytest.raises(SequenceError) as caught:
        sequence(*steps)
    return str(caught.value).splitlines()


def keeps_limits(rows: Floats) -> bool:
    steps, bends = np.diff(rows, axis=0) * RATE_HZ, np.diff(rows, 2, axis=0) * RATE_HZ**2
    return bool(
        np.abs(rows).max() <= 2.0 and np.abs(steps).max() <= 3.0 + 1e-6 and np.abs(bends).max() <= 20.4
    )


def test_motions_whose_ends_meet_follow_each_other_bit_for_bit() -> None:
    planned = sequence(step(swing(0.5)), step(swing(0.3), "nod"))
    expected = np.concatenate((swing(0.5), swing(0.3)[1:]))
    assert (planned.plan.positions == expected).all()
    assert [(one.row, one.step, one.motion) for one in planned.begins] == [(0, 0, "wave"), (100, 1, "nod")]


def test_there_is_a_way_within_the_bounds_of_approaches_where_ends_differ() -> None:
    planned = sequence(step(swing(0.5)), step(swing(0.3, 0.8), "nod"))
    begin = planned.begins[1].row
    rows = planned.plan.positions
    assert (rows[begin:] == swing(0.3, 0.8)).all()
    way = rows[100 : begin + 1]
    bounds = SETTINGS.approach
    assert np.abs(np.diff(way, axis=0)).max() * RATE_HZ <= bounds.velocity["rad"] + 1e-6  # type: ignore[index]
    assert (np.diff(way, axis=0) >= 0.0).all()
    assert keeps_limits(rows)


def test_a_step_rests_for_its_pause_and_is_played_as_often_as_it_repeats() -> None:
    planned = sequence(step(swing(0.5), repeat=2, pause_s=0.25), step(swing(0.3), "nod"))
    assert [(one.row, one.step, one.time) for one in planned.begins] == [(0, 0, 0), (125, 0, 1), (250, 1, 0)]
    rests = np.abs(np.diff(planned.plan.positions, axis=0)).max(axis=1) == 0.0
    assert rests[100:125].all()
    assert rests[225:250].all()
    assert len(planned.plan.positions) == 351


def test_a_blend_flows_into_the_step_from_what_is_before_it_and_shortens_the_whole() -> None:
    planned = sequence(step(swing(0.3)), step(swing(0.2), "nod", blend_s=0.3, repeat=2))
    assert [one.row for one in planned.begins] == [0, 70, 140]
    assert len(planned.plan.positions) == 241
    assert keeps_limits(planned.plan.positions)
    speeds = np.abs(np.diff(planned.plan.positions, axis=0)).max(axis=1)
    assert speeds[75:95].min() > 1e-4


def test_a_step_at_another_rate_or_speed_gets_rows_at_the_highest_rate() -> None:
    slow = swing(0.5)[::2]
    planned = sequence(step(slow, "slow", 50.0), step(swing(0.3), "nod", speed=0.5))
    assert planned.plan.rate_hz == RATE_HZ
    assert (planned.plan.positions[:101:2] == slow).all()
    assert planned.begins[1].row == 100
    assert len(planned.plan.positions) == 301
    assert (planned.plan.positions[-1] == swing(0.3)[-1]).all()
    assert keeps_limits(planned.plan.positions)


def test_joints_that_a_step_does_not_drive_hold_and_begin_where_the_first_that_does_begins() -> None:
    first = step(swing(0.5), joints=("shoulder",))
    planned = sequence(first, step(swing(0.3, 0.4), "nod"))
    assert planned.plan.driven.tolist() == [True, True]
    elbow = planned.plan.positions[: planned.begins[1].row, 1]
    assert (elbow == 0.4).all()


def test_markers_say_which_step_begins_and_keep_their_payload() -> None:
    clap = Marker("clap", 0.5, {"light": 1})
    planned = sequence(
        step(swing(0.5), markers=(clap,)), step(swing(0.3), "nod", speed=0.5, repeat=2, markers=(clap,))
    )
    assert [(one.name, round(one.time_s, 6)) for one in planned.markers] == [
        ("steps[0]", 0.0),
        ("steps[0].clap", 0.5),
        ("steps[1]", 1.0),
        ("steps[1].clap", 2.0),
        ("steps[1]", 3.0),
        ("steps[1].clap", 4.0),
    ]
    assert planned.markers[1].payload == {"light": 1}
    assert planned.markers[4].payload == {"step": 1, "motion": "nod", "time": 2}


EVERYTHING = """\
steps[0].blend_s: nothing comes before the first step; leave it out
steps[1].blend_s: nod: a blend of 0.1 s accelerates joint 'elbow' at 285.4 rad/s²; \
its acceleration limit is 20 rad/s²; 0.68 to 0.99 s would do
steps[2].blend_s: pose: there is nothing to blend; each motion needs three rows or more; leave blend_s out"""


def test_all_problems_are_found_at_once() -> None:
    assert (
        problems(
            step(swing(0.5), blend_s=0.2),
            step(swing(0.3, 0.5), "nod", blend_s=0.1),
            step(np.zeros((1, 2)), "pose", blend_s=0.1),
        )
        == EVERYTHING.splitlines()
    )


def test_a_motion_that_ends_in_full_swing_is_refused_with_its_step() -> None:
    half = swing(0.5)[:30]
    loose = {name: {"limits": {**limits["limits"], "acceleration": 400.0}} for name, limits in ARM.items()}
    motion = Motion("half", ("shoulder", "elbow"), RATE_HZ, np.arange(30) / RATE_HZ, half)
    planned = plan(motion, map_of(loose), SETTINGS, 1000.0)
    line = problems(step(swing(0.5)), Step(planned, ()))[0]
    assert line.startswith(
        "steps[1].motion: joint 'shoulder' ends at 1.53 rad/s and accelerates at 153 rad/s²"
    )


def test_what_would_have_too_many_rows_or_markers_is_refused_before_it_is_laid_out() -> None:
    pause = step(swing(0.5), pause_s=3600.0, repeat=10)
    assert problems(pause)[0].startswith("steps: the sequence is too long; it has 3601010 rows at 100 Hz")
    assert problems(step(swing(0.5), repeat=1000), step(swing(0.5))) == [
        "steps: 1001 markers, with one for each begin; 1000 are allowed; repeat steps less often"
    ]
