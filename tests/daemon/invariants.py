"""What must hold of every life: of each setpoint that a driver receives, each goal and each answer.

That a stop holds is looked at while a life is lived (`tests.daemon.engine`); here is what holds of all of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.daemon.ipc.states import TAKEN_OVER, TRANSITIONS, State
from motiond.daemon.joints.bounds import joint_bounds
from motiond.daemon.planning.speed_limits import LONGEST_STOP
from motiond.daemon.robots.session.goal import MotionGoal
from motiond.daemon.trajectory.beyond import FAR_OUTSIDE, FROM_BEYOND
from motiond.daemon.trajectory.ramp import FULL_RAMP
from motiond.daemon.trajectory.turns import TURN
from tests.daemon.engine import Reason, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from motiond.daemon.joints.joint_map import Limits
    from tests.daemon.engine import Account, Handed, Received

    Floats: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-6  # of a limit
BETWEEN_ROWS = 4 / 3
"""How much more a cubic curve may bend between its rows than they do: a motion's acceleration is checked at
the rows, and monotone slopes (Fritsch and Carlson 1980) are continuous in velocity alone."""
GOALS = {"play", "sequence", "goto", "follow/start"}
AT_ONCE_S = 1e-9
RESTING = frozenset({State.IDLE, State.PAUSED})
AT_REST = {"idle", "estopped", "fault", "offline", ""}
BEGUN = {
    "CANCELED": {"stop", "end_goal", "leave", "silence"},
    "PREEMPTED": {"replace"},
    "ESTOP": {"estop"},
    "HARDWARE_FAULT": {"fault", "late"},  # actuators release where no setpoint comes in time
    "COMM_LOST": {"fault", "late", "reset", "leave"},
    "DEADLINE_MISSED": {"late"},
}
"""What a goal that has begun may end by."""
WAITING = {
    "CANCELED": {"stop", "leave", "disable", "estop", "queue", "fault", "an end"},
    "PREEMPTED": {"replace"},
}
"""What one may end by that waits."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Setpoints without a halt between them."""

    received: list[Received]
    positions: Floats
    steps: Floats


def broken(account: Account) -> list[str]:
    """Return a line for each invariant that the account of a life breaks."""
    lines = [*account.problems, *_wrong_moves(account), *_wrong_ends(account)]
    if account.taught["begun"] != account.taught["ended"]:
        lines.append(f"teaching has begun and ended {dict(account.taught)} times")
    lines += [*_wrong_answers(account), *_wrong_results(account), *_wrong_reasons(account)]
    if account.state not in AT_REST:
        lines.append(f"before the shutdown it was {account.state}")
    for stretch in _stretches(account):
        for look in LOOKS:
            lines += look(account, stretch)
    return lines


def _stretches(account: Account) -> Iterator[Stretch]:
    by_number: dict[int, list[Received]] = {}
    for received in account.received:
        by_number.setdefault(received.stretch, []).append(received)
    for received_ones in map(_rested, by_number.values()):
        positions = np.array([one.position for one in received_ones])
        yield Stretch(received_ones, positions, np.diff(positions, axis=0, prepend=positions[:1]))


def _rested(received: list[Received]) -> list[Received]:
    """Put a tick of rest before each goal: the loop may begin one as soon as the one before has ended."""
    rested = received[:1]
    for before, one in pairwise(received):
        at_once = one.time_s - before.time_s < AT_ONCE_S and one.position == before.position
        if at_once and before.state in TAKEN_OVER:
            continue  # what takes over between two rows of a slow motion writes at once
        if one.goal != before.goal and before.state is State.IDLE:
            rested.append(replace(before, skips=1))
        rested.append(one)
    return rested


def _limits(account: Account) -> Limits:
    return account.life.joint_map.limits


# -- goals ---------------------------------------------------------------------------------------------


def _wrong_moves(account: Account) -> Iterator[str]:
    """Find states that were left in a way that is not in the table."""
    allowed = {(state, after) for (state, _event), after in TRANSITIONS.items()}
    for before, after in account.moves:
        if before != after and (before, after) not in allowed:
            yield f"state went from {before} to {after}"


def _wrong_ends(account: Account) -> Iterator[str]:
    """Find goals with no result, or several, and successes that did not reach the last row."""
    ends = [handed.ended_at for handed in account.handed]
    last = {one.goal: one for one in account.received if one.goal >= 0 and one.tick <= ends[one.goal]}
    for number, handed in enumerate(account.handed):
        codes = [ended.code for ended in handed.ended]
        if len(codes) != 1:
            yield f"goal {number} has the results {codes}"
        moved = isinstance(handed.goal, MotionGoal) and number in last
        if "SUCCESSFUL" in codes and moved and "flowed_into" not in handed.ended[0].details:
            turning = account.life.joint_map.continuous
            yield from _short_of_the_end(number, handed, last[number], turning)


def _short_of_the_end(
    number: int, handed: Handed, last: Received, turning: NDArray[np.bool_]
) -> Iterator[str]:
    assert isinstance(handed.goal, MotionGoal)
    playback = handed.goal.playback
    returns = playback.passes.ping_pong and playback.passes.count % 2 == 0
    row = playback.track.positions[playback.passes.first if returns else playback.passes.last]
    driven, away = playback.plan.driven, np.array(last.position) - row
    on_turn = np.abs(away - TURN * np.round(away / TURN)) <= 1e-9
    if not np.where(turning, on_turn, away == 0.0)[driven].all():
        yield f"goal {number} was successful, but not at its last row"


def _wrong_answers(account: Account) -> Iterator[str]:
    for asked in account.asked:
        served = asked.verb != "fleet/break off"
        if served and asked.verb != "leave" and asked.answer is None and not asked.given_up:
            yield f"request {asked.order} ({asked.verb}) was never answered"


def _wrong_results(account: Account) -> Iterator[str]:
    """Find goals that were accepted and have no result, or several."""
    results = Counter(data["goal_id"] for _, data in account.results)
    for asked in account.asked:
        if asked.is_accepted and asked.verb in GOALS:
            assert asked.answer is not None
            goal_id = asked.answer["data"]["goal_id"]
            if results[goal_id] != 1:
                yield f"request {asked.order} ({asked.verb}) has {results[goal_id]} results"
    for goal_id, times in results.items():
        if times > 1:
            yield f"goal {goal_id} has {times} results"


def _wrong_reasons(account: Account) -> Iterator[str]:
    """Find goals that ended by what has not happened."""
    replacing = (one.at_s for one in account.asked if one.values.get("on_busy") in {"replace", "blend"})
    reasons = [*account.reasons, *(Reason("replace", at_s, at_s) for at_s in replacing)]
    sent_s = {sent.goal_id: sent.at_s for sent in account.sent}
    accepted_s = {
        asked.answer["data"]["goal_id"]: asked.at_s
        for asked in account.asked
        if asked.is_accepted and asked.verb in GOALS and asked.answer is not None
    }
    for at_s, data in account.results:
        goal_id, code = data["goal_id"], data["code"]
        allowed = (BEGUN if goal_id in sent_s else WAITING).get(code)
        since_s = sent_s.get(goal_id, accepted_s.get(goal_id, 0.0))
        happened = {one.kind for one in reasons if one.begins_s <= at_s and one.ends_s >= since_s}
        is_silent = data["motion"] == "follow" and data["message"].startswith("no target came for")
        if allowed is not None and not allowed & happened and not is_silent:
            reason = f"{code} ({data['message']}), but for {happened or 'nothing'}"
            yield f"{data['motion']} ended at {at_s:.3f} s with {reason}"


# -- setpoints -----------------------------------------------------------------------------------------


def _first_of(stretch: Stretch, bad: NDArray[np.bool_], what: Callable[[int, int], str]) -> list[str]:
    if not bad.any():
        return []
    index, joint = (int(one) for one in np.argwhere(bad)[0])
    one = stretch.received[index]
    where = f"tick {one.tick}, {one.state}, goal {one.goal}, frame {one.frame:g}, joint {joint}"
    return [f"{where}: {what(index, joint)}"]


def _beyond_position(account: Account, stretch: Stretch) -> list[str]:
    """Find setpoints further outside the limits than the one before; at first, where the robot was held."""
    limits, positions = _limits(account), stretch.positions
    beyond = np.maximum(np.maximum(limits.lower - positions, positions - limits.upper), 0.0)
    bad = np.diff(beyond, axis=0, prepend=beyond[:1]) > 0.0
    return _first_of(stretch, bad, lambda k, j: f"setpoint {positions[k, j]!r} is outside the limits")


def _fast_from_beyond(account: Account, stretch: Stretch) -> list[str]:
    """Find steps from far outside the limits by a goal that was not asked to come from there, or too fast."""
    limits, positions = _limits(account), stretch.positions
    slack = FAR_OUTSIDE * (limits.upper - limits.lower)
    far = (positions < limits.lower - slack) | (positions > limits.upper + slack)
    asked = [isinstance(one.goal, MotionGoal) and one.goal.from_beyond for one in account.handed] + [False]
    slow = FROM_BEYOND * joint_bounds(account.life.joint_map, account.life.settings).velocity
    may = np.array([slow * asked[one.goal] for one in stretch.received])
    allowed = may * _periods(account, stretch) * _ticks(stretch) * (1 + ROUNDING) + 1e-12
    before = np.vstack((far[:1], far[:-1]))
    bad = before & (np.abs(stretch.steps) > allowed)
    return _first_of(stretch, bad, lambda k, j: f"step {stretch.steps[k, j]:.6g} from far outside the limits")


def _far_approaches(account: Account, stretch: Stretch) -> list[str]:
    """Find ways on which a joint that turns without end went further than half a turn."""
    turning = account.life.joint_map.continuous
    ways = groupby(
        zip(stretch.received, stretch.positions, strict=True),
        lambda at: (at[0].goal, at[0].on_approach and at[0].state is State.APPROACHING),
    )
    for (goal, on_approach), way in ways:
        went = np.ptp([position for _, position in way], axis=0)
        takes_over = goal >= 0 and getattr(account.handed[goal].command, "takes_over", False)
        if on_approach and not takes_over and (went[turning] > TURN / 2 + 1e-9).any():
            return [f"goal {goal} approached by {went.tolist()}, which is more than half a turn"]
    return []


def _periods(account: Account, stretch: Stretch) -> Floats:
    """Return the time between ticks at each setpoint, shape (setpoints, 1)."""
    rates = [rate_of(handed.goal) for handed in account.handed] + [1.0]
    idle_hz = account.life.settings.idle_rate_hz
    periods = [1.0 / (idle_hz if one.brakes else rates[one.goal]) for one in stretch.received]
    for place, (before, one) in enumerate(pairwise(stretch.received), 1):
        if one.goal != before.goal and before.state in TAKEN_OVER:
            periods[place] = min(1.0 / rates[before.goal], max(1e-6, one.time_s - before.time_s))
    return np.array(periods)[:, np.newaxis]


def _ticks(stretch: Stretch) -> Floats:
    return np.array([[float(one.skips)] for one in stretch.received])


def _held(account: Account, stretch: Stretch) -> Floats:
    """Return the largest step of rows that are held, times how many may be passed; 0 elsewhere."""
    steps = [_held_step(handed) for handed in account.handed] + [np.zeros(stretch.positions.shape[1])]
    fastest = [handed.fastest for handed in account.handed] + [1.0]
    rows = [[np.floor(fastest[one.goal] * one.skips) + 1.0] for one in stretch.received]
    held: Floats = np.multiply([steps[one.goal] for one in stretch.received], rows)
    return held


def _held_step(handed: Handed) -> Floats:
    if not isinstance(handed.goal, MotionGoal):
        return np.zeros(len(handed.goal.names))
    track = handed.goal.playback.track
    if track.interpolation != "hold" or len(track.positions) < 2:
        return np.zeros(track.positions.shape[1])
    steps = np.abs(np.diff(track.positions, axis=0)).max(axis=0) * (1 + ROUNDING)
    return np.asarray(steps, dtype=float)


def _beyond_velocity(account: Account, stretch: Stretch) -> list[str]:
    """Find steps larger than the velocity limit allows in the ticks that may have passed.

    Where rows are held, a step is one from row to row, however fast they follow each other.
    """
    allowed = _limits(account).velocity * _periods(account, stretch) * _ticks(stretch) * (1 + ROUNDING)
    allowed = np.maximum(allowed, _held(account, stretch)) + 1e-12
    steps = stretch.steps
    return _first_of(
        stretch,
        np.abs(steps) > allowed,
        lambda k, j: f"step {steps[k, j]:.6g}, at most {allowed[k, j]:.6g}",
    )


def _beyond_acceleration(account: Account, stretch: Stretch) -> list[str]:
    """Find changes of velocity that the acceleration limit forbids; held rows are left out.

    Between rows a cubic curve may bend by `BETWEEN_ROWS` more than it was checked for.
    """
    period_s, ticks = _periods(account, stretch), _ticks(stretch)
    velocities = stretch.steps / (period_s * ticks)
    changes = np.abs(np.diff(velocities, axis=0, prepend=velocities[:1]))
    lasted_s = ticks * period_s
    spans = (lasted_s + np.concatenate((lasted_s[:1], lasted_s[:-1]))) / 2
    limits = _limits(account)
    limit = limits.acceleration * np.where(_between_rows(account, stretch), BETWEEN_ROWS, 1.0)[:, None]
    allowed = (limit + _doubted(account, stretch) * limits.velocity) * spans * (1 + ROUNDING) + 1e-9
    allowed[_held(account, stretch).any(axis=1)] = np.inf
    # A tick that was too late slows down from where the robot is, as if no more than one had passed.
    slowed = np.array([one.skips > 1 and one.state is State.STOPPING for one in stretch.received])
    allowed[slowed | np.roll(slowed, 1)] = np.inf
    if stretch.received[0].brakes:  # it is caught as fast as it was moved
        allowed[:2] = np.inf
    return _first_of(
        stretch,
        changes > allowed,
        lambda k, j: f"velocity changed by {changes[k, j]:.6g}, at most {allowed[k, j]:.6g}",
    )


def _between_rows(account: Account, stretch: Stretch) -> NDArray[np.bool_]:
    """Return where one of the last three setpoints was between rows of a cubic curve."""
    if account.life.settings.interpolation not in {"cubic", "smooth"}:
        return np.zeros(len(stretch.received), dtype=bool)
    off = np.array([one.frame % 1.0 != 0.0 for one in stretch.received])
    return np.asarray(np.convolve(off, np.ones(3))[: off.size] > 0)


def _doubted(account: Account, stretch: Stretch) -> Floats:
    """Return the ramps of the clock that may take more acceleration than there is, shape (setpoints, 1)."""
    on_motion = [handed.doubts for handed in account.handed] + [0.0]
    approach = FULL_RAMP / account.life.settings.stop_duration_s / LONGEST_STOP
    return np.array(
        [[max(on_motion[one.goal], approach if one.on_approach else 0.0)] for one in stretch.received]
    )


def _moved_at_rest(_account: Account, stretch: Stretch) -> list[str]:
    """Find steps while the robot stayed at rest; a seek to a row next to it is one tick's step.

    A late tick that moves on by several may hold a whole way, so that what is left of it is a step.
    """
    rests = np.array(
        [False]
        + [
            after.state in RESTING
            and before.state is after.state
            and before.goal == after.goal
            and after.skips == 1
            and (before.frame == after.frame or after.frame % 1.0 != 0.0)
            for before, after in pairwise(stretch.received)
        ]
    )
    bad = (stretch.steps != 0.0) & rests[:, None]
    return _first_of(stretch, bad, lambda k, j: f"moved by {stretch.steps[k, j]:.3g} at rest")


LOOKS = (
    _beyond_position,
    _far_approaches,
    _fast_from_beyond,
    _beyond_velocity,
    _beyond_acceleration,
    _moved_at_rest,
)
