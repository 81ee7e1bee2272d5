"""Whatever goes wrong at whatever moment of a start, no robot plays on alone; on virtual time."""

from __future__ import annotations

import pytest

from motiond.daemon.fleet.member import SEEN_WITHIN_S
from tests.daemon.fleet.virtual_group import (
    BEGIN_S,
    COMMIT_S,
    FIRST_ROW_S,
    LASTS_S,
    LATENCY_S,
    READY_S,
    ROBOTS,
    STOP_S,
    Mishap,
    Outcome,
    outcome,
)

pytestmark = pytest.mark.slow

MOMENTS = 8
ALL = set(ROBOTS)
OTHERS = {"r1", "r3"}
SOON_S = 2 * LATENCY_S[1]
PHASES = {
    "committed": (COMMIT_S + SOON_S, BEGIN_S),
    "approaching": (BEGIN_S, READY_S),
    "ready": (READY_S, FIRST_ROW_S - SOON_S),
    "at the first row": (FIRST_ROW_S - SOON_S, FIRST_ROW_S + SOON_S),
    "seen soon": (FIRST_ROW_S + SOON_S, FIRST_ROW_S + SEEN_WITHIN_S),
    "seen": (FIRST_ROW_S + SEEN_WITHIN_S, FIRST_ROW_S + LASTS_S - SOON_S),
}
BEFORE = ("committed", "approaching", "ready")
CRASHED = "r2: its daemon 'd2' has crashed, or has lost the broker"
UNSEEN = f"not seen playing {SEEN_WITHIN_S:g} s after the first row: "


def moments(phase: str) -> list[float]:
    first_s, last_s = PHASES[phase]
    return [first_s + (last_s - first_s) * (number + 0.5) / MOMENTS for number in range(MOMENTS)]


def plays_on_alone(came: Outcome) -> bool:
    """Whether one played longer than allowed in a start in which another did not come to its first row."""
    most_s = SEEN_WITHIN_S + STOP_S + SOON_S
    return 0 < len(came.played_s) < len(ALL) and max(came.played_s.values()) > most_s


async def test_without_a_mishap_all_play_to_the_end() -> None:
    came = await outcome()
    assert came.played_s == pytest.approx(dict.fromkeys(ALL, LASTS_S))
    assert came.reasons == {}


@pytest.mark.parametrize("phase", BEFORE)
@pytest.mark.parametrize("kind", ["killed", "stopped"])
async def test_what_is_reported_before_the_first_row_keeps_all_from_it(kind: str, phase: str) -> None:
    reason = {"killed": CRASHED, "stopped": "r2: a stop came"}[kind]
    for seed, at_s in enumerate(moments(phase)):
        came = await outcome(Mishap(kind, at_s), seed=seed)
        assert came.played_s == {}, at_s
        # Who receives it first keeps the other from playing, too.
        assert {one.rpartition("r2: ")[2] for name, one in came.reasons.items() if name in OTHERS} == {
            reason.removeprefix("r2: ")
        }


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("kind", "reports"), [("killed", [True, False]), ("cut off", [True, False]), ("stopped", [True])]
)
async def test_at_no_moment_does_a_robot_play_on_alone(kind: str, reports: list[bool], phase: str) -> None:
    for seed, at_s in enumerate(moments(phase)):
        for is_reported in reports:
            for then in ("stop", "continue"):
                came = await outcome(Mishap(kind, at_s, is_reported=is_reported), then=then, seed=seed)
                assert not plays_on_alone(came), (at_s, is_reported, then)


@pytest.mark.parametrize("phase", BEFORE)
async def test_who_is_killed_unreported_is_missed_2_s_after_the_first_row(phase: str) -> None:
    for seed, at_s in enumerate(moments(phase)):
        came = await outcome(Mishap("killed", at_s, is_reported=False), seed=seed)
        assert came.played_s == pytest.approx(dict.fromkeys(OTHERS, SEEN_WITHIN_S + STOP_S), abs=SOON_S)
        reason = f"{UNSEEN}r2; r2: it reported last that it is "
        assert any(one.startswith(reason) for one in came.reasons.values())


async def test_who_is_cut_off_stops_as_it_sees_none_of_the_others() -> None:
    came = await outcome(Mishap("cut off", READY_S, is_reported=False))
    assert came.played_s == pytest.approx(dict.fromkeys(ALL, SEEN_WITHIN_S + STOP_S), abs=SOON_S)
    lost = "the connection to the broker is lost"
    assert came.reasons["r2"] == f"{UNSEEN}r1, r3; r1: {lost}; r3: {lost}"


@pytest.mark.parametrize("phase", ["ready", "at the first row"])
async def test_who_is_cut_off_and_back_in_time_plays_on_with_the_others(phase: str) -> None:
    for seed, at_s in enumerate(moments(phase)):
        came = await outcome(Mishap("cut off", at_s, at_s + 1.0, is_reported=False), seed=seed)
        assert came.played_s == pytest.approx(dict.fromkeys(ALL, LASTS_S)), at_s


async def test_who_fails_after_its_first_row_stops_the_others_at_once_or_not() -> None:
    at_s = FIRST_ROW_S + SEEN_WITHIN_S + 1.0
    for kind, reason in (("killed", CRASHED), ("stopped", "r2: a stop came")):
        came = await outcome(Mishap(kind, at_s))
        for robot in OTHERS:
            assert came.played_s[robot] == pytest.approx(at_s - FIRST_ROW_S + STOP_S, abs=SOON_S)
        assert reason in came.reasons.values()
        came = await outcome(Mishap(kind, at_s), then="continue")
        assert {robot: came.played_s[robot] for robot in OTHERS} == pytest.approx(
            dict.fromkeys(OTHERS, LASTS_S)
        )


@pytest.mark.parametrize("commits", [(), ("r1",), ("r1", "r3")], ids=["none", "one", "two"])
@pytest.mark.parametrize("then", ["stop", "continue"])
async def test_a_coordinator_that_dies_between_commits_leaves_no_robot_playing_alone(
    commits: tuple[str, ...], then: str
) -> None:
    came = await outcome(commits=commits, then=then)
    assert came.played_s == pytest.approx(dict.fromkeys(commits, SEEN_WITHIN_S + STOP_S), abs=SOON_S)
    if commits == ("r1", "r3"):
        reason = f"{UNSEEN}r2; r2: it has reported nothing of the start"
        assert reason in came.reasons.values()
