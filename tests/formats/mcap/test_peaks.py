"""What each goal of a recording reaches, tick by tick, however its ticks come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc.states import State
from motiond.formats import load_motion, load_motions, load_run
from tests.daemon.recording.recordings import (
    APPROACH,
    JOINTS,
    PARTS,
    PERIOD_S,
    PLAYED,
    REST,
    Reports,
    ticks,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.arrays import Floats
    from motiond.formats.model import PlayedGoal


def peaks_of(path: Path) -> list[PlayedGoal]:
    return [goal for goal in load_run(path, points=4).goals if goal.rows]


def differences(rows: Floats) -> tuple[Floats, Floats]:
    """Return velocities and accelerations of positions from rest and to rest."""
    still = np.zeros((1, rows.shape[1]))
    velocity = np.diff(rows, axis=0) / PERIOD_S
    return velocity, np.diff(np.concatenate([still, velocity, still]), axis=0) / PERIOD_S


@pytest.mark.parametrize("length", [2, 10, 999, 4000])
def test_peaks_are_those_of_the_motion_that_was_played(tmp_path: Path, length: int) -> None:
    played = [(State.PLAYING, 1)] * length + [(State.IDLE, 1)] * 5
    rows = ticks(APPROACH + played)
    rows[3:7, PARTS["reference_position"]] = rows[7, PARTS["reference_position"]]
    path = write(tmp_path / "run.mcap", rows)
    (peaks,) = peaks_of(path)
    motion = load_motion(path)
    velocity, acceleration = differences(motion.positions)
    assert (peaks.joints, peaks.rows) == (JOINTS, length + 1)
    assert peaks.duration_s == pytest.approx(motion.duration_s)
    np.testing.assert_array_equal(peaks.lowest, motion.positions.min(axis=0))
    np.testing.assert_array_equal(peaks.highest, motion.positions.max(axis=0))
    np.testing.assert_allclose(peaks.velocity, np.abs(velocity).max(axis=0), rtol=1e-6)
    np.testing.assert_allclose(peaks.acceleration, np.abs(acceleration).max(axis=0), rtol=1e-6)
    goal = rows[7 : 8 + length]
    error = np.abs(goal[:, PARTS["reference_position"]] - goal[:, PARTS["position"]])
    np.testing.assert_array_equal(peaks.error, error.max(axis=0))
    np.testing.assert_allclose(peaks.error_time_s, error.argmax(axis=0) * PERIOD_S, atol=1e-9)
    np.testing.assert_allclose(peaks.error_rms, np.sqrt((error**2).mean(axis=0)))


def test_each_goal_has_its_own_and_what_never_came_to_its_first_row_has_none(tmp_path: Path) -> None:
    again = [(state, 2) for state, _ in APPROACH[3:] + PLAYED[:10]] + [(State.IDLE, 2)]
    waits = [(State.APPROACHING, 3)] * 5 + [(State.IDLE, 3)] * 5
    rows = ticks(APPROACH + PLAYED + again + waits)
    found = peaks_of(write(tmp_path / "run.mcap", rows))
    assert [peaks.rows for peaks in found] == [11, 11]
    for peaks, first in zip(found, (7, 26), strict=True):
        np.testing.assert_array_equal(
            peaks.highest, rows[first : first + 11, PARTS["reference_position"]].max(axis=0)
        )


def test_a_goal_that_began_before_the_recording_did_not_begin_from_rest(tmp_path: Path) -> None:
    rows = ticks(PLAYED)
    rows[:, PARTS["reference_position"]] = np.minimum(np.arange(15), 9)[:, None] * PERIOD_S
    (peaks,) = peaks_of(write(tmp_path / "run.mcap", rows))
    np.testing.assert_allclose(peaks.velocity, 1.0)
    # Only the last step is to rest.
    np.testing.assert_allclose(peaks.acceleration, 1.0 / PERIOD_S)
    rows[:, PARTS["reference_position"]] = np.arange(15)[:, None] * PERIOD_S
    (peaks,) = peaks_of(write(tmp_path / "cut.mcap", rows[:8]))
    np.testing.assert_allclose(peaks.acceleration, 0.0, atol=1e-3)


def test_a_goal_that_another_flows_into_begins_in_motion(tmp_path: Path) -> None:
    """It is not from rest, and what it accelerates at where they meet is its own."""
    flows = [(State.PLAYING, 1)] * 10 + [(State.PLAYING, 2)] * 10 + [(State.IDLE, 2)] * 2
    rows, step = ticks(flows), PERIOD_S * np.array([0.0, *[1.0] * 9, *[1.5] * 10, 0.0, 0.0])
    rows[:, PARTS["reference_position"]] = np.cumsum(step)[:, None]
    path = write(tmp_path / "run.mcap", rows)
    first, second = peaks_of(path)
    np.testing.assert_allclose(first.velocity, 1.0)
    np.testing.assert_allclose(first.acceleration, 0.0, atol=1e-3)
    np.testing.assert_allclose(second.velocity, 1.5)
    np.testing.assert_allclose(second.acceleration, 1.5 / PERIOD_S)  # to rest
    (cut,) = peaks_of(write(tmp_path / "cut.mcap", rows[:15]))[1:]
    np.testing.assert_allclose(cut.acceleration, 0.5 / PERIOD_S)


BESIDE = [*APPROACH, *[(State.PLAYING, 1)] * 10, *[(State.IDLE, 1)] * 20]
"""A goal that ends in tick 17; what is beside it plays from tick 10 until tick 22, and again in 30 and 31."""
PLAYS_BESIDE = np.isin(np.arange(len(BESIDE)), [*range(10, 23), 30, 31])


def test_a_goal_goes_on_until_what_plays_beside_it_rests(tmp_path: Path) -> None:
    rows = ticks(BESIDE, beside=PLAYS_BESIDE)
    results: Reports = [
        ("result", {"goal_id": str(number), "motion": motion, "played_s": 1.0, "beside": beside}, time_s)
        for number, (motion, beside, time_s) in enumerate(
            [("grip", True, 0.015), ("wave", False, 0.018), ("nod", True, 0.023), ("breathe", True, 0.032)]
        )
    ]
    path = write(tmp_path / "run.mcap", rows, results)
    run = load_run(path, points=4)
    goals = run.goals
    states = [(phase["state"], round(phase["time"] / PERIOD_S)) for phase in run.about["phases"]]
    assert states[2:] == [
        ("playing", 7),
        ("playing", 10),
        ("playing", 17),
        ("idle", 23),
        ("playing", 30),
        ("idle", 32),
    ]
    assert [(goal.result or {})["motion"] for goal in goals] == ["wave", "breathe"]
    motions = load_motions(path)
    for goal, motion, span in zip(goals, motions, (slice(7, 23), slice(30, 32)), strict=True):
        played = rows[span, PARTS["reference_position"]]
        assert motion.positions.tobytes() == played.tobytes()
        assert goal.rows == len(played)
        np.testing.assert_array_equal(goal.highest, played.max(axis=0))
        assert motion.warnings == ()


def test_errors_count_with_torque_and_feedback_alone(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[:, PARTS["position"].start] = np.nan
    (peaks,) = peaks_of(write(tmp_path / "run.mcap", rows))
    assert np.isnan([peaks.error[0], peaks.error_time_s[0], peaks.error_rms[0]]).all()
    assert np.isfinite(peaks.error[1:]).all()


def test_a_robot_that_plays_nothing_has_no_goals(tmp_path: Path) -> None:
    assert peaks_of(write(tmp_path / "run.mcap", ticks(REST))) == []
