"""Behaviour of a player whose rows are whole turns on: passes, ways, seeks, and pushes round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.engine.execution import Execution, Tolerances
from motiond.daemon.stream.engine.player import Player
from motiond.daemon.stream.engine.watch import watch_tolerances
from motiond.daemon.trajectory.route import Passes, Route
from motiond.daemon.trajectory.track import Track

if TYPE_CHECKING:
    from numpy.typing import NDArray

TURN = 2.0 * math.pi
RATE_HZ = 100.0
ROWS = 40  # of a turn


def track_of(table: Any, held: Any = None) -> Track:
    """Return rows of a table that turns, and of an arm that stays."""
    rows = np.column_stack(
        [np.asarray(table, float), np.full(np.size(table), np.nan if held is None else held)]
    )
    velocities = np.gradient(rows, 1 / RATE_HZ, axis=0) if len(rows) > 1 else np.zeros_like(rows)
    return Track(rows, velocities, np.array([True, held is not None]), RATE_HZ, 20.0)


EMPTY = track_of([])
ROUND = track_of(TURN * np.arange(ROWS + 1) / ROWS)
STEP = TURN / ROWS


class Play:
    """A player of two joints, the second of which no motion drives, and what it put out."""

    def __init__(
        self,
        motion: Track = ROUND,
        turned: float = 0.0,
        return_track: Track = EMPTY,
        advance: float = TURN,
        **passes: Any,
    ) -> None:
        self.player = Player(["table", "arm"], ["rad", "rad"], np.full(2, np.nan), np.full(2, np.nan))
        self.player.hold(np.array([motion.positions[0, 0] + turned, 0.5]))
        on: dict[str, Any] = {
            "first": 0,
            "last": motion.last,
            "advance": [advance, 0.0] if advance else [],
        } | passes
        route = Route(EMPTY, motion, return_track, Passes(**on))
        none = Tolerances([OFF, OFF])
        further = np.array([turned, 0.0]) if turned else None
        self.player.play(Execution("goal-1", route, 1.0, 20.0, none, none, 0.0, turned=further))
        self.rows: list[float] = []

    def tick(self, times: int = 1, ticks: int = 1) -> Play:
        for _ in range(times):
            self.player.tick(ticks)
            watch_tolerances(self.player, self.player.position)
            self.rows.append(float(self.player.position[0]))
            assert self.player.position[1] == 0.5
        return self

    def until(self, state: State, most: int = 5000) -> Play:
        for _ in range(most):
            self.tick()
            if self.player.state is state:
                return self
        pytest.fail(f"never {state}")

    @property
    def steps(self) -> NDArray[np.float64]:
        return np.diff(self.rows)


def test_rows_are_put_out_bit_for_bit_where_nothing_is_added() -> None:
    play = Play(advance=0.0).until(State.IDLE)
    assert play.rows[: ROWS + 1] == ROUND.positions[:, 0].tolist()


@pytest.mark.parametrize("turned", [TURN, -3 * TURN])
def test_rows_are_as_many_turns_on_as_was_asked_for(turned: float) -> None:
    play = Play(turned=turned, advance=0.0).until(State.IDLE)
    assert play.rows[: ROWS + 1] == (ROUND.positions[:, 0] + turned).tolist()


@pytest.mark.parametrize("ticks", [1, 3, 7])
def test_each_pass_goes_on_where_the_one_before_it_ends(ticks: int) -> None:
    play = Play(count=0, seamless=True).tick(400, ticks)
    assert play.steps == pytest.approx(ticks * STEP, rel=1e-9)
    assert play.player.loop == 400 * ticks // ROWS + (1 if 400 * ticks % ROWS else 0)


def test_passes_that_rest_at_the_seam_go_on_from_there_as_well() -> None:
    play = Play(count=4).until(State.IDLE)
    assert play.rows[-1] == pytest.approx(4 * TURN)
    assert (play.steps >= 0.0).all()


def test_the_way_back_of_each_pass_is_on_its_own_turn() -> None:
    part = track_of(0.8 * TURN * np.arange(ROWS + 1) / ROWS)
    back = track_of(np.linspace(0.8 * TURN, TURN, 20))
    play = Play(part, return_track=back, count=3).until(State.IDLE)
    assert play.rows[-1] == pytest.approx(2.8 * TURN)
    assert (play.steps >= -1e-12).all()
    assert play.steps.max() <= STEP


def test_after_a_billion_passes_setpoints_are_exact_to_the_last_digits_of_their_size() -> None:
    play = Play(count=0, seamless=True).tick(10)
    play.player.loop = 10**9
    play.tick(2 * ROWS)
    whole = 10**9 * TURN
    late = np.array(play.rows[-ROWS:])
    assert np.abs(np.diff(late) - STEP).max() <= 2 * np.spacing(whole)
    assert abs(math.remainder(late[-1] - play.rows[9], STEP)) <= 4 * np.spacing(whole)


def test_a_seek_sets_the_turn_of_what_follows() -> None:
    play = Play(count=3, seamless=True).tick(70)  # in the second pass
    play.player.pause()
    play.until(State.PAUSED)
    row, turned = 10, np.array([5 * TURN, 0.0])
    at = ROUND.positions[row, 0] + turned[0]
    way = track_of(np.linspace(play.rows[-1], at, 60))
    play.player.seek(way, row, turned, goes_on=True)
    play.until(State.IDLE)
    assert play.rows[-1] == pytest.approx(at + (ROWS - row) * STEP + TURN)


def test_who_pushes_it_round_while_it_is_paused_moves_all_that_follows_on() -> None:
    play = Play(count=2, seamless=True).tick(20)
    play.player.pause()
    play.until(State.PAUSED)
    held, turned = play.player.held.copy(), np.array([2 * TURN, 0.0])
    for times in (1, 2):
        back = track_of(np.linspace(held[0] + times * turned[0] + 0.3, held[0] + times * turned[0], 30), 0.5)
        play.player.resume(back, turned)
        play.player.displace(np.array([held[0] + times * turned[0] + 0.3, 0.5]), {})
        play.tick(5)
        play.player.pause()
        play.until(State.PAUSED)
    assert play.player.held.tolist() == (held + 2 * turned).tolist()
    play.player.resume(track_of([play.rows[-1], held[0] + 4 * TURN], 0.5))
    play.until(State.IDLE)
    assert play.rows[-1] == pytest.approx(6 * TURN)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["pause", "resume", "speed"]), st.integers(1, 90)), max_size=8))
def test_whatever_happens_on_a_loop_of_whole_turns_each_step_is_one_of_the_path(
    acts: list[tuple[str, int]],
) -> None:
    play = Play(count=0, seamless=True, turned=-2 * TURN).tick(30)
    for act, ticks in acts:
        if act == "speed":
            play.player.set_speed(0.5 if play.player.speed == 1.0 else 1.0, 20.0)
        else:
            getattr(play.player, act)()
        play.tick(ticks)
    assert (play.steps >= 0.0).all()
    assert play.steps.max() <= STEP * (1 + 1e-9)
    assert np.abs(np.diff(play.steps)).max() <= 0.3 * STEP
