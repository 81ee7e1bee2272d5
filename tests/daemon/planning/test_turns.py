"""Approaches of joints that turn without end, and the seams of loops of whole turns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.api import PlaceRequest
from motiond.daemon.planning.approach import plan_approach
from motiond.daemon.planning.playback import Playback, PlaybackError, refuse_out_of_reach
from motiond.drivers.limits import ActuatorLimits
from tests.daemon.planning.test_playback import RATE_HZ, playback_of
from tests.robots import map_of, settings_of
from tests.tables import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

TURN = 2.0 * math.pi
ELBOW: dict[str, dict[str, Any]] = {"elbow": {"limits": {"velocity": 20.0}, "continuous": True}}
ARM: dict[str, dict[str, Any]] = {
    "base": {"limits": {"lower": -2, "upper": 2, "velocity": 3}},
    "elbow": {"limits": {"velocity": 3.0, "acceleration": 8.0}, "continuous": True},
    "gear": {"limits": {"velocity": 3.0}, "mimic": {"joint": "elbow", "multiplier": -2.0, "offset": 0.5}},
}
angles = st.floats(-4 * TURN, 4 * TURN)
turns = st.integers(-(10**6), 10**6)


@table("start, target, at")
def test_a_target_is_moved_on_to_the_turn_nearest_to_the_start(
    start: float, target: float, at: float
) -> None:
    arm = map_of(ELBOW)
    turned = arm.nearest(np.array([start]) * TURN, np.array([target]) * TURN, np.array([True]))
    assert target * TURN + turned[0] == pytest.approx(at * TURN)


@given(angles, turns, st.floats(-2, 2))
def test_an_approach_is_half_a_turn_at_most_and_mimic_joints_go_on_with_it(
    first: float, count: int, away: float
) -> None:
    arm = map_of(ARM)
    start = np.array([0.5, first + away * TURN + count * TURN, 0.0])
    target = np.array([-1.0, first, 0.0])
    arm.follow(start)
    arm.follow(target)
    target += arm.nearest(start, target, np.ones(3, dtype=bool))
    assert abs(target[1] - start[1]) <= TURN / 2 + 1e-8
    assert target[2] == pytest.approx(-2.0 * target[1] + 0.5, abs=1e-7)
    assert target[0] == -1.0
    assert abs(math.remainder(target[1] - first, TURN)) < 1e-8


@given(angles, angles)
def test_an_approach_to_the_nearest_turn_keeps_the_limits(start: float, first: float) -> None:
    arm, driven = map_of(ARM), np.ones(3, dtype=bool)
    ends = np.array([[0.0, start, 0.0], [0.0, first, 0.0]])
    arm.follow(ends)
    target = ends[1] + arm.nearest(ends[0], ends[1], driven)
    track = plan_approach(ends[0], target, driven, arm, settings_of(ARM), rate_hz=500.0)
    steps = np.diff(track.positions, axis=0) * 500.0
    assert (np.abs(steps) <= arm.limits.velocity * (1 + 1e-9)).all()
    assert (np.abs(np.diff(steps, axis=0) * 500.0)[:, 1] <= 8.0 * (1 + 1e-6)).all()
    assert np.ptp(track.positions[:, 1]) <= TURN / 2 + 1e-9 if len(track.positions) else start == first


def test_a_mimic_joint_whose_actuator_has_forgotten_turns_goes_on_with_its_leader_from_where_it_is() -> None:
    arm, driven = map_of(ARM), np.ones(3, dtype=bool)
    start, target = np.array([[0.0, 0.4 * TURN, 0.0], [0.0, 0.0, 0.0]])
    arm.follow(start)
    arm.follow(target)
    for forgotten in (0, 1, -3):
        off = start + np.array([0.0, 0.0, forgotten * TURN])
        turned = arm.nearest(off, target, driven)
        assert turned == pytest.approx([0.0, 0.0, forgotten * TURN])


def test_a_joint_that_is_not_driven_stays_where_it_is() -> None:
    arm = map_of(ARM)
    assert not arm.nearest(np.full(3, 20.0), np.zeros(3), np.array([True, False, False])).any()


# -- loops --------------------------------------------------------------------------------------------------


def constant(turns: float, rows: int = 200) -> NDArray[np.float64]:
    """Turn at one speed; the row after the last would be so many turns on."""
    return np.linspace(0.0, turns * TURN, rows + 1)[:-1]


def wobbling(turns: int, rows: int = 400) -> NDArray[np.float64]:
    """Turn, now faster and now slower, up to the row that is so many turns on."""
    at = np.linspace(0.0, 1.0, rows + 1)
    way: NDArray[np.float64] = TURN * turns * at + 0.3 * np.sin(TURN * at)
    return way


def cycling(turns: int, first: float, waves: list[float]) -> NDArray[np.float64]:
    """Speed up from rest, make so many turns in `CYCLE` rows, and again, and come to rest; shape (rows,)."""
    at = np.arange(2 * CYCLE) / CYCLE
    speed = turns * TURN / CYCLE + sum(
        size / CYCLE * np.sin(number * TURN * at) for number, size in enumerate(waves, 1)
    )
    ease = 0.5 - 0.5 * np.cos(np.pi * np.arange(EASE) / EASE)
    speeds = np.concatenate((ease * speed[-EASE:], speed, ease[::-1] * speed[:EASE]))
    return first + np.concatenate(([0.0], np.cumsum(speeds)))


CYCLE, EASE = 200, 100
THIRD = PlaceRequest(frame=EASE + 20), PlaceRequest(frame=EASE + CYCLE + 20)


def passed(playback: Playback, passes: int) -> NDArray[np.float64]:
    """Return the rows of passes that follow one another, shape (rows,)."""
    ring = playback.track.positions[:, 0]
    return np.concatenate(
        [ring[:1], *(ring[1:] + number * float(playback.advance[0]) for number in range(passes))]
    )


@pytest.mark.parametrize(
    ("rows", "turns"), [(constant(1), 1), (constant(-3), -3), (wobbling(2), 2), (wobbling(-1), -1)]
)
def test_a_loop_of_whole_turns_flows_on_the_next_turns(rows: NDArray[np.float64], turns: int) -> None:
    playback = playback_of(rows, ELBOW, count=0)
    way = passed(playback, 5)
    bends = np.abs(np.diff(way, 2))
    assert playback.passes.seamless
    assert way[-1] == pytest.approx(5 * turns * TURN)
    assert bends.max() <= np.abs(np.diff(rows, 2)).max() + 1e-4
    assert playback.track.velocities[0] == playback.track.velocities[-1]


@given(
    st.integers(-3, 3).filter(bool),
    st.floats(-TURN, TURN),
    st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3),
)
def test_no_seam_amid_whole_turns_is_beyond_the_limits(turns: int, first: float, waves: list[float]) -> None:
    rows = cycling(turns, first, waves)
    steps = np.abs(np.diff(rows)) * RATE_HZ
    limits = {
        "velocity": float(steps.max()) * 1.001,
        "acceleration": float(np.abs(np.diff(rows, 2, prepend=rows[0], append=rows[-1])).max()) * RATE_HZ**2,
    }
    joints = {"elbow": {"limits": limits, "continuous": True}}
    playback = playback_of(rows, joints, count=0, first=THIRD[0], last=THIRD[1])
    way = passed(playback, 4)
    assert playback.passes.seamless
    assert np.abs(np.diff(way)).max() * RATE_HZ <= limits["velocity"]
    assert np.abs(np.diff(way, 2)).max() * RATE_HZ**2 <= limits["acceleration"] * 1.02
    assert way[-1] - way[0] == pytest.approx(4 * turns * TURN)


def test_a_loop_from_rest_to_rest_goes_on_where_it_rests() -> None:
    rest_to_rest = 2 * TURN * (0.5 - 0.5 * np.cos(np.pi * np.arange(101) / 100))
    assert playback_of(rest_to_rest, ELBOW, count=3).passes.advance == [2 * TURN]
    assert playback_of(rest_to_rest, ELBOW, count=3, ping_pong=True).passes.advance == []
    assert playback_of(rest_to_rest, ELBOW).passes.advance == []


@table("elbow, distance")
def test_a_loop_that_does_not_close_is_refused(elbow: dict[str, Any], distance: str) -> None:
    with pytest.raises(PlaybackError) as caught:
        playback_of(wobbling(1)[:-40], {"elbow": elbow}, count=2)
    assert str(caught.value) == (
        f"wave: its last row is {distance} from its first at joint 'elbow'; that cannot be passed in one "
        "tick; choose seam approach, or ping-pong"
    )


@table("count, turned, message")
def test_what_would_turn_further_than_the_actuator_counts_is_refused(
    count: int, turned: float, message: str
) -> None:
    arm = map_of(ELBOW)
    allowed = ActuatorLimits.none(1)
    for kind in ("lower", "upper"):
        end = 10 * TURN if kind == "upper" else -10 * TURN
        allowed = allowed.narrowed(kind, [end], "servo 3's count of turns")
    within = arm.within(allowed)
    playback = playback_of(wobbling(2), ELBOW, count=count)
    found = ""
    try:
        refuse_out_of_reach(playback, np.array([turned * TURN]), within)
    except PlaybackError as error:
        found = str(error)
    assert found == message
    assert np.isinf(within.limits.upper[0])


def test_an_actuator_of_one_turn_makes_a_joint_with_an_end_of_it() -> None:
    arm = map_of(ELBOW)
    allowed = ActuatorLimits.none(1).narrowed("lower", [-3.14], "a").narrowed("upper", [3.14], "b")
    within = arm.within(allowed)
    assert not within.continuous.any()
    assert within.limits.upper[0] == 3.14
    assert replace(arm).has_limits_of(arm)
    assert not within.has_limits_of(arm)
