"""What a session reports and refuses, in its words; `test_races` shows that it does so at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.robots.session.follow_goal import FOLLOW
from tests.daemon.robots.two_halves import ROWS, Halves

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.daemon.api import Follows
    from motiond.daemon.robots.session.goal import Goal, MotionGoal
    from motiond.daemon.robots.session.pending import Begin, Pending


def playing(on_end: Follows = "hold", *delays: int, on_exit: str = "hold") -> Halves:
    halves = Halves(on_end, on_exit, *(delays or (0, 0)))
    halves.until(State.IDLE)
    replace(halves, "wave")
    halves.until(State.PLAYING)
    return halves


def replace(halves: Halves, motion: str) -> Begin:
    return halves.session.begin_instead(halves.goal(motion), f"{motion} cannot be played")


def refusal(pending: Pending) -> tuple[str, str]:
    assert isinstance(pending.outcome, RequestError)
    return pending.outcome.code, str(pending.outcome)


def results(halves: Halves) -> list[tuple[str, str, str, str | None]]:
    """Return of each goal its id, code and message, and what was said to follow."""
    return [(ended.goal_id, ended.code, ended.message, follows) for ended, follows in halves.results]


WELL = "the last row is out and held"


@pytest.mark.parametrize(
    ("on_end", "places"), [("hold", ["wave"]), ("release", ["wave"]), ("park", ["wave", "park"])]
)
def test_a_motion_is_followed_by_what_was_configured(on_end: Follows, places: list[str]) -> None:
    halves = playing(on_end)
    halves.run_out()
    assert results(halves) == [
        (f"{motion} {number}", "SUCCESSFUL", WELL, on_end if motion == "wave" else None)
        for number, motion in enumerate(places, 1)
    ]
    assert halves.session.known.torque is (on_end != "release")


def test_what_waits_plays_after_it_and_is_followed_in_its_turn() -> None:
    halves = playing("park")
    halves.session.enqueue(halves.goal("nod"))
    halves.run_out()
    assert [(goal, follows) for goal, _, _, follows in results(halves)] == [
        ("wave 1", "queue"),
        ("nod 2", "park"),
        ("park 3", None),
    ]


@pytest.mark.parametrize("on_end", ["park", "release"])
def test_a_stop_just_before_the_end_is_known_leaves_the_robot_where_it_is(on_end: Follows) -> None:
    halves = playing(on_end, 2, 2)
    while not halves.engine.ends:
        halves.step()
    halves.session.stop("stopped")
    halves.session.enqueue(halves.goal("nod"))
    halves.run_out()
    assert results(halves) == [
        ("wave 1", "SUCCESSFUL", WELL, None),
        ("nod 2", "CANCELED", "wave, before it, was stopped; it had not begun", None),
    ]
    assert halves.session.is_ready


def test_a_motion_after_one_that_was_stopped_is_followed_as_ever() -> None:
    halves = playing("park")
    halves.session.stop("stopped")
    halves.run_out()
    replace(halves, "nod")
    halves.run_out()
    assert [(goal, code, follows) for goal, code, _, follows in results(halves)] == [
        ("wave 1", "CANCELED", None),
        ("nod 2", "SUCCESSFUL", "park"),
        ("park 3", "SUCCESSFUL", None),
    ]


EVENTS: dict[str, Callable[[Halves], object]] = {
    "stop": lambda halves: halves.session.stop("stopped"),
    "disable": lambda halves: halves.session.disable(),
    "estop": lambda halves: halves.session.estop(),
    "replace": lambda halves: replace(halves, "wave"),
    "leave": lambda halves: halves.session.leave(),
    "lose": lambda halves: halves.session.lose("bus lost"),
    "goal ends": lambda halves: halves.session.end_goal("a member is missing", {}),
}
ENDS = {
    "stop": ("CANCELED", "arm: stopped before the motion began; play it again"),
    "disable": ("CANCELED", "arm: stopped before the motion began; play it again"),
    "estop": (
        "ESTOPPED",
        "arm: nod cannot be played; the emergency stop is latched; reset it when it is safe",
    ),
    "replace": (
        "PREEMPTED",
        "arm: nod did not begin; a newer request replaced it; send it again after that",
    ),
    "leave": ("OFFLINE", "arm: nod cannot be played; the daemon shuts down"),
    "lose": ("OFFLINE", "arm: nod cannot be played; the robot is offline; bus lost"),
}


@pytest.mark.parametrize("event", ENDS)
def test_what_is_about_to_begin_does_not_after(event: str) -> None:
    halves = Halves("hold", "hold", 1, 1)
    halves.until(State.IDLE)
    begin = replace(halves, "nod")
    EVENTS[event](halves)
    assert refusal(begin) == ENDS[event]


WAITING = {
    "stop": "stopped; it had not begun",
    "replace": "another motion was asked to replace this one; it had not begun",
    "leave": "the daemon shuts down; it had not begun",
    "estop": "wave, before it, ended with ESTOP; it had not begun",
    "lose": "wave, before it, ended with COMM_LOST; it had not begun",
    "goal ends": "wave, before it, ended with CANCELED; it had not begun",
}


@pytest.mark.parametrize("event", WAITING)
def test_what_waits_ends_with_why_it_did_not_begin(event: str) -> None:
    halves = playing()
    halves.session.enqueue(halves.goal("nod"))
    EVENTS[event](halves)
    halves.run_out()
    assert next((code, message) for goal, code, message, _ in results(halves) if goal == "nod 2") == (
        "PREEMPTED" if event == "replace" else "CANCELED",
        WAITING[event],
    )


def test_what_waits_behind_a_motion_that_cannot_begin_ends_too() -> None:
    halves = Halves("hold", "hold", 1, 1)
    halves.until(State.IDLE)
    begin = replace(halves, "nod")
    halves.session.enqueue(halves.goal("wave"))
    halves.session.give_up(begin)
    assert results(halves) == [
        ("wave 2", "CANCELED", "nod, before it, did not begin; it had not begun", None)
    ]


ENDLESS = (
    "arm: nod would wait for ever; wave, before it, goes on until it is stopped; stop that, or replace it"
)


@pytest.mark.parametrize("where", ["playing", "about to begin", "waiting"])
def test_what_would_never_begin_does_not_wait(where: str) -> None:
    halves = playing()
    session, endless = halves.session, halves.goal("wave", is_endless=True)
    if where == "waiting":
        session.enqueue(endless)
    else:
        session.begin_instead(endless, "wave cannot be played")
    if where == "playing":
        halves.run(10)
        assert session.goal is endless
    with pytest.raises(RequestError) as refused:
        session.enqueue(halves.goal("nod"))
    assert (refused.value.code, str(refused.value)) == ("BUSY", ENDLESS)
    session.stop("stopped")
    halves.run_out()


def following(on_end: Follows = "hold", *delays: int) -> tuple[Halves, Goal]:
    halves = Halves(on_end, "hold", *(delays or (0, 0)))
    halves.until(State.IDLE)
    replace(halves, FOLLOW)
    halves.until(State.FOLLOWING)
    assert halves.session.goal is not None
    halves.engine.aim(halves.session.goal.goal_id, 0.5)
    halves.run(5)
    return halves, halves.session.goal


@pytest.mark.parametrize("on_end", ["hold", "park"])
def test_a_follow_that_has_ended_on_request_is_followed_as_a_motion_is(on_end: Follows) -> None:
    halves, goal = following(on_end, 1, 1)
    halves.session.end_follow(goal)
    halves.run_out()
    ended = [(goal_id, code, follows) for goal_id, code, _, follows in results(halves)]
    parked = [("park 2", "SUCCESSFUL", None)] if on_end == "park" else []
    assert ended == [("follow 1", "SUCCESSFUL", on_end), *parked]
    assert halves.problems() == []


def test_a_stop_while_a_follow_ends_on_request_keeps_the_robot_where_it_is() -> None:
    halves, goal = following("park", 2, 2)
    halves.session.end_follow(goal)
    halves.session.stop("stopped")
    halves.run_out()
    assert [(goal_id, follows) for goal_id, _, _, follows in results(halves)] == [("follow 1", None)]
    assert halves.session.is_ready


def test_nothing_waits_behind_a_follow() -> None:
    halves, goal = following()
    with pytest.raises(RequestError) as refused:
        halves.session.enqueue(halves.goal("nod"))
    why = "follow, before it, goes on until it is stopped; stop that, or replace it"
    assert str(refused.value) == f"arm: nod would wait for ever; {why}"
    assert (halves.session.needs_control, halves.session.goal) == (True, goal)
    halves.session.stop("stopped")
    halves.run_out()
    assert not halves.session.needs_control


def test_what_waits_is_not_moved_to_where_it_would_never_begin() -> None:
    halves = playing()
    waiting = [halves.goal("nod"), halves.goal("wave", is_endless=True)]
    for goal in waiting:
        halves.session.enqueue(goal)
    for goal, place in zip(waiting, (2, 1), strict=True):
        with pytest.raises(RequestError, match=ENDLESS):
            halves.session.move(goal.goal_id, place)
    assert halves.session.queue == waiting
    halves.session.stop("stopped")
    halves.run_out()


@pytest.mark.parametrize("ticks", range(9))
def test_a_resume_on_the_way_of_a_seek_lets_the_motion_go_on_from_there(ticks: int) -> None:
    halves = playing()
    session = halves.session
    assert session.goal is not None
    pause = session.pause(session.goal)
    halves.until(State.PAUSED)
    seek = session.seek(cast("MotionGoal", session.goal), ROWS - 2)
    halves.run(ticks)
    session.resume(session.goal)
    halves.run_out()
    assert (pause.outcome, seek.outcome) == ({}, {})
    assert results(halves) == [("wave 1", "SUCCESSFUL", WELL, "hold")]


def test_what_waits_behind_a_motion_that_is_refused_begins() -> None:
    halves = playing()
    halves.refused = "park"
    begin = replace(halves, "park")
    halves.session.enqueue(halves.goal("nod"))
    halves.run_out()
    assert refusal(begin) == ("INVALID_MOTION", "park: there is no way")
    assert [(goal, code) for goal, code, _, _ in results(halves)] == [
        ("wave 1", "PREEMPTED"),
        ("nod 3", "SUCCESSFUL"),
    ]


def test_a_robot_is_not_ready_before_it_has_obeyed_what_changes_torque_or_state() -> None:
    halves = playing()
    halves.run_out()
    assert halves.session.is_ready
    halves.session.estop()
    halves.session.reset()
    assert (halves.session.state, halves.session.is_ready) == (State.IDLE, False)
    halves.run_out()
    assert halves.session.is_ready


def test_a_motion_that_was_reported_as_lost_and_plays_yet_is_stopped() -> None:
    halves = playing()
    plays = halves.session.known
    halves.session.lose("bus lost")
    assert plays is not None
    halves.session.take(plays)
    assert halves.sent[-1][1] == messages.Stop("CANCELED", "it was reported as lost already")
    halves.run_out()
    assert halves.session.state is State.IDLE


def test_an_exit_that_was_stopped_says_so() -> None:
    halves = playing(on_exit="park")
    halves.session.leave()
    halves.session.stop("stopped")
    halves.run_out()
    assert (halves.engine.is_over, halves.warnings) == (True, ["on_exit park was given up; it was stopped"])


def test_a_robot_that_leaves_parks_first_and_each_goal_ends_once() -> None:
    halves = playing(on_exit="park")
    halves.session.leave()
    halves.run_out()
    assert [(goal, code) for goal, code, _, _ in results(halves)] == [
        ("wave 1", "CANCELED"),
        ("park 2", "SUCCESSFUL"),
    ]
    assert (halves.engine.is_over, halves.engine.trace[-1]) == (True, (1.0, 0.01))


# -- what takes over where that was foreseen ----------------------------------------------------------------

REPLACED = "another motion was asked to replace this one"


def taking_over(halves: Halves, motion: str = "nod") -> Begin:
    halves.foresees = True
    return halves.session.begin_over(halves.goal(motion), f"{motion} cannot be played")


def playing_long(*delays: int) -> Halves:
    halves = playing("hold", *delays)
    replace(halves, "long")
    halves.run_until(lambda: halves.session.goal is not None and halves.session.goal.motion == "long")
    halves.until(State.PLAYING)
    return halves


@pytest.mark.parametrize("delays", [(0, 0), (2, 2)])
def test_what_was_just_sent_does_not_play_to_its_end_before_what_is_to_take_over(
    delays: tuple[int, int],
) -> None:
    halves = Halves("hold", "hold", *delays)
    halves.until(State.IDLE)
    replace(halves, "long")
    halves.run_until(lambda: halves.session.goal is not None)
    assert halves.session.state is State.IDLE
    taking_over(halves)
    halves.run_out()
    assert [(goal, code) for goal, code, _, _ in results(halves)] == [
        ("long 1", "PREEMPTED"),
        ("nod 2", "SUCCESSFUL"),
    ]


def test_what_would_take_over_does_not_once_nobody_could_stop_the_robot() -> None:
    halves = playing_long()
    begin = taking_over(halves)
    halves.run_until(lambda: halves.looks)
    halves.session.gate.why_nobody_could_stop = lambda: ("the broker is lost", "")
    halves.run_out()
    assert refusal(begin) == ("NOT_ALLOWED", "arm: nod cannot be played; the broker is lost")
    assert results(halves)[1:] == [("long 2", "PREEMPTED", REPLACED, None)]


@pytest.mark.parametrize("ticks", [0, 1, 2, 3])
def test_what_is_given_up_while_its_way_is_looked_at_leaves_nothing_that_plays(ticks: int) -> None:
    halves = playing_long(1, 1)
    begin = taking_over(halves)
    halves.run(ticks)
    assert (begin.may_have_begun, begin.awaits) == (False, "the look at the way from what moves")
    halves.session.give_up(begin)
    halves.run_out()
    assert results(halves)[1:] == [("long 2", "PREEMPTED", REPLACED, None)]
    assert halves.session.is_ready


@pytest.mark.parametrize("foresees", [False, True])
def test_a_pause_of_what_was_taken_over_is_answered_then_and_does_not_wait_for_the_next_one(
    foresees: bool,  # noqa: FBT001 - a row of a table
) -> None:
    halves = playing_long(0, 2)
    session = halves.session
    assert session.goal is not None
    pause = session.pause(session.goal)
    halves.foresees = foresees
    session.begin_over(halves.goal("nod"), "nod cannot be played")
    halves.run_until(lambda: session.goal is not None and session.goal.motion == "nod")
    assert pause.outcome == {}
    assert session.state is not State.PAUSED
