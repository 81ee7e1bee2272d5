"""What must hold of every life of a daemon, whatever was asked for and went wrong.

That a stop holds is looked at while a life is lived (`daemon_engine`); here is what holds of it as a whole.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.daemon.daemon_engine import Reason
from tests.daemon.invariants import broken as broken_by_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.daemon.daemon_engine import DaemonAccount

AT_REST = {"idle", "estopped", "fault", "offline", ""}
BEGUN = {
    "CANCELED": {"stop", "end_goal", "leave"},
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


def broken(account: DaemonAccount) -> list[str]:
    """Return a line for each invariant that a life breaks."""
    problems = [*_wrong_answers(account), *_wrong_results(account), *_wrong_reasons(account)]
    if account.state not in AT_REST:
        problems.append(f"before the shutdown it was {account.state}")
    return [*broken_by_engine(account), *problems]


def _wrong_answers(account: DaemonAccount) -> Iterator[str]:
    for asked in account.asked:
        served = asked.verb != "fleet/break off"
        if served and asked.verb != "leave" and asked.answer is None and not asked.given_up:
            yield f"request {asked.order} ({asked.verb}) was never answered"


def _wrong_results(account: DaemonAccount) -> Iterator[str]:
    """Find goals that were accepted and have no result, or several."""
    results = Counter(data["goal_id"] for _, data in account.results)
    for asked in account.asked:
        if asked.is_accepted and asked.verb in {"play", "goto"}:
            assert asked.answer is not None
            goal_id = asked.answer["data"]["goal_id"]
            if results[goal_id] != 1:
                yield f"request {asked.order} ({asked.verb}) has {results[goal_id]} results"
    for goal_id, times in results.items():
        if times > 1:
            yield f"goal {goal_id} has {times} results"


def _wrong_reasons(account: DaemonAccount) -> Iterator[str]:
    """Find goals that ended by what has not happened."""
    replacing = (one.at_s for one in account.asked if one.values.get("on_busy") == "replace")
    reasons = [*account.reasons, *(Reason("replace", at_s, at_s) for at_s in replacing)]
    sent_s = {sent.goal_id: sent.at_s for sent in account.sent}
    accepted_s = {
        asked.answer["data"]["goal_id"]: asked.at_s
        for asked in account.asked
        if asked.is_accepted and asked.verb in {"play", "goto"} and asked.answer is not None
    }
    for at_s, data in account.results:
        goal_id, code = data["goal_id"], data["code"]
        allowed = (BEGUN if goal_id in sent_s else WAITING).get(code)
        since_s = sent_s.get(goal_id, accepted_s.get(goal_id, 0.0))
        happened = {one.kind for one in reasons if one.begins_s <= at_s and one.ends_s >= since_s}
        if allowed is not None and not allowed & happened:
            reason = f"{code} ({data['message']}), but for {happened or 'nothing'}"
            yield f"{data['motion']} ended at {at_s:.3f} s with {reason}"
