"""What is made of what daemons and robots tell of a start."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.fleet.member.heard import LONGEST_STATE, Daemons, Failure, Members

Report = tuple[str, dict[str, Any]]


def pulse(phase: str, *, agrees: bool = False, daemon: str = "d1", **reasons: str) -> Report:
    return daemon, {"start": "s1", "robots": {"arm": phase}, "agrees": agrees, "reasons": reasons}


def reserved(phase: str | None, start: str | None = "s1", reason: str | None = None) -> Report:
    return "arm", {"start": start, "phase": phase, "reason": reason}


NULL = reserved(None, None)
RELEASED = reserved("released", reason="a stop came")


def heard(*reports: Report, daemon: str | None = "online") -> Members:
    daemons = Daemons()
    if daemon is not None:
        daemons.hear("d1", {"state": daemon})
    members = Members("s1", ["arm"], daemons)
    for of, data in reports:
        if of == "arm":
            members.hear("arm", data)
        else:
            members.hear_pulse(of, data, 7.0)
    return members


def test_who_is_committed_counts_once_its_daemon_tells_of_it() -> None:
    assert heard(pulse("committed")).not_committed() == []
    assert heard(pulse("committed"), daemon=None).not_committed() == []
    assert heard(reserved("committed")).not_committed() == ["arm"]
    assert heard(pulse("committed"), daemon="broken").not_committed() == ["arm"]
    assert heard().not_committed() == ["arm"]


def test_who_is_ready_or_plays_is_committed_too() -> None:
    for phase in ("ready", "playing", "ended"):
        members = heard(pulse(phase))
        assert (members.not_committed(), members.not_ready()) == ([], [])
    assert heard(pulse("committed")).not_ready() == ["arm"]


def test_who_is_ready_agrees_only_once_its_daemon_says_that_it_knows_of_all() -> None:
    assert heard(pulse("ready")).not_agreed() == ["arm"]
    assert heard(pulse("ready", agrees=True)).not_agreed() == []


def test_who_has_ended_has_played() -> None:
    assert heard(pulse("ready")).not_playing() == ["arm"]
    assert heard(pulse("playing")).not_playing() == []
    assert heard(pulse("ended")).not_playing() == []
    assert heard(reserved("playing")).not_playing() == []


def test_who_is_silent_is_known_by_the_last_pulse() -> None:
    members = heard(pulse("ready"), reserved("ready"))
    assert (members.silent(7.0), members.silent(7.1)) == ([], ["arm"])


def test_whose_robots_they_are_is_known_by_the_first_pulse() -> None:
    assert heard(pulse("ready")).of("d1") == ["arm"]
    assert heard(pulse("ready")).of("d2") == heard(reserved("ready")).of("d1") == []


def test_another_daemon_tells_nothing_of_a_robot() -> None:
    members = heard(pulse("committed"), pulse("ready", agrees=True, daemon="d2"))
    assert (members.not_ready(), members.not_agreed()) == (["arm"], ["arm"])


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"robots": None},
        {"robots": ["arm"]},
        {"robots": {"arm": 7, "stranger": "ready"}},
        {"robots": {"arm": "dancing"}, "agrees": "yes", "reasons": 3},
    ],
)
def test_what_is_no_pulse_tells_nothing(data: dict[str, Any]) -> None:
    members = heard(("d1", data))
    assert (members.not_committed(), members.not_agreed(), members.failures()) == (["arm"], ["arm"], [])


@pytest.mark.parametrize(
    ("reports", "failure"),
    [
        ([pulse("committed"), RELEASED], Failure("arm", "a stop came", has_played=False)),
        (
            [pulse("committed"), pulse("released", arm="a stop came")],
            Failure("arm", "a stop came", has_played=False),
        ),
        ([pulse("released")], Failure("arm", "it was let go", has_played=False)),
        ([pulse("playing"), RELEASED], Failure("arm", "a stop came", has_played=True)),
        ([reserved("committed"), NULL], Failure("arm", "it is not reserved any more", has_played=False)),
    ],
    ids=["released", "by its daemon", "without a reason", "released in motion", "not reserved"],
)
def test_who_does_not_play_with_the_others_is_named(reports: list[Report], failure: Failure) -> None:
    assert heard(*reports).failures() == [failure]


@pytest.mark.parametrize("state", ["broken", "offline"])
def test_a_daemon_that_is_gone_is_told_of(state: str) -> None:
    assert heard(pulse("committed"), daemon=state).failures() == [
        Failure("arm", f"its daemon is {state}", False)
    ]


@pytest.mark.parametrize(
    "reports",
    [
        [reserved("playing"), NULL],
        [reserved("playing"), reserved("reserved", "s2")],
        [pulse("playing"), pulse("ended")],
        [reserved("committed"), reserved("released", "s2", "not reserved")],
        [reserved("released", "s0", "long ago")],
        [pulse("committed"), NULL],
    ],
    ids=["end", "next start", "end by its daemon", "misdirected", "before", "kept from before"],
)
def test_who_ended_well_or_tells_of_another_start_is_no_failure(reports: list[Report]) -> None:
    assert heard(*reports).failures() == []


def test_whose_daemon_goes_after_it_has_ended_is_no_failure() -> None:
    assert heard(pulse("ended"), daemon="offline").failures() == []


def test_who_was_ready_before_the_connection_was_lost_may_have_ended_well_meanwhile() -> None:
    members = heard(reserved("ready"))
    members.lose_connection()
    assert members.not_playing() == ["arm"]
    members.hear(*NULL)
    assert members.failures() == []


def test_who_was_ready_before_the_connection_was_lost_may_have_failed_in_motion() -> None:
    members = heard(pulse("ready"))
    members.lose_connection()
    members.hear(*RELEASED)
    assert members.failures() == [Failure("arm", "a stop came", has_played=True)]


def test_what_a_daemon_says_of_itself_is_kept_as_a_word_and_no_longer() -> None:
    daemons = Daemons()
    daemons.hear("d1", {"state": "x" * 60_000})
    assert len(daemons.state("d1") or "") <= LONGEST_STATE + 1
