"""Whatever moment a daemon loses the broker at, all robots of a start play, or none does; on virtual time."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from motiond.daemon.fleet.coordinator.appointment import Prepared, appoint
from motiond.daemon.fleet.member.group_start import CONFIRM_S, SILENCE_S, WILL_S
from motiond.daemon.robots.group_start.reservation import GUARD_S
from tests.daemon.fleet.partition import APPROACH_S, COMMITTED_S, LASTS_S, USUAL, Cut, Terms, outcome

pytestmark = pytest.mark.slow

WAITS_S = USUAL.waits_s
FOR_EVER = float("inf")
SLOW_S = 0.4
"""How long each message takes at a slow broker."""
ALL = {"robot-d1", "robot-d2", "robot-d3"}
MOMENTS = 16
READY_S = 2 * USUAL.latency_s[1] + APPROACH_S
AGREED_S = COMMITTED_S + READY_S + 0.1
"""By then all know that all know that all are ready."""
SOON_S = 2 * USUAL.latency_s[1]


class Verdict(NamedTuple):
    began: int
    stopped_s: float


async def judged(cut: Cut, seed: int = 0, terms: Terms = USUAL) -> Verdict:
    """Give how many came to their first rows, and when the last of those that were stopped was."""
    came = await outcome(cut, seed, terms=terms)
    stopped = [at for robot, at in came.ended_s.items() if robot in came.began_s and came.reason.get(robot)]
    return Verdict(len(came.began_s), max(stopped, default=0.0) - terms.waits_s)


async def test_without_trouble_all_begin_at_one_time_and_end_well() -> None:
    came = await outcome()
    assert came.began_s == pytest.approx(dict.fromkeys(ALL, WAITS_S))
    assert came.reason == {}


@pytest.mark.parametrize("away_s", [0.3, 1.0, FOR_EVER])
async def test_a_connection_that_is_lost_once_all_agree_keeps_nobody_from_the_first_row(
    away_s: float,
) -> None:
    first_s = max(AGREED_S, WAITS_S - GUARD_S - SILENCE_S + SOON_S)
    for number in range(MOMENTS):
        at_s = first_s + (WAITS_S - first_s) * number / MOMENTS
        assert (await judged(Cut("d2", at_s, at_s + away_s), number)).began == len(ALL), at_s


async def test_at_a_slow_broker_they_agree_in_the_time_that_answers_suggest() -> None:
    answered = {"robot": Prepared(USUAL.ready_in_s, (0.0, 2 * SLOW_S + 0.05))}
    told = appoint("choir", answered, 0.0)
    terms = Terms((SLOW_S, SLOW_S), told.ready_in_s, told.start_at)
    assert (await outcome(terms=terms)).began_s == pytest.approx(dict.fromkeys(ALL, told.start_at))
    for number in range(MOMENTS):
        at_s = COMMITTED_S + told.within_s * number / MOMENTS
        assert (await judged(Cut("d2", at_s), number, terms)).began == 0, at_s


async def test_at_a_slow_broker_nobody_plays_where_only_what_members_leave_by_themselves_is_left() -> None:
    came = await outcome(terms=Terms((SLOW_S, SLOW_S), waits_s=USUAL.ready_in_s + 4 * SLOW_S + 0.1))
    assert came.began_s == {}
    assert {reason.partition(":")[0] for reason in came.reason.values()} == {
        "not heard in time to know that all are ready"
    }


async def test_a_connection_that_is_lost_before_they_agree_and_stays_lost_keeps_all_from_it() -> None:
    for number in range(MOMENTS):
        at_s = COMMITTED_S + (APPROACH_S - COMMITTED_S) * number / MOMENTS
        assert (await judged(Cut("d2", at_s), number)).began == 0, at_s


async def test_a_connection_that_is_back_in_time_lets_them_agree() -> None:
    for number in range(MOMENTS):
        at_s = COMMITTED_S + (AGREED_S - COMMITTED_S) * number / MOMENTS
        assert (await judged(Cut("d2", at_s, at_s + 0.5), number)).began == len(ALL), at_s


async def test_what_is_left_is_the_flight_of_one_message() -> None:
    """Nobody can do better: whoever sends the last message does not know whether it has arrived."""
    apart = []
    for number in range(5 * MOMENTS):
        at_s = COMMITTED_S + (WAITS_S - COMMITTED_S) * number / (5 * MOMENTS)
        if (await judged(Cut("d2", at_s), number)).began not in {0, len(ALL)}:
            apart.append(at_s)
    assert len(apart) <= 2
    assert all(APPROACH_S < at_s < AGREED_S for at_s in apart)


async def test_who_began_alone_stops_when_nobody_else_is_known_to_play() -> None:
    """The will of a daemon that lives keeps the others from it; the daemon does not hear that."""
    cut = Cut("d2", WAITS_S - 1.0, has_will=True)
    verdict = await judged(cut)
    assert verdict.began == 1
    assert verdict.stopped_s == pytest.approx(CONFIRM_S, abs=0.01)
    assert await judged(cut, terms=Terms(confirm_s=LASTS_S + 1.0)) == Verdict(1, -WAITS_S)


async def test_who_was_taken_for_dead_and_is_back_before_the_first_row_hears_that_nobody_plays() -> None:
    for number in range(MOMENTS):
        at_s = AGREED_S + (WAITS_S - GUARD_S - AGREED_S - 0.5) * number / MOMENTS
        assert (await judged(Cut("d2", at_s, at_s + 0.5, has_will=True), number)).began == 0, at_s


async def test_who_is_away_when_all_begin_stops_and_is_stopped_at_one_time() -> None:
    came = await outcome(Cut("d2", WAITS_S - 0.2))
    assert came.began_s.keys() == ALL
    assert [came.ended_s[robot] - WAITS_S for robot in sorted(ALL)] == [
        pytest.approx(CONFIRM_S, abs=0.01)
    ] * len(ALL)
    assert came.reason == {
        "robot-d1": "not heard to play 2 s after the first row: robot-d2",
        "robot-d2": "not heard to play 2 s after the first row: robot-d1, robot-d2, robot-d3",
        "robot-d3": "not heard to play 2 s after the first row: robot-d2",
    }


async def test_where_others_go_on_without_it_nobody_stops_for_one_that_is_not_heard_to_play() -> None:
    came = await outcome(Cut("d2", WAITS_S - 0.2), then="continue")
    assert came.began_s.keys() == ALL
    assert came.reason == {}


async def test_a_daemon_that_is_killed_in_the_guard_keeps_the_others_from_the_first_row() -> None:
    for number in range(MOMENTS):
        at_s = WAITS_S - GUARD_S + (GUARD_S - SOON_S) * number / MOMENTS
        came = await outcome(Cut("d2", at_s, dies=True, has_will=True), number)
        assert came.began_s == {}, at_s
        assert came.reason.keys() == {"robot-d1", "robot-d3"}
        assert all(reason.endswith("robot-d2: its daemon is broken") for reason in came.reason.values())


async def test_a_connection_for_starts_that_breaks_in_the_last_second_keeps_the_others_from_it() -> None:
    for number in range(MOMENTS):
        at_s = WAITS_S - WILL_S + (WILL_S - SOON_S) * number / MOMENTS
        came = await outcome(Cut("d2", at_s, dies=True, is_told=True), number)
        assert came.began_s == {}, at_s
        assert came.reason.keys() == {"robot-d1", "robot-d3"}
        told = "robot-d2: its daemon has lost the connection for starts"
        assert all(reason.endswith(told) for reason in came.reason.values())


async def test_a_connection_for_starts_that_breaks_before_the_last_second_keeps_nobody_from_it() -> None:
    first_s = max(AGREED_S, WAITS_S - GUARD_S - SILENCE_S + SOON_S)
    for away_s in (0.3, FOR_EVER):
        for number in range(MOMENTS):
            at_s = first_s + (WAITS_S - WILL_S - SOON_S - first_s) * number / MOMENTS
            assert (await judged(Cut("d2", at_s, at_s + away_s, is_told=True), number)).began == len(ALL), (
                at_s
            )


async def test_who_has_lost_its_connection_for_starts_begins_alone_and_stops_when_nobody_else_plays() -> None:
    verdict = await judged(Cut("d2", WAITS_S - 0.5, is_told=True))
    assert verdict.began == 1
    assert verdict.stopped_s == pytest.approx(CONFIRM_S, abs=0.01)


async def test_a_daemon_that_is_killed_in_the_guard_with_nobody_to_tell_of_it_stops_the_others_soon() -> None:
    came = await outcome(Cut("d2", WAITS_S - 0.2, dies=True))
    assert came.began_s.keys() == {"robot-d1", "robot-d3"}
    reason = "not heard to play 2 s after the first row: robot-d2"
    assert came.reason == dict.fromkeys(("robot-d1", "robot-d3"), reason)


@pytest.mark.parametrize(
    ("dies", "reason"),
    [
        (True, dict.fromkeys(("robot-d1", "robot-d3"), "nothing was heard for 2 s of: robot-d2")),
        (
            False,
            {
                "robot-d1": "nothing was heard for 2 s of: robot-d2",
                "robot-d2": "the daemon's connection was lost, by which it hears the others",
                "robot-d3": "nothing was heard for 2 s of: robot-d2",
            },
        ),
    ],
    ids=["killed", "cut off"],
)
async def test_who_falls_silent_long_before_the_first_row_keeps_the_others_from_it(
    dies: bool,  # noqa: FBT001 - of a table
    reason: dict[str, str],
) -> None:
    came = await outcome(Cut("d2", AGREED_S, dies=dies), terms=Terms(waits_s=WAITS_S + SILENCE_S))
    assert came.began_s == {}
    # Who notices it first keeps the other from it.
    assert {robot: it.removeprefix("robot-d3: ") for robot, it in came.reason.items()} == reason
