"""What is made of what the robots of a start report."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.fleet.heard import Daemons, Failure, Members

ONLINE = ("availability", {"state": "online", "bridge": "d1"})
COMMITTED = ("reservation", {"start": "s1", "phase": "committed"})
READY = ("reservation", {"start": "s1", "phase": "ready"})
PLAYING = ("reservation", {"start": "s1", "phase": "playing"})
NULL = ("reservation", {"start": None, "phase": None})
RELEASED = ("reservation", {"start": "s1", "phase": "released", "reason": "a stop came"})


def heard(*reports: tuple[str, dict[str, Any]], daemon: str | None = "online") -> Members:
    daemons = Daemons()
    if daemon is not None:
        daemons.hear("d1", {"state": daemon})
    members = Members("s1", ["arm"], daemons)
    for subject, data in reports:
        members.hear("arm", subject, data)
    return members


def test_who_is_committed_counts_once_it_and_its_daemon_are_heard_to_be_there() -> None:
    assert heard(ONLINE, COMMITTED).not_committed() == []
    assert heard(COMMITTED).not_committed() == ["arm"]
    assert heard(ONLINE).not_committed() == ["arm"]
    assert heard(ONLINE, COMMITTED, daemon=None).not_committed() == ["arm"]
    assert heard(ONLINE, ("reservation", {"start": "s0", "phase": "committed"})).not_committed() == ["arm"]


def test_who_is_ready_or_plays_is_committed_too() -> None:
    for report in (READY, PLAYING):
        members = heard(ONLINE, report)
        assert (members.not_committed(), members.not_ready()) == ([], [])
    assert heard(ONLINE, COMMITTED).not_ready() == ["arm"]


@pytest.mark.parametrize(
    ("reports", "failure"),
    [
        ([COMMITTED, RELEASED], Failure("arm", "a stop came", has_played=False)),
        ([READY, PLAYING, RELEASED], Failure("arm", "a stop came", has_played=True)),
        ([COMMITTED, NULL], Failure("arm", "it is not reserved any more", has_played=False)),
        (
            [PLAYING, ("availability", {"state": "offline", "bridge": "d1"})],
            Failure("arm", "it is offline", True),
        ),
        (
            [PLAYING, ("result", {"motion": "wave", "code": "COMM_LOST", "details": {"start": "s1"}})],
            Failure("arm", "wave ended with COMM_LOST", has_played=True),
        ),
    ],
    ids=["released", "released in motion", "not reserved", "offline", "result"],
)
def test_who_does_not_play_with_the_others_is_named(
    reports: list[tuple[str, dict[str, Any]]], failure: Failure
) -> None:
    assert heard(ONLINE, *reports).failures() == [failure]


@pytest.mark.parametrize("state", ["broken", "offline"])
def test_a_daemon_that_is_gone_is_told_of(state: str) -> None:
    assert heard(ONLINE, COMMITTED, daemon=state).failures() == [
        Failure("arm", f"its daemon is {state}", False)
    ]


@pytest.mark.parametrize(
    "reports",
    [
        [PLAYING, NULL],
        [PLAYING, NULL, ("availability", {"state": "offline", "bridge": "d1"})],
        [PLAYING, ("reservation", {"start": "s2", "phase": "reserved"})],
        [PLAYING, ("result", {"code": "SUCCESSFUL", "details": {"start": "s1"}})],
        [COMMITTED, ("reservation", {"start": "s2", "phase": "released", "reason": "not reserved"})],
        [COMMITTED, ("result", {"code": "CANCELED", "details": {"start": "s0"}})],
        [COMMITTED, ("result", {"code": "CANCELED", "details": "none"})],
        [NULL, ("reservation", {"start": "s0", "phase": "released", "reason": "long ago"})],
    ],
    ids=[
        "end",
        "end and gone",
        "next start",
        "result",
        "misdirected",
        "other result",
        "no details",
        "before",
    ],
)
def test_who_ended_well_or_tells_of_another_start_is_no_failure(
    reports: list[tuple[str, dict[str, Any]]],
) -> None:
    assert heard(ONLINE, *reports).failures() == []


def test_who_was_ready_before_the_connection_was_lost_may_have_ended_well_meanwhile() -> None:
    members = heard(ONLINE, READY)
    members.forget()
    members.hear("arm", *NULL)
    assert members.failures() == []
