"""Behaviour of ranges and seams: what a motion's passes are made of, and what refuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import PlaceRequest
from motiond.daemon.planning.library.markers import Marker
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.playback import Playback, PlaybackError, plan_playback, whole
from motiond.formats import Motion
from tests.robots import map_of, settings_of
from tests.tables import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE_HZ = 100.0
ELBOW: dict[str, dict[str, Any]] = {
    "elbow": {"limits": {"lower": -9, "upper": 9, "velocity": 10, "acceleration": 100}}
}


def playback_of(rows: NDArray[np.float64], joints: dict[str, Any] = ELBOW, **asked: Any) -> Playback:
    times = np.arange(len(rows)) / RATE_HZ
    motion = Motion("wave", ("elbow",), RATE_HZ, times, rows.reshape(-1, 1))
    arm, planned = map_of(joints), plan(motion, map_of(joints), settings_of(joints), 1000.0)
    markers = (Marker("clap", 0.3), Marker("bow", 0.5))
    values: dict[str, Any] = {"first": None, "last": None, "count": 1, "ping_pong": False, "seam": "reject"}
    return plan_playback(whole(planned, markers), arm, **({"tolerance": np.array([0.002])} | values | asked))


RISE = 0.5 - 0.5 * np.cos(np.pi * np.arange(101) / 100)
SWING = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(101) / 100)
TURN = 0.02 * np.sin(2 * np.pi * np.arange(100) / 100)  # the row after the last is the first


def test_a_whole_motion_once_is_its_plan_as_it_stands() -> None:
    playback = playback_of(RISE)
    passes = playback.passes
    assert playback.track is playback.plan
    assert (passes.first, passes.last, passes.eases_in, passes.eases_out) == (0, 100, False, False)


@pytest.mark.parametrize(
    ("place", "row"),
    [(PlaceRequest(frame=20), 20), (PlaceRequest(time=0.304), 30), (PlaceRequest(marker="bow"), 50)],
    ids=["frame", "time", "marker"],
)
def test_a_range_begins_at_a_frame_a_time_or_a_marker_and_eases(place: PlaceRequest, row: int) -> None:
    passes = playback_of(RISE, first=place).passes
    assert (passes.first, passes.last, passes.eases_in, passes.eases_out) == (row, 100, True, False)


@table("asked, message")
def test_what_cannot_be_played_is_refused_with_the_reason(asked: dict[str, Any], message: str) -> None:
    places: dict[str, Any] = {
        key: PlaceRequest(**value) if isinstance(value, dict) else value for key, value in asked.items()
    }
    with pytest.raises(PlaybackError) as caught:
        playback_of(RISE, **places)
    assert str(caught.value) == message


def test_an_open_motion_may_be_repeated_by_an_approach_or_back_and_forth() -> None:
    assert playback_of(RISE, count=2, seam="approach").returns
    back_and_forth = playback_of(RISE, count=0, ping_pong=True)
    assert (back_and_forth.passes.count, back_and_forth.returns, back_and_forth.passes.seamless) == (
        0,
        False,
        False,
    )


def test_a_motion_that_ends_where_it_begins_flows_and_its_ends_are_one_row() -> None:
    playback = playback_of(SWING, count=3)
    assert playback.passes.seamless
    assert playback.track.positions[:, 0].tolist() == SWING.tolist()
    assert playback.track.velocities[0] == playback.track.velocities[-1]


def test_a_cycle_without_its_last_row_is_closed_with_the_first() -> None:
    playback = playback_of(TURN, count=3)
    assert playback.passes.seamless
    assert playback.track.positions[:, 0].tolist() == [*TURN.tolist(), TURN[0]]
    assert (playback.passes.first, playback.passes.last) == (0, 99)
    slopes = playback.track.velocities[:, 0]
    assert slopes[0] == slopes[-1] == pytest.approx(0.02 * 2 * np.pi, rel=0.01)


def test_a_range_that_is_a_cycle_flows_by_itself() -> None:
    playback = playback_of(
        np.tile(TURN, 3), first=PlaceRequest(frame=100), last=PlaceRequest(frame=199), count=0
    )
    passes = playback.passes
    assert (passes.seamless, playback.offset, passes.first, passes.last) == (True, 100, 0, 99)
    assert (passes.eases_in, passes.eases_out) == (True, True)
    assert playback.row_of(PlaceRequest(frame=150)) == 50


def test_a_place_that_is_not_played_now_cannot_be_sought() -> None:
    playback = playback_of(RISE, first=PlaceRequest(frame=20), last=PlaceRequest(frame=60))
    with pytest.raises(PlaybackError) as caught:
        playback.row_of(PlaceRequest(frame=61))
    assert str(caught.value) == "wave: row 61 is not played now; it plays rows 20 to 60; name one of them"


def test_a_seam_that_bends_more_than_a_joint_may_does_not_flow() -> None:
    saw = np.concatenate((np.zeros(3), 0.04 * np.arange(10), np.full(3, 0.36)))
    with pytest.raises(PlaybackError, match="from its first at joint 'elbow'"):
        playback_of(np.repeat(saw, 8) * 0.1, count=2)


def test_the_speed_of_a_loop_is_bounded_by_its_seam_too() -> None:
    playback = playback_of(SWING, count=2)
    assert playback.track.max_speed <= playback.plan.max_speed
    kinked = SWING.copy()
    kinked[-1] += 0.0009
    assert playback_of(kinked, count=2).track.max_speed < playback.plan.max_speed


def test_ends_within_the_tolerance_but_not_on_each_other_are_joined_by_a_way_back() -> None:
    assert playback_of(
        RISE, count=2, first=PlaceRequest(frame=45), last=PlaceRequest(frame=55), tolerance=np.array([0.2])
    ).returns


def test_what_is_between_a_last_row_and_the_first_counts_where_they_are_taken_for_the_same() -> None:
    drift = np.linspace(0.0, 0.009, 101)  # in one tick, both ways, that is more than acceleration allows
    assert playback_of(SWING + drift / 100, count=2).passes.seamless
    assert not playback_of(SWING + drift, count=2, tolerance=np.array([0.1])).passes.seamless


def test_a_seam_without_an_acceleration_limit_is_no_rougher_than_the_motion() -> None:
    joints: dict[str, dict[str, Any]] = {"elbow": {"limits": {"lower": -9, "upper": 9, "velocity": 10}}}
    drift = np.linspace(0.0, 0.03, 101)  # 3 rad/s in the tick of the seam
    for rows, flows in ((SWING, True), (TURN, True), (SWING + drift, False)):
        assert playback_of(rows, joints, count=2, seam="approach").passes.seamless is flows
