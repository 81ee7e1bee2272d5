"""What is reported of failed checks and when, and what becomes of joints that were moved.

Which check fails in which state with what outcome is in `test_checks_table`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.ring import slices
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.engine.checks import Checks
from motiond.daemon.stream.engine.watch import PASSES
from motiond.daemon.trajectory.track import Track, share
from tests.daemon.stream.test_loop import JOINTS, START, WAYS
from tests.daemon.stream.watched import FAR, LIMITS, RATE_HZ, STATES, Robot, holding, paused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

PUSHED = [{"fault": "slipping", "for_s": 0.15}, {"fault": "stuck", "at_s": 0.15}]
"""A load pulls the joint away, which is then held there."""


@pytest.fixture
def robots(tmp_path: Path) -> Iterator[Callable[..., Robot]]:
    made: list[Robot] = []

    def make(**options: Any) -> Robot:
        made.append(Robot(tmp_path, **options))
        made[-1].enable()
        return made[-1]

    yield make
    for robot in made:
        robot.leave()


def test_each_check_has_words_for_when_it_passes_again() -> None:
    limits = replace(LIMITS, effort=[1.0] * len(JOINTS), effort_s=0.5)
    checks = Checks(limits, JOINTS, ["rad"] * len(JOINTS), JOINTS)
    assert checks._failing.keys() == PASSES.keys()


# -- what fails -------------------------------------------------------------------------------------------

HOT = [{"fault": "overheating", "rate_c_per_s": 1e4}]


def failures_of(robot: Robot) -> list[tuple[str, str]]:
    return [(event.details["check"], event.details["code"]) for event in robot.events("check_failed")]


# -- position ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["holding", "estopped"])
def test_a_joint_that_leaves_where_it_is_held_is_one_event(robots: Callable[..., Robot], state: str) -> None:
    robot = robots(load={"elbow": 2.0})
    STATES[state](robot)
    robot.inject(*({**fault, "actuator": "elbow"} for fault in PUSHED))
    robot.run_for(2.0)
    (event,) = robot.events("check_failed")
    assert (event.details["check"], event.details["joint"]) == ("stall", "elbow")
    off = f"joint 'elbow' is {event.details['value']:.4g} rad off where it is held, for "
    assert event.message.startswith(off)
    assert event.message.endswith(" s; look for what moves it, or set allow_stalling")
    robot.inject({"fault": "clear"})
    robot.run_for(3.0)
    (passed,) = robot.events("check_passed")
    assert passed.message == "all joints are where they are held again"


def test_an_emergency_stop_in_full_motion_is_no_displacement(robots: Callable[..., Robot]) -> None:
    robot = robots(velocity_limit=0.5, limits=replace(LIMITS, stall_s=0.2))
    robot.begin(np.linspace(START, [2.0, 2.0], 80))
    robot.step(30)
    robot.channel.send(messages.Estop())
    robot.run_for(2.0)
    assert np.abs(robot.loop.player.position - robot.position).max() > 0.1
    assert failures_of(robot) == []


# -- onsets -----------------------------------------------------------------------------------------------


def test_a_goal_that_begins_while_a_check_fails_ends_with_its_code(robots: Callable[..., Robot]) -> None:
    robot = robots()
    holding(robot)
    robot.inject(*HOT)
    robot.run_for(1.0)
    robot.begin()
    robot.step_until(robot.ended)
    assert [ended.code for ended in robot.ends()] == ["HARDWARE_FAULT"]
    assert len(robot.events("check_failed")) == 1


# -- what was moved ---------------------------------------------------------------------------------------

SPEED = 0.5
"""Of approaches, in rad/s."""


def push(robot: Robot, for_s: float, joint: str = "elbow") -> float:
    """Let the load pull a joint away for so long, where it sticks, and return how far that is."""
    before = robot.position
    robot.inject(
        {"fault": "slipping", "for_s": for_s, "actuator": joint},
        {"fault": "stuck", "at_s": for_s, "actuator": joint},
    )
    robot.run_for(for_s + 0.06)
    return float(np.abs(robot.position - before).max())


def fastest_of(robot: Robot, until: Callable[[], bool]) -> float:
    """Return the highest speed of a joint until something holds, in rad/s."""
    fastest, before, before_s = 0.0, robot.position, robot.clock.now()
    for _ in range(20_000):
        if until():
            return fastest
        robot.step()
        now, now_s = robot.position, robot.clock.now()
        if now_s > before_s:
            fastest = max(fastest, float(np.abs(now - before).max()) / (now_s - before_s))
            before, before_s = now, now_s
    pytest.fail("what was waited for never came")


RESUMES = {"just beyond the tolerance": 0.025, "far": 0.15, "very far": 0.3}


@pytest.mark.parametrize("for_s", RESUMES.values(), ids=RESUMES)
def test_a_resume_goes_back_at_approach_speed_and_then_on_from_where_it_paused(
    robots: Callable[..., Robot], for_s: float
) -> None:
    robot = robots(load={"elbow": 4.0}, limits=replace(LIMITS, stall_s=None))
    paused(robot)
    frame, held = robot.loop.player.frame, robot.loop.player.position.copy()
    away = push(robot, for_s)
    assert away > 0.005
    robot.channel.send(messages.Resume())
    robot.inject({"fault": "clear"})
    fastest = fastest_of(robot, lambda: robot.state() is State.PLAYING)
    assert fastest <= 1.3 * SPEED
    assert robot.loop.player.frame == frame
    assert robot.loop.player.position.tolist() == held.tolist()
    robot.step_until(robot.ended)
    (ended,) = robot.ends()
    assert (ended.code, robot.loop.player.position.tolist()) == ("SUCCESSFUL", FAR[-1].tolist())
    displaced = ended.details["displaced"]
    assert (displaced["joint"], displaced["unit"], displaced["times"]) == ("elbow", "rad", 1)
    assert displaced["value"] == pytest.approx(away, rel=0.2)
    (event,) = robot.events("displaced")
    moved = f"joint 'elbow' was moved {displaced['value']:.4g} rad from where it was held"
    assert event.message == f"{moved}; it goes back at approach speed first; look for what moved it"
    states = [(status.state, bool(status.displaced)) for status in robot.notices_of(messages.Changed)]
    assert ("approaching", True) in states
    assert states[-1] == ("idle", False)


@pytest.mark.parametrize("verb", ["stop", "estop", "pause and stop"])
def test_the_way_back_can_be_stopped(robots: Callable[..., Robot], verb: str) -> None:
    robot = robots(load={"elbow": 4.0}, limits=replace(LIMITS, stall_s=None))
    paused(robot)
    push(robot, 0.2)
    robot.channel.send(messages.Resume())
    robot.inject({"fault": "clear"})
    robot.run_for(0.2)
    if verb == "pause and stop":
        robot.channel.send(messages.Pause())
        robot.step_until(lambda: robot.state() is State.PAUSED)
    robot.channel.send(messages.Estop() if verb == "estop" else messages.Stop())
    robot.step_until(robot.ended)
    (ended,) = robot.ends()
    assert ended.code == ("ESTOP" if verb == "estop" else "CANCELED")
    assert robot.notices_of(messages.Changed)[-1].displaced is None


def seek(robot: Robot) -> None:
    held = robot.loop.player.position
    rows = np.linspace(held, FAR[200], 120)
    fd = share(Track(rows, np.zeros_like(rows), np.array([True, True]), RATE_HZ, 2.0))
    robot.channel.send(messages.Seek("goal-1", 200, held.tolist(), goes_on=True), (fd,))
    os.close(fd)


@pytest.mark.parametrize(("before", "go_on", "row"), [(holding, Robot.begin, 0), (paused, seek, 200)])
def test_a_play_or_seek_from_where_a_joint_was_moved_approaches_first(
    robots: Callable[..., Robot],
    before: Callable[[Robot], None],
    go_on: Callable[[Robot], None],
    row: int,
) -> None:
    robot = robots(load={"elbow": 4.0}, limits=replace(LIMITS, stall_s=None))
    before(robot)
    away = push(robot, 0.2)
    go_on(robot)
    robot.inject({"fault": "clear"})
    assert fastest_of(robot, lambda: robot.state() is State.PLAYING) <= 1.3 * SPEED
    assert robot.loop.player.frame >= row
    robot.step_until(robot.ended)
    (ended,) = robot.ends()
    displaced = ended.details["displaced"]
    assert (ended.code, displaced["joint"]) == ("SUCCESSFUL", "elbow")
    assert displaced["value"] == pytest.approx(away, rel=0.2)


@pytest.mark.parametrize("verb", ["resume", "play"])
def test_a_way_back_of_coupled_joints_keeps_their_relation(robots: Callable[..., Robot], verb: str) -> None:
    """Also where a joint that follows was itself moved by less than the start tolerance."""
    ratio, offset = 0.02, START[1] - 0.02 * START[0]
    bounds = replace(WAYS, leaders=[0, 0], velocity=[0.5, 0.002], acceleration=[1.0, 0.01])
    robot = robots(limits=replace(LIMITS, stall_s=None), setup={"ways": bounds})
    leads = np.linspace(START[0], 0.6, 300)
    rows = np.column_stack([leads, ratio * leads + offset])
    robot.begin(rows)
    robot.run_for(0.1)
    robot.channel.send(messages.Pause() if verb == "resume" else messages.Stop())
    robot.step_until(lambda: robot.state() in {State.PAUSED, State.IDLE})
    robot.run_for(1.2)
    for joint, by in zip(JOINTS, (0.08, ratio * 0.08), strict=True):
        robot.inject({"fault": "stuck", "actuator": joint})
        robot.inject({"fault": "displaced", "actuator": joint, "by": by})
    robot.run_for(0.5)
    robot.inject({"fault": "clear"})
    robot.reader.take()
    robot.notices.clear()
    if verb == "resume":
        robot.channel.send(messages.Resume())
    else:
        robot.begin(np.repeat(robot.loop.player.position[np.newaxis], 5, axis=0))
    robot.step_until(robot.ended)
    ticks = robot.reader.take()
    reference = ticks[:, slices(2)["reference_position"]]
    assert len(robot.events("displaced")) == 1
    assert np.ptp(reference[:, 0]) > 0.05
    off = np.abs(reference[:, 1] - (ratio * reference[:, 0] + offset))
    on_its_way = np.abs(np.diff(reference[:, 0], append=reference[-1, 0])) > 0.0
    assert off[on_its_way].max() < 1e-5


def test_a_play_that_would_come_too_late_from_where_a_joint_was_moved_is_refused(
    robots: Callable[..., Robot],
) -> None:
    robot = robots(load={"elbow": 4.0})
    holding(robot)
    push(robot, 0.2)
    before = robot.loop.player.position.tolist()
    robot.begin(start_s=robot.clock.now() + 0.2)
    robot.step_until(robot.ended)
    (ended,) = robot.ends()
    assert ended.code == "INVALID_GOAL"
    assert ended.message.endswith(" s too early; the robot is not on the first row by then; set it later")
    assert robot.loop.player.position.tolist() == before


@pytest.mark.parametrize("sag", [0.01, 0.04])
def test_a_joint_that_sags_under_its_weight_does_not_sink_by_pausing(
    robots: Callable[..., Robot], sag: float
) -> None:
    frequency_hz = 4.0
    load = sag * 0.1 * (2 * np.pi * frequency_hz) ** 2
    robot = robots(load={"elbow": load}, natural_frequency_hz=frequency_hz, limits=replace(LIMITS))
    robot.begin(np.linspace(START, [0.4, 0.6], 400))
    robot.step(10)
    for _ in range(5):
        robot.channel.send(messages.Pause())
        robot.step_until(lambda: robot.state() is State.PAUSED)
        robot.run_for(0.8)
        before = robot.position
        robot.channel.send(messages.Resume())
        robot.step(2)
        assert robot.state() is State.PLAYING
        robot.step(6)
        assert (robot.position > before).all()
    assert robot.events("displaced") == []


def test_a_sagging_joint_that_was_moved_goes_back_without_releasing_its_weight(
    robots: Callable[..., Robot],
) -> None:
    frequency_hz, sag = 4.0, 0.03
    load = sag * 0.1 * (2 * np.pi * frequency_hz) ** 2
    robot = robots(
        load={"elbow": load}, natural_frequency_hz=frequency_hz, limits=replace(LIMITS, stall_s=None)
    )
    paused(robot)
    robot.run_for(2.0)
    push(robot, 0.3)
    furthest = robot.position[1]
    robot.channel.send(messages.Resume())
    robot.inject({"fault": "clear"})
    for _ in range(40):
        robot.step()
        assert robot.position[1] < furthest + 0.1 * sag
    robot.step_until(lambda: robot.state() is State.PLAYING)
    assert len(robot.events("displaced")) == 1


def test_a_gripper_that_holds_something_does_not_release_it_to_go_on(robots: Callable[..., Robot]) -> None:
    robot = robots(limits=replace(LIMITS, may_stall=[False, True]))
    robot.begin()
    robot.step(10)
    robot.inject({"fault": "stuck", "actuator": "elbow"})
    robot.step(60)
    robot.channel.send(messages.Pause())
    robot.step_until(lambda: robot.state() is State.PAUSED)
    robot.run_for(2.0)
    held = robot.loop.player.position.tolist()
    assert (robot.state(), failures_of(robot)) == (State.PAUSED, [])
    robot.channel.send(messages.Resume())
    robot.step()
    assert robot.loop.player.position[1] >= held[1]
    robot.step_until(robot.ended)
    (ended,) = robot.ends()
    assert (ended.code, ended.details["stalled"], ended.details["reached_goal"]) == (
        "SUCCESSFUL",
        ["elbow"],
        False,
    )
    assert "displaced" not in ended.details


def test_what_flickers_is_one_event_and_what_comes_again_is_another(robots: Callable[..., Robot]) -> None:
    robot = robots()
    holding(robot)
    for _ in range(5):
        robot.inject({"fault": "stale_feedback", "for_s": 0.4})
        robot.run_for(0.8)
    assert (len(robot.events("check_failed")), len(robot.events("check_passed"))) == (1, 0)
    (event,) = robot.events("check_failed")
    assert (event.details["check"], event.details["code"], event.details["state"]) == (
        "stale",
        "COMM_LOST",
        "idle",
    )
    robot.run_for(2.0)
    assert (len(robot.events("check_failed")), len(robot.events("check_passed"))) == (1, 1)
    robot.inject({"fault": "stale_feedback", "for_s": 0.4})
    robot.run_for(3.0)
    assert (len(robot.events("check_failed")), len(robot.events("check_passed"))) == (2, 2)
