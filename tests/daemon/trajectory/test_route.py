"""Behaviour of passes over a motion: loops, ranges, ping-pong, seams, seeking, appointments, markers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.states import ResultCode, State
from motiond.daemon.stream.engine.execution import Execution, Result, Tolerances
from motiond.daemon.stream.engine.player import Player
from motiond.daemon.stream.engine.watch import watch_tolerances
from motiond.daemon.trajectory.route import Passes, Route
from motiond.daemon.trajectory.track import Track

RATE_HZ = 100.0
RAMP = 1.875 / 10  # of the clock, in rows a tick²: a full ramp takes ten ticks


def track_of(rows: list[float]) -> Track:
    positions = np.array(rows, dtype=float).reshape(-1, 1)
    velocities = np.gradient(positions, 1 / RATE_HZ, axis=0) if len(rows) > 1 else np.zeros_like(positions)
    return Track(positions, velocities, np.array([True]), RATE_HZ, RAMP * RATE_HZ)


EMPTY = track_of([])
WAVE = track_of([0.0, 1.0, 3.0, 4.0])
LINE = track_of([float(row) for row in range(200)])


def execution_of(
    motion: Track = WAVE,
    approach: Track = EMPTY,
    return_track: Track = EMPTY,
    speed: float = 1.0,
    **rest: Any,
) -> Execution:
    none = Tolerances([OFF])
    of_execution = {key: rest.pop(key) for key in ("not_before", "markers", "offset") if key in rest}
    passes = Passes(**({"first": 0, "last": motion.last} | rest))
    route = Route(approach, motion, return_track, passes)
    return Execution("goal-1", route, speed, motion.clock_acceleration, none, none, 0.0, **of_execution)


class Play:
    """A player with one joint, and what it put out."""

    def __init__(self, execution: Execution) -> None:
        self.player = Player(["elbow"], ["rad"], np.full(1, np.nan), np.full(1, np.nan))
        self.player.hold(np.zeros(1))
        self.player.play(execution)
        self.rows: list[float] = []
        self.states: list[State] = []
        self.loops: list[int] = []

    def tick(self, times: int = 1) -> Play:
        for _ in range(times):
            self.player.tick(1)
            watch_tolerances(self.player, self.player.position)
            self.rows.append(float(self.player.position[0]))
            self.states.append(self.player.state)
            self.loops.append(self.player.loop)
        return self

    def until(self, state: State, most: int = 2000) -> Play:
        for _ in range(most):
            self.tick()
            if self.player.state is state:
                return self
        pytest.fail(f"never {state}")

    @property
    def results(self) -> list[Result]:
        return self.player.results


def test_each_pass_of_a_loop_is_every_row_once_and_the_goal_ends_once() -> None:
    play = Play(execution_of(count=3)).until(State.IDLE)
    assert play.rows == [0.0, 1.0, 3.0, 4.0] * 3
    assert play.loops == [1] * 3 + [2] * 4 + [3] * 5
    assert [result.code for result in play.results] == [ResultCode.SUCCESSFUL]


def test_every_second_pass_of_a_ping_pong_goes_backwards_and_the_turn_rests_a_tick() -> None:
    play = Play(execution_of(count=2, ping_pong=True)).until(State.IDLE)
    assert play.rows == [0.0, 1.0, 3.0, 4.0, 4.0, 3.0, 1.0, 0.0]


def test_velocities_point_backwards_on_the_way_back() -> None:
    play = Play(execution_of(count=2, ping_pong=True)).tick(6)
    assert play.player.velocity[0] == -WAVE.velocities[2, 0]


def test_a_seam_is_approached_from_the_last_row_to_the_first() -> None:
    return_track = track_of([2.0, 0.0])
    play = Play(execution_of(count=2, return_track=return_track)).until(State.IDLE)
    assert play.rows == [0.0, 1.0, 3.0, 4.0, 2.0, 0.0, 0.0, 1.0, 3.0, 4.0]
    assert play.states[3:6] == [State.APPROACHING, State.APPROACHING, State.PLAYING]


def test_a_flowing_loop_passes_its_seam_without_stopping() -> None:
    ring = track_of([0.0, 1.0, 0.0, -1.0, 0.0])
    play = Play(execution_of(ring, last=4, count=3, seamless=True)).until(State.IDLE)
    assert play.rows == [0.0, 1.0, 0.0, -1.0] * 3 + [0.0]


def test_a_flowing_loop_goes_on_at_any_speed_where_the_clock_is() -> None:
    ring = track_of([0.0, 1.0, 0.0, -1.0, 0.0])
    play = Play(execution_of(ring, last=4, count=0, seamless=True, speed=1.5)).tick(9)
    assert play.rows[::2] == [0.0, -1.0, 0.0, 1.0, 0.0]
    assert play.loops[-1] == 4


def test_a_loop_for_ever_ends_with_a_stop_alone() -> None:
    play = Play(execution_of(count=0)).tick(4000)
    assert play.player.state is State.PLAYING
    play.player.stop(ResultCode.CANCELED, "enough")
    play.until(State.IDLE)
    assert [result.code for result in play.results] == [ResultCode.CANCELED]


def test_a_range_within_a_motion_begins_and_ends_at_rest_on_its_rows() -> None:
    play = Play(execution_of(LINE, first=50, last=120, eases_in=True, eases_out=True)).until(State.IDLE)
    steps = np.diff([50.0, *play.rows])
    assert play.rows[-1] == 120.0
    assert 0.0 <= steps[0] < 0.1
    assert 0.0 <= steps[-2] < 0.1
    assert np.abs(np.diff(steps, 1)).max() <= RAMP * 1.0001
    whole = [row for row in play.rows if row % 1.0 == 0.0]
    assert len(whole) > 30, "between the ramps the rows are the file's"
    assert play.player.results[0].code is ResultCode.SUCCESSFUL


def test_a_range_back_and_forth_rests_at_both_ends() -> None:
    play = Play(
        execution_of(LINE, first=50, last=120, count=2, ping_pong=True, eases_in=True, eases_out=True)
    )
    play.until(State.IDLE)
    assert max(play.rows) == 120.0
    assert play.rows[-1] == 50.0
    assert np.abs(np.diff(play.rows, 2)).max() <= RAMP * 1.0001


def test_a_stop_just_before_the_end_of_a_range_does_not_pass_it() -> None:
    for ticks in range(80, 110):
        play = Play(execution_of(LINE, first=50, last=120, eases_in=True, eases_out=True)).tick(ticks)
        play.player.stop(ResultCode.CANCELED, "enough")
        if play.player.active:
            play.until(State.IDLE)
        assert play.rows[-1] <= 120.0


def paused(execution: Execution, ticks: int) -> Play:
    play = Play(execution).tick(ticks)
    play.player.pause()
    return play.until(State.PAUSED)


def test_a_seek_approaches_the_new_place_and_plays_on_from_rest() -> None:
    play = paused(execution_of(LINE), 20)
    way = track_of([60.0, 100.0])
    play.player.seek(way, 100, goes_on=True)
    assert play.player.state is State.APPROACHING
    began = len(play.rows)
    play.until(State.IDLE)
    assert play.rows[began : began + 2] == [60.0, 100.0]
    steps = np.diff(play.rows[began + 1 :])
    assert steps[0] < 0.1
    assert play.rows[-1] == 199.0
    assert [result.code for result in play.results] == [ResultCode.SUCCESSFUL]


def test_a_seek_in_a_pause_waits_at_the_new_place() -> None:
    play = paused(execution_of(LINE), 20)
    play.player.seek(track_of([100.0]), 100, goes_on=False)
    play.tick(30)
    assert (play.player.state, play.rows[-1], play.player.frame) == (State.PAUSED, 100.0, 100.0)
    play.player.resume()
    play.until(State.IDLE)
    assert play.rows[-1] == 199.0


def test_a_seek_to_where_it_stands_needs_no_way() -> None:
    play = paused(execution_of(LINE), 20)
    play.player.seek(EMPTY, 30, goes_on=True)
    assert play.player.state is State.PLAYING


def test_a_seek_anywhere_but_in_a_pause_changes_nothing() -> None:
    play = Play(execution_of(LINE)).tick(20)
    play.player.seek(EMPTY, 100, goes_on=True)
    assert play.tick().rows[-1] == 20.0


def test_a_pause_at_the_end_of_a_pass_goes_on_with_the_next() -> None:
    play = Play(execution_of(count=2)).tick(3)
    play.player.pause()
    play.until(State.PAUSED).tick(5)
    play.player.resume()
    play.until(State.IDLE)
    assert play.rows[-4:] == [0.0, 1.0, 3.0, 4.0]
    assert len(play.results) == 1


def test_the_first_row_comes_in_the_tick_that_it_is_appointed_for() -> None:
    play = Play(execution_of(approach=track_of([0.5, 0.0]), not_before=10)).tick(12)
    assert play.rows == [0.5] + [0.0] * 9 + [1.0, 3.0]
    assert play.states[8:10] == [State.APPROACHING, State.PLAYING]


def test_without_an_approach_the_appointment_is_kept_too() -> None:
    assert Play(execution_of(LINE, not_before=5)).tick(6).rows == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_a_late_tick_at_the_appointment_plays_where_the_clock_is_within_what_it_may_skip() -> None:
    play = Play(execution_of(LINE, not_before=5)).tick(3)
    play.player.tick(3, due=6)
    assert play.player.position[0] == 2.0


def test_a_stop_while_it_waits_for_its_appointment_ends_the_goal_at_rest() -> None:
    play = Play(execution_of(not_before=500)).tick(10)
    play.player.stop(ResultCode.CANCELED, "enough")
    play.tick()
    assert (play.player.state, play.results[0].code) == (State.IDLE, ResultCode.CANCELED)


def test_after_a_pause_over_its_appointment_it_begins_when_it_is_resumed() -> None:
    play = Play(execution_of(not_before=20)).tick(10)
    play.player.pause()
    play.tick(30)
    assert play.player.state is State.PAUSED
    play.player.resume()
    play.until(State.IDLE)
    assert play.rows[-4:] == [0.0, 1.0, 3.0, 4.0]


def passed(play: Play) -> list[tuple[int, int]]:
    return [(mark.marker, mark.loop) for mark in play.player.passed]


def test_each_marker_is_told_once_in_each_pass_in_its_order_on_and_between_rows() -> None:
    play = Play(execution_of(LINE, markers=(0.0, 0.0, 7.25, 199.0), count=2)).until(State.IDLE)
    assert passed(play) == [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (1, 2), (2, 2), (3, 2)]
    assert play.player.passed[2].ticks_ago == pytest.approx(0.75)


def test_backwards_markers_come_in_the_other_order() -> None:
    play = Play(execution_of(LINE, markers=(3.0, 7.25), count=2, ping_pong=True)).until(State.IDLE)
    assert passed(play) == [(0, 1), (1, 1), (1, 2), (0, 2)]


def test_a_flowing_loop_tells_every_marker_in_every_pass() -> None:
    ring = track_of([0.0, 1.0, 0.0, -1.0, 0.0])
    execution = execution_of(ring, last=3, count=3, seamless=True, markers=(10.0, 12.5, 13.0), offset=10)
    assert passed(Play(execution).until(State.IDLE)) == [(m, k) for k in (1, 2, 3) for m in (0, 1, 2)]


def test_markers_that_a_seek_jumps_over_are_not_told() -> None:
    play = paused(execution_of(LINE, markers=(10.0, 80.0, 100.0, 150.0)), 20)
    play.player.seek(track_of([100.0]), 100, goes_on=True)
    play.until(State.IDLE)
    assert passed(play) == [(0, 1), (2, 1), (3, 1)]


def test_a_range_too_short_to_slow_down_in_begins_at_rest_although_its_first_row_is_the_motions() -> None:
    play = Play(execution_of(LINE, last=4, eases_out=True)).until(State.IDLE)
    assert play.rows[-1] == 4.0
    assert np.abs(np.diff([0.0, *play.rows, 4.0], 2)).max() <= RAMP * 1.0001


@pytest.mark.parametrize("ping_pong", [False, True])
def test_a_stop_before_the_first_row_of_a_pass_holds_that_row_and_none_before_it(ping_pong: bool) -> None:  # noqa: FBT001 - parametrised
    play = Play(execution_of(LINE, count=0, ping_pong=ping_pong)).tick(LINE.last + 1 if ping_pong else 0)
    play.player.stop(ResultCode.CANCELED, "enough")
    play.until(State.IDLE)
    assert min(play.rows) >= 0.0
    assert max(play.rows) <= LINE.last
