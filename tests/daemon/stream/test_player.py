"""Behaviour of the state machine, tick by tick, without time or hardware."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.states import ResultCode, State
from motiond.daemon.stream.engine.execution import Excess, Execution, Tolerances
from motiond.daemon.stream.engine.player import Player
from motiond.daemon.stream.engine.watch import watch_tolerances
from motiond.daemon.trajectory.route import Passes, Route
from motiond.daemon.trajectory.track import Track

if TYPE_CHECKING:
    from collections.abc import Callable

RATE_HZ = 100.0
APPROACH = [[0.1, 1.0], [0.2, 1.0]]
MOTION = [[0.2, 1.0], [0.3, 1.1], [0.4, 1.2], [0.5, 1.3], [0.6, 1.4]]


def track_of(rows: list[list[float]], clock_acceleration: float = 50.0) -> Track:
    positions = np.array(rows, dtype=float).reshape(-1, 2)
    velocities = np.zeros_like(positions)
    if len(positions) > 1:
        velocities = np.gradient(positions, 1 / RATE_HZ, axis=0)
    return Track(positions, velocities, np.array([True, True]), RATE_HZ, clock_acceleration)


def execution_of(
    approach: list[list[float]] = APPROACH,
    motion: list[list[float]] = MOTION,
    speed: float = 1.0,
    **route: Any,
) -> Execution:
    none, track = Tolerances([OFF, OFF]), track_of(motion)
    whole = Route(track_of(approach), track, track_of([]), Passes(first=0, last=track.last))
    return Execution("goal-1", replace(whole, **route), speed, track.clock_acceleration, none, none, 0.0)


@pytest.fixture
def player() -> Player:
    player = Player(["shoulder", "elbow"], ["rad", "rad"], np.full(2, np.nan), np.full(2, np.nan))
    player.hold(np.array([0.0, 1.0]))
    return player


def state_of(player: Player) -> State:
    return player.state


def play_on(player: Player, ticks: int) -> list[list[float]]:
    rows = []
    for _ in range(ticks):
        player.tick(1)
        watch_tolerances(player, player.position)
        rows.append(player.position.tolist())
    return rows


def test_a_goal_goes_through_the_approach_and_then_every_row_once_and_ends_successful(player: Player) -> None:
    player.play(execution_of())
    assert state_of(player) is State.APPROACHING
    rows = play_on(player, 7)
    assert rows == APPROACH + MOTION
    assert state_of(player) is State.IDLE
    assert [(result.code, result.played_ticks) for result in player.results] == [(ResultCode.SUCCESSFUL, 5)]


def test_a_stop_slows_down_on_the_path_and_ends_canceled(player: Player) -> None:
    start(player)
    player.stop(ResultCode.CANCELED, "asked to")
    steps = np.diff([row[0] for row in play_on(player, 5)])
    assert state_of(player) is State.IDLE
    assert (np.diff(steps) < 1e-12).all()
    assert (steps >= 0).all()
    assert player.position[0] < 0.13
    assert player.velocity.tolist() == [0.0, 0.0]
    assert [(result.code, result.message) for result in player.results] == [(ResultCode.CANCELED, "asked to")]


def long_motion() -> list[list[float]]:
    return [[0.01 * row, 1.0] for row in range(200)]


def start(player: Player) -> None:
    """Play the first ten rows of a long motion."""
    player.play(execution_of(approach=[], motion=long_motion()))
    play_on(player, 10)


def test_a_pause_waits_on_the_path_and_a_resume_goes_on_through_every_row_from_there(player: Player) -> None:
    start(player)
    player.pause()
    assert state_of(player) is State.PAUSING
    play_on(player, 20)
    assert state_of(player) is State.PAUSED
    waiting = player.position.tolist()
    assert play_on(player, 30) == [waiting] * 30
    assert player.velocity.tolist() == [0.0, 0.0]
    player.resume()
    rows = play_on(player, 400)
    assert state_of(player) is State.IDLE
    reached = [row for row in long_motion() if row in rows]
    assert reached == long_motion()[-len(reached) :]
    assert len(reached) > 150
    assert [result.code for result in player.results] == [ResultCode.SUCCESSFUL]


def test_a_resume_while_still_slowing_down_turns_the_rate_without_a_step(player: Player) -> None:
    start(player)
    player.pause()
    play_on(player, 1)
    player.resume()
    steps = np.diff([row[0] for row in play_on(player, 60)])
    assert state_of(player) is State.PLAYING
    assert (steps >= 0).all()


def test_a_stop_while_paused_ends_the_goal_where_it_is(player: Player) -> None:
    start(player)
    player.pause()
    play_on(player, 50)
    where = player.position.tolist()
    player.stop(ResultCode.CANCELED, "")
    play_on(player, 1)
    assert (player.state, player.position.tolist()) == (State.IDLE, where)
    assert [result.code for result in player.results] == [ResultCode.CANCELED]


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_without_a_goal_there_is_nothing_to_pause_or_resume_and_the_next_one_plays_whole(
    player: Player, act: str
) -> None:
    getattr(player, act)()
    player.set_speed(0.5, 1.0)
    player.tick(1)
    assert (player.state, player.position.tolist()) == (State.IDLE, [0.0, 1.0])
    player.play(execution_of())
    assert play_on(player, 7) == APPROACH + MOTION


def test_a_stop_in_the_approach_never_reaches_the_motion(player: Player) -> None:
    approach = [[0.002 * row, 1.0] for row in range(1, 101)]
    player.play(execution_of(approach=approach))
    play_on(player, 20)
    player.stop(ResultCode.CANCELED, "")
    play_on(player, 100)
    assert player.position[0] < 0.05
    assert [result.played_ticks for result in player.results] == [0]


@pytest.mark.parametrize("act", [Player.pause, Player.resume, lambda player: player.set_speed(2.0, 50.0)])
def test_a_stop_is_not_taken_back(player: Player, act: Callable[[Player], None]) -> None:
    start(player)
    player.stop(ResultCode.CANCELED, "")
    play_on(player, 1)
    act(player)
    steps = np.diff([row[0] for row in play_on(player, 20)])
    assert (np.diff(steps) < 1e-12).all()
    assert state_of(player) is State.IDLE
    assert [result.code for result in player.results] == [ResultCode.CANCELED]


def test_the_first_stop_decides_the_code(player: Player) -> None:
    player.play(execution_of(motion=[[0.0, 1.0]] * 100))
    play_on(player, 10)
    player.stop(ResultCode.DEADLINE_MISSED, "late")
    player.stop(ResultCode.CANCELED, "asked to")
    play_on(player, 50)
    assert [result.code for result in player.results] == [ResultCode.DEADLINE_MISSED]


def test_a_fault_ends_the_goal_with_its_code_and_details(player: Player) -> None:
    player.play(execution_of())
    player.fault(ResultCode.COMM_LOST, "bus lost", {"joint": "elbow"})
    assert state_of(player) is State.FAULT
    assert [(r.code, r.message, r.details) for r in player.results] == [
        (ResultCode.COMM_LOST, "bus lost", {"joint": "elbow"})
    ]


def test_nothing_has_finished_before_its_last_row_is_out_or_once_it_stops(player: Player) -> None:
    player.finish()
    player.play(execution_of())
    play_on(player, 6)
    player.finish()
    assert (player.state, player.results) == (State.PLAYING, [])
    player.tick(1)
    player.stop(ResultCode.CANCELED, "stopped")
    player.finish()
    assert (player.state, player.results) == (State.STOPPING, [])
    player.tick(1)
    assert [(result.code, result.message) for result in player.results] == [(ResultCode.CANCELED, "stopped")]


def test_missed_ticks_skip_rows_but_never_the_first_or_the_last(player: Player) -> None:
    player.play(execution_of())
    player.tick(9)
    assert (player.position.tolist(), player.state) == (APPROACH[-1], State.PLAYING)
    player.tick(1)
    assert player.position.tolist() == MOTION[0]
    player.tick(9)
    watch_tolerances(player, player.position)
    assert (player.position.tolist(), player.state) == (MOTION[-1], State.IDLE)


def follow(player: Player, ticks: int, off: list[float]) -> None:
    """Let the feedback be `off` from every setpoint."""
    for _ in range(ticks):
        player.tick(1)
        watch_tolerances(player, player.position + np.array(off))


def test_a_joint_that_leaves_the_path_stops_the_motion_softly_and_is_named(player: Player) -> None:
    execution = replace(execution_of(approach=[], motion=long_motion()), path=Tolerances([0.1, OFF]))
    player.play(execution)
    follow(player, 50, [0.05, 9.0])
    assert state_of(player) is State.PLAYING
    follow(player, 1, [0.3, 9.0])
    assert state_of(player) is State.STOPPING
    follow(player, 50, [0.0, 0.0])
    (result,) = player.results
    assert (result.code, result.message) == (
        ResultCode.PATH_TOLERANCE_VIOLATED,
        (
            "joint 'shoulder' is 0.3 rad off at 0.500 s (row 50); its path tolerance is 0.1 rad; "
            "look for what holds it, or raise the tolerance"
        ),
    )
    assert result.details == {
        "joint": "shoulder",
        "error": pytest.approx(0.3),
        "tolerance": 0.1,
        "unit": "rad",
        "time": 0.5,
    }


def test_a_goal_ends_successful_once_the_joints_have_come_within_its_tolerance(player: Player) -> None:
    player.play(replace(execution_of(), goal=Tolerances([0.1, 0.1]), goal_ticks=50))
    follow(player, 20, [0.2, 0.0])
    assert (player.state, player.results) == (State.PLAYING, [])
    follow(player, 1, [0.05, 0.0])
    assert state_of(player) is State.IDLE
    assert [(result.code, result.played_ticks) for result in player.results] == [(ResultCode.SUCCESSFUL, 5)]


def test_a_joint_that_never_gets_to_the_goal_is_named_when_its_time_is_over(player: Player) -> None:
    player.play(replace(execution_of(), goal=Tolerances([0.1, 0.1]), goal_ticks=50))
    follow(player, 7 + 49, [0.0, np.nan])
    assert player.results == []
    follow(player, 2, [0.0, np.nan])
    (result,) = player.results
    assert (player.state, result.code, result.message) == (
        State.IDLE,
        ResultCode.GOAL_TOLERANCE_VIOLATED,
        (
            "joint 'elbow' is without feedback at 0.040 s (row 4), 0.500 s after the last row; "
            "its goal tolerance is 0.1 rad; look for what holds it, or raise the tolerance"
        ),
    )


def test_a_stop_while_the_joints_settle_ends_canceled(player: Player) -> None:
    player.play(replace(execution_of(), goal=Tolerances([0.1, 0.1]), goal_ticks=np.inf))
    follow(player, 30, [0.5, 0.0])
    player.pause()
    assert state_of(player) is State.PLAYING
    player.stop(ResultCode.CANCELED, "")
    follow(player, 1, [0.5, 0.0])
    assert (player.state, player.results[0].code) == (State.IDLE, ResultCode.CANCELED)


def test_the_joint_that_passes_its_tolerance_most_is_reported_and_one_without_feedback_before_it() -> None:
    tolerances = Tolerances([0.1, OFF, 0.3])
    assert tolerances.worst(np.zeros(3), np.array([0.15, 9.0, -0.9])) == Excess(2, 0.9, 0.3)
    found = tolerances.worst(np.zeros(3), np.array([0.2, 0.0, np.nan]))
    assert found is not None
    assert (found.joint, np.isnan(found.error)) == (2, True)
