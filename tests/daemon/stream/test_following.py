"""Behaviour of a robot that follows targets: how it begins, what it does with them, and what ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ruckig import RuckigError

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.states import State
from motiond.daemon.trajectory import WAY_BACK
from motiond.daemon.trajectory.online import OnlineGenerator
from tests.daemon.stream.followed import BOUNDS, LOWER, UPPER, VELOCITY, Followed, assert_within
from tests.daemon.stream.test_loop import JOINTS, START, LateClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PERIOD_S = 1.0 / Followed.rate_hz


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    robot = Followed(tmp_path, monkeypatch)
    yield robot
    robot.leave()


def test_it_holds_until_the_first_target_comes(robot: Followed) -> None:
    robot.follow()
    robot.step(100)
    changed = robot.notices_of(messages.Changed)[-1]
    assert (changed.state, changed.goal_id, changed.after) == ("following", "follow-1", 7)
    assert (robot.setpoints()["reference_position"] == START).all()


def test_it_goes_to_a_target_within_limits_and_rests_there(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.target(1.0, -1.2)
    robot.step(600)
    positions = robot.setpoints()["reference_position"]
    assert positions[-1] == pytest.approx([1.0, -1.2], abs=1e-9)
    assert (positions[-20:] == positions[-1]).all()
    assert_within(positions, PERIOD_S)
    fastest = np.abs(np.diff(positions, axis=0)).max(axis=0) / PERIOD_S
    assert fastest == pytest.approx([VELOCITY[0], fastest[1]])


def test_a_joint_without_a_value_goes_on_to_its_target(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.target(0.5, 0.3)
    robot.step(3)
    robot.target(None, 0.1)
    robot.step(600)
    assert robot.setpoints()["reference_position"][-1] == pytest.approx([0.5, 0.1], abs=1e-9)


def test_joints_that_are_not_named_hold(robot: Followed) -> None:
    robot.follow(joints=[1], timeout_s=5.0)
    robot.target(0.4)
    robot.step(600)
    positions = robot.setpoints()["reference_position"]
    assert (positions[:, 0] == START[0]).all()
    assert positions[-1, 1] == pytest.approx(0.4, abs=1e-9)


def test_a_target_beyond_a_limit_is_clipped_to_it_and_counted(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.target(99.0, -99.0)
    robot.target(0.0, 0.0)
    robot.target(99.0, 0.0)
    robot.step(800)
    positions = robot.setpoints()["reference_position"]
    assert positions[-1] == pytest.approx([UPPER[0], 0.0], abs=1e-9)
    assert (robot.facts().targets, robot.facts().clipped) == (3, 2)


def test_a_joint_moves_at_a_velocity_and_stops_at_its_limit(robot: Followed) -> None:
    robot.follow(mode="velocity", timeout_s=8.0)
    robot.velocity(0.3, -1.0)
    robot.step(100)
    speeds = robot.setpoints()["reference_velocity"][-1]
    assert speeds == pytest.approx([0.3, -1.0], abs=1e-9)
    robot.velocity(99.0, None)
    robot.step(1000)
    positions = robot.setpoints()["reference_position"]
    assert robot.facts().clipped == 1
    assert positions[-1] == pytest.approx([UPPER[0], LOWER[1]], abs=1e-9)
    assert_within(positions, PERIOD_S)


def lag_behind_a_sine(robot: Followed, *, passes: bool) -> float:
    """Return how far joints are behind a target that swings with up to 0.8 rad/s, in rad."""
    robot.follow()
    lags = []
    for tick in range(1200):
        phase, both = 2.0 * tick * PERIOD_S, np.ones(2)
        place, passing = 0.4 * np.sin(phase) * both, 0.8 * np.cos(phase) * both
        if passes:
            robot.passing(place.tolist(), passing.tolist())
        else:
            robot.target(*place)
        robot.step()
        lags.append(np.abs(place - robot.loop.player.position))
    assert_within(robot.setpoints()["reference_position"], PERIOD_S)
    return float(np.max(lags[600:]))


def test_a_target_that_moves_on_is_kept_up_with(robot: Followed) -> None:
    lag = lag_behind_a_sine(robot, passes=True)
    assert lag < 0.8 * 3.0 * PERIOD_S
    robot.end()
    assert robot.come_to_rest().code == "SUCCESSFUL"
    assert lag_behind_a_sine(robot, passes=False) > 10.0 * lag


def test_a_target_that_moves_on_rests_at_a_limit(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.passing([1.0, -1.3], [0.5, -99.0])
    robot.step(400)
    positions = robot.setpoints()["reference_position"]
    assert positions[-1] == pytest.approx([UPPER[0], LOWER[1]], abs=1e-9)
    assert (positions[-20:] == positions[-1]).all()
    assert robot.facts().clipped == 1
    assert_within(positions, PERIOD_S)


def eased(begin: list[float], end: list[float], rows: int, first: float = 0.0) -> np.ndarray[Any, Any]:
    """Return rows from rest to rest, or from where a share of the way has passed, shape (rows, joints)."""
    share = np.linspace(first, 1.0, rows)[:, None]
    gone = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    way: np.ndarray[Any, Any] = np.array(begin) + gone * np.subtract(end, begin)
    return way


def test_a_chunk_is_met_row_by_row_and_its_last_row_is_held(robot: Followed) -> None:
    robot.follow()
    robot.setpoints()
    rows = eased(START, [0.6, 0.4], 101)
    robot.chunk(rows)
    robot.step(430)
    positions = robot.setpoints()["reference_position"]
    assert positions[:401:4] == pytest.approx(rows, abs=1e-5)
    assert positions[24:401:4] == pytest.approx(rows[6:], abs=1e-12)
    assert positions[401:] == pytest.approx(np.broadcast_to(rows[-1], (29, 2)), abs=1e-9)
    assert_within(positions, PERIOD_S)


def test_the_time_out_counts_from_the_end_of_the_last_chunk(robot: Followed) -> None:
    robot.follow()
    robot.chunk(eased(START, [0.3, 0.2], 51))
    robot.step(int(1.2 * robot.rate_hz) - 1)
    assert robot.state() is State.FOLLOWING
    robot.step(3)
    assert robot.come_to_rest().code == "CANCELED"


def test_of_a_chunk_that_comes_late_what_has_passed_is_left_out(robot: Followed) -> None:
    robot.follow()
    robot.step(20)
    robot.chunk(eased(START, [0.3, 0.2], 101), begins_at=robot.unix() - 0.5)
    robot.setpoints()
    robot.step(300)
    positions = robot.setpoints()["reference_position"]
    assert positions[179:] == pytest.approx(eased(START, [0.3, 0.2], 121, first=0.7), abs=1e-6)
    assert_within(positions, PERIOD_S)


def test_a_chunk_that_is_to_begin_later_replaces_the_one_before_from_then_on(robot: Followed) -> None:
    robot.follow()
    first, second = eased(START, [0.6, 0.4], 101), eased([0.2, -0.1], [0.1, 0.5], 101)
    robot.chunk(first)
    robot.chunk(second, begins_at=robot.unix() + 0.5)
    robot.setpoints()
    robot.step(700)
    positions = robot.setpoints()["reference_position"]
    assert positions[:96:4] == pytest.approx(first[:24], abs=1e-5)
    assert positions[-1] == pytest.approx(second[-1], abs=1e-9)
    assert_within(positions, PERIOD_S)


def test_chunks_that_agree_are_spliced_without_a_trace(robot: Followed) -> None:
    robot.follow()
    rows = eased(START, [0.6, 0.4], 101)
    robot.setpoints()
    begun_at = robot.unix()
    for first in range(0, 60, 5):
        robot.chunk(rows[first:], begins_at=begun_at + 0.02 * first)
        robot.step(20)
    robot.step(200)
    positions = robot.setpoints()["reference_position"]
    assert positions[19:400:4] == pytest.approx(rows[5:], abs=2e-6)  # from where the second one begins
    assert_within(positions, PERIOD_S)


@pytest.mark.parametrize("seed", range(10))
def test_chunks_of_a_second_ten_times_a_second_that_come_late_make_one_path(
    robot: Followed, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    robot.follow()
    robot.setpoints()
    begun_at = robot.unix()
    turn, size = rng.uniform(1.0, 3.0, 2), rng.uniform(0.05, 0.2, 2)

    def wanted(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a swing that grows from rest, shape (times, joints)."""
        growth = 1.0 - np.exp(-((times / 1.5) ** 3))
        swing: np.ndarray[Any, Any] = START + (growth * np.sin(np.outer(turn, times))).T * size
        return swing

    late_s = rng.uniform(0.0, 0.3, 50)
    waiting = sorted((0.1 * number + late, 0.1 * number) for number, late in enumerate(late_s))
    for tick in range(1000):
        while waiting and waiting[0][0] <= tick * PERIOD_S:
            first_s = waiting.pop(0)[1]
            rows = wanted(first_s + 0.02 * np.arange(51))
            robot.chunk(rows, begins_at=begun_at + first_s, sent_at=begun_at + first_s)
        robot.step()
    positions = robot.setpoints()["reference_position"]
    assert positions == pytest.approx(wanted((np.arange(1000) + 1.0) * PERIOD_S), abs=2e-3)
    assert robot.facts().dropped > 0
    assert_within(positions, PERIOD_S)


def test_a_chunk_that_is_too_rough_for_the_joints_is_smoothed(robot: Followed) -> None:
    rng = np.random.default_rng(0)
    robot.follow()
    rows = eased(START, [0.6, 0.4], 101)
    robot.chunk(rows + 0.003 * rng.normal(size=rows.shape))
    robot.step(401)
    positions = robot.setpoints()["reference_position"]
    assert positions[:401:4] == pytest.approx(rows, abs=0.02)
    assert_within(positions, PERIOD_S)


def test_a_chunk_that_is_too_fast_is_followed_as_fast_as_limits_allow(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.chunk(eased(START, [1.1, -0.2], 21))
    robot.step(440)
    positions = robot.setpoints()["reference_position"]
    assert np.abs(np.diff(positions[:, 0])).max() / PERIOD_S == pytest.approx(VELOCITY[0])
    assert positions[-1] == pytest.approx([1.1, -0.2], abs=1e-9)
    assert_within(positions, PERIOD_S)


def test_a_target_replaces_a_chunk(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.chunk(eased(START, [0.6, 0.4], 101))
    robot.step(100)
    robot.target(0.0, None)
    robot.step(600)
    assert robot.setpoints()["reference_position"][-1] == pytest.approx([0.0, 0.4], abs=1e-9)


def test_what_is_older_than_the_last_is_dropped_and_does_not_renew_the_time_out(robot: Followed) -> None:
    robot.follow()
    sent_at = robot.unix()
    robot.target(0.3, 0.3, sent_at=sent_at)
    robot.step(20)
    robot.target(0.9, 0.9, sent_at=sent_at - 0.001)
    robot.chunk(eased(START, [0.9, 0.9], 101), sent_at=sent_at - 0.001)
    robot.step(25)
    assert robot.state() is State.STOPPING
    follow = robot.come_to_rest().details["follow"]
    assert (follow["targets"], follow["dropped"]) == (1, 2)
    assert (robot.setpoints()["reference_position"] <= 0.3 + 1e-9).all()


def chunk_of(times: list[float], rows: list[list[float]]) -> messages.Chunk:
    """Return a chunk of rows at which joints rest."""
    places = np.array(rows)
    parts = np.array(times), places, np.zeros_like(places), places[-1]
    curve = np.concatenate([part.ravel() for part in parts]).tobytes()
    return messages.Chunk("follow-1", None, None, 0.0, curve=curve)


REFUSED = {
    "no values": messages.Target("follow-1", None, None, None, 0.0),
    "velocities for positions": messages.Target("follow-1", None, [0.0, 0.0], None, 0.0),
    "too few values": messages.Target("follow-1", [0.0], None, None, 0.0),
    "no rows": messages.Chunk("follow-1", None, None, 0.0),
    "no number": chunk_of([0.0, 1.0], [[0.0, float("nan")]] * 2),
    "rows of another length": chunk_of([0.0, 1.0], [[0.0, 0.0, 0.0]] * 2),
    "one row": chunk_of([0.0], [[0.0, 0.0]]),
    "what is no row": messages.Chunk("follow-1", None, None, 0.0, curve=b"0123456789"),
    "times that do not ascend": chunk_of([1.0, 1.0], [[0.0] * 2] * 2),
    "times that hardly ascend": chunk_of([0.0, 1e-16], [[0.0] * 2] * 2),
}


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED)
def test_what_is_no_target_is_refused_and_does_not_renew_the_time_out(
    robot: Followed, message: messages.Command
) -> None:
    robot.follow()
    robot.target(*START)
    robot.step(20)
    robot.send(message)
    robot.step(25)
    follow = robot.come_to_rest().details["follow"]
    assert (follow["targets"], follow["refused"]) == (1, 1)
    assert (robot.setpoints()["reference_position"] == START).all()


def test_a_target_for_another_goal_changes_nothing(robot: Followed) -> None:
    robot.follow()
    robot.target(0.5, 0.5, goal_id="follow-0")
    robot.send(messages.FollowStop("follow-0"))
    robot.step(390)
    assert robot.state() is State.FOLLOWING
    assert (robot.setpoints()["reference_position"] == START).all()


def test_without_targets_it_stops_softly_holds_and_reports_so(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.target(1.2, 1.5)
    robot.step(42)
    assert robot.state() is State.STOPPING
    ended = robot.come_to_rest()
    message = "no target came for 0.2 s; the robot stops softly and holds"
    assert (ended.code, ended.message) == ("CANCELED", message)
    assert robot.events_of("follow_timeout") == [message]
    assert_within(robot.setpoints()["reference_position"], PERIOD_S)


def test_the_first_target_may_take_two_seconds(robot: Followed) -> None:
    robot.follow()
    robot.step(398)
    assert robot.state() is State.FOLLOWING
    robot.step(5)
    assert robot.come_to_rest().code == "CANCELED"


def test_its_end_is_soft_and_well(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.end()
    robot.step()
    assert robot.state() is State.STOPPING
    ended = robot.come_to_rest()
    message = "following has ended on request; the robot holds"
    assert (ended.goal_id, ended.code, ended.message) == ("follow-1", "SUCCESSFUL", message)
    assert ended.details["follow"]["targets"] == 1
    before = robot.setpoints()["reference_position"]
    robot.step(50)
    after = robot.setpoints()["reference_position"]
    assert (after == before[-1]).all()
    assert_within(np.concatenate((before, after[:1])), PERIOD_S)


def test_a_stop_of_one_goal_stops_a_follow_of_that_id_alone(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.send(messages.Stop(goal_id="another"))
    robot.step(10)
    assert robot.state() is State.FOLLOWING
    robot.send(messages.Stop(message="it is enough", goal_id=robot.goal_id))
    ended = robot.come_to_rest()
    assert (ended.code, ended.message) == ("CANCELED", "it is enough")


def test_a_stop_cancels_it(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.send(messages.Stop())
    assert robot.come_to_rest().code == "CANCELED"


def test_an_emergency_stop_ends_it_at_once_also_while_it_brakes(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.end()
    robot.step(2)
    robot.send(messages.Estop())
    assert robot.come_to_rest().code == "ESTOP"
    assert robot.state() is State.ESTOPPED


def test_a_braking_that_cannot_be_worked_out_halts_the_robot_at_once_and_is_told(
    robot: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    moved = robot.loop.player.position.copy()

    def fails(*_: object) -> None:
        raise RuckigError("no step 1")

    monkeypatch.setattr(OnlineGenerator, "_braked_rows", fails)
    robot.end()
    robot.step(3)
    message = "the next setpoint could not be worked out, so the robot halts; no step 1"
    assert [(one.goal_id, one.code, one.message) for one in robot.ends()] == [
        ("follow-1", "HARDWARE_FAULT", message)
    ]
    assert robot.events_of("fault") == [message]
    assert robot.state() is State.FAULT
    assert (robot.loop.player.position == moved).all()
    assert (robot.setpoints()["reference_position"][-3:] == moved).all()


@pytest.mark.parametrize(
    ("prepare", "changes", "reason"),
    [
        ([messages.Disable()], {}, "the robot is idle, released; it cannot follow now"),
        ([messages.Estop()], {}, "the robot is estopped; it cannot follow now"),
        ([], {"start": [0.0, 0.0]}, "the robot is not where it was when it was asked to follow; ask again"),
        ([], {"expires_at": 1.0}, "it expired 1764000099.010 s ago; send it again, or with more time"),
    ],
)
def test_it_refuses_to_begin(
    robot: Followed, prepare: list[messages.Command], changes: dict[str, object], reason: str
) -> None:
    robot.send(*prepare)
    robot.step()
    robot.follow(**changes)
    (ended,) = robot.ends()
    assert (ended.goal_id, ended.code, ended.message) == ("follow-1", "INVALID_GOAL", reason)
    assert robot.state() is not State.FOLLOWING


def test_joints_far_outside_their_limits_do_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Followed(tmp_path, monkeypatch, initial=dict(zip(JOINTS, [1.5, 0.0], strict=True)))
    robot.follow()
    (ended,) = robot.ends()
    where = "joint 'shoulder' is at 1.5 rad, far outside its limits of -1 to 1.2 rad"
    assert (ended.code, ended.message) == ("INVALID_GOAL", f"{where}; {WAY_BACK}")
    robot.follow(joints=[1], goal_id="follow-2")
    assert robot.state() is State.FOLLOWING
    robot.leave()


def test_a_joint_outside_its_limits_comes_back_in_and_stays_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Followed(tmp_path, monkeypatch, initial=dict(zip(JOINTS, [1.22, 0.0], strict=True)))
    robot.follow(timeout_s=5.0)
    robot.step(100)
    robot.target(99.0, None)
    robot.step(300)
    positions = robot.setpoints()["reference_position"][:, 0]
    assert (positions[:100] == 1.22).all()
    assert (np.diff(positions) <= 1e-12).all()
    assert positions[-1] == pytest.approx(UPPER[0], abs=1e-9)
    robot.leave()


def test_a_joint_that_was_moved_while_it_was_held_begins_where_it_is(robot: Followed) -> None:
    robot.run_for(1.0)
    robot.inject({"fault": "displaced", "actuator": "shoulder", "by": 0.1})
    robot.step()
    robot.follow()
    robot.step(50)
    positions = robot.setpoints()["reference_position"]
    assert START[0] + 0.02 < positions[-1, 0] < START[0] + 0.101
    assert (positions[:, 1] == START[1]).all()
    assert (positions == positions[-1]).all()
    (message,) = robot.events_of("displaced")
    assert message.startswith("joint 'shoulder' was moved 0.")
    assert message.endswith(" rad from where it was held; following begins there; look for what moved it")


@pytest.mark.parametrize("start", [0.1, 0.7, -0.3])
def test_a_joint_comes_to_its_limits_to_the_last_bit(
    start: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Followed(tmp_path, monkeypatch, initial=dict.fromkeys(JOINTS, start))
    robot.follow(timeout_s=5.0)
    for target, limits in ((99.0, UPPER), (-99.0, LOWER)):
        robot.target(target, target)
        robot.step(900)
        positions = robot.setpoints()["reference_position"]
        assert positions[-1] == pytest.approx(limits, abs=1e-9)
        assert (positions >= LOWER).all()
        assert (positions <= UPPER).all()
    robot.leave()


MIMIC = replace(BOUNDS, leaders=[0, 0], multipliers=[1.0, -2.0])


def test_a_mimic_joint_goes_in_step_and_keeps_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = Followed(tmp_path, monkeypatch, setup={"ways": MIMIC})
    robot.follow(joints=[0], timeout_s=5.0)
    robot.target(1.2)
    robot.step(600)
    positions = robot.setpoints()["reference_position"]
    gone = positions - START
    assert gone[:, 1] == pytest.approx(-2.0 * gone[:, 0], abs=1e-12)
    assert positions[-1, 1] == pytest.approx(LOWER[1], abs=1e-9)  # of which the leader stops
    assert (positions >= LOWER).all()
    assert robot.facts().clipped == 1
    assert_within(positions, PERIOD_S)
    robot.leave()


def test_a_mimic_joint_takes_no_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = Followed(tmp_path, monkeypatch, setup={"ways": MIMIC})
    robot.follow()
    (ended,) = robot.ends()
    assert ended.message == "joint 'elbow' follows joint 'shoulder'; send targets for that one"
    robot.leave()


def test_a_path_tolerance_ends_it_softly(robot: Followed) -> None:
    robot.follow(path_tolerance=[0.001, OFF])
    robot.target(1.2, 1.5)
    ended = robot.come_to_rest()
    assert ended.code == "PATH_TOLERANCE_VIOLATED"
    assert "joint 'shoulder' is" in ended.message
    assert "its path tolerance is 0.001 rad" in ended.message
    assert ended.details["joint"] == "shoulder"


def test_a_daemon_that_is_silent_ends_it_softly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = Followed(tmp_path, monkeypatch, setup={"daemon_timeout_s": 0.3})
    robot.follow(timeout_s=5.0)
    robot.target(1.2, 1.5)
    ended = robot.come_to_rest()
    assert ended.code == "CANCELED"
    assert "nothing was received from the daemon for more than 0.3 s" in ended.message
    assert_within(robot.setpoints()["reference_position"], PERIOD_S)
    robot.leave()


def test_a_tick_that_comes_much_too_late_ends_it_softly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LateClock(100.0)
    robot = Followed(tmp_path, monkeypatch, clock=clock)
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(40)
    clock.oversleep_s = 0.15
    assert robot.come_to_rest().code == "DEADLINE_MISSED"
    robot.leave()


def test_the_shutdown_ends_it_softly_and_another_is_refused(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.send(messages.Shutdown())
    for _ in robot.steps_to_the_end():
        pass
    robot.hear()
    assert [(ended.code, ended.message) for ended in robot.ends()] == [("CANCELED", "the daemon shuts down")]


def test_what_a_follow_does_not_know_changes_nothing(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.target(0.5, 0.5)
    robot.step(10)
    robot.send(messages.Pause(), messages.Resume(), messages.Speed(0.1, 1.0), messages.Disable())
    robot.send(messages.Enable(), messages.Teach("released"))
    robot.step(400)
    assert robot.state() is State.FOLLOWING
    assert robot.setpoints()["reference_position"][-1] == pytest.approx([0.5, 0.5], abs=1e-9)


def test_the_first_stop_counts(robot: Followed) -> None:
    robot.follow()
    robot.target(1.2, 1.5)
    robot.step(30)
    robot.end()
    robot.step(2)
    robot.send(messages.Stop())
    assert robot.come_to_rest().code == "SUCCESSFUL"


def test_what_became_of_targets_is_reported_once_a_second_and_with_the_result(robot: Followed) -> None:
    robot.follow()
    for number in range(110):
        sent_at = robot.unix() - 0.01 if number % 2 else None
        robot.target(0.5, 0.5, sent_at=sent_at)
        robot.step(4)
    robot.end()
    ended = robot.come_to_rest()
    reports = robot.notices_of(messages.Followed)
    assert [report.targets for report in reports] == [50, 100, 110]
    assert reports[-1].latency_s == pytest.approx({"p50": 0.01, "p99": 0.015, "max": 0.015}, abs=6e-3)
    lag = reports[-1].lag
    assert lag is not None
    assert (lag["unit"], abs(lag["value"]) < 1e-3) == ("rad", True)
    assert ended.details["follow"] == {
        key: getattr(reports[-1], key)
        for key in ("is_behind", "targets", "clipped", "dropped", "refused", "latency_s", "lag", "held_by")
    }


def test_a_chunk_that_would_begin_long_from_now_is_refused(robot: Followed) -> None:
    robot.follow()
    robot.chunk(eased(START, [0.3, 0.2], 11), begins_at=robot.unix() + 3600.0)
    robot.step(410)
    assert robot.come_to_rest().details["follow"]["refused"] == 1
