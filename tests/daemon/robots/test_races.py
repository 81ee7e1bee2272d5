"""What is asked for in each tick around an end, a blend or a take-over, whichever messages are under way.

Every row of the table plays a scenario again and again, and asks for something one tick later each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import HALTED, ResultCode, State
from motiond.daemon.robots.session.follow_goal import FOLLOW
from motiond.daemon.robots.session.goal import MotionGoal
from motiond.daemon.robots.session.robot_session import AT_REST
from tests.daemon.robots.two_halves import ADDED, LONGEST, RAMP, ROWS, STILL, Halves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.daemon.api import Follows

pytestmark = pytest.mark.slow


Check: TypeAlias = Callable[[], list[str]]
"""Returns what is wrong once everything is over."""
WHY = "stopped on request"


# -- what is going on ---------------------------------------------------------------------------------------


def playing(on_end: Follows, *delays: int, on_exit: str = "hold", motion: str = "wave") -> Halves:
    """Return both halves while a motion plays, by what the session knows."""
    halves = Halves(on_end, on_exit, *delays)
    halves.until(State.IDLE)
    halves.session.begin_instead(halves.goal(motion), "it cannot be played")
    halves.until(State.PLAYING)
    return halves


def to_the_end(*delays: int) -> Halves:
    return playing("hold", *delays)


def to_what_waits(*delays: int) -> Halves:
    halves = playing("hold", *delays)
    enqueue(halves, "nod")
    return halves


def to_what_it_flows_into(*delays: int) -> Halves:
    halves = playing("park", *delays)
    enqueue(halves, "nod", blend_s=0.03)
    return halves


def to_what_takes_over(*delays: int) -> Halves:
    halves = playing("park", *delays)
    halves.run(ROWS // 3)
    halves.session.begin_over(halves.goal("nod"), "nod cannot be played")
    return halves


def to_what_takes_over_as_foreseen(*delays: int) -> Halves:
    halves = playing("park", *delays, motion="long")
    halves.foresees = True
    halves.session.begin_over(halves.goal("nod"), "nod cannot be played")
    return halves


def to_what_it_flows_into_unless_taken_over_as_foreseen(*delays: int) -> Halves:
    halves = to_what_it_flows_into(*delays)
    halves.foresees = True
    return halves


def from_a_pause(*delays: int) -> Halves:
    halves = playing("park", *delays)
    assert halves.session.goal is not None
    halves.session.pause(halves.session.goal)
    halves.until(State.PAUSED)
    halves.session.set_speed(
        cast("Any", halves.session.goal), 1.0, RAMP
    )  # so that a notice of the pause is under way
    halves.step()
    halves.session.resume(halves.session.goal)
    return halves


def to_park(*delays: int) -> Halves:
    return playing("park", *delays, on_exit="park")


def to_release(*delays: int) -> Halves:
    return playing("release", *delays)


def to_shutdown(*delays: int) -> Halves:
    halves = playing("hold", *delays, on_exit="park")
    halves.session.leave()
    return halves


def to_the_end_of_a_follow(*delays: int) -> Halves:
    """Return both halves while a robot that has followed targets slows down, to park then."""
    halves = Halves("park", "hold", *delays)
    halves.until(State.IDLE)
    halves.session.begin_instead(halves.goal(FOLLOW), "it cannot follow")
    halves.until(State.FOLLOWING)
    goal = halves.session.goal
    assert goal is not None
    halves.engine.aim(goal.goal_id, 0.5)
    halves.run(6)
    halves.session.end_follow(goal)
    return halves


def beside_another(*delays: int) -> Halves:
    """Return both halves while two motions play at once; the one that began last is the last to end."""
    halves = playing("park", *delays)
    halves.run(ROWS // 4)
    halves.session.begin_beside(halves.goal("grip", is_beside=True), "grip cannot be played")
    return halves


def beside_one_that_is_paused(*delays: int) -> Halves:
    halves = beside_another(*delays)
    session = halves.session
    while not session.beside:
        halves.step()
    session.pause(session.beside[0])
    halves.run(ROWS // 4)
    session.resume(session.beside[0])
    return halves


def with_one_that_is_added(*delays: int) -> Halves:
    halves = playing("park", *delays)
    halves.session.begin_beside(halves.goal(ADDED), "idle cannot be added")
    return halves


SCENARIOS = {
    one.__name__.replace("_", " "): one
    for one in (
        to_the_end,
        to_what_waits,
        to_what_it_flows_into,
        to_what_takes_over,
        to_what_takes_over_as_foreseen,
        to_what_it_flows_into_unless_taken_over_as_foreseen,
        from_a_pause,
        to_park,
        to_release,
        to_shutdown,
        to_the_end_of_a_follow,
        beside_another,
        beside_one_that_is_paused,
        with_one_that_is_added,
    )
}


WITH_LAYERS = {beside_another, beside_one_that_is_paused, with_one_that_is_added}


# -- what is asked ------------------------------------------------------------------------------------------


def enqueue(halves: Halves, motion: str, *, blend_s: float = 0.0) -> None:
    goal, plays = halves.goal(motion, blend_s=blend_s), halves.session.goal
    try:
        halves.session.enqueue(goal)
    except RequestError:
        if plays is None or not plays.is_endless:
            raise
    else:
        halves.accepted.add(goal.goal_id)


def holds_still(halves: Halves, number: int, moves_by: type[messages.Command] = messages.Play) -> Check:
    """Return a check that nothing begins after a stop, nor moves once it has come to rest."""
    sent, before = halves.tick, len(halves.sent)
    while not halves.session.is_obeyed(number):
        halves.step()
        assert halves.tick < sent + LONGEST, "it was never obeyed"

    def check() -> list[str]:
        wrong = [
            f"{command} followed" for _, command in halves.sent[before:] if isinstance(command, moves_by)
        ]
        trace = halves.engine.trace[-STILL:]
        return wrong + (["it moves yet"] if len(set(trace)) > 1 else [])

    return check


def stop(halves: Halves) -> Check:
    return holds_still(halves, halves.session.stop(WHY))


def disable(halves: Halves) -> Check:
    session = halves.session
    if session.goals:
        return list
    number = session.disable()
    check = holds_still(halves, number)
    if session.state is State.OFFLINE:  # then it is no success
        return list
    return lambda: check() + (["torque is on"] if halves.engine.player.torque else [])


def estop(halves: Halves) -> Check:
    number = halves.session.estop()
    check = holds_still(halves, number)
    at = len(halves.engine.trace)

    def is_halted() -> list[str]:
        is_over = halves.engine.is_over or halves.engine.player.state in HALTED
        moved = len(set(halves.engine.trace[at:])) > 1
        return check() + ([] if is_over else ["not halted"]) + (["it moved"] if moved else [])

    return is_halted


def enable(halves: Halves) -> Check:
    """Return a check that this changes nothing: what follows is not held up."""
    halves.session.enable()
    began = {type(command) for _, command in halves.sent}
    taken_over = messages.Foresee in began or any(
        isinstance(one, messages.Play) and one.takes_over for _, one in halves.sent
    )
    beside = {goal.motion for goal in halves.session.goals if goal.is_beside}
    goals = {
        FOLLOW if messages.Follow in began else "nod" if taken_over else "wave",
        *beside,
        *("nod" for goal in halves.session.queue if goal.motion == "nod"),
    }

    def check() -> list[str]:
        done = {ended.goal_id.split()[0] for ended, _ in halves.results if ended.code == "SUCCESSFUL"}
        return [f"{goal} did not end well" for goal in goals - done if not halves.session.leaving]

    return check


def estop_and_reset(halves: Halves) -> Check:
    number = halves.session.estop()
    halves.session.reset()
    return holds_still(halves, number)


def estop_reset_and_play(halves: Halves) -> Check:
    session = halves.session
    session.estop()
    session.reset()
    return replace(halves)


def pause(halves: Halves) -> Check:
    session = halves.session
    if session.goal is None:
        return list
    pause = session.pause(session.goal)
    answered: list[State] = []
    for _ in range(LONGEST):
        if pause.outcome is not None:
            answered.append(session.state)
            break
        halves.step()
    at, is_alone = len(halves.engine.trace) - 1, not session.beside

    def check() -> list[str]:
        moved = is_alone and len(set(halves.engine.trace[at:])) > 1
        if answered == [State.PAUSED] and (halves.engine.player.state is not State.PAUSED or moved):
            return ["it was answered to be paused, and is not"]
        session.stop(WHY)
        halves.run_out()
        return [] if answered else ["it was never answered"]

    return check


def seek(halves: Halves) -> Check:
    session = halves.session
    if session.goal is None:
        return list
    sought = session.seek(cast("MotionGoal", session.goal), ROWS - 2)

    def check() -> list[str]:
        return [] if sought.outcome is not None else ["it was never answered"]

    return check


def replace(halves: Halves, *, takes_over: bool = False) -> Check:
    session, goal = halves.session, halves.goal("nod")
    try:
        session.gate.refuse_unless_able("nod cannot be played")
        begin = session.begin_instead(goal, "nod cannot be played", takes_over=takes_over)
    except RequestError:
        return list

    def check() -> list[str]:
        codes = {ended.goal_id: ended.code for ended, _ in halves.results}
        if isinstance(begin.outcome, dict) and codes[goal.goal_id] == ResultCode.SUCCESSFUL:
            return []
        return [f"{begin.outcome}, {codes.get(goal.goal_id)}"]

    return check


def take_over(halves: Halves) -> Check:
    return replace(halves, takes_over=True)


def take_over_and_stop(halves: Halves) -> Check:
    take_over(halves)
    return stop(halves)


def take_over_twice(halves: Halves) -> Check:
    take_over(halves)
    return take_over(halves)


def take_over_and_give_up(halves: Halves) -> Check:
    """Return a check that the goal plays if it was too late for that, and else nothing does."""
    session = halves.session
    take_over(halves)
    begin = session.begin
    if begin is None:
        return list
    session.give_up(begin)
    is_too_late = begin.may_have_begun

    def check() -> list[str]:
        begun = begin.goal.goal_id in {ended.goal_id for ended, _ in halves.results}
        return [] if begun == is_too_late else [f"it was given up, and {begin.goal.goal_id} plays: {begun}"]

    return check


def set_speed(halves: Halves) -> Check:
    goal = halves.session.goal
    if isinstance(goal, MotionGoal):
        halves.session.set_speed(goal, 0.5, RAMP)
    return list


def queue(halves: Halves, *, blend_s: float = 0.0) -> Check:
    session = halves.session
    if session.leaving or not (session.goal or session.begin or session.queue):
        return replace(halves)
    enqueue(halves, "nod", blend_s=blend_s)
    return list


def queue_to_flow(halves: Halves) -> Check:
    return queue(halves, blend_s=0.03)


def queue_to_flow_and_clear(halves: Halves) -> Check:
    queue_to_flow(halves)
    halves.session.clear_queue(ResultCode.CANCELED, WHY)
    return list


def play_beside(halves: Halves, motion: str = "grip") -> Check:
    """Return a check that a goal of its own joint plays beside whatever plays, where that was accepted."""
    session, goal = halves.session, halves.goal(motion, is_beside=True)
    try:
        session.gate.refuse_unless_able(f"{motion} cannot be played")
        if not session.goals:
            return list
        begin = session.begin_beside(goal, f"{motion} cannot be played")
    except RequestError:
        return list

    def check() -> list[str]:
        codes = {ended.goal_id: ended.code for ended, _ in halves.results}
        did = isinstance(begin.outcome, dict) and codes.get(goal.goal_id) == ResultCode.SUCCESSFUL
        return [] if did else [f"{begin.outcome}, {codes.get(goal.goal_id)}"]

    return check


def add(halves: Halves) -> Check:
    return play_beside(halves, ADDED)


def play_beside_and_stop(halves: Halves) -> Check:
    play_beside(halves)
    return stop(halves)


def play_beside_and_take_over(halves: Halves) -> Check:
    play_beside(halves)
    return take_over(halves)


def play_beside_and_give_up(halves: Halves) -> Check:
    play_beside(halves)
    if halves.session.begin is not None:
        halves.session.give_up(halves.session.begin)
    return list


def add_and_flow(halves: Halves) -> Check:
    add(halves)
    return queue_to_flow(halves)


def stop_one(halves: Halves) -> Check:
    """Return a check that the goal which began last ends by this, and those that it plays beside well."""
    session = halves.session
    if not session.goals:
        return list
    stopped, others = session.goals[-1], session.goals[:-1]
    session.stop_goal(stopped, WHY)

    def check() -> list[str]:
        codes = {ended.goal_id: ended.code for ended, _ in halves.results}
        wrong = [f"{one.goal_id} ended {codes.get(one.goal_id)}" for one in others]
        wrong = wrong if any(codes.get(one.goal_id) != ResultCode.SUCCESSFUL for one in others) else []
        is_over = codes.get(stopped.goal_id) in {
            ResultCode.CANCELED,
            ResultCode.SUCCESSFUL,
            ResultCode.PREEMPTED,
        }
        return wrong + ([] if is_over else [f"{stopped.goal_id} ended {codes.get(stopped.goal_id)}"])

    return check


def stop_the_base(halves: Halves) -> Check:
    """Return a check that what plays beside the base plays on."""
    session = halves.session
    if session.goal is None:
        return list
    session.stop_goal(session.goal, WHY)
    beside = [*session.beside]

    def check() -> list[str]:
        codes = {ended.goal_id: ended.code for ended, _ in halves.results}
        return [f"{one.goal_id} did not end well" for one in beside if codes.get(one.goal_id) != "SUCCESSFUL"]

    return check


def pause_one(halves: Halves) -> Check:
    """Return a check that a goal which plays beside others rests when that is answered, and plays on then."""
    session = halves.session
    if not session.beside:
        return list
    goal = session.beside[-1]
    pause = session.pause(goal)
    for _ in range(LONGEST):
        if pause.outcome is not None:
            break
        halves.step()
    rested = goal not in session.goals or session.state_of(goal) in AT_REST
    paused = goal in session.goals and session.state_of(goal) is State.PAUSED
    at = len(halves.engine.trace) - 1
    halves.run(STILL)
    joint = int(goal.motion == "grip")
    places = {place[joint] for place in halves.engine.trace[at:]}
    if goal in session.goals:
        session.resume(goal)

    def check() -> list[str]:
        wrong = [] if pause.outcome is not None and rested else ["it was never answered"]
        moved = paused and len(places) > 1 and goal.motion != ADDED
        return wrong + (["it was answered to be paused, and moves"] if moved else [])

    return check


def seek_one(halves: Halves) -> Check:
    session = halves.session
    if not session.beside or session.beside[-1].is_additive:
        return list
    sought = session.seek(cast("MotionGoal", session.beside[-1]), ROWS - 2)
    return lambda: [] if sought.outcome is not None else ["it was never answered"]


def fail(halves: Halves) -> Check:
    """Return a check that a fault in this tick ends all goals, and that nothing moves any more."""
    halves.engine.fail()
    at = len(halves.engine.trace)

    def check() -> list[str]:
        return ["it moved"] if len(set(halves.engine.trace[at:])) > 1 else []

    return check


def play_beside_and_fail(halves: Halves) -> Check:
    play_beside(halves)
    return fail(halves)


def replace_and_stop(halves: Halves) -> Check:
    replace(halves)
    return stop(halves)


def replace_queue_and_stop(halves: Halves) -> Check:
    replace(halves)
    queue(halves)
    return stop(halves)


def replace_and_give_up(halves: Halves) -> Check:
    session = halves.session
    if session.goal is None or session.leaving:
        return list
    try:
        begin = session.begin_instead(halves.goal("nod"), "nod cannot be played")
    except RequestError:
        return list
    session.give_up(begin)
    return holds_still(halves, session.sent)


def stop_and_queue(halves: Halves) -> Check:
    number = halves.session.stop(WHY)
    if halves.session.goal is not None and not halves.session.leaving:
        enqueue(halves, "nod")
    return holds_still(halves, number)


def leave(halves: Halves) -> Check:
    halves.session.leave()
    return lambda: [] if halves.engine.is_over else ["it has not left"]


def estop_reset_and_leave(halves: Halves) -> Check:
    halves.session.estop()
    halves.session.reset()
    return leave(halves)


REQUESTS: dict[str, Callable[[Halves], Check]] = {
    one.__name__.replace("_", " "): one
    for one in (
        stop,
        disable,
        enable,
        estop,
        estop_and_reset,
        estop_reset_and_play,
        pause,
        seek,
        replace,
        take_over,
        take_over_and_stop,
        take_over_twice,
        take_over_and_give_up,
        set_speed,
        queue,
        queue_to_flow,
        queue_to_flow_and_clear,
        play_beside,
        play_beside_and_stop,
        play_beside_and_take_over,
        play_beside_and_give_up,
        add,
        add_and_flow,
        stop_one,
        stop_the_base,
        pause_one,
        seek_one,
        fail,
        play_beside_and_fail,
        replace_and_stop,
        replace_queue_and_stop,
        replace_and_give_up,
        stop_and_queue,
        leave,
        estop_reset_and_leave,
    )
}


# -- the table ----------------------------------------------------------------------------------------------


def ticks_of(scenario: Callable[..., Halves], delays: tuple[int, int]) -> Iterator[Halves]:
    """Yield the scenario in each of its ticks, up to some in which nothing is left to happen.

    The first ticks of a motion to its end are left out, as they are alike.
    """
    from_the_first = {from_a_pause, to_shutdown, to_the_end_of_a_follow, *WITH_LAYERS}
    from_the_first.add(to_what_takes_over_as_foreseen)
    tick, idle = 0 if scenario in from_the_first else ROWS // 2, 0
    while idle < 3:
        halves = scenario(*delays)
        halves.run(tick)
        tick += 1
        over = halves.engine.is_over or (halves.session.rests and not halves.moves)
        idle = idle + 1 if over else 0
        yield halves


@pytest.mark.parametrize("delays", [(0, 0), (0, 2), (2, 0), (2, 2)], ids=lambda ticks: "{}-{}".format(*ticks))
@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_request_in_each_tick_is_true_and_each_goal_ends_once(
    scenario: str, request_: str, delays: tuple[int, int]
) -> None:
    wrong: list[str] = []
    for number, halves in enumerate(ticks_of(SCENARIOS[scenario], delays)):
        with closing(halves):
            check = REQUESTS[request_](halves)
            halves.run_out()
            wrong += [f"tick {number}: {one}" for one in check() + halves.problems()]
    assert wrong == []


@pytest.mark.parametrize(
    ("scenario", "code", "message"),
    [
        (to_what_it_flows_into, ResultCode.SUCCESSFUL, "it flows into nod"),
        *(
            (scenario, ResultCode.PREEMPTED, "nod was asked to replace it, and has taken over on the way")
            for scenario in (to_what_takes_over, to_what_takes_over_as_foreseen)
        ),
    ],
)
def test_these_motions_flow_into_each_other_and_take_over(
    scenario: Callable[..., Halves], code: ResultCode, message: str
) -> None:
    halves = scenario(2, 2)
    halves.run_out()
    first, second = (ended for ended, _ in halves.results[:2])
    assert (first.code, first.message) == (code, message)
    assert (second.goal_id, second.code) == ("nod 2", ResultCode.SUCCESSFUL)
    assert halves.problems() == []
