"""Goals that play beside another one: a setpoint of all, a clock and a result for each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.ring import slices
from motiond.daemon.ipc.states import State
from motiond.daemon.trajectory import Track, share
from motiond.daemon.trajectory.route import Passes
from tests.daemon.stream.test_loop import RATE_HZ, ROWS, START, Bench, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHOULDER, ELBOW = (True, False), (False, True)
LONG = np.linspace(START, [0.9, 1.0], 2000)
WELL = ("SUCCESSFUL", "the last row is out and held")
STOPPED = ("CANCELED", "stopped on request, softly, on the path")


class Stage(Bench):
    """A loop with motions on one joint each."""

    def begin(
        self, goal_id: str, driven: tuple[bool, bool], rows: np.ndarray[Any, Any] = ROWS, **play: Any
    ) -> None:
        self.play(rows, driven=driven, goal_id=goal_id, **play)
        self.step()

    def begin_both(self, base: np.ndarray[Any, Any] = LONG, beside: np.ndarray[Any, Any] = LONG) -> None:
        """Play on the shoulder, and after 50 rows of that on the elbow, too."""
        self.enable()
        self.begin("base", SHOULDER, base)
        self.step(50)
        self.begin("beside", ELBOW, beside, beside=True)
        self.step(20)

    def pause(self, goal_id: str) -> None:
        """Pause one goal, and wait until it rests."""
        self.channel.send(messages.Pause(goal_id))
        self.step_until(lambda: {"base": self.last().state, **self.last().beside}[goal_id] == "paused")
        self.step(5)

    def seek_beside(self, row: int, start: list[float], way: np.ndarray[Any, Any]) -> None:
        """Let what plays on the elbow go to a row, on a way that was planned from `start`."""
        fd = share(Track(way, np.zeros_like(way), np.array(ELBOW), RATE_HZ, 2.0))
        self.channel.send(messages.Seek("beside", row, start, goes_on=True), (fd,))
        os.close(fd)
        self.step()

    def setpoints(self) -> np.ndarray[Any, Any]:
        """Return the setpoints since the last time, shape (ticks, joints)."""
        return self.reader.take()[:, slices(2)["reference_position"]]

    def codes(self) -> dict[str, tuple[str, str]]:
        ends = self.ends()
        codes = {ended.goal_id: (ended.code, ended.message) for ended in ends}
        assert len(codes) == len(ends), "a goal has two results"
        return codes

    def until_at_rest(self) -> None:
        self.step_until(lambda: not self.loop._layers.active)
        self.step(5)

    def last(self) -> messages.Changed:
        changed: messages.Changed = self.notices_of(messages.Changed)[-1]
        return changed


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    yield from staged(tmp_path)


def staged(folder: Path, **setup: Any) -> Iterator[Stage]:
    stage = Stage(folder, setup_of(**setup))
    yield stage
    stage.loop._layers.estop()  # what plays gives its tracks back
    stage.loop._layers.take_results()
    stage.driver.close()
    stage.close()


def is_in(rows: np.ndarray[Any, Any], setpoints: np.ndarray[Any, Any]) -> bool:
    """Whether all rows of a joint were put out, one a tick, bit for bit."""
    size = len(rows)
    return any((setpoints[k : k + size] == rows).all() for k in range(len(setpoints) - size + 1))


def test_each_joint_gets_the_rows_of_its_own_motion_bit_for_bit(stage: Stage) -> None:
    stage.begin_both(LONG, ROWS)
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert is_in(LONG[:, 0], setpoints[:, 0])
    assert is_in(ROWS[:, 1], setpoints[:, 1])
    assert stage.codes() == {"base": WELL, "beside": WELL}


def test_the_state_shows_both_while_both_play(stage: Stage) -> None:
    stage.begin_both()
    last = stage.last()
    assert (last.state, last.goal_id, last.beside) == ("playing", "base", {"beside": "playing"})


def test_a_robot_that_plays_beside_nothing_is_not_at_rest(stage: Stage) -> None:
    stage.begin_both(ROWS, LONG)
    stage.step_until(stage.ended)
    last = stage.last()
    assert (last.state, last.goal_id, last.beside) == ("playing", None, {"beside": "playing"})
    stage.channel.send(messages.Disable())
    stage.channel.send(messages.Teach("released"))
    stage.step()
    assert stage.last().torque
    (refused,) = stage.last().taught
    assert refused.message == "the robot is playing; it cannot be taught now"
    stage.until_at_rest()
    assert (stage.last().state, stage.last().beside) == ("idle", {})


def test_what_begins_beside_a_layer_plays_on_its_grid(stage: Stage) -> None:
    stage.begin_both(ROWS, LONG)
    stage.step_until(stage.ended)
    stage.begin("next", SHOULDER, np.linspace(ROWS[-1], START, 300))
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert is_in(LONG[:, 1], setpoints[:, 1])
    assert stage.codes() == {"base": WELL, "beside": WELL, "next": WELL}


@pytest.mark.parametrize("goal_id", ["base", "beside"])
def test_a_stop_for_one_lets_the_other_play_on(stage: Stage, goal_id: str) -> None:
    stage.begin_both()
    stage.channel.send(messages.Stop(goal_id=goal_id))
    stage.until_at_rest()
    other, joint = ("beside", 1) if goal_id == "base" else ("base", 0)
    assert stage.codes() == {goal_id: STOPPED, other: WELL}
    assert is_in(LONG[:, joint], stage.setpoints()[:, joint])


ENDS: dict[str, tuple[Callable[[Stage], object], str]] = {
    "a stop": (lambda stage: stage.channel.send(messages.Stop()), "CANCELED"),
    "an emergency stop": (lambda stage: stage.channel.send(messages.Estop()), "ESTOP"),
    "a shutdown": (lambda stage: stage.channel.send(messages.Shutdown()), "CANCELED"),
    "a late tick": (lambda stage: setattr(stage.clock, "oversleep_s", 0.2), "DEADLINE_MISSED"),
    "a fault": (lambda stage: stage.driver.inject({"fault": "bus_lost"}), "COMM_LOST"),
}


@pytest.mark.parametrize("event", ENDS)
@pytest.mark.parametrize("both", [True, False])
def test_what_ends_one_ends_all_with_a_result_for_each(stage: Stage, event: str, *, both: bool) -> None:
    stage.begin_both(LONG if both else ROWS[:60])
    stage.step(100)
    act, code = ENDS[event]
    act(stage)
    for _ in range(2000):
        if not stage.loop.step():
            break
        stage.hear()
    stage.hear()
    codes = {goal_id: code for goal_id, (code, _) in stage.codes().items()}
    assert codes == {"base": code if both else "SUCCESSFUL", "beside": code}
    if event != "a fault":  # whose last setpoint is not put out any more
        assert np.abs(np.diff(stage.setpoints()[-2:], axis=0)).max() < 1e-7


def test_a_daemon_that_is_silent_stops_what_plays_beside_nothing(tmp_path: Path) -> None:
    for stage in staged(tmp_path, daemon_timeout_s=0.5):
        stage.begin_both(ROWS[:60], np.linspace(START, [0.9, 1.0], 4000))
        stage.until_at_rest()
        message = (
            "nothing was received from the daemon for more than 0.5 s (daemon_timeout_s); "
            "nobody could stop the robot; look at what kept the daemon busy, or raise it"
        )
        assert stage.codes()["beside"] == ("CANCELED", message)


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "a joint that the base moves": (
        {"driven": SHOULDER},
        "joint 'shoulder' moves already; play it afterwards",
    ),
    "a joint that a layer moves": ({"driven": ELBOW}, "joint 'elbow' moves already; play it afterwards"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_moves_already_is_not_moved_by_another(stage: Stage, case: str) -> None:
    options, message = REFUSALS[case]
    stage.begin_both()
    stage.begin("third", rows=LONG, beside=True, **options)
    assert stage.codes() == {"third": ("INVALID_GOAL", message)}
    stage.until_at_rest()
    assert stage.codes() == {"third": ("INVALID_GOAL", message), "base": WELL, "beside": WELL}


def test_another_rate_is_refused(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, LONG)
    stage.begin("beside", ELBOW, LONG, rate_hz=250.0, beside=True)
    assert stage.codes()["beside"] == (
        "INVALID_GOAL",
        "it has 250 rows a second, and what plays 500; only one rate is played at a time",
    )


def test_a_start_that_is_appointed_is_not_beside_what_plays(stage: Stage) -> None:
    stage.begin_both(ROWS[:60], LONG)
    stage.step_until(stage.ended)
    stage.begin("next", SHOULDER, LONG, start_s=stage.clock.now() + 1.0)
    assert stage.codes()["next"] == (
        "INVALID_GOAL",
        "what plays beside others begins at once, from within its limits; play it alone",
    )


def test_nothing_moves_after_an_emergency_stop_and_its_reset(stage: Stage) -> None:
    stage.begin_both()
    for command in (messages.Estop(), messages.Reset()):
        stage.channel.send(command)
    stage.step()
    held = stage.loop.player.position.tolist()
    assert held == stage.loop._actuators.measured.tolist()
    stage.step(20)
    assert stage.loop.player.position.tolist() == held
    assert stage.state() is State.IDLE


def test_a_broken_path_tolerance_stops_all_and_says_whose_it_was(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, LONG)
    stage.begin("beside", ELBOW, LONG, beside=True, path_tolerance=[messages.OFF, 0.05])
    stage.driver.inject({"fault": "stuck", "actuator": "elbow"})
    stage.until_at_rest()
    codes = stage.codes()
    assert codes["beside"][0] == "PATH_TOLERANCE_VIOLATED"
    assert codes["base"] == ("CANCELED", "stopped, as a joint of a goal beside it broke a tolerance")


def test_a_goal_ends_well_while_joints_of_another_lag_behind(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, np.linspace(START, [0.3, 0.0], 400), goal_tolerance=[0.001, 0.001])
    stage.begin("beside", ELBOW, LONG, beside=True)
    stage.step_until(stage.ended, 700)
    assert stage.codes() == {"base": WELL}
    (ended,) = stage.ends()
    assert ended.details["final_error"]["joint"] == "shoulder"


def test_a_play_beside_a_slow_motion_does_not_hurry_its_rows(tmp_path: Path) -> None:
    for stage in staged(tmp_path):
        stage.rate_hz = 20.0
        stage.enable()
        rows = np.linspace(START, [0.3, 0.4], 40)
        stage.play(rows, driven=SHOULDER, goal_id="base")
        stage.step(10)
        stage.play(rows, driven=ELBOW, goal_id="beside", beside=True)
        begun_s = stage.clock.now()
        ticks = len(stage.setpoints())
        stage.step(10)
        assert stage.clock.now() - begun_s == pytest.approx(0.5, abs=0.06)
        assert len(stage.setpoints()) == 10
        assert ticks
        stage.until_at_rest()
        assert stage.codes() == {"base": WELL, "beside": WELL}


@pytest.mark.parametrize("waits", [0, 3, 100])
def test_a_joint_that_a_goal_has_just_left_is_not_taken_for_moved_by_hand(stage: Stage, waits: int) -> None:
    stage.begin_both(ROWS[:60], LONG)
    stage.step_until(stage.ended)
    stage.step(600)
    stage.channel.send(messages.Stop(goal_id="beside"))
    stage.step_until(lambda: "beside" in stage.codes())
    stage.step(waits)
    held = stage.loop.player.position.copy()
    stage.begin("next", ELBOW, np.linspace(held, [0.0, 0.0], 800))
    stage.until_at_rest()
    assert stage.codes()["next"] == WELL
    assert [one for one in stage.notices_of(messages.Happened) if one.kind == "displaced"] == []


def test_a_joint_that_is_held_and_moved_by_hand_goes_back_while_another_plays(stage: Stage) -> None:
    stage.begin_both(ROWS[:60], np.linspace(START, [0.9, 1.0], 4000))
    stage.step_until(stage.ended)
    stage.step(700)
    held = stage.loop.player.position.copy()
    stage.driver.inject({"fault": "displaced", "actuator": "shoulder", "by": 0.2})
    stage.step(5)
    stage.begin("next", SHOULDER, np.linspace(held, [0.0, 0.0], 800))
    (moved,) = [one for one in stage.notices_of(messages.Happened) if one.kind == "displaced"]
    assert moved.details["joint"] == "shoulder"
    stage.until_at_rest()
    assert stage.codes()["next"] == WELL
    assert stage.codes()["beside"] == WELL


def follow(start: list[float]) -> messages.Follow:
    return messages.Follow(
        goal_id="follow",
        joints=[0],
        mode="position",
        rate_hz=500.0,
        timeout_s=1.0,
        path_tolerance=[messages.OFF] * 2,
        start=start,
    )


def test_what_follows_targets_has_the_robot_to_itself(stage: Stage) -> None:
    stage.begin_both(ROWS[:60], LONG)
    stage.step_until(stage.ended)
    stage.channel.send(follow(stage.last().reference or []))
    stage.step()
    assert stage.codes()["follow"] == ("INVALID_GOAL", "the robot is playing; it cannot follow now")
    stage.until_at_rest()
    stage.channel.send(follow(stage.loop.player.position.tolist()))
    stage.step(5)
    stage.begin("late", ELBOW, LONG, beside=True)
    assert stage.codes()["late"] == ("INVALID_GOAL", "the robot is following; it cannot play now")


# -- one of several is paused, sought and slowed ------------------------------------------------------------


def states(stage: Stage) -> tuple[str, dict[str, str]]:
    last = stage.last()
    return last.state, last.beside


@pytest.mark.parametrize("goal_id", ["base", "beside"])
def test_a_pause_for_one_lets_the_other_play_on_and_its_resume_goes_on_from_there(
    stage: Stage, goal_id: str
) -> None:
    stage.begin_both()
    stage.pause(goal_id)
    paused, played = ("paused", "playing") if goal_id == "base" else ("playing", "paused")
    assert states(stage) == (paused, {"beside": played})
    held = stage.loop.player.position.copy()
    stage.step(50)
    own, other = (0, 1) if goal_id == "base" else (1, 0)
    moved = stage.loop.player.position - held
    assert moved[own] == 0.0
    assert moved[other] != 0.0
    stage.channel.send(messages.Resume(goal_id=goal_id))
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert stage.codes() == {"base": WELL, "beside": WELL}
    assert is_in(LONG[:, other], setpoints[:, other])
    assert setpoints[-1].tolist() == LONG[-1].tolist()


def test_what_is_paused_keeps_its_joints_when_all_else_has_ended(stage: Stage) -> None:
    stage.begin_both(ROWS, LONG)
    stage.pause("beside")
    stage.step_until(stage.ended)
    assert states(stage) == ("paused", {"beside": "paused"})
    held = stage.loop.player.position.copy()
    stage.step(500)
    assert stage.loop.player.position.tolist() == held.tolist()
    stage.begin("third", ELBOW, LONG, beside=True)
    refused = ("INVALID_GOAL", "joint 'elbow' moves already; play it afterwards")
    assert stage.codes() == {"base": WELL, "third": refused}
    stage.begin("next", SHOULDER, np.linspace(held, [0.9, 1.0], 300))
    assert states(stage) == ("playing", {"beside": "paused"})
    stage.channel.send(messages.Resume(goal_id="beside"))
    stage.until_at_rest()
    assert stage.codes() == {"base": WELL, "third": refused, "next": WELL, "beside": WELL}


def test_a_robot_that_plays_on_beside_what_is_paused_is_not_paused(stage: Stage) -> None:
    stage.begin_both(ROWS[:60], LONG)
    stage.step_until(stage.ended)
    stage.begin("third", SHOULDER, np.linspace(ROWS[59], [0.9, 1.0], 2000), beside=True)
    stage.step(20)
    stage.pause("beside")
    assert states(stage) == ("playing", {"beside": "paused", "third": "playing"})


@pytest.mark.parametrize("way", ["a stop for it", "a stop", "an emergency stop"])
def test_what_is_paused_ends_at_once_by_a_stop(stage: Stage, way: str) -> None:
    stage.begin_both()
    stage.pause("beside")
    stop = {"a stop for it": messages.Stop(goal_id="beside"), "a stop": messages.Stop()}
    stage.channel.send(stop.get(way, messages.Estop()))
    stage.step(2)
    code = "ESTOP" if way == "an emergency stop" else "CANCELED"
    assert stage.codes()["beside"][0] == code


@pytest.mark.parametrize("goal_id", ["base", "beside"])
def test_another_speed_is_of_one_goal(stage: Stage, goal_id: str) -> None:
    stage.begin_both()
    stage.channel.send(messages.Speed(0.5, 4.0, goal_id))
    stage.step_until(stage.ended)
    other = "beside" if goal_id == "base" else "base"
    assert stage.codes() == {other: WELL}
    stage.until_at_rest()
    assert stage.codes() == {"base": WELL, "beside": WELL}
    assert is_in(LONG[:, 1 if other == "beside" else 0], stage.setpoints()[:, 1 if other == "beside" else 0])


def test_one_goal_goes_to_another_row_while_the_other_plays_on(stage: Stage) -> None:
    stage.begin_both()
    stage.pause("beside")
    start = stage.last().reference or []
    way = np.linspace(start, [0.0, LONG[1900, 1]], 200)
    stage.seek_beside(1900, start, way)
    assert states(stage) == ("playing", {"beside": "approaching"})
    stage.step_until(stage.ended)
    assert stage.codes() == {"beside": WELL}
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert is_in(way[:, 1], setpoints[:, 1])
    assert is_in(LONG[:, 0], setpoints[:, 0])


def test_nothing_goes_from_where_a_way_was_not_planned(stage: Stage) -> None:
    stage.begin_both()
    stage.pause("beside")
    start = [0.0, 0.1]
    stage.seek_beside(1900, start, np.array([start]))
    assert stage.notices_of(messages.Happened)[-1] == messages.Happened(
        "not_sought", "the robot is not where the way was planned from; ask again"
    )
    assert states(stage) == ("playing", {"beside": "paused"})


def test_what_is_asked_of_a_goal_that_has_ended_changes_nothing(stage: Stage) -> None:
    stage.begin_both(LONG, ROWS)
    stage.step_until(stage.ended)
    for command in (
        messages.Pause("beside"),
        messages.Resume(goal_id="beside"),
        messages.Speed(0.1, 4.0, "beside"),
    ):
        stage.channel.send(command)
    stage.until_at_rest()
    assert stage.codes() == {"base": WELL, "beside": WELL}
    assert is_in(LONG[:, 0], stage.setpoints()[:, 0])


def test_a_late_tick_ends_nothing_while_all_is_paused(stage: Stage) -> None:
    stage.begin_both()
    for goal_id in ("base", "beside"):
        stage.pause(goal_id)
    ENDS["a late tick"][0](stage)
    stage.step(10)
    assert (states(stage), stage.codes()) == (("paused", {"beside": "paused"}), {})


def test_a_joint_that_was_moved_while_its_goal_was_paused_is_not_pulled_back(stage: Stage) -> None:
    stage.begin_both()
    stage.pause("beside")
    stage.driver.inject({"fault": "displaced", "actuator": "elbow", "by": 0.2})
    stage.step()
    stage.channel.send(messages.Resume(goal_id="beside"))
    stage.step(3)
    code, message = stage.codes()["beside"]
    assert code == "PATH_TOLERANCE_VIOLATED"
    assert message == (
        "joint 'elbow' was moved 0.1889 rad from where it was held; beside others it does not go back; "
        "look for what moved it"
    )
    stage.until_at_rest()
    assert stage.codes()["base"] == WELL


# -- what is added ------------------------------------------------------------------------------------------

SWAY = np.add(np.outer(np.sin(np.linspace(0.0, 2.0 * np.pi, 251)) ** 3, [0.02, 0.03]), [0.5, -0.7])
"""It begins and ends at rest, elsewhere than the robot; only how far it is from there counts."""
BOTH = (True, True)


def add(stage: Stage, rows: np.ndarray[Any, Any] = SWAY, **play: Any) -> None:
    passes = Passes(0, len(rows) - 1, 0 if play.pop("endless", False) else 1)
    values: dict[str, Any] = {
        "goal_id": "added",
        "weight": 0.5,
        "ramp_s": 0.2,
        "beside": True,
        "passes": passes,
    } | play
    stage.begin(driven=BOTH, rows=rows, **values)


def test_a_motion_is_added_to_what_is_held_and_leaves_it_where_it_was(stage: Stage) -> None:
    stage.enable()
    stage.setpoints()
    add(stage)
    begins = len(stage.setpoints())
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert begins == 1
    assert stage.codes() == {"added": WELL}
    assert setpoints[-1].tolist() == START
    weighed = np.array(START) + 0.5 * (SWAY - SWAY[0])
    assert np.allclose(setpoints[99:249], weighed[100:250], atol=1e-12)
    assert stage.last().state == "idle"


def test_the_sum_is_that_of_both_motions_and_the_base_goes_on_bit_for_bit(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, LONG)
    stage.step(50)
    add(stage, weight=1.0)
    stage.until_at_rest()
    setpoints = stage.setpoints()
    assert stage.codes() == {"added": WELL, "base": WELL}
    first = next(k for k in range(len(setpoints)) if (setpoints[k : k + 50, 0] == LONG[:50, 0]).all())
    assert (setpoints[first + 420 : first + 2000, 0] == LONG[420:, 0]).all()
    at = first + 51 + 150  # where the weight has come
    assert np.allclose(setpoints[at, 0], LONG[201, 0] + (SWAY[150, 0] - SWAY[0, 0]), atol=1e-3)


def test_it_goes_on_while_motions_come_and_go_and_is_stopped_by_its_weight(stage: Stage) -> None:
    stage.enable()
    add(stage, endless=True)
    stage.step(300)
    stage.begin("base", BOTH, np.linspace(START, [0.3, 0.4], 400), start=START)
    stage.step_until(stage.ended)
    assert (stage.codes(), stage.last().state) == ({"base": WELL}, "playing")
    assert stage.last().reference == [0.3, 0.4]
    stage.channel.send(messages.Stop(goal_id="added"))
    stage.step()
    assert stage.last().beside == {"added": "stopping"}
    stage.until_at_rest()
    assert stage.codes() == {"base": WELL, "added": STOPPED}
    assert stage.setpoints()[-1].tolist() == [0.3, 0.4]


@pytest.mark.parametrize("stopped_after", [3, 40, 95, 200])
@pytest.mark.parametrize("base", [True, False])
def test_a_stop_is_smooth_whenever_it_comes(stage: Stage, stopped_after: int, *, base: bool) -> None:
    stage.enable()
    if base:
        stage.begin("base", BOTH, LONG)
        stage.step(20)
    add(stage, weight=1.0, endless=True)
    stage.step(stopped_after)
    stage.channel.send(messages.Stop())
    stage.until_at_rest()
    assert {code for code, _ in stage.codes().values()} == {"CANCELED"}
    steps = np.diff(stage.setpoints(), axis=0)
    assert (
        np.abs(np.diff(steps[25:], axis=0)).max() * 500.0**2 < 25.0
    )  # by itself it has 19; a stop at once takes 100 and more
    assert (steps[-3:] == 0.0).all()


def test_a_halt_leaves_the_setpoint_and_a_reset_holds_where_the_joints_are(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, LONG)
    add(stage, endless=True)
    stage.step(200)
    for command in (messages.Estop(), messages.Reset()):
        stage.channel.send(command)
    stage.step()
    assert {code for code, _ in stage.codes().values()} == {"ESTOP"}
    stage.setpoints()
    stage.step(20)
    assert (stage.setpoints() == stage.loop._actuators.measured).all()
    assert stage.last().reference == stage.loop._actuators.measured.tolist()


def test_only_one_is_added_at_a_time(stage: Stage) -> None:
    stage.enable()
    add(stage, endless=True)
    add(stage, goal_id="more")
    assert stage.codes() == {"more": ("INVALID_GOAL", "another goal is added already; stop it first")}


def test_a_path_tolerance_is_of_the_sum(stage: Stage) -> None:
    stage.enable()
    add(stage, endless=True, weight=1.0, path_tolerance=[messages.OFF, 0.02])
    stage.step(300)
    assert stage.codes() == {}
    stage.driver.inject({"fault": "stuck", "actuator": "elbow"})
    stage.until_at_rest()
    assert stage.codes()["added"][0] == "PATH_TOLERANCE_VIOLATED"


def test_what_is_added_is_paused_where_it_is_and_goes_on_smoothly(stage: Stage) -> None:
    stage.enable()
    stage.begin("base", SHOULDER, LONG)
    stage.step(50)
    add(stage, weight=1.0, endless=True, clock_acceleration=8.0)
    stage.step(300)
    stage.setpoints()
    stage.pause("added")
    assert states(stage) == ("playing", {"added": "paused"})
    stage.step(50)
    elbow = stage.setpoints()[:, 1]
    assert (elbow[-50:] == elbow[-1]).all()
    assert elbow[-1] != START[1]
    stage.channel.send(messages.Resume(goal_id="added"))
    stage.step(400)
    elbow = np.concatenate((elbow, stage.setpoints()[:, 1]))
    assert states(stage) == ("playing", {"added": "playing"})
    assert np.ptp(elbow[-250:]) > 0.02
    speeds_up = np.abs(np.diff(elbow, 2)).max() * RATE_HZ**2
    assert speeds_up < 2.0 * np.abs(np.diff(SWAY[:, 1], 2)).max() * RATE_HZ**2


def test_what_is_added_and_paused_is_stopped_by_its_weight(stage: Stage) -> None:
    stage.enable()
    add(stage, endless=True)
    stage.step(300)
    stage.pause("added")
    stage.channel.send(messages.Stop(goal_id="added"))
    stage.step()
    assert states(stage) == ("stopping", {"added": "stopping"})
    stage.until_at_rest()
    assert stage.codes() == {"added": STOPPED}
    assert stage.setpoints()[-1].tolist() == START
